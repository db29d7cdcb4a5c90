"""A model whose answers are known, with states as wide as one likes.

There are as many states as ways to set the dials, and as many at each depth as ways to have turned
that often. A dial takes two bits or more, so sixty dials take several words.
"""

from __future__ import annotations

import attrs
import numpy as np

from kspec.spec.core import Claims, Model, Step, Variant, always, bound, constant, limit, rule


@attrs.frozen
class DialBounds:
    """How many dials are turned, and how far."""

    dials: int = bound(5, 1, 60, "how many dials are turned")
    top: int = bound(3, 1, 31, "how far each is turned")
    alarm: int = bound(0, 0, 1000, "how many turns are too many; 0 if none are")
    stuck: int = bound(0, 0, 1000, "after how many turns the dials are stuck; 0 if never")


@attrs.frozen
class Dials:
    """The dials that are turned."""

    turned: tuple[int, ...]
    """How far each is."""
    turns: int = 0
    """How far all are together."""
    bounds: DialBounds = constant()
    """Which they are."""


@rule(by="hand", dial=lambda s: range(s.bounds.dials))
def turn(s: Dials, dial: int) -> Step[Dials]:
    """Turn one dial on by one."""
    yield limit("dial is below its top"), s.turned[dial] < s.bounds.top
    yield "dials are not stuck", s.bounds.stuck == 0 or s.turns < s.bounds.stuck
    turned = (*s.turned[:dial], s.turned[dial] + 1, *s.turned[dial + 1 :])
    return attrs.evolve(s, turned=turned, turns=s.turns + 1)


@always
def NoAlarm(s: Dials) -> Claims:
    """Nobody has turned too often."""
    yield "the alarm", s.bounds.alarm == 0 or s.turns < s.bounds.alarm


DIALS = Model(
    name="dials",
    doc="Dials that are turned up one by one.",
    bounds=DialBounds,
    initial=lambda bounds: [Dials((0,) * bounds.dials, bounds=bounds)],
    properties=(NoAlarm,),
    variants=(Variant("dials", rules=(turn,), why="They turn."),),
)


def ways_to_turn(bounds: DialBounds) -> list[int]:
    """In how many ways so many turns can be shared out among the dials."""
    ways = np.ones(1, np.int64)
    for _ in range(bounds.dials):
        ways = np.convolve(ways, np.ones(bounds.top + 1, np.int64))
    return [int(n) for n in ways]
