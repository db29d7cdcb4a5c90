"""`kspec log` on Spark: audit the log directories of many brokers, and write a table.

    spark-submit spark_check/logs.py /backups/cluster --out audit.parquet

A task has some partitions, each with all its replicas: it audits each replica as `kspec log` does,
and compares them. A replica is a row. What cannot be read is a problem of its row, and stops
nothing else; so is what ends the process that reads it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs
import click

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

from kspec.checkers.cli.options import FILE, json_option
from kspec.checkers.cli.output import say, say_json, say_table
from kspec.checkers.engine.verdict import EXIT_REJECTED
from kspec.field.disk.folders import LogDirectory, PartitionFolder, is_partition, with_directories
from kspec.field.disk.problems import Problem
from kspec.spark_check.apart import cautiously, repeating
from kspec.spark_check.session import session
from kspec.spec.core import SpecError
from kspec.traces.text import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kspec.field.disk.audit import PartitionReport

Row: TypeAlias = dict[str, Any]
"""A replica, as `kspec log --json` has it, with its cluster and node."""

Replicas: TypeAlias = Sequence[PartitionFolder]
"""The replicas of a partition."""

TASKS_PER_CORE = 32
"""Partitions differ in size, and cores should finish together."""

SHOWN = 20
"""How many problems are printed; the table has all."""

SUMMED = ("segments", "batches", "records")
"""The columns that the summary adds up."""
COUNTED = ("replicas", *SUMMED, "problems")
"""What it counts."""

PROBLEM = "struct<file: string, position: bigint, problem: string>"
COLUMNS = {
    "topic": "string",
    "partition": "int",
    "cluster": "string",
    "node": "int",
    "log_directory": "string",
    "directory": "string",
    "segments": "bigint",
    "batches": "bigint",
    "records": "bigint",
    "start": "bigint",
    "end": "bigint",
    "high_watermark": "bigint",
    "last_stable_offset": "bigint",
    "open_transactions": "array<struct<producer_id: bigint, first_offset: bigint>>",
    "leader_epochs": "array<struct<epoch: int, start: bigint>>",
    "holes": "array<array<bigint>>",
    "topic_id": "string",
    "problems": f"array<{PROBLEM}>",
    "more_problems": "bigint",
}
"""The columns of the table, and their types."""


# -- in the driver: what there is to read ---------------------------------------------------------


def find_below(folders: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """The partitions' folders within these folders, and the folders that cannot be read."""
    found: list[Path] = []
    unread: list[Problem] = []

    def is_one(path: Path) -> bool:
        try:
            return is_partition(path)
        except SpecError as error:
            unread.append(Problem(str(path), 0, str(error)))
            return False

    def skip(error: OSError) -> None:
        unread.append(Problem(str(error.filename), 0, f"cannot be read: {error.strerror}"))

    for folder in folders:
        if not folder.is_dir():
            raise SpecError(f"{folder} is not a folder")
        if is_one(folder):
            found.append(folder)
            continue
        before = len(found)
        for place, names, _ in os.walk(folder, onerror=skip):
            partitions = {name for name in names if is_one(Path(place, name))}
            found += (Path(place, name) for name in sorted(partitions))
            names[:] = sorted(set(names) - partitions)
        if len(found) == before and not unread:
            raise SpecError(f"{folder} contains no folder of a partition")
    return found, unread


def alone(folder: PartitionFolder) -> PartitionFolder:
    """A partition with what the log directory's checkpoints say of it, and of no other."""
    name, whole = folder.name, folder.directory

    def only(offsets: Mapping[Any, int]) -> dict[Any, int]:
        return {name: offsets[name]} if name in offsets else {}

    directory = LogDirectory(
        whole.path,
        whole.meta,
        only(whole.high_watermarks),
        only(whole.recovery_points),
        only(whole.log_starts),
        None if whole.cleaned is None else only(whole.cleaned),
    )
    return attrs.evolve(folder, directory=directory)


# -- in a task ------------------------------------------------------------------------------------


def audited(replicas: Replicas) -> list[Row]:
    """Audit the replicas of a partition, and compare them."""
    from kspec.field.disk.audit import audit
    from kspec.field.disk.replicas import compare_replicas

    reports, rows = [], []
    for folder in replicas:
        try:
            reports.append(audit(folder))
        except Exception as error:  # a fault of a file, or of kspec, concerns this replica alone
            rows.append(unread_row(folder, error))
    try:
        return rows + [row_of(report) for report in compare_replicas(reports)]
    except Exception as error:
        return rows + [not_compared(row_of(report), reason(error)) for report in reports]


def row_of(report: PartitionReport) -> Row:
    """The row of a replica."""
    return report.to_json() | of_broker(report.folder)


def not_compared(row: Row, why: str) -> Row:
    """The row of a replica that could not be compared with the others."""
    text = f"the replica was not compared with the others: {why}"
    problem = Problem(row["directory"], 0, text)
    return row | {"problems": [*row["problems"], attrs.asdict(problem)]}


def reason(error: Exception) -> str:
    """Why something cannot be read."""
    return str(error) if isinstance(error, SpecError) else repr(error)


def of_broker(folder: PartitionFolder) -> Row:
    """The cluster, the node and the log directory that a replica belongs to."""
    directory = folder.directory
    meta = directory.meta
    return {
        "cluster": meta.cluster if meta else None,
        "node": meta.node if meta else None,
        "log_directory": str(directory.path),
    }


def unread_row(folder: PartitionFolder, error: Exception) -> Row:
    """A replica that cannot be read."""
    named = {"topic": folder.name.topic, "partition": folder.name.partition}
    problem = Problem(str(folder.path), 0, reason(error))
    return {
        **named,
        **of_broker(folder),
        "directory": str(folder.path),
        "problems": [attrs.asdict(problem)],
        "more_problems": 0,
    }


def rows_of(
    partitions: Sequence[Replicas], work: Callable[[Replicas], list[Row]] = audited
) -> Iterator[Row]:
    """The rows of some partitions, also of those whose process is killed."""

    def killed(replicas: Replicas, why: str) -> list[Row]:
        if len(replicas) == 1:
            return [unread_row(replicas[0], SpecError(why))]
        return [not_compared(row, why) for one in replicas for row in rows_of([[one]], work)]

    for rows in cautiously(work, partitions, killed):
        yield from rows


# -- the job --------------------------------------------------------------------------------------


def audit_on_spark(
    spark: SparkSession,
    folders: Sequence[PartitionFolder],
    work: Callable[[Replicas], list[Row]] = audited,
) -> DataFrame:
    """A row for each replica."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    context = spark.sparkContext
    types = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())
    schema: Any = to_arrow_schema(cast(StructType, StructType.fromDDL(types)))
    ordered = sorted(map(alone, folders), key=lambda folder: (folder.name, str(folder.path)))
    partitions = [list(replicas) for _, replicas in groupby(ordered, lambda folder: folder.name)]
    tasks = max(1, min(len(partitions), TASKS_PER_CORE * context.defaultParallelism))
    sent = context.broadcast([partitions[task::tasks] for task in range(tasks)])

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for row in rows_of(sent.value[task], work):
                    yield pa.RecordBatch.from_pylist([row], schema)

    context.setJobDescription(f"kspec log: {len(folders):,} replicas")
    return spark.range(tasks, numPartitions=tasks).mapInArrow(rows, types)


def summary_of(
    table: DataFrame, directories: Sequence[LogDirectory], unread: Sequence[Problem]
) -> dict[str, Any]:
    """How much was read, in all and by log directory, and what is wrong."""
    from pyspark.sql import functions as f

    problems = f.size("problems") + f.col("more_problems")
    counts = [
        f.count("*").alias("replicas"),
        *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in SUMMED),
        f.coalesce(f.sum(problems), f.lit(0)).alias("problems"),
    ]
    found = {
        row["directory"]: row.asDict()
        for row in table.groupBy(f.col("log_directory").alias("directory")).agg(*counts).collect()
    }
    listed = [directory.to_json() | found[str(directory.path)] for directory in directories]
    total = {name: sum(row[name] for row in found.values()) for name in COUNTED}
    others = [*unread, *(problem for directory in directories for problem in directory.problems)]
    rows = table.select(f.explode("problems").alias("one")).select("one.*")
    first = [row.asDict() for row in rows.orderBy("file", "position", "problem").take(SHOWN)]
    return {
        "partitions": table.select("topic", "partition").distinct().count(),
        **total,
        "problems": total["problems"] + len(others),
        "log_directories": listed,
        "first_problems": [*(attrs.asdict(problem) for problem in others), *first],
    }


def print_summary(summary: dict[str, Any], out: str) -> None:
    """Print a line for each log directory, and the first problems."""
    rows = [
        [
            "–" if row["node"] is None else str(row["node"]),
            *(f"{row[name]:,}" for name in COUNTED),
            row["directory"],
        ]
        for row in summary["log_directories"]
    ]
    say_table(("node", *COUNTED, "log directory"), rows, right=range(6))
    say()
    for problem in summary["first_problems"]:
        say("{file}, byte {position}: {problem}".format_map(problem))
    more = summary["problems"] - len(summary["first_problems"])
    if more:
        say(f"And {more:,} more problems.")
    if not summary["problems"]:
        say("No problem was found.")
    partitions = summary["partitions"]
    of = counted(partitions, "partition")
    say(f"Written: {out}, {summary['replicas']:,} replicas of {of}")


@click.command(name="kspec.spark_check.logs")
@click.argument("folders", metavar="DIR…", nargs=-1, required=True, type=FILE)
@click.option(
    "--out",
    required=True,
    metavar="FOLDER",
    help="Write the table to this new folder, or to an address such as hdfs://host/audit.",
)
@click.option("--master", metavar="URL", help="The Spark master: local[4], spark://HOST:PORT, …")
@json_option
def logs(folders: tuple[Path, ...], out: str, master: str | None, as_json: bool) -> int:
    """Check the partitions below DIR on Spark, as kspec log does, and write a table of replicas.

    DIR holds the log directories of brokers, at any depth; all workers must see it under the same
    name. Replicas of a partition are compared below the high watermark.

    \b
    python -m kspec.spark_check.logs /backups/cluster --out audit.parquet --master 'local[4]'
    spark-submit --master spark://HOST:7077 spark_check/logs.py /backups/cluster --out audit.parquet

    Exit codes: 0 if there is no problem, 3 if there is a problem, 151 if a folder cannot be read.
    """
    place = out_place(out)
    paths, unread = find_below([folder.absolute() for folder in folders])
    directories, partitions = with_directories(paths)
    with session(repeating(master), "kspec log", folder=folders[0].absolute()) as spark:
        audit_on_spark(spark, partitions).write.parquet(place)
        summary = summary_of(spark.read.parquet(place), directories, unread)
    if as_json:
        say_json(summary)
    else:
        print_summary(summary, out)
    return EXIT_REJECTED if summary["problems"] else 0


def out_place(out: str) -> str:
    """Where Spark writes; SpecError if something is there."""
    if "://" in out:
        return out
    path = Path(out)
    if path.exists():
        raise SpecError(f"{out} exists already")
    return path.resolve().as_uri()


if __name__ == "__main__":
    # Workers import what they receive from a module; they do not have the script.
    from kspec.checkers.cli.main import main
    from kspec.spark_check.logs import logs as command

    main(None, command, "kspec.spark_check.logs")
