"""Steps: the states of a system and the steps between them, found by any engine.

A search evaluates properties and forgets the steps. Whatever else needs states or steps (liveness,
traces, transition diagrams, refinement, mutation) takes them from a `Source`. A source numbers the
states in breadth-first order, and expands them by learned rules or by the rules themselves. The
order of states and steps is always that of the reference engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias

import numpy as np

from kspec.checkers.engine.numbered import Numbered
from kspec.spec.core import Choice, Liveness, Rule, System, Taken
from kspec.spec.core.errors import code_of
from kspec.spec.core.rules import S

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

Act: TypeAlias = tuple[Rule[Any], Choice]
"""A rule with its choices."""

Key: TypeAlias = Hashable
"""What a source stores for a state: its words as bytes, or the state itself."""

BATCH = 2048
"""How many states are expanded at a time."""


class Source(ABC, Generic[S]):
    """Finds states and steps. States are numbered in the order in which they are found."""

    is_complete = False
    """Whether all states are found before any is expanded."""

    def __init__(self, system: System[S]) -> None:
        self.system = system
        self.acts: Numbered[Act] = Numbered()
        """By label: the rule and its choices."""
        self.keys: Numbered[Key] = Numbered()
        """By state: its key."""
        self.parents: list[int] = []
        """By state: the one that it was found from; -1 for an initial state."""

    def begin(self, keys: Iterable[Key]) -> None:
        """Take the initial states."""
        self.keys = Numbered(dict.fromkeys(keys))
        self.parents = [-1] * len(self.keys)

    def expand(self, begin: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """The steps out of a range of states: where each begins, where it ends, and its label.

        Steps are in the order of states, rules and choices. New states get the next numbers.
        """
        origins, after, labels = self.steps(begin, end)
        known = len(self.keys)
        to = np.fromiter(map(self.keys.number, after), np.int64)
        new = np.flatnonzero(to >= known)
        places = new[np.unique(to[new], return_index=True)[1]]
        self.parents += origins[places].tolist()
        return origins, to, labels

    @abstractmethod
    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        """The steps out of a range of states, as `expand` has them, but with keys."""

    @abstractmethod
    def as_state(self, key: Any) -> S:
        """The state of a key."""

    @abstractmethod
    def as_key(self, state: S) -> Key:
        """The key of a state."""

    def state(self, number: int) -> S:
        """The state of that number."""
        return self.as_state(self.keys[number])

    def way_to(self, state: S) -> list[S]:
        """A shortest way to a state that was found, from an initial state."""
        numbers = [self.keys.numbers[self.as_key(state)]]
        while (before := self.parents[numbers[-1]]) >= 0:
            numbers.append(before)
        return [self.state(number) for number in reversed(numbers)]

    def judged(self, prop: Liveness[S]) -> tuple[Numbers, Numbers]:
        """The states found so far that a liveness property begins in, and those that reach it."""
        states = [self.state(number) for number in range(len(self.keys))]
        with code_of(f"property {prop.name}", prop.body):
            begun = [number for number, state in enumerate(states) if prop.begins(state)]
            reached = [number for number, state in enumerate(states) if prop.reached(state)]
        return np.array(begun, np.int64), np.array(reached, np.int64)


def taken(act: Act) -> Taken:
    """A rule with its choices, as a step."""
    rule, choice = act
    return Taken(rule.name, dict(zip(rule.choices, choice, strict=True)))


class StepsByRules(Source[S]):
    """Runs the rules themselves.

    `came_from` may have all states in the order in which they were found, each with the state
    that it was found from; they are then not searched for again.
    """

    def __init__(self, system: System[S], came_from: Mapping[S, S | None] | None = None) -> None:
        super().__init__(system)
        self.begin(system.initial() if came_from is None else came_from)
        self.is_complete = came_from is not None
        if came_from is not None:
            before = came_from.values()
            self.parents = [-1 if state is None else self.keys.numbers[state] for state in before]

    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        origins, after, labels = [], [], []
        for number in range(begin, end):
            for rule, choice, state in self.system.steps(self.state(number)):
                origins.append(number)
                after.append(state)
                labels.append(self.acts.number((rule, choice)))
        return np.array(origins, np.int64), after, np.array(labels, np.int64)

    def as_state(self, key: Any) -> S:
        state: S = key
        return state

    def as_key(self, state: S) -> Key:
        return state


def level_by_level(source: Source[Any]) -> Iterator[range]:
    """The numbers of the states of each level; each level is found when it is requested."""
    level = range(len(source.keys))
    while level:
        yield level
        for begin in range(level.start, level.stop, BATCH):
            source.expand(begin, min(begin + BATCH, level.stop))
        level = range(level.stop, len(source.keys))
