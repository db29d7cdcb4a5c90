"""Which engine explores: the reference engine, or a faster one where the model has a kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from checkers.explore import explore
from checkers.limits import Keep, Limits, OnProgress
from checkers.verdict import (
    DEADLOCK,
    DEADLOCK_SAYS,
    EXIT_ALWAYS,
    EXIT_DEADLOCK,
    RuleCount,
    Verdict,
    Violation,
    conclude,
    fails,
    not_shown,
)
from spec.core import Always, Reachable, SpecError, System
from traces.trace import Trace

if TYPE_CHECKING:
    from checkers.native.search import Exploration


def run(
    engine: str,
    system: System[Any],
    limits: Limits,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    *,
    coverage: bool = False,
    symmetry: bool = False,
    keep: Keep | None = None,
    master: str | None = None,
) -> Verdict:
    """Explore with the engine of that name; `auto` takes the native one where it can.

    With `coverage`, the native engine too counts what stopped each rule; the reference engine
    always does. Only the native engine knows of symmetry; it and Spark keep checkpoints. Only
    Spark has a `master`.
    """
    if engine == "spark":
        if coverage or symmetry:
            what = "symmetry" if symmetry else "coverage"
            raise SpecError(f"the spark engine knows no {what}; the native one does")
        spark = import_module("spark_check.explore")  # by name: what is below does not import it
        verdict: Verdict = spark.explore(system, limits, master, workers, on_progress, keep)
        return verdict
    if master:
        raise SpecError("--master is for --engine spark")
    if keep and (coverage or symmetry):
        raise SpecError("a checkpoint is kept of plain runs, without --coverage or --symmetry")
    if keep or symmetry:
        if engine == "reference":
            what = "knows no symmetry" if symmetry else "keeps no checkpoint"
            raise SpecError(f"the reference engine {what}; the native one does")
    elif engine == "reference" or (engine == "auto" and not has_kernel(system)):
        return explore(system, limits, on_progress)
    return explore_natively(
        system,
        limits,
        workers or cores(),
        on_progress,
        coverage=coverage,
        symmetry=symmetry,
        keep=keep,
    )


def has_kernel(system: System[Any]) -> bool:
    """Whether the native engine can explore this."""
    from impl.packed.kernels import KERNELS

    if system.model.name not in KERNELS:
        return False  # and nothing heavy is imported to find it out
    from impl.packed.kernel import NoKernel
    from impl.packed.kernels import Edited, kernel_for

    try:
        kernel_for(system)
    except Edited as error:
        print(f"kspec: {error}, so the reference engine explores", file=sys.stderr)
        return False
    except NoKernel as error:
        if sys.stderr.isatty():
            print(
                f"kspec: {error}, so the reference engine explores, some hundred times slower: "
                "smaller bounds are wise",
                file=sys.stderr,
            )
        return False
    return True


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def explore_natively(
    system: System[Any],
    limits: Limits,
    workers: int,
    on_progress: OnProgress | None = None,
    *,
    coverage: bool = False,
    symmetry: bool = False,
    keep: Keep | None = None,
) -> Verdict:
    """Explore with the native engine, and tell what it found as every engine does."""
    from checkers.native.search import explore as search
    from impl.packed.kernel import NoKernel

    try:
        found = search(
            system,
            workers=workers,
            max_states=limits.max_states,
            max_depth=limits.max_depth,
            max_memory=limits.max_memory,
            keep_going=limits.keep_going,
            symmetry=symmetry,
            coverage=coverage,
            keep=keep,
            progress=on_progress,
            compiling=say_compiling,
        )
    except NoKernel as error:
        instead = "use --engine reference"
        if keep:
            instead = "and only that one keeps a checkpoint"
        elif symmetry:
            instead = "explore it without --symmetry"
        raise SpecError(f"{error}; {instead}") from None
    return as_verdict(
        system,
        limits,
        found,
        "native",
        {"explore": found.seconds_explore, "compile": found.seconds_compile}
        | ({"checkpoint": found.seconds_checkpoint} if keep else {}),
    )


def as_verdict(
    system: System[Any],
    limits: Limits,
    found: Exploration[Any],
    engine: str,
    seconds: Mapping[str, float],
) -> Verdict:
    """What an engine found that goes by a kernel, told as every engine does."""
    violations = [as_violation(system, v) for v in found.violations]
    witnesses = {
        w.property: Trace(system, tuple(w.states), tuple(w.steps), w.property)
        for w in found.witnesses
    }
    if not found.stopped and (not violations or limits.keep_going):
        violations += [
            not_shown(p.name)
            for p in system.properties
            if isinstance(p, Reachable) and p.name not in witnesses
        ]
    stopped_by = limits.says(found.stopped) if found.stopped else ""
    word, violations = conclude(violations=violations, stopped_by=stopped_by)
    return Verdict(
        system=system,
        engine=engine,
        verdict=word,
        stopped_by=stopped_by,
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        levels=found.levels,
        rules={
            name: RuleCount(fired, stopped_by=found.stopped_by.get(name, {}))
            for name, fired in found.fired.items()
        },
        violations=violations,
        witnesses=witnesses,
        edge_of_bounds=None,
        seconds=seconds,
        bytes_per_state=round(found.peak_bytes / max(1, found.distinct)),
        workers=found.workers,
        stands_for=None if found.stands_for is None else sum(found.stands_for),
    )


def say_compiling() -> None:
    """The first run takes longer, and says why where there is somebody to read it."""
    if sys.stderr.isatty():
        print("compiling the native engine, once; later runs start at once", file=sys.stderr)


def as_violation(system: System[Any], found: Any) -> Violation:
    """What the native engine found, with the place where the property fails."""
    trace = Trace(system, tuple(found.states), tuple(found.steps), found.property)
    if found.property == DEADLOCK:
        return Violation(DEADLOCK, EXIT_DEADLOCK, DEADLOCK_SAYS, trace)
    prop = next(p for p in system.properties if p.name == found.property)
    assert isinstance(prop, Always)
    where = prop.failure(found.states[-1])
    assert where is not None, f"the kernel sees {found.property} violated, the specification not"
    return Violation(
        found.property,
        EXIT_ALWAYS,
        fails(found.property, where),
        Trace(system, trace.states, trace.steps, found.property, where),
    )
