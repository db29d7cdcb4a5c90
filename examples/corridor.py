"""Two people step aside for each other in a corridor: a livelock, although nothing blocks.

It shows `leads_to`, weak fairness, and a counterexample that is a cycle (a lasso).
"""

from __future__ import annotations

from typing import Any

import attrs

from kspec.spec.core import Model, Step, Variant, Violated, evolve, leads_to, rule


@attrs.frozen
class Corridor:
    """Two people face each other in a corridor with two sides."""

    side: tuple[int, int] = (0, 0)
    """The side on which each of them walks: 0 or 1."""
    passed: bool = False
    """Whether they have passed each other."""


def people(s: Corridor) -> range:
    """The two people."""
    return range(2)


@rule(by="both")
def step_aside_together(s: Corridor) -> Step[Corridor]:
    """Both step aside at the same moment."""
    yield "they face each other", s.side[0] == s.side[1] and not s.passed
    return evolve(s, side=(1 - s.side[0], 1 - s.side[1]))


@rule(by="person", person=people)
def step_aside(s: Corridor, person: int) -> Step[Corridor]:
    """One of them steps aside; the other sees it and stays."""
    yield "they face each other", s.side[0] == s.side[1] and not s.passed
    side = list(s.side)
    side[person] = 1 - side[person]
    return evolve(s, side=(side[0], side[1]))


@rule(by="both")
def pass_by(s: Corridor) -> Step[Corridor]:
    """They walk on different sides, and pass each other."""
    yield "they walk on different sides", s.side[0] != s.side[1] and not s.passed
    return evolve(s, passed=True)


@leads_to(weakly_fair=[step_aside_together, step_aside, pass_by])
def TheyPass(s: Corridor) -> tuple[bool, bool]:
    """The two people eventually pass each other."""
    return True, s.passed


BOTH_POLITE = Variant(
    "both-polite",
    rules=(step_aside_together, pass_by),
    why="Both step aside at once and face each other again: both move, neither advances.",
    violates={"TheyPass": Violated(states=2)},
)

ONE_STEPS_ASIDE = BOTH_POLITE.derive(
    "one-steps-aside",
    replace={step_aside_together: step_aside},
    why="If only one steps aside, they stand on different sides, and pass.",
)

CORRIDOR: Model[Any] = Model(
    name="corridor",
    doc="Two people step aside for each other forever: a livelock without a deadlock.",
    initial=lambda bounds: [Corridor()],
    properties=(TheyPass,),
    variants=(BOTH_POLITE, ONE_STEPS_ASIDE),
    final=lambda s: s.passed,
)
