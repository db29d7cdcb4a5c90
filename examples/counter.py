"""A counter that counts up to a bound: the smallest model there is.

It has as many states as its bound says, plus one.
"""

from __future__ import annotations

import attrs

from kspec.spec.core import (
    Model,
    Step,
    Variant,
    always,
    bound,
    constant,
    evolve,
    limit,
    reachable,
    rule,
)


@attrs.frozen
class CounterBounds:
    """How far the counter counts."""

    top: int = bound(5, 0, 1_000_000, "the number at which counting stops")


@attrs.frozen
class Counter:
    """One number."""

    value: int
    """How often it was counted up."""
    bounds: CounterBounds = constant()
    """How far the counter counts."""


@rule(by="counter")
def count(s: Counter) -> Step[Counter]:
    """Count up by one."""
    yield limit("there is a next number"), s.value < s.bounds.top
    return evolve(s, value=s.value + 1)


@always
def NeverNegative(s: Counter) -> bool:
    """A counter that only counts up is never negative."""
    return s.value >= 0


@reachable
def ReachesTop(s: Counter) -> bool:
    """The counter can reach its bound."""
    return s.value == s.bounds.top


COUNTER = Model(
    name="counter",
    doc="A counter that counts up to a bound: the smallest model there is.",
    bounds=CounterBounds,
    initial=lambda bounds: [Counter(0, bounds=bounds)],
    properties=(NeverNegative, ReachesTop),
    variants=(Variant("counter", rules=(count,), why="It counts up."),),
)
