"""A verdict as data, which one process sends to another that explores the same system.

Rules, states and choices cannot always be pickled. So a behaviour is sent as the index of each step
among the possible steps, and the other process takes these steps again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kspec.checkers.engine.verdict import Verdict
from kspec.spec.core import System, Taken
from kspec.traces.trace import STUTTERING, Trace

STAYS = -1
"""The index of a stuttering step."""


@attrs.frozen
class TraceData:
    """A behaviour as numbers."""

    initial: int
    """The place of its first state among the initial states."""
    steps: tuple[int, ...]
    """The place of each step among those out of its state."""
    property: str
    where: str
    loop: int | None


def trace_as_data(trace: Trace) -> TraceData:
    """A behaviour as numbers."""
    system = trace.system
    steps = tuple(map(lambda state, step: place_of(system, state, step), trace.states, trace.steps))
    first = system.initial().index(trace.states[0])
    return TraceData(first, steps, trace.property, trace.where, trace.loop)


def place_of(system: System[Any], state: Any, step: Taken) -> int:
    """The place of a step among those out of a state."""
    if step.rule == STUTTERING:
        return STAYS
    choices = tuple(step.choices.values())
    for place, (rule, choice, _) in enumerate(system.steps(state)):
        if rule.name == step.rule and choice == choices:
            return place
    raise ValueError("the system does not take this step")


def trace_from_data(data: TraceData, system: System[Any]) -> Trace:
    """The behaviour that was sent."""
    states = [system.initial()[data.initial]]
    steps = []
    for place in data.steps:
        if place == STAYS:
            steps.append(Taken(STUTTERING, {}))
            continue
        rule, choice, after = list(system.steps(states[-1]))[place]
        steps.append(Taken(rule.name, dict(zip(rule.choices, choice, strict=True))))
        states.append(after)
    if data.loop is not None and steps[-1].rule != STUTTERING:
        states.pop()  # the last step leads back into the loop
    return Trace(system, tuple(states), tuple(steps), data.property, data.where, data.loop)


def verdict_as_data(verdict: Verdict) -> Verdict:
    """A verdict that can be sent: without its system, and with behaviours as numbers."""
    return with_traces(verdict, None, trace_as_data)


def verdict_from_data(data: Verdict, system: System[Any]) -> Verdict:
    """The verdict that was sent."""
    return with_traces(data, system, lambda trace: trace_from_data(trace, system))


def with_traces(verdict: Verdict, system: Any, change: Callable[[Any], Any]) -> Verdict:
    """A verdict with another system, and with its behaviours changed."""
    return attrs.evolve(
        verdict,
        system=system,
        violations=[
            attrs.evolve(one, trace=change(one.trace) if one.trace else None)
            for one in verdict.violations
        ],
        witnesses={name: change(trace) for name, trace in verdict.witnesses.items()},
    )
