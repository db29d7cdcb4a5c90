"""Exploration on Spark, level by level: the checkpoint of the native engine, made by many.

While levels are small they are explored here, by the native engine if the model has a kernel.
A level that is worth it is expanded by a Spark job of two stages: the owners of its states
expand them and send what they find to its owners, who drop what they know and write the rest.
Spark commits what they write, and then the level becomes part of the checkpoint; so at any
moment either engine can go on.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

if __name__ == "__main__":
    # As a script: the modules beside it have their folder before their names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from checkers.engines import as_verdict, cores, say_compiling
from checkers.limits import Keep, Limits, OnProgress
from checkers.verdict import Verdict
from impl.packed.kernel import NoKernel
from spark_check.needs import assert_can_begin
from spec.core import SpecError, System

WORTH, WORTH_BY_RULES = 200_000, 1_000
"""A level of fewer states is explored in the driver, as long as none before it had more."""


def explore(
    system: System[Any],
    limits: Limits,
    master: str | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    keep: Keep | None = None,
    *,
    worth: int | None = None,
) -> Verdict:
    """Explore a system on a Spark master; without `keep` the checkpoint is a temporary one."""
    assert_can_begin(master)
    from checkers.native import checkpoint, search
    from spark_check.kinds import KernelRun, RulesRun, assert_can, nothing_yet
    from spark_check.run import Run

    with folder_for(keep) as kept:
        run: Run
        try:
            here = search.explore(
                system,
                workers=workers or cores(),
                max_states=limits.max_states,
                max_depth=limits.max_depth,
                max_memory=limits.max_memory,
                keep_going=limits.keep_going,
                keep=kept,
                hand_over=WORTH if worth is None else max(1, worth),
                progress=on_progress,
                compiling=say_compiling,
            )
        except NoKernel:
            assert_can(system)
            if not kept.resume:
                checkpoint.make_folder(kept.folder)
            here, least = nothing_yet(), WORTH_BY_RULES
            run = RulesRun(system, limits, master, kept.folder, worth or least, on_progress)
        else:
            run = KernelRun(system, limits, master, kept.folder, worth or WORTH, on_progress)
            if here.stopped != search.HANDED_OVER:
                run.spent = {"start": 0.0}
                return as_verdict(system, limits, here, "spark", seconds_of(here, run.spent))
        found = run.go_on(here)
        if here.levels:
            seconds = here.seconds_explore + found.seconds_explore
            found = attrs.evolve(found, seconds_explore=seconds)
        return as_verdict(system, limits, found, "spark", seconds_of(found, run.spent))


def seconds_of(found: Any, spent: dict[str, float]) -> dict[str, float]:
    """Where the time went."""
    return {"explore": found.seconds_explore, "compile": found.seconds_compile, **spent}


@contextmanager
def folder_for(keep: Keep | None) -> Iterator[Keep]:
    """Where the levels are kept; if nobody asked for it, only until the end."""
    if keep:
        if keep.resume and not keep.folder.is_dir():
            raise SpecError(f"there is no checkpoint at {keep.folder}")
        yield keep
        return
    folder = Path(tempfile.mkdtemp(prefix="kspec-"))
    try:
        yield Keep(folder, resume=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str]) -> None:
    """`kspec check` on Spark, as a script: `spark-submit spark_check/explore.py MODEL …`."""
    from checkers.cli import main as kspec

    kspec(["check", *arguments, "--engine", "spark"])


if __name__ == "__main__":
    main(sys.argv[1:])
