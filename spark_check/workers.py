"""Check the workers' versions before they work, and send them code."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kspec.spark_check.bundle import code_version, write_bundle
from kspec.spark_check.patience import patience, within
from kspec.spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MUST_AGREE = ("numpy", "pyarrow")
"""Packages whose versions workers report in addition to Python's."""


def about_worker(
    folder: Path | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The versions here, and whether a folder exists, as one row."""
    for _ in batches:
        pass
    minor = ".".join(platform.python_version_tuple()[:2])
    versions = [f"Python {minor}", *(f"{name} {version(name)}" for name in MUST_AGREE)]
    versions.append(f"kspec {code_version()}")
    yield pa.RecordBatch.from_pydict(
        {"versions": [", ".join(versions)], "sees": [folder is None or folder.is_dir()]}
    )


def assert_workers(spark: SparkSession, folder: Path | None) -> None:
    """Raise SpecError if no worker answers, or one has other versions or lacks a package.

    Workers without kspec, or with another version of it, are sent this one.
    """
    context = spark.sparkContext
    master = context.master or ""
    if master.startswith("local") and os.environ.get("PYSPARK_PYTHON") == sys.executable:
        return  # they are child processes of this one
    ours = next(about_worker(None, iter(()))).column(0)[0].as_py()
    try:
        reports = ask_workers(spark, folder)
        other = {theirs.split("kspec ")[0] for theirs, _ in reports if theirs != ours}
        ship = other == {ours.split("kspec ")[0]}
    except Exception as error:
        if not re.search("No module named 'kspec", str(error)):
            raise
        ship = True
    if ship and not master.startswith("local"):
        send_code(spark)
        reports = ask_workers(spark, folder)
    for theirs, sees in reports:
        if theirs != ours:
            raise SpecError(f"a worker has {theirs}, and the driver {ours}")
        if not sees:
            raise SpecError(
                f"the workers cannot see {folder}: all machines must share it; --checkpoint names "
                "the folder of an exploration"
            )


def ask_workers(spark: SparkSession, folder: Path | None) -> list[tuple[str, bool]]:
    """The reports of the workers; SpecError if there are none."""
    context = spark.sparkContext

    def answers() -> list[Any]:
        context.setJobGroup("kspec", "kspec: asking the workers for their Python", True)
        tasks = max(2, context.defaultParallelism)
        workers = spark.range(tasks, numPartitions=tasks)
        ask = partial(about_worker, folder)
        return workers.mapInArrow(ask, "versions string, sees boolean").distinct().collect()

    def some_have_come() -> bool:
        """Whether executors have registered; the driver counts as one."""
        return len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1

    try:
        return [(row.versions, row.sees) for row in within(patience(), answers, some_have_come)]
    except TimeoutError:
        context.cancelAllJobs()
        raise SpecError(
            f"{context.master} provided no workers in {patience()} seconds: are there any "
            "with free cores and enough memory (spark.executor.memory)?"
        ) from None


def send_code(spark: SparkSession) -> None:
    """Send this kspec to the workers, to take precedence over an installed one."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "kspec.zip"
        write_bundle(archive)
        spark.sparkContext.addArchive(f"{archive}#kspec-sent")
        includes: Any = spark.sparkContext._python_includes
        includes.append("kspec-sent")  # as addPyFile does, which accepts no folders
