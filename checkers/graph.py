"""Every state and every step within the bounds, as arrays that fit in one machine's memory.

An exploration looks at states and forgets the steps. What asks about steps (each taken at
least once, all ways of some length) needs the graph: states are numbered in the order in which
they are found, breadth first, and the steps out of a state stand side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeAlias

import attrs
import numpy as np

from checkers.engines import has_kernel
from checkers.limits import OnProgress, Progress
from spec.core import Blocked, Choice, Rule, SpecError, System, Taken
from spec.core.rules import S

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

Key: TypeAlias = Hashable
"""What stands for a state while it is looked for: its words, or the state itself."""

MAX_STATES = 5_000_000
"""A larger graph is refused, unless it is asked for: a state takes about half a kilobyte."""


@attrs.frozen(eq=False)
class Graph(Generic[S]):
    """The states within the bounds, and the steps between them."""

    system: System[S]
    keys: Sequence[Key]
    """By state: what `as_state` makes the state of."""
    levels: Numbers
    """By state: how many steps it is from the nearest initial state."""
    begins: Numbers
    """By state: its first step; its steps end where those of the next state begin."""
    to: Numbers
    """By step: the state that it leads to."""
    labels: Numbers
    """By step: what `as_taken` makes the rule and its choices of, given the state before."""
    as_state: Callable[[Any], S]
    as_taken: Callable[[int, S], Taken]

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


@attrs.frozen(eq=False)
class Source(Generic[S]):
    """Where states and steps come from: the rules, or a kernel."""

    first: Sequence[Key]
    """The initial states."""
    expand: Callable[[Sequence[Any]], Iterator[tuple[int, Key, int]]]
    """For some keys: every step, as the place among them, the key after, and a label."""
    as_state: Callable[[Any], S]
    as_key: Callable[[S], Key]
    as_taken: Callable[[int, S], Taken]
    """What a label says, given the state before."""


def source_of(system: System[Any], *, by_rules: bool = False) -> Source[Any]:
    """The kernel where there is one, else the rules themselves."""
    return from_rules(system) if by_rules or not has_kernel(system) else from_kernel(system)


def from_rules(system: System[S]) -> Source[S]:
    """States and steps by the rules; a label is the place of a rule and its choices among all
    that the state offers, so that it means the same in another process.
    """

    def expand(states: Sequence[S]) -> Iterator[tuple[int, Key, int]]:
        for place, state in enumerate(states):
            for label, (rule, choice) in enumerate(offers(system, state)):
                after = rule.attempt(state, choice)
                if not isinstance(after, Blocked):
                    yield place, after, label

    def taken(label: int, before: S) -> Taken:
        rule, choice = next(islice(offers(system, before), label, None))
        return Taken(rule.name, dict(zip(rule.choices, choice, strict=True)))

    def same(state: Any) -> Any:
        return state

    return Source(system.initial(), expand, same, same, taken)


def offers(system: System[S], state: S) -> Iterator[tuple[Rule[S], Choice]]:
    """Every rule with all of its choices, whether it is blocked or not."""
    return ((rule, choice) for rule in system.rules for choice in rule.instances(state))


def from_kernel(system: System[S]) -> Source[S]:
    """States and steps by the kernel; keys are packed states, labels what the kernel says."""
    from impl.packed.kernels import kernel_for

    kernel = kernel_for(system)
    room = BATCH * kernel.fanout
    todo = np.empty((len(kernel.acts), room), np.int64)
    successors = np.empty((len(kernel.layout.widths), room), np.int64)
    origins = np.empty(room, np.int64)
    counts = np.empty(len(kernel.acts), np.int64)

    def expand(keys: Sequence[Any]) -> Iterator[tuple[int, Key, int]]:
        words = np.array(keys, np.int64).T.copy()
        done, n = kernel.expand(words, 0, len(keys), todo, successors, origins, counts)
        assert done == len(keys), "there is room for the successors of a batch"
        places = (origins[:n] >> 16).tolist()
        labels = (origins[:n] & 0xFFFF).tolist()
        yield from zip(places, zip(*successors[:, :n].tolist(), strict=True), labels, strict=True)

    first = [kernel.pack(state) for state in system.initial()]
    return Source(first, expand, kernel.unpack, kernel.pack, kernel.taken)


def level_by_level(source: Source[Any], came_from: dict[Key, Key | None]) -> Iterator[list[Key]]:
    """The states of each level, which is not looked for before it is asked for.

    Notes for each the one that it was found from.
    """
    level = list(source.first)
    came_from.update(dict.fromkeys(level))
    while level:
        yield level
        found: list[Key] = []
        for begin in range(0, len(level), BATCH):
            batch = level[begin : begin + BATCH]
            for place, after, _ in source.expand(batch):
                if after not in came_from:
                    came_from[after] = batch[place]
                    found.append(after)
        level = found


def graph_of(
    system: System[S],
    *,
    by_rules: bool = False,
    max_states: int = MAX_STATES,
    on_progress: OnProgress | None = None,
) -> Graph[S]:
    """Go through all that can be reached, breadth first, and number it."""
    begun = time.perf_counter()
    source = source_of(system, by_rules=by_rules)
    numbers = {key: number for number, key in enumerate(source.first)}
    keys = list(numbers)
    levels = [0] * len(keys)
    origins: list[int] = []
    to: list[int] = []
    labels: list[int] = []
    done = 0
    while done < len(keys):
        batch = keys[done : done + BATCH]
        for place, after, label in source.expand(batch):
            number = numbers.get(after)
            if number is None:
                number = numbers[after] = len(keys)
                keys.append(after)
                levels.append(levels[done + place] + 1)
            origins.append(done + place)
            to.append(number)
            labels.append(label)
        done += len(batch)
        if len(keys) > max_states:
            raise SpecError(
                f"the graph has more than {max_states:,} states: take smaller bounds, "
                "or raise --max-states where memory allows"
            )
        if on_progress:
            seconds = time.perf_counter() - begun
            on_progress(Progress(levels[done - 1] + 1, len(keys), len(keys) - done, seconds))
    order = np.argsort(np.array(origins, np.int64), kind="stable")
    degrees = np.bincount(np.array(origins, np.int64), minlength=len(keys))
    return Graph(
        system=system,
        keys=keys,
        levels=np.array(levels, np.int64),
        begins=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        to=np.array(to, np.int64)[order],
        labels=np.array(labels, np.int64)[order],
        as_state=source.as_state,
        as_taken=source.as_taken,
    )
