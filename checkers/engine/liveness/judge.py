"""Liveness: the search for a fair behaviour that violates a liveness property.

Such a behaviour is a lasso: a stem, and a loop in the property's region. The loop lies in one
strongly connected component of the steps that change something, or it stutters in one state. It is
fair if it satisfies every fairness condition. Strong fairness is a Streett condition: where it is
enabled in a component but never taken, the states that enable it are removed, and the rest is
decomposed again.

A step that only a limit blocks could be taken beyond the bounds. So a fairness condition counts as
enabled there, and a behaviour that stops in such a state, or goes round in such states, is no
violation. Nor does it satisfy the property: such states are counted, and the verdict is
inconclusive if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.liveness.lasso import Lasso, shortest_lasso
from kspec.checkers.engine.liveness.passes import ALL, components, fitting, summarize
from kspec.checkers.engine.liveness.region import (
    Bits,
    Compact,
    Flags,
    Region,
    SourceOf,
    Steps,
    all_steps,
    region_of,
)
from kspec.checkers.engine.steps import Source
from kspec.spec.core import EventuallyAlways, Liveness, System, Taken
from kspec.traces.trace import STUTTERING, Trace, between


@attrs.frozen
class Found:
    """A fair behaviour that violates the property."""

    says: str
    trace: Trace


@attrs.frozen
class Judged:
    """What is known of a liveness property."""

    states: int
    """The states in which a violating behaviour could stay, all of which were judged."""
    found: Found | None
    cut_off: int
    """Of these, the states in which a behaviour stops, or goes round, only because of limits."""


@attrs.frozen(eq=False)
class FairParts:
    """Where a fair behaviour can stay forever, within a region."""

    stuttering: Flags
    """By state: whether it can stutter there."""
    component: Compact
    """By state: the fair component that it belongs to, or -1."""

    @property
    def states(self) -> Flags:
        """By state: whether it is in one of these parts."""
        found: Flags = self.stuttering | (self.component >= 0)
        return found


def judge(
    system: System[Any],
    props: Sequence[Liveness[Any]],
    source_of: SourceOf,
    go_on: Callable[[int], None] = lambda queue: None,
) -> Iterator[Judged]:
    """Search every state and step for a violation of each property.

    `source_of` makes a source of a system. `go_on` is called from time to time with the number of
    states that are found and not yet expanded.
    """
    if props:
        steps = all_steps(system, props, source_of, go_on)
    for prop in props:
        yield judged(system, prop, steps, go_on)


def judged(
    system: System[Any], prop: Liveness[Any], steps: Steps, go_on: Callable[[int], None]
) -> Judged:
    """Search every state and step for a violation of one property."""
    region = region_of(steps, prop, go_on)
    fair = fair_parts(region, region.able | region.cut, go_on)
    if fair.states.any():
        lasso = shortest_lasso(region, fair.stuttering, fair.component)
        return Judged(len(region.states), found(system, prop, steps.source, region, lasso), 0)
    if not region.cut.any():
        return Judged(len(region.states), None, 0)
    within = fair_parts(region, region.able, go_on)
    return Judged(len(region.states), None, int(np.count_nonzero(within.states)))


def fair_parts(region: Region, able: Bits, go_on: Callable[[int], None]) -> FairParts:
    """Where a fair behaviour can stay forever, given the conditions enabled in each state."""
    conditions = region.conditions
    fair = conditions.weak | conditions.strong
    stuttering = region.required & ~(able & fair).any(axis=1)
    component = np.full(len(region.states), -1, np.int32)
    count = 0
    for part in fair_components(region, able):
        go_on(0)
        component[part.states] = part.numbers + count
        count += part.count
    return FairParts(stuttering, component)


@attrs.frozen(eq=False)
class Part:
    """Some fair components, found in one pass."""

    states: Any
    """The states in them."""
    numbers: Any
    """By place in `states`: the number of the component."""
    count: int


def fair_components(region: Region, able: Bits) -> Iterator[Part]:
    """The strongly connected components that a fair behaviour can stay in forever."""
    conditions, size, words = region.conditions, len(region.states), able.shape[1]
    steps = len(region.to)
    alive = np.ones(size, np.bool_)
    component = np.empty(size, np.int32)
    while alive.any():
        count = fitting(components, steps)(region.begins, region.to, alive, component)
        every, some, taken = np.zeros((3, count, words), np.int64)
        every[:] = ALL
        sizes = np.zeros(count, np.int64)
        fitting(summarize, steps)(
            region.begins, region.to, region.labels, component, able, conditions.takes,
            every, some, taken, sizes,
        )  # fmt: skip
        visits = np.zeros(count, np.bool_)
        visits[component[alive & region.required]] = True
        possible = visits & (sizes > 1) & ~(every & conditions.weak & ~taken).any(axis=1)
        neglected = some & conditions.strong & ~taken
        is_fair = possible & ~neglected.any(axis=1)
        of = component[alive]
        states = np.flatnonzero(alive)
        if is_fair.any():
            numbers = np.cumsum(is_fair) - 1
            kept = is_fair[of]
            yield Part(states[kept], numbers[of[kept]], int(is_fair.sum()))
        avoided = (able[states] & neglected[of]).any(axis=1)
        goes_on = possible[of] & ~is_fair[of] & ~avoided
        alive = np.zeros(size, np.bool_)
        alive[states[goes_on]] = True


def found(
    system: System[Any],
    prop: Liveness[Any],
    source: Source[Any],
    region: Region,
    lasso: Lasso,
) -> Found:
    """The violation that a lasso shows."""
    stem = region.way_to(lasso.states[0], source.parents, by_trigger=lasso.by_trigger)
    numbers = [*stem, *(int(region.states[n]) for n in lasso.states[1:])]
    states = [source.state(number) for number in numbers]
    steps = [between(system, a, b) for a, b in pairwise(states)]
    loop = len(stem) - 1
    if len(lasso.states) == 1:
        steps.append(Taken(STUTTERING, {}))
        how = "the behaviour stops before it holds"
    else:
        steps.append(between(system, states[-1], states[loop]))
        how = "the behaviour repeats, and it never holds"
        if isinstance(prop, EventuallyAlways):
            how = "the behaviour repeats, and it is false in the loop"
    more = "" if lasso.is_shortest else "; a shorter one may exist"
    trace = Trace(system, tuple(states), tuple(steps), prop.name, "", loop)
    return Found(f"{prop.name} fails: {how}{more}", trace)
