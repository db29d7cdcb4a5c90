"""`kspec bundle`: what Spark's workers need, as one archive."""

from __future__ import annotations

from pathlib import Path

import click

from checkers.bundle import write_bundle
from checkers.cli.options import FILE
from checkers.cli.output import say
from checkers.memory import size_text


@click.command()
@click.argument("file", metavar="FILE.zip", type=FILE)
@click.option(
    "--with-dependencies",
    is_flag=True,
    help="Add the packages that kspec needs, as they are installed here; not Python, nor pyspark.",
)
def bundle(file: Path, with_dependencies: bool) -> int:
    """Write what Spark's workers need, where kspec is not installed on them.

    \b
    kspec bundle kspec.zip --with-dependencies
    spark-submit --archives kspec.zip#kspec --conf spark.executorEnv.PYTHONPATH=kspec \\
        spark_check/explore.py replication --checkpoint /shared/run

    Packages that are added fit machines of the same kind with the same Python.
    """
    count = write_bundle(file, with_dependencies)
    say(f"Written: {file}, {count:,} files, {size_text(file.stat().st_size)}")
    return 0
