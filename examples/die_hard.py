"""Measure four litres with a jug of three and a jug of five.

The property claims that it cannot be done, so its shortest counterexample is the shortest
solution.
"""

from __future__ import annotations

import attrs

from kspec.spec.core import (
    Claims,
    Model,
    Variant,
    Violated,
    always,
    bound,
    constant,
    evolve,
    rule,
)


@attrs.frozen
class JugBounds:
    """The capacity of each jug, and the volume to measure."""

    small: int = bound(3, 1, 99, "litres that the small jug holds")
    big: int = bound(5, 1, 99, "litres that the big jug holds")
    goal: int = bound(4, 0, 99, "litres to be measured in the big jug")


@attrs.frozen
class Jugs:
    """Two jugs without marks."""

    small: int
    """Litres in the small jug."""
    big: int
    """Litres in the big jug."""
    bounds: JugBounds = constant()
    """The capacity of each jug, and the volume to measure."""


@rule(by="hero")
def fill_small(s: Jugs) -> Jugs:
    """Fill the small jug from the tap."""
    return evolve(s, small=s.bounds.small)


@rule(by="hero")
def fill_big(s: Jugs) -> Jugs:
    """Fill the big jug from the tap."""
    return evolve(s, big=s.bounds.big)


@rule(by="hero")
def empty_small(s: Jugs) -> Jugs:
    """Empty the small jug on the floor."""
    return evolve(s, small=0)


@rule(by="hero")
def empty_big(s: Jugs) -> Jugs:
    """Empty the big jug on the floor."""
    return evolve(s, big=0)


@rule(by="hero")
def pour_small_into_big(s: Jugs) -> Jugs:
    """Pour until the small jug is empty or the big one is full."""
    poured = min(s.small, s.bounds.big - s.big)
    return evolve(s, small=s.small - poured, big=s.big + poured)


@rule(by="hero")
def pour_big_into_small(s: Jugs) -> Jugs:
    """Pour until the big jug is empty or the small one is full."""
    poured = min(s.big, s.bounds.small - s.small)
    return evolve(s, small=s.small + poured, big=s.big - poured)


@always
def GoalIsNeverMeasured(s: Jugs) -> Claims:
    """The big jug never holds the goal: the counterexample is the solution."""
    yield f"{s.big} litres in the big jug", s.big != s.bounds.goal


DIE_HARD = Model(
    name="die-hard",
    doc="Measure four litres with two jugs; the shortest solution has seven states.",
    bounds=JugBounds,
    initial=lambda bounds: [Jugs(0, 0, bounds=bounds)],
    properties=(GoalIsNeverMeasured,),
    variants=(
        Variant(
            "die-hard",
            rules=(
                fill_small,
                fill_big,
                empty_small,
                empty_big,
                pour_small_into_big,
                pour_big_into_small,
            ),
            why="The puzzle of the film Die Hard with a Vengeance.",
            violates={"GoalIsNeverMeasured": Violated(states=7)},
        ),
    ),
)
