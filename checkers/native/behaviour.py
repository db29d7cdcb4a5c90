"""From words to a behaviour that can be read: states, and the steps between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from spec.core import System, Taken

S = TypeVar("S")


def behaviour(
    system: System[S], pack: Callable[[S], tuple[int, ...]], way: Sequence[tuple[int, ...]]
) -> tuple[list[S], list[Taken]]:
    """A behaviour of the system whose states are packed to these words, one after the other.

    Its steps are taken by the specification's own rules. Up to symmetry words stand for all
    states of an orbit: then it begins with one of the first orbit and goes on, from the state
    that it has come to, to one of the next; so a broker keeps its name all the way.
    """
    state = next(s for s in system.initial() if pack(s) == way[0])
    states, steps = [state], []
    for words in way[1:]:
        rule, choice, state = next(step for step in system.steps(state) if pack(step[2]) == words)
        states.append(state)
        steps.append(Taken(rule.name, dict(zip(rule.choices, choice, strict=True))))
    return states, steps
