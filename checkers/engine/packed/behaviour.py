"""Turn packed states into a trace: states, and the steps between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kspec.spec.core import System, Taken
from kspec.traces.trace import Trace

S = TypeVar("S")


def behaviour(
    system: System[S],
    pack: Callable[[S], tuple[int, ...]],
    way: Sequence[tuple[int, ...]],
    mark: str,
) -> Trace:
    """The behaviour of the system whose states are packed to these words, and whose end has a mark.

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
    return Trace(system, tuple(states), tuple(steps), mark)
