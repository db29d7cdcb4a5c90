"""`kspec refine` on Spark: tasks compare blocks of states.

    spark-submit spark_check/refine.py replication --set max_epoch=2

The driver compares levels that are too small for a job.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

from kspec.checkers.lockstep.refine import Spread, Work, is_small, one_by_one
from kspec.checkers.lockstep.step import Compared
from kspec.spark_check.session import session


@contextmanager
def on_spark(master: str | None, app: str) -> Iterator[Spread]:
    """Compare the blocks of large levels in Spark tasks."""
    with session(master, app) as spark:
        context = spark.sparkContext

        def spread(work: Work, blocks: Sequence[Sequence[Any]]) -> Iterator[Compared]:
            if is_small(blocks):
                return one_by_one(work, blocks)
            context.setJobDescription(f"{app}: comparing steps")
            slices = min(len(blocks), 4 * context.defaultParallelism)
            return iter(context.parallelize(blocks, slices).map(work).collect())

        yield spread


if __name__ == "__main__":
    # The command imports this module: workers receive what has its name, and not the script's.
    from kspec.checkers.cli.main import main

    main(["refine", *sys.argv[1:]])
