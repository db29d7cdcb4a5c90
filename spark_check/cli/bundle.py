"""`kspec bundle`: the archive that Spark's workers need."""

from __future__ import annotations

from pathlib import Path

import click

from kspec.checkers.cli.options import NEW_FILE
from kspec.checkers.cli.output import say
from kspec.checkers.engine.memory import size_text
from kspec.spark_check.bundle import write_bundle
from kspec.spec.core import SpecError


@click.command()
@click.argument("file", metavar="FILE.zip", type=NEW_FILE)
@click.option(
    "--with-dependencies",
    is_flag=True,
    help="Add the packages that kspec needs, as installed here, except Python and pyspark.",
)
def bundle(file: Path, with_dependencies: bool) -> int:
    """Write the archive that Spark's workers need if kspec is not installed on them.

    \b
    kspec bundle kspec.zip --with-dependencies
    spark-submit --archives kspec.zip#kspec --conf spark.executorEnv.PYTHONPATH=kspec \\
        spark_check/explore.py replication --checkpoint /shared/run

    Added packages fit machines of the same kind with the same Python.
    """
    if file.suffix != ".zip":
        raise SpecError(f"{file} does not end in .zip, as Spark needs it to")
    count = write_bundle(file, with_dependencies)
    say(f"Written: {file}, {count:,} files, {size_text(file.stat().st_size)}")
    return 0
