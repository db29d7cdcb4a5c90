"""Turn packed states into a behaviour: states, and the steps between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kspec.spec.core import System, Taken

S = TypeVar("S")


def behaviour(
    system: System[S], pack: Callable[[S], tuple[int, ...]], way: Sequence[tuple[int, ...]]
) -> tuple[list[S], list[Taken]]:
    """The behaviour of the system whose states are packed to these words.

    Its steps are taken by the specification's own rules. Up to symmetry, words stand for all
    states of an orbit: the behaviour then begins in a state of the first orbit, and each step
    leads to a state of the next orbit, so that every broker keeps its name.
    """
    state = next(s for s in system.initial() if pack(s) == way[0])
    states, steps = [state], []
    for words in way[1:]:
        rule, choice, state = next(step for step in system.steps(state) if pack(step[2]) == words)
        states.append(state)
        steps.append(Taken(rule.name, dict(zip(rule.choices, choice, strict=True))))
    return states, steps
