"""The state graph: states within the bounds and steps between them.

A search evaluates properties and forgets the steps. Whatever else needs states or steps (traces,
transition diagrams, liveness, refinement, mutation) takes them from a `Source`. A
source numbers the states in breadth-first order, and expands them by a hand-written kernel, by
learned rules, or by the rules themselves. The order of states and steps is always the same, and
is the order of the reference engine except with a hand-written kernel.

A `Graph` holds all states and steps as arrays: the steps out of a state stand side by side.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.options import OnProgress, Progress
from kspec.checkers.engine.run import has_kernel
from kspec.spec.core import Choice, Liveness, Rule, SpecError, System, Taken
from kspec.spec.core.errors import code_of
from kspec.spec.core.rules import S

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.search import Learnable

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

Act: TypeAlias = tuple[Rule[Any], Choice]
"""A rule with its choices."""

Key: TypeAlias = Hashable
"""What a source stores for a state: its words as bytes, or the state itself."""

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
    """By step: its label, from which `as_taken` makes the rule and its choices."""
    as_state: Callable[[Any], S]
    as_taken: Callable[[int, S], Taken]
    acts: Sequence[Act] | None = None
    """By label: the rule and its choices, where that does not depend on the state before."""

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

    def taken(self, step: int, before: S) -> Taken:
        """The rule of a step and what it chose, given the state before it."""
        return self.as_taken(int(self.labels[step]), before)

    @cached_property
    def parents(self) -> Numbers:
        """By state: the first step that leads there from one level before; -1 if initial."""
        forward = np.flatnonzero(self.levels[self.to] == self.levels[self.origins] + 1)
        found = np.full(len(self.keys), -1)
        found[self.to[forward[::-1]]] = forward[::-1]
        return found


BATCH = 2048
"""How many states are expanded at a time."""


class Source(ABC, Generic[S]):
    """Finds states and steps. States are numbered in the order in which they are found."""

    is_portable = True
    """Whether a key means the same state in every process."""
    is_complete = False
    """Whether all states are found before any is expanded."""

    def __init__(self, system: System[S]) -> None:
        self.system = system
        self.acts: list[Act] | None = []
        """By label: the rule and its choices; None if that depends on the state before."""
        self.labels: dict[Act, int] = {}
        self.keys: list[Key] = []
        """By state: its key."""
        self.numbers: dict[Key, int] = {}
        """By key: the number of the state."""
        self.parents: list[int] = []
        """By state: the one that it was found from; -1 for an initial state."""

    def begin(self, keys: Iterable[Key]) -> None:
        """Take the initial states."""
        self.keys = list(dict.fromkeys(keys))
        self.numbers = {key: number for number, key in enumerate(self.keys)}
        self.parents = [-1] * len(self.keys)

    def expand(self, begin: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """The steps out of a range of states: where each begins, where it ends, and its label.

        Steps are in the order of states, rules and choices. New states get the next numbers.
        """
        origins, after, labels = self.steps(begin, end)
        numbers, known = self.numbers, len(self.keys)
        to = np.fromiter((numbers.setdefault(key, len(numbers)) for key in after), np.int64)
        new = np.flatnonzero(to >= known)
        places = new[np.unique(to[new], return_index=True)[1]]
        self.keys += [after[place] for place in places.tolist()]
        self.parents += origins[places].tolist()
        return origins, to, labels

    @abstractmethod
    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        """The steps out of a range of states, as `expand` has them, but with keys."""

    def label(self, act: Act) -> int:
        """The label of a rule with its choices."""
        assert self.acts is not None
        label = self.labels.setdefault(act, len(self.acts))
        if label == len(self.acts):
            self.acts.append(act)
        return label

    @abstractmethod
    def as_state(self, key: Any) -> S:
        """The state of a key."""

    @abstractmethod
    def as_key(self, state: S) -> Key:
        """The key of a state."""

    def as_taken(self, label: int, before: S) -> Taken:
        """The rule and its choices that a label denotes, given the state before."""
        assert self.acts is not None
        return taken(self.acts[label])

    def state(self, number: int) -> S:
        """The state of that number."""
        return self.as_state(self.keys[number])

    def way_to(self, state: S) -> list[S]:
        """A shortest way to a state that was found, from an initial state."""
        numbers = [self.numbers[self.as_key(state)]]
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


class ByRules(Source[S]):
    """Runs the rules themselves."""

    def __init__(self, system: System[S], came_from: Mapping[S, S | None] | None) -> None:
        super().__init__(system)
        self.begin(system.initial() if came_from is None else came_from)
        self.is_complete = came_from is not None
        if came_from is not None:
            before = came_from.values()
            self.parents = [-1 if state is None else self.numbers[state] for state in before]

    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        origins, after, labels = [], [], []
        for number in range(begin, end):
            for rule, choice, state in self.system.steps(self.state(number)):
                origins.append(number)
                after.append(state)
                labels.append(self.label((rule, choice)))
        return np.array(origins, np.int64), after, np.array(labels, np.int64)

    def as_state(self, key: Any) -> S:
        state: S = key
        return state

    def as_key(self, state: S) -> Key:
        return state


def source_of(system: System[Any], *, by_rules: bool = False) -> Source[Any]:
    """The kernel where there is one, else learned rules; or the rules themselves."""
    if by_rules:
        return from_rules(system)
    return from_kernel(system) if has_kernel(system) else from_learning(system)


def from_rules(system: System[S], came_from: Mapping[S, S | None] | None = None) -> Source[S]:
    """States and steps by the rules themselves.

    `came_from` may have all states in the order in which they were found, each with the state
    that it was found from; they are then not searched for again.
    """
    return ByRules(system, came_from)


def from_kernel(system: System[S]) -> Source[S]:
    """States and steps by the hand-written kernel."""
    from kspec.checkers.graph.sources import ByHand

    return ByHand(system)


def from_learning(system: System[S], learned: Learnable | None = None) -> Source[S]:
    """States and steps by learned rules, beginning with what is already learned."""
    from kspec.checkers.graph.sources import ByLearning

    return ByLearning(system, learned)


def level_by_level(source: Source[Any]) -> Iterator[range]:
    """The numbers of the states of each level; each level is found when it is requested."""
    level = range(len(source.keys))
    while level:
        yield level
        for begin in range(level.start, level.stop, BATCH):
            source.expand(begin, min(begin + BATCH, level.stop))
        level = range(level.stop, len(source.keys))


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
    return graph_from(source, max_states=max_states, on_progress=on_progress)


def graph_from(
    source: Source[S],
    *,
    max_states: int | None = None,
    on_progress: OnProgress | None = None,
    left_out: Collection[int] = (),
) -> Graph[S]:
    """All states that a new source finds, and all steps but those out of some states."""
    started = time.perf_counter()
    nothing = np.zeros(0, np.int64)
    parts = [(nothing, nothing, nothing)]
    levels: list[int] = []
    done = 0
    while done < len(source.keys):
        end = min(done + BATCH, len(source.keys))
        if left_out:
            parts += [source.expand(n, n + 1) for n in range(done, end) if n not in left_out]
        else:
            parts.append(source.expand(done, end))
        keys, done = source.keys, end
        for parent in source.parents[len(levels) :]:
            levels.append(0 if parent < 0 else levels[parent] + 1)
        if max_states is not None and len(keys) > max_states:
            raise SpecError(
                f"the graph has more than {max_states:,} states: take smaller bounds, "
                "or raise --max-states where memory allows"
            )
        if on_progress:
            seconds = time.perf_counter() - started
            on_progress(Progress(levels[done - 1] + 1, len(keys), len(keys) - done, seconds))
    return assembled(source, parts, levels)


def assembled(
    source: Source[S], parts: Sequence[tuple[Numbers, Numbers, Numbers]], levels: Sequence[int]
) -> Graph[S]:
    """The graph of the states found so far, and of steps as `Source.expand` gave them."""
    keys = source.keys
    origins, to, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    degrees = np.bincount(origins, minlength=len(keys))
    return Graph(
        system=source.system,
        keys=keys,
        levels=np.array(levels, np.int64),
        begins=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        to=to,
        labels=labels,
        as_state=source.as_state,
        as_taken=source.as_taken,
        acts=source.acts,
    )
