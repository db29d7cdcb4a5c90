"""The levels of a checkpoint as a plain table: one row per state, one column per field.

    spark-submit spark_check/table.py run states.parquet replication --set max_epoch=2

A column is a field of the state as ITF writes it, a text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

import numpy as np
import pyarrow as pa

from kspec.checkers.engine.learned.levels import run_of
from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.packed import checkpoint
from kspec.checkers.engine.packed.codes import SHARDS
from kspec.spark_check.jobs import Job, named, this_partition
from kspec.spark_check.session import session
from kspec.spark_check.tasks import read_level
from kspec.spec.core import SpecError, System
from kspec.spec.core.schema import names_of
from kspec.traces.itf import variables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOGETHER = 1 << 16


def columns_of(system: System[Any]) -> list[str]:
    """The table's columns after the level."""
    return list(names_of(type(system.initial()[0])) or ["state"])


def states_table(spark: SparkSession, system: System[Any], folder: Path) -> DataFrame:
    """All states of a checkpoint of this system."""
    manifest = checkpoint.read_manifest(folder, run_of(system))
    files = [
        (depth, (part,)) for depth, level in enumerate(manifest.levels) for part in level.parts
    ]
    job = Job("", named(system), folder.resolve(), 1, tuple(part for _, part in files), None)
    columns = [f"`{name}` string" for name in columns_of(system)]
    numbers = spark.range(len(files), numPartitions=len(files))
    task = partial(rows_of_file, job, [depth for depth, _ in files])
    return numbers.mapInArrow(task, ", ".join(["level int", *columns]))


def rows_of_file(
    job: Job, depths: Sequence[int], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The states of this task's file."""
    for _ in batches:
        pass
    index = this_partition()
    system = job.model.system()
    codec, names = Codec(system), ["level", *columns_of(system)]
    states = read_level(job, index, range(SHARDS))
    while rows := [variables(codec.decode_state(state)) for state in islice(states, TOGETHER)]:
        texts = [[json.dumps(one[name], ensure_ascii=False) for one in rows] for name in rows[0]]
        level = pa.array(np.full(len(rows), depths[index], np.int32))
        columns = [pa.array(column, pa.string()) for column in texts]
        yield pa.RecordBatch.from_arrays([level, *columns], names)


@click.command()
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("model")
@click.option("--variant")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE")
@click.option("--property", "properties", multiple=True)
@click.option("--master")
def main(
    checkpoint: Path,
    out: Path,
    model: str,
    variant: str | None,
    settings: tuple[str, ...],
    properties: tuple[str, ...],
    master: str | None,
) -> None:
    """Write all states in CHECKPOINT, from a run of MODEL, to OUT as Parquet."""
    from kspec.checkers.cli.options import Asked

    try:
        system = Asked(model, variant, settings, properties).system()
        if out.exists():
            raise SpecError(f"{out} exists already")
        with session(master, f"kspec: table of {model}", folder=checkpoint.resolve()) as spark:
            place = out.resolve().as_uri()
            states_table(spark, system, checkpoint).write.parquet(place)
            written = spark.read.parquet(place)
            rows, columns = written.count(), len(written.columns)
    except SpecError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Written: {out}, {rows:,} states with {columns} columns each")


if __name__ == "__main__":
    main()
