"""Choose the engine that explores a system, or walks through it."""

from __future__ import annotations

from typing import Any

import attrs

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.race import SMALL, explore_by_auto, is_large
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.simulate import Sampling, TooManyStates, WalksByRules
from kspec.checkers.engine.verdict import Verdict, kinds
from kspec.checkers.registered import SPARK, load
from kspec.spec.core import Liveness, SpecError, System

LEARNED = ("learned", "kernel", "native")
"""The names of learned rules; the last two are from when some models had hand-written code."""
ENGINES = ("auto", "reference", *LEARNED, "spark")

LEARNED_PROPERTIES = 59
"""The most properties that learned rules can evaluate."""


def run(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore with the engine that the options name; `auto` chooses the fastest one."""
    options = options or Options()
    if options.engine == "spark":
        if options.coverage or options.symmetry:
            what = "symmetry" if options.symmetry else "coverage"
            raise SpecError(f"the spark engine does not support --{what}")
        verdict: Verdict = load(SPARK, "explore")(system, options)
        return verdict
    if options.master:
        raise SpecError("--master requires --engine spark")
    if options.checkpoint and (options.coverage or options.symmetry):
        raise SpecError("--checkpoint cannot be combined with --coverage or --symmetry")
    engine = chosen(options)
    if options.symmetry:
        refuse_liveness(system)
    if engine == "auto" and options.symmetry:
        engine = "learned" if is_large(system, options) else "reference"
    if engine == "auto" and options.max_states and options.max_states <= SMALL:
        options, engine = attrs.evolve(options, workers=1), "reference"
    if engine == "auto":
        return explore_by_auto(system, options)
    if engine == "reference":
        if options.checkpoint:
            raise SpecError("the reference engine does not support checkpoints; the others do")
        return explore(system, options)
    from kspec.checkers.engine.learned.search import explore_by_learning  # imports compiled code

    return explore_by_learning(system, options)


def refuse_liveness(system: System[Any]) -> None:
    """Reject liveness properties: a quotient by orbits does not preserve them.

    A loop of orbits is a loop of states, gone round several times under other names; so it does
    not show that each member, or only one of them, takes the step that fairness requires of it.
    """
    for prop in system.properties:
        if isinstance(prop, Liveness):
            raise SpecError(
                f"{prop.name} is a liveness property, which --symmetry cannot check: orbits do not "
                "show who takes a fair step; select the others with --property, or omit --symmetry"
            )


def chosen(options: Options) -> str:
    """The engine that the options select: reference, learned, or the one that ends first."""
    if options.engine == "reference":
        return "reference"
    is_asked = options.engine in LEARNED or options.check_learning or options.checkpoint
    return "learned" if is_asked else "auto"


def simulate(
    system: System[Any],
    sampling: Sampling,
    options: Options | None = None,
    *,
    few_states: int = SMALL,
) -> Verdict:
    """Walk at random until a property is violated or all walks are done.

    Systems with more than a few states are simulated by learned rules. Of the options, the limit
    on memory, the progress callback and the use of the cache apply.
    """
    options = options or Options()
    always, reachable, _ = kinds(system)
    limit = few_states if len(always) + len(reachable) < LEARNED_PROPERTIES else None
    try:
        return WalksByRules(system, sampling, options, limit).run()
    except TooManyStates:
        from kspec.checkers.engine.learned.simulate import simulate_by_learning

        return simulate_by_learning(system, sampling, options)
