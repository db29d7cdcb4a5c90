"""Exploration on Spark, level by level, with the checkpoint format of learned runs.

While levels are small, the driver explores them. Larger levels are expanded by Spark jobs of two
stages: the owners of a level's states expand them and send the successors to their owners, which
drop known states and write the rest. Spark commits the files, and then the level becomes part of
the checkpoint, so at any moment either engine can continue.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.search import Search
from kspec.checkers.engine.verdict import Verdict
from kspec.spark_check.needs import assert_can_begin
from kspec.spec.core import Always, Reachable, SpecError, System

if TYPE_CHECKING:
    from kspec.spark_check.backend import OnSpark

WORTH = 20_000
"""Smaller levels are explored in the driver, as long as no earlier one was larger."""


def explore(system: System[Any], options: Options, *, worth: int | None = None) -> Verdict:
    """Explore on a Spark master; without a checkpoint, levels are kept in a temporary folder."""
    assert_can_begin(options.master)
    assert_can(system)
    with with_checkpoint(options) as kept, backend_for(system, kept, worth) as backend:
        return Search(system, backend, options).run()


def assert_can(system: System[Any]) -> None:
    """Reject liveness properties, which need the whole graph, and mutants."""
    for prop in system.properties:
        if not isinstance(prop, Always | Reachable):
            raise SpecError(f"the spark engine cannot check {prop.name}; use --engine learned")
    if system.rules != system.variant.rules:
        raise SpecError("the spark engine cannot explore mutants")


@contextmanager
def backend_for(system: System[Any], options: Options, worth: int | None) -> Iterator[OnSpark]:
    """The backend of a system, with the checkpoint that the options name."""
    from kspec.checkers.engine.learned.levels import run_of
    from kspec.checkers.engine.packed.checkpoint import opened
    from kspec.spark_check.backend import OnSpark

    with opened(options, run_of(system)) as manifest:
        backend = OnSpark(system, options, manifest, worth=worth or WORTH)
        with backend.stack:
            yield backend


@contextmanager
def with_checkpoint(options: Options) -> Iterator[Options]:
    """Options with a checkpoint folder: a temporary one if none is given."""
    if options.checkpoint:
        yield options
        return
    folder = Path(tempfile.mkdtemp(prefix="kspec-"))
    try:
        yield attrs.evolve(options, checkpoint=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    from kspec.checkers.cli.main import main

    main(["check", *sys.argv[1:], "--engine", "spark"])
