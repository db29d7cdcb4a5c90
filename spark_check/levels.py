"""Make a level, by Spark tasks or in this process, and its entry in the checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kspec.checkers.engine.packed.blocks import write_rows
from kspec.checkers.engine.packed.checkpoint import Part
from kspec.spark_check import tasks
from kspec.spark_check.jobs import SENT, WRITTEN, Job
from kspec.spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARQUET = {
    "compression": "none",
    "parquet.enable.dictionary": "false",
    "parquet.page.write-checksum.enabled": "false",  # the manifest has one for each file
    "parquet.column.statistics.enabled#codes": "false",
    "parquet.column.statistics.enabled#highs": "false",
}
PART = re.compile(r"part-(\d+)-")


def folder_of(level: int, run: str) -> str:
    """The name of a level's folder; no other run ever writes to it."""
    return f"level-{level:05}-{run}"


def parts_of(folder: Path, name: str, made: Mapping[int, Mapping[str, int]]) -> tuple[Part, ...]:
    """The files of a level, from the note of each task: how many states and rows it wrote.

    They are on the disk by then. Their readers compare the checksums.
    """
    parts = []
    for path in sorted((folder / name).glob("part-*.parquet")):
        match = PART.match(path.name)
        owner = int(match[1]) if match else -1
        if owner in made and made[owner]["states"]:
            with path.open("rb") as file:
                os.fsync(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = os.fstat(file.fileno()).st_size
            states, rows = made[owner]["states"], made[owner]["rows"]
            parts.append(Part(f"{name}/{path.name}", states, rows, size, digest))
    if sum(part.states for part in parts) != sum(note["states"] for note in made.values()):
        raise SpecError(
            f"{folder} is not shared by the workers and the driver: the workers' files are "
            "missing; name a shared folder with --checkpoint"
        )
    return tuple(parts)


def make_on_spark(spark: SparkSession, job: Job, folder: Path) -> list[dict[str, Any]]:
    """Write a level by Spark tasks; returns their notes."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    owners = spark.range(job.owners, numPartitions=job.owners)
    candidates = owners.mapInArrow(partial(tasks.expand, job), from_arrow_schema(SENT))
    exchanged = candidates.repartitionById(job.owners, "owner")
    found = exchanged.mapInArrow(partial(tasks.drop_known, job), from_arrow_schema(WRITTEN))
    observed = Observation()
    noted_too = found.observe(observed, f.collect_list("note").alias("notes"))
    writer = noted_too.where(f.isnull("note")).select("shard", "codes", "highs").write
    writer.options(**PARQUET).parquet(folder.as_uri())
    return [json.loads(note) for note in observed.get["notes"]]


def make_here(job: Job, name: str) -> list[dict[str, Any]]:
    """Write a level in this process, if it is not worth a job."""
    rows = list(tasks.drop_known(job, tasks.expand(job, iter(()))))
    notes = [json.loads(note.as_py()) for row in rows for note in row["note"].drop_null()]
    states = [row.drop_columns(["note"]) for row in rows if row["note"].null_count]
    (job.folder / name).mkdir()
    if states:
        count = next(n["states"] for n in notes if "states" in n)
        write_rows(
            job.folder, f"{name}/part-00000-here.parquet", pa.Table.from_batches(states), count
        )
    return notes
