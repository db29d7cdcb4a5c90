"""Which engine explores, and how: one value for everything that can be chosen."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import attrs

from checkers.explore import explore
from checkers.limits import INTERRUPTED, Keep, Limits, OnProgress
from checkers.verdict import Verdict
from spec.core import SpecError, System

ENGINES = ("auto", "reference", "learned", "kernel", "native", "spark")

SMALL = 1_000
"""With as few states as this the reference engine is done before compiled code is loaded."""

THIN = 8
"""With fewer states in a level than this, it is levels that take compiled code its time."""


@attrs.frozen
class Options:
    """How to explore."""

    engine: str = "auto"
    """`native` is the kernel where there is one, and learned rules elsewhere; `auto` is that,
    but leaves small models to the reference engine."""
    limits: Limits = attrs.field(factory=Limits)
    workers: int | None = None
    """All cores, if not said."""
    coverage: bool = False
    """Count what blocks each rule with a hand-written kernel, too; other engines always do."""
    symmetry: bool = False
    keep: Keep | None = None
    master: str | None = None
    check_learning: bool = False
    """Ask every rule that is answered from what was learned again, and compare."""
    kept: bool = False
    """Keep what is learned in the user's cache folder, and begin with what is kept there."""
    on_progress: OnProgress | None = None


def run(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore with the engine that the options name; `auto` takes the fastest that there is."""
    options = options or Options()
    if options.engine == "spark":
        if options.coverage or options.symmetry:
            what = "symmetry" if options.symmetry else "coverage"
            raise SpecError(f"the spark engine knows no {what}; the kernel engine does")
        spark = import_module("spark_check.explore")  # by name: what is below does not import it
        verdict: Verdict = spark.explore(system, options)
        return verdict
    if options.master:
        raise SpecError("--master is for --engine spark")
    if options.keep and (options.coverage or options.symmetry):
        raise SpecError("a checkpoint is kept of plain runs, without --coverage or --symmetry")
    engine = chosen(system, options)
    if engine != "kernel" and options.symmetry:
        raise SpecError(f"the {engine} engine knows no symmetry; the kernel engine does")
    if engine != "kernel" and options.keep:
        raise SpecError(f"the {engine} engine keeps no checkpoint; kernel and spark do")
    if engine == "reference":
        return explore(system, options.limits, options.on_progress)
    return explore_natively(system, engine, options)


def chosen(system: System[Any], options: Options) -> str:
    """The engine that the options come to: reference, kernel or learned."""
    engine = options.engine
    if engine in ("reference", "learned", "kernel"):
        return engine
    if has_kernel(system):
        return "kernel"
    if engine == "native" or options.keep or options.symmetry:
        return "learned"
    return "reference" if is_small(system, options.limits) else "learned"


def is_small(system: System[Any], limits: Limits) -> bool:
    """Whether the reference engine is done before another one has begun, as far as one can see."""
    few = attrs.evolve(limits, max_states=min(limits.max_states or SMALL, SMALL))
    try:
        probe = explore(system.with_properties([]), few)
    except SpecError:
        return True  # it says what is wrong, if no violation ends the run before
    if probe.stopped_by == INTERRUPTED:
        raise KeyboardInterrupt
    ended = few == limits or probe.stopped_by != few.says("max_states")
    return ended or probe.distinct < THIN * probe.depth


def has_kernel(system: System[Any]) -> bool:
    """Whether a hand-written kernel can explore this."""
    from impl.packed.kernels import KERNELS

    if system.model.name not in KERNELS:
        return False  # and nothing heavy is imported to find it out
    from impl.packed.kernel import NoKernel
    from impl.packed.kernels import kernel_for

    try:
        kernel_for(system)
    except NoKernel:
        return False
    return True


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def explore_natively(system: System[Any], engine: str, options: Options) -> Verdict:
    """Explore with compiled code: a hand-written kernel, or what is learned of the rules."""
    from checkers.native.search import How, explore_by_kernel, explore_by_learning
    from impl.packed.kernel import NoKernel

    how = How(
        workers=options.workers or cores(),
        symmetry=options.symmetry,
        coverage=options.coverage,
        keep=options.keep,
        check_learning=options.check_learning,
        kept=options.kept,
        compiling=say_compiling,
    )
    if engine == "learned":
        return explore_by_learning(system, options.limits, how, options.on_progress)
    try:
        return explore_by_kernel(system, options.limits, how, options.on_progress)
    except NoKernel as error:
        raise SpecError(f"{error}; use --engine learned") from None


def say_compiling() -> None:
    """The first run takes longer, and says why where there is somebody to read it."""
    if sys.stderr.isatty():
        print("compiling the native engine, once; later runs start at once", file=sys.stderr)
