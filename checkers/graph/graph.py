"""The state graph: all states and steps of a system as arrays.

The steps out of a state stand side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic

import attrs
import numpy as np

from kspec.checkers.engine.options import OnProgress, Progress
from kspec.checkers.engine.steps import (
    BATCH,
    Key,
    Numbers,
    Source,
    StepsByRules,
    level_by_level,
    taken,
)
from kspec.spec.core import SpecError, System, Taken
from kspec.spec.core.rules import S

MAX_STATES = 5_000_000
"""The default limit of a graph: a state takes about half a kilobyte."""


@attrs.frozen(eq=False)
class Graph(Generic[S]):
    """All states within the bounds, and the steps between them."""

    system: System[S]
    keys: Sequence[Key]
    """By state: its key, from which `as_state` makes the state."""
    levels: Numbers
    """By state: how many steps it is from the nearest initial state."""
    begins: Numbers
    """By state: its first step; its steps end where those of the next state begin."""
    to: Numbers
    """By step: the state that it leads to."""
    labels: Numbers
    """By step: its label."""
    as_state: Callable[[Any], S]
    acts: Sequence[Taken]
    """By label: the rule and its choices."""

    @property
    def initial(self) -> int:
        """How many of the states are initial: they are the first."""
        return int(np.count_nonzero(self.levels == 0))

    @cached_property
    def origins(self) -> Numbers:
        """By step: the state that it leads away from."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.begins))

    def state(self, number: int) -> S:
        """The state of that number."""
        return self.as_state(self.keys[number])

    def taken(self, step: int) -> Taken:
        """The rule of a step, and its choices."""
        return self.acts[int(self.labels[step])]

    @cached_property
    def parents(self) -> Numbers:
        """By state: the first step that leads there from one level before; -1 if initial."""
        forward = np.flatnonzero(self.levels[self.to] == self.levels[self.origins] + 1)
        found = np.full(len(self.keys), -1)
        found[self.to[forward[::-1]]] = forward[::-1]
        return found


def source_of(system: System[Any], *, by_rules: bool = False) -> Source[Any]:
    """Learned rules, or the rules themselves."""
    if by_rules:
        return StepsByRules(system)
    from kspec.checkers.engine.learned.steps import StepsByLearning  # imports compiled code

    return StepsByLearning(system)


def states_of(system: System[S], *, by_rules: bool = False) -> Iterator[S]:
    """The states of a system, nearest first."""
    source = source_of(system, by_rules=by_rules)
    return (source.state(number) for level in level_by_level(source) for number in level)


def graph_of(
    system: System[S],
    *,
    by_rules: bool = False,
    max_states: int = MAX_STATES,
    on_progress: OnProgress | None = None,
) -> Graph[S]:
    """All states within the bounds, and the steps between them."""
    source = source_of(system, by_rules=by_rules)
    return graph_up_to(source, max_states=max_states, on_progress=on_progress)[0]


def graph_up_to(
    source: Source[S],
    ends: Callable[[S], bool] | None = None,
    *,
    max_states: int | None = None,
    too_many: str = "the graph has more than {:,} states",
    on_progress: OnProgress | None = None,
) -> tuple[Graph[S], list[int]]:
    """The graph up to the first level in which the search ends, and the states where it does.

    Without `ends`, it has all states that a new source finds, and the steps between them.

    `too_many` says that there are more than so many states.
    """
    started = time.perf_counter()
    nothing = np.zeros(0, np.int64)
    parts = [(nothing, nothing, nothing)]
    levels: list[int] = []
    level, ended = range(len(source.keys)), list[int]()
    while level:
        levels += [levels[-1] + 1 if levels else 0] * len(level)
        ended = [number for number in level if ends(source.state(number))] if ends else []
        if ended:
            break
        for begin in range(level.start, level.stop, BATCH):
            end = min(begin + BATCH, level.stop)
            parts.append(source.expand(begin, end))
            found = len(source.keys)
            if max_states is not None and found > max_states:
                raise SpecError(
                    f"{too_many.format(max_states)}: take smaller bounds, or raise --max-states "
                    "where memory allows"
                )
            if on_progress:
                seconds = time.perf_counter() - started
                on_progress(Progress(levels[-1] + 1, found, found - end, seconds))
        level = range(level.stop, len(source.keys))
    origins, to, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    degrees = np.bincount(origins, minlength=len(source.keys))
    graph = Graph(
        system=source.system,
        keys=source.keys,
        levels=np.array(levels, np.int64),
        begins=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        to=to,
        labels=labels,
        as_state=source.as_state,
        acts=[taken(act) for act in source.acts],
    )
    return graph, ended
