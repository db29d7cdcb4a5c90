"""Exploration on Spark, level by level: the checkpoint of the native engine, made by many.

While levels are small they are explored in the driver, by the native engine if the model has a
kernel. A level that is worth it is expanded by a Spark job of two stages: the owners of its
states expand them and send what they find to its owners, who drop what they know and write the
rest. Spark commits what they write, and then the level becomes part of the checkpoint; so at any
moment either engine can go on.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    # As a script: the modules beside it have their folder before their names.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from checkers.engines import Options, cores, say_compiling
from checkers.limits import Keep
from checkers.search import Search
from checkers.verdict import Verdict
from impl.packed.kernel import NoKernel
from spark_check.needs import assert_can_begin
from spec.core import Always, Reachable, SpecError, System

if TYPE_CHECKING:
    from spark_check.backend import OnSpark

WORTH, WORTH_BY_LEARNING = 200_000, 20_000
"""A level of fewer states is explored in the driver, as long as none before it had more."""


def explore(system: System[Any], options: Options, *, worth: int | None = None) -> Verdict:
    """Explore on a Spark master; without a checkpoint the levels go to a temporary folder."""
    assert_can_begin(options.master)
    assert_can(system)
    with folder_for(options.keep) as keep, backend_for(system, options, keep, worth) as backend:
        return Search(system, backend, options.limits, options.on_progress).run()


def assert_can(system: System[Any]) -> None:
    """SpecError where this cannot be asked without the whole graph."""
    for prop in system.properties:
        if not isinstance(prop, Always | Reachable):
            raise SpecError(f"the spark engine cannot check {prop.name}; use --engine reference")
    if system.rules != system.variant.rules:
        raise SpecError("the spark engine explores rules as they are, and no mutants")


@contextmanager
def backend_for(
    system: System[Any], options: Options, keep: Keep, worth: int | None
) -> Iterator[OnSpark]:
    """By the model's kernel if it has one, or else by learned rules."""
    from checkers.native.keep import opened
    from checkers.native.search import How, packed_by_kernel
    from spark_check import by_kernel, by_learning
    from spark_check.backend import OnSpark

    limits = options.limits
    with ExitStack() as stack:
        how = How(workers=options.workers or cores(), keep=keep, compiling=say_compiling)
        try:
            here = stack.enter_context(packed_by_kernel(system, limits, how))
        except NoKernel:
            manifest = stack.enter_context(opened(keep, by_learning.run_of(system)))
            backend = OnSpark(
                system,
                by_learning,
                keep.folder,
                manifest,
                master=options.master,
                worth=worth or WORTH_BY_LEARNING,
                max_memory=limits.max_memory,
            )
        else:
            assert here.keeper
            backend = OnSpark(
                system,
                by_kernel,
                keep.folder,
                here.keeper.manifest,
                master=options.master,
                worth=worth or WORTH,
                max_memory=limits.max_memory,
                here=here,
            )
        with backend.stack:
            yield backend


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
