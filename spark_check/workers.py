"""What workers are asked before they work: what they say of themselves, and what they are sent."""

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

from checkers.bundle import PACKAGES, code_version, write_bundle
from spark_check.patience import REGISTER_SECONDS, WORKERS_SECONDS, within
from spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MUST_AGREE = ("numpy", "pyarrow")
"""Packages whose versions are told beside Python's: a worker without one says so."""


def about_worker(
    folder: Path | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The versions here, and whether a folder is seen, as one row."""
    for _ in batches:
        pass
    minor = ".".join(platform.python_version_tuple()[:2])
    versions = [f"Python {minor}", *(f"{name} {version(name)}" for name in MUST_AGREE)]
    versions.append(f"kspec {code_version()}")
    yield pa.RecordBatch.from_pydict(
        {"versions": [", ".join(versions)], "sees": [folder is None or folder.is_dir()]}
    )


def assert_workers(spark: SparkSession, folder: Path | None) -> None:
    """SpecError where no worker answers, or one with another Python, or without what we need.

    Where kspec is missing or another one, ours is sent.
    """
    context = spark.sparkContext
    master = context.master or ""
    if master.startswith("local") and os.environ.get("PYSPARK_PYTHON") == sys.executable:
        return  # they are this process's own children
    ours = next(about_worker(None, iter(()))).column(0)[0].as_py()
    try:
        told = ask_workers(spark, folder)
        other = {theirs.split("kspec ")[0] for theirs, _ in told if theirs != ours}
        ship = other == {ours.split("kspec ")[0]}
    except Exception as error:
        if not re.search(rf"No module named '({'|'.join(PACKAGES)})", str(error)):
            raise
        ship = True
    if ship and not master.startswith("local"):
        send_code(spark)
        told = ask_workers(spark, folder)
    for theirs, sees in told:
        if theirs != ours:
            raise SpecError(f"a worker has {theirs}, and the driver {ours}")
        if not sees:
            raise SpecError(
                f"the workers do not see {folder}: keep the levels, with --checkpoint, in a folder "
                "that all machines share"
            )


def ask_workers(spark: SparkSession, folder: Path | None) -> list[tuple[str, bool]]:
    """What workers say of themselves, or SpecError if none does."""
    context = spark.sparkContext
    master = context.master or ""
    seconds = REGISTER_SECONDS if master.startswith("spark://") else WORKERS_SECONDS

    def answers() -> list[Any]:
        context.setJobGroup("kspec", "kspec: asking the workers for their Python", True)
        tasks = max(2, context.defaultParallelism)
        workers = spark.range(tasks, numPartitions=tasks)
        ask = partial(about_worker, folder)
        return workers.mapInArrow(ask, "versions string, sees boolean").distinct().collect()

    def some_have_come() -> bool:
        """Executors, that is; the driver is counted too."""
        return len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1

    try:
        return [(row.versions, row.sees) for row in within(seconds, answers, some_have_come)]
    except TimeoutError:
        context.cancelAllJobs()
        raise SpecError(
            f"{master} gave no workers in {seconds} seconds: are there any with free cores and "
            "enough memory (spark.executor.memory)?"
        ) from None


def send_code(spark: SparkSession) -> None:
    """Send this kspec to the workers, before whatever is installed there."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "kspec.zip"
        write_bundle(archive)
        spark.sparkContext.addArchive(f"{archive}#kspec-sent")
        includes: Any = spark.sparkContext._python_includes
        includes.append("kspec-sent")  # as addPyFile does, which takes no folders
