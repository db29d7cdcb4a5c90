"""Random walks of specification and implementation, by Hypothesis."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from kspec.checkers.lockstep.adapter import Adapter
from kspec.checkers.lockstep.shorten import shortened
from kspec.checkers.lockstep.step import (
    Attempt,
    Compared,
    Difference,
    attempts,
    compare_loaded,
    compare_step,
)
from kspec.checkers.needs import needs
from kspec.spec.core import Blocked, System, Taken
from kspec.traces.itf import to_itf

if TYPE_CHECKING:
    from hypothesis import settings as Settings
    from hypothesis.stateful import RuleBasedStateMachine

MOST_PICKS = 1 << 16
"""More than there are choices; a pick is taken modulo their number."""


MOST_SEEDS = 1 << 32


class Differs(AssertionError):
    """The implementation differs from the specification; the message has the behaviour."""

    def __init__(self, difference: Difference) -> None:
        """Put the behaviour into the message."""
        super().__init__("\n" + str(difference))
        self.difference = difference


class Walk:
    """One behaviour of specification and implementation, so far."""

    def __init__(
        self, adapter: Adapter[Any, Any], system: System[Any], compared: Compared, start: Any
    ) -> None:
        """Begin in an initial state."""
        self.adapter = adapter
        self.system = system
        self.compared = compared
        self.states = [start]
        self.steps: list[Taken] = []
        self.subject = adapter.load(start)
        self.check(compare_loaded(adapter, self.subject, start))
        self.look()

    def look(self) -> None:
        """Find the enabled steps, rule by rule, and those that must be refused."""
        self.possible: dict[str, list[Attempt]] = {}
        self.forbidden: list[Attempt] = []
        for attempt in attempts(self.adapter, self.system, self.states[-1]):
            if isinstance(attempt[2], Blocked):
                self.forbidden.append(attempt)
            else:
                self.possible.setdefault(attempt[0].name, []).append(attempt)

    def weighted(self, weights: Mapping[str, int]) -> list[Attempt]:
        """All of these steps, each repeated by its weight."""
        possible = [
            attempt
            for name, attempts in self.possible.items()
            for attempt in attempts * weights.get(name, 1)
        ]
        return possible + self.forbidden

    def take(self, attempt: Attempt) -> None:
        """Take or refuse a step in both; skip it if the model does not cover it."""
        rule, choice, outcome = attempt
        taken_before = self.compared.steps
        state = self.states[-1]
        self.check(compare_step(self.adapter, self.subject, state, attempt, self.compared))
        if self.compared.steps > taken_before:
            self.steps.append(Taken(rule.name, dict(zip(rule.choices, choice, strict=True))))
            self.states.append(outcome)
            self.look()

    def check(self, found: Difference | None) -> None:
        """Raise a difference, with the behaviour that led to it."""
        if found:
            raise Differs(found.after(tuple(self.states), tuple(self.steps)))


def chance_of(seed: int, walk: Walk) -> Random:
    """The generator for the next step: Hypothesis repeats some seeds, so the position counts."""
    return Random(seed << 16 | len(walk.steps))


def machine(
    adapter: Adapter[Any, Any],
    system: System[Any],
    compared: Compared | None = None,
    weights: Mapping[str, int] | None = None,
) -> type[RuleBasedStateMachine]:
    """A Hypothesis state machine with a rule for each of the system's rules.

    `walk_in_step` runs it; you may also run it yourself. A walk restarts in a state without
    enabled steps. At most one forbidden step is tried in a state.

    `weights` make steps of some rules likelier, by rule: useful where rules that are always
    enabled would otherwise keep walks from getting far.
    """
    needs("a walk in step", "test", "hypothesis")
    from hypothesis import stateful
    from hypothesis import strategies as st

    starts = system.initial()
    counted = Compared() if compared is None else compared
    pick = st.integers(0, MOST_PICKS - 1)

    class Begun(stateful.RuleBasedStateMachine):
        walk: Walk

        @stateful.initialize(pick=pick)
        def begin(self, pick: int) -> None:
            self.walk = Walk(adapter, system, counted, starts[pick % len(starts)])

    class InStep(Begun):
        @stateful.precondition(lambda self: not self.walk.possible)
        @stateful.rule(pick=pick)
        def begin_anew(self, pick: int) -> None:
            self.begin(pick)

    class Weighted(Begun):
        @stateful.rule(seed=st.integers(0, MOST_SEEDS))
        def step(self, seed: int) -> None:
            likely = self.walk.weighted(weights or {})
            if likely:
                self.walk.take(chance_of(seed, self.walk).choice(likely))
            else:
                self.begin(seed)

    if weights is not None:
        return Weighted

    def step(name: str) -> Callable[..., None]:
        def take(self: InStep, pick: int) -> None:
            possible = self.walk.possible[name]
            self.walk.take(possible[pick % len(possible)])

        take.__name__ = name
        decorated = stateful.rule(pick=pick)(take)
        return stateful.precondition(lambda self: name in self.walk.possible)(decorated)

    def forbidden(self: InStep, pick: int) -> None:
        forbidden, self.walk.forbidden = self.walk.forbidden, []
        self.walk.take(forbidden[pick % len(forbidden)])

    some_forbidden = stateful.precondition(lambda self: bool(self.walk.forbidden))
    methods = {f"take_{rule.name}": step(rule.name) for rule in system.rules}
    methods["try_forbidden"] = some_forbidden(stateful.rule(pick=pick)(forbidden))
    return type(f"InStep_{system.model.name}", (InStep,), methods)


def walk_in_step(
    adapter: Adapter[Any, Any],
    system: System[Any],
    settings: Settings | None = None,
    *,
    weights: Mapping[str, int] | None = None,
    save_itf: Path | None = None,
) -> Compared:
    """Walk at random within Hypothesis' settings; raise `Differs` with a shrunk behaviour.

    `weights` are those of `machine`. `save_itf` names a file for the trace, for `kspec show`.
    """
    compared = Compared()
    walks = machine(adapter, system, compared, weights)
    try:
        run_walks(walks, settings, shrinks=weights is None)
    except Differs as differs:
        shorter = Differs(shortened(adapter, system, differs.difference))
        if save_itf is not None:
            document = to_itf(shorter.difference.trace(system))
            save_itf.write_text(json.dumps(document), encoding="utf-8")
            shorter.add_note(f"The specification's side, as a file: {save_itf}")
        raise shorter from None
    return compared


def run_walks(
    walks: type[RuleBasedStateMachine], settings: Settings | None = None, *, shrinks: bool
) -> None:
    """Run a state machine of walks within the settings; raise `Differs` on a difference.

    Hypothesis should not shrink walks whose steps come from seeds, since a smaller seed is no
    simpler step; `shortened` leaves out whole steps.
    """
    from hypothesis import HealthCheck, Phase
    from hypothesis import settings as default
    from hypothesis.stateful import run_state_machine_as_test

    given = settings or default(deadline=None)  # steps may take long
    without = {Phase.explain} if shrinks else {Phase.explain, Phase.shrink}  # the trace explains
    phases = tuple(p for p in given.phases if p not in without)
    # Steps are taken while they are drawn, so slow drawing is no sign of a bad strategy.
    unhurried = (*given.suppress_health_check, HealthCheck.too_slow)
    chosen = default(
        given, phases=phases, report_multiple_bugs=False, suppress_health_check=unhurried
    )
    run_state_machine_as_test(walks, settings=chosen)
