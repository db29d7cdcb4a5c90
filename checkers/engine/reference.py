"""The reference engine: explores every state within the bounds by running the specification's own
rules.

It is written to be obviously correct: states are Python objects in a dict, and every rule is run
in every state. States are compared whole, so no two states are ever confused.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import attrs

from kspec.checkers.engine.forked import Team
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.search import FAILED, Backend, Counts, Search, shows
from kspec.checkers.engine.symmetry import Checks, Symmetry
from kspec.checkers.engine.verdict import DEADLOCK, Verdict
from kspec.spec.core import Always, Blocked, Reachable, System, ordered
from kspec.traces.trace import Trace, between

if TYPE_CHECKING:
    from kspec.checkers.engine.steps import Source

BLOCK = 64
"""The number of states after which the search is asked whether to go on."""
UNWATCHED = 0.02
"""Seconds after which the search looks at its limits within a block, since rules may be slow."""
SHARED = 512
"""Smaller levels take less time than starting processes."""
PART = 16
"""The most blocks that a process takes at a time; the next part is another one's."""

RAISED = "raised"
"""The mark of a state in which a property raises an exception, perhaps one that an earlier state
of the level has answered: this is no failure where the first state found is reported."""


def explore(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore every state, or one state per orbit, until a limit is reached.

    This takes one process, unless the options name a number of workers.
    """
    options = options or Options()
    backend = Reference(system, workers=options.workers or 1)
    if options.symmetry:
        backend = UpToSymmetry(system, Checks(Symmetry(system), everything=options.check_learning))
    return Search(system, backend, options).run()


NOWHERE = -1
"""In place of the number of a state that raises an exception when it is taken."""


@attrs.frozen
class Shown:
    """What the properties say of some states, by their numbers."""

    by_name: dict[str, list[int]] = attrs.field(factory=dict)
    """By property: the states that violate or witness it."""
    raised: list[tuple[int, str]] = attrs.field(factory=list)
    """The states in which a property raises an exception, with that property."""

    def add(self, other: Shown) -> None:
        """Add what they say of later states."""
        for name, numbers in other.by_name.items():
            self.by_name.setdefault(name, []).extend(numbers)
        self.raised.extend(other.raised)

    def unanswered(self) -> list[int]:
        """The states in which a property raises an exception that no state before has shown."""
        never = float("inf")
        first = {name: numbers[0] for name, numbers in self.by_name.items()}
        return [number for number, name in self.raised if number <= first.get(name, never)]


@attrs.frozen
class Steps:
    """The steps out of some states, found by another process."""

    counts: Counts
    new: Sequence[tuple[int, int, int]]
    """How it found each new state: from which, by which rule, by which of its choices."""
    again_from: Sequence[int]
    again_to: Sequence[int]
    """Steps to states of the next level that it had found before, numbered as there."""
    marked: Mapping[str, Sequence[int]]
    """By mark: states that have it."""


class Reference(Backend):
    """A backend that holds states as Python objects, numbered in the order of discovery.

    With several workers, forked processes expand parts of a large level. They send how each new
    state was found, and this process takes those steps again, in the order of one process: so the
    result is the same in every respect.
    """

    engine = "reference"

    def __init__(self, system: System[Any], *, workers: int = 1) -> None:
        """Start with no states."""
        self.system = system
        self.use(workers)
        self.numbers: dict[Any, int] = {}
        self.states: list[Any] = []
        self.parents = array("q")
        """By state: the one that it was found from; -1 for an initial state."""
        self.again_from = array("q")
        self.again_to = array("q")
        """Further steps from each level into the next."""
        self.begins: list[int] = []
        """By level: its first state."""
        self.end = 0
        """The end of the last level."""
        self.watched = 0.0
        """When the search looked at its limits within a block."""
        self.how: list[tuple[int, int, int]] | None = None
        """In a forked process: how each new state was found."""
        self.marked: dict[tuple[int, str], list[int]] = {}
        """By level and mark: the states that have it."""
        self.key: Callable[[Any], Any] | None = None
        """By which the least of several states is reported; otherwise the first one found is."""
        self.finds_all = False
        """Whether to find all states with a mark, since the least may be reported."""
        self.counts = self.no_counts()
        self.properties = {
            p.name: p for p in system.properties if isinstance(p, Always | Reachable)
        }

    def use(self, workers: int) -> None:
        """Have this many processes expand large levels from now on."""
        self.workers = workers
        self.team = Team(workers)

    def no_counts(self) -> Counts:
        """Counts to begin with."""
        blocked: dict[str, dict[str, int]] = {rule.name: Counter() for rule in self.system.rules}
        return Counts(Counter(), blocked, new=Counter())

    @property
    def found(self) -> int:
        """The number of states in the next level so far."""
        return len(self.states) - self.end

    @property
    def distinct(self) -> int:
        """The number of distinct states so far."""
        return len(self.states)

    @property
    def level(self) -> list[Any]:
        """The states of the last level."""
        return self.states[self.begins[-1] : self.end]

    @property
    def came_from(self) -> dict[Any, Any]:
        """Each state, in the order of discovery, with its predecessor."""
        states = self.states
        before = (None if parent < 0 else states[parent] for parent in self.parents)
        return dict(zip(states, before, strict=True))

    @property
    def bytes_beside(self) -> int:
        """The memory of the forked processes."""
        return self.team.bytes

    @property
    def most_bytes_beside(self) -> int:
        """The same at its peak."""
        return self.team.most_bytes

    def begin(self) -> int:
        """Take the initial states."""
        for state in self.system.initial():
            if self.is_new(state):
                self.take(state, -1)
        return self.next_level()

    def take(self, state: Any, parent: int) -> None:
        """Give a new state its number."""
        self.numbers[state] = len(self.states)
        self.states.append(state)
        self.parents.append(parent)

    def next_level(self) -> int:
        """Make the states found the last level."""
        self.begins.append(self.end)
        self.end = len(self.states)
        return self.end - self.begins[-1]

    def blocks(self) -> list[range]:
        """The last level in blocks, after each of which the search is asked whether to go on."""
        begin, end = self.begins[-1], self.end
        rest = range(begin + 1, end)
        parts = (rest[at : at + BLOCK] for at in range(0, len(rest), BLOCK))
        return [range(begin, begin + 1), *parts]

    def results(
        self, blocks: Sequence[range], work: Callable[[range], Any]
    ) -> Iterator[tuple[range, int, Any]]:
        """What forked processes find in each block, in order, and the number of the process."""
        size = max(1, min(PART, len(blocks) // (4 * self.workers)))
        parts = [blocks[begin : begin + size] for begin in range(0, len(blocks), size)]
        found = self.team.results(parts, work, self.watch)
        return ((block, *one) for block, one in zip(blocks, found, strict=True))

    def is_shared(self, blocks: int) -> bool:
        """Whether several processes work on this many blocks."""
        return self.workers > 1 and blocks * BLOCK >= SHARED

    def mark(self, mark: str, numbers: Sequence[int]) -> None:
        """Note that states of the last level have a mark."""
        if numbers:
            self.marked.setdefault((len(self.begins) - 1, mark), []).extend(numbers)

    # -- properties -----------------------------------------------------------------------------

    def marks(self, wanted: Sequence[str]) -> set[str]:
        """Evaluate each property in the level's states."""
        if not wanted:
            return set()
        shown, blocks = Shown(), self.blocks()
        if self.is_shared(len(blocks)):
            for block, _, found in self.results(blocks, lambda block: self.shown_in(block, wanted)):
                shown.add(found or self.shown_in(block, wanted))
        else:
            for block in blocks:
                self.show(block, wanted, shown)
                self.watch()
        if not shown.by_name and not shown.raised:
            return set()
        for name, numbers in shown.by_name.items():
            self.mark(name, numbers)
        raised = sorted({number for number, _ in shown.raised})
        failed = raised if self.key else shown.unanswered()
        self.mark(FAILED, failed)
        self.mark(RAISED, raised)
        return {FAILED} if failed else set(shown.by_name)

    def shown_in(self, block: range, wanted: Sequence[str]) -> Shown:
        """What properties say of the states of a block."""
        shown = Shown()
        self.show(block, wanted, shown)
        return shown

    def show(self, block: range, wanted: Sequence[str], shown: Shown) -> None:
        """Add what properties say of the states of a block."""
        for number in block:
            for name in wanted:
                try:
                    found = shows(self.properties[name], self.states[number])
                except Exception:
                    shown.raised.append((number, name))
                    continue
                if found:
                    shown.by_name.setdefault(name, []).append(number)

    # -- rules ----------------------------------------------------------------------------------

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Run every rule in each state of the level."""
        for block in self.expanded():
            if not self.finds_all and (len(self.begins) - 1, FAILED) in self.marked:
                return {FAILED}
            if (block.stop - 1 - self.begins[-1]) % BLOCK == 0:
                go_on(self.end - block.stop + 1 + self.found)
        return self.cut_short()

    def cut_short(self) -> set[str]:
        """The marks that expanding found; everything else is counted as it happens."""
        level = len(self.begins) - 1
        return {mark for mark in (DEADLOCK, FAILED) if (level, mark) in self.marked}

    def expanded(self) -> Iterator[range]:
        """Expand the level; yields each block when it is done. Workers may be added meanwhile."""
        blocks = self.blocks()
        for done, block in enumerate(blocks):
            if self.is_shared(len(blocks) - done):
                yield from self.expanded_together(blocks[done:])
                return
            self.expand_block(block)
            yield block

    def expanded_together(self, blocks: Sequence[range]) -> Iterator[range]:
        """The same, in several processes."""
        known = len(self.states)
        numbers: list[list[int]] = [[] for _ in range(self.workers)]
        for block, process, steps in self.results(blocks, self.steps_from):
            if steps is None:
                self.expand_block(block)
            else:
                self.take_steps(steps, known, numbers[process])
            yield block

    def expand_block(self, block: range) -> None:
        """Run every rule in each state of a block."""
        for number in block:
            self.watch_slow_rules()
            state = self.states[number]
            try:
                if self.take_rules(number, state):
                    continue
                if self.system.is_deadlock(state):
                    self.mark(DEADLOCK, [number])
                elif not self.system.is_final(state):
                    self.counts.edge_of_bounds += 1
            except Exception:
                self.mark(FAILED, [number])
                if not self.finds_all:
                    return

    def watch_slow_rules(self) -> None:
        """Have the search look at its limits, if it has not for a while."""
        now = time.perf_counter()
        if now - self.watched >= UNWATCHED and self.how is None:  # the parent process watches
            self.watch()
            self.watched = time.perf_counter()

    def take_rules(self, number: int, state: Any) -> int:
        """Run every rule in a state; returns the number of enabled instances."""
        numbers, counts, end = self.numbers, self.counts, self.end
        assert counts.new is not None, "this engine counts it"
        enabled = 0
        for index, rule in enumerate(self.system.rules):
            name, blocked = rule.name, counts.blocked[rule.name]
            for place, choice in enumerate(rule.instances(state)):
                after = rule.outcome(state, choice)
                if type(after) is Blocked:
                    blocked[after.guard] += 1
                    continue
                enabled += 1
                counts.fired[name] += 1
                known = numbers.get(after)
                if known is None:
                    if self.how is not None:  # the parent process orders it, and explores it
                        self.take(after, number)
                        self.how.append((number, index, place))
                    elif self.is_new(after):
                        self.take(ordered(after, state), number)
                        counts.new[name] += 1
                elif known >= end:
                    self.again_from.append(number)
                    self.again_to.append(known)
        return enabled

    def is_new(self, state: Any) -> bool:
        """Whether a state without a number is explored."""
        return True

    def steps_from(self, block: range) -> Steps:
        """In a forked process: the steps out of a block."""
        again, self.how, self.marked, self.counts = len(self.again_to), [], {}, self.no_counts()
        self.expand_block(block)
        marked = {mark: numbers for (_, mark), numbers in self.marked.items()}
        return Steps(
            attrs.evolve(self.counts, new=None), self.how,
            self.again_from[again:], self.again_to[again:], marked,
        )  # fmt: skip

    def take_steps(self, steps: Steps, known: int, numbers: list[int]) -> None:
        """Take the steps that another process has found.

        It numbers its new states from `known`; `numbers` has the numbers that they get here.
        """
        self.counts.add(steps.counts)
        for mark, marked in steps.marked.items():
            self.mark(mark, marked)
        for step in steps.new:
            try:
                numbers.append(self.take_step(*step))
            except Exception:
                numbers.append(NOWHERE)
                self.mark(FAILED, step[:1])
        for before, to in zip(steps.again_from, steps.again_to, strict=True):
            number = to if to < known else numbers[to - known]
            if number == NOWHERE:
                self.mark(FAILED, [before])
            else:
                self.again_from.append(before)
                self.again_to.append(number)

    def take_step(self, before: int, index: int, place: int) -> int:
        """Take a step again that another process has found; returns the number of its state."""
        state, rule = self.states[before], self.system.rules[index]
        choice = next(islice(rule.instances(state), place, None))
        after = rule.outcome(state, choice)
        number = self.numbers.get(after)
        if number is not None:
            self.again_from.append(before)
            self.again_to.append(number)
            return number
        assert type(after) is not Blocked, "a rule is a function of the state"
        assert self.counts.new is not None, "this engine counts it"
        self.counts.new[rule.name] += 1
        self.take(ordered(after, state), before)
        return len(self.states) - 1

    # -- counterexamples ------------------------------------------------------------------------

    def trace_to(self, level: int, mark: str) -> Trace:
        """A shortest behaviour to a state that has a mark: the first found, or the least."""
        marked = self.marked[level, mark]
        way = [self.reported(marked)]
        while (before := self.before(way[-1])) >= 0:
            way.append(before)
        return self.trace(way, mark)

    def before(self, number: int) -> int:
        """The predecessor of a state in a counterexample; -1 of an initial state."""
        first = self.parents[number]
        if first < 0 or not self.key:
            return first
        begin = self.begins[bisect_left(self.begins, first + 1) - 1]
        end = self.begins[bisect_left(self.begins, number + 1) - 1]
        steps = range(bisect_left(self.again_from, begin), bisect_left(self.again_from, end))
        again = (self.again_from[step] for step in steps if self.again_to[step] == number)
        return self.reported([first, *again])

    def reported(self, numbers: Sequence[int]) -> int:
        """Which of several states, in the order of discovery, is reported."""
        key, states = self.key, self.states
        return min(set(numbers), key=lambda number: key(states[number])) if key else numbers[0]

    def way_to(self, state: Any, mark: str = "") -> Trace:
        """The behaviour by which a state was found."""
        way = [self.numbers[state]]
        while (before := self.parents[way[-1]]) >= 0:
            way.append(before)
        return self.trace(way, mark)

    def trace(self, way: Sequence[int], mark: str) -> Trace:
        """The behaviour through some states, the last one first."""
        states = tuple(self.states[number] for number in reversed(way))
        steps = tuple(between(self.system, a, b) for a, b in pairwise(states))
        return Trace(self.system, states, steps, mark)

    def steps_of(self, system: System[Any]) -> Source[Any]:
        from kspec.checkers.engine.steps import StepsByRules  # it imports numpy

        return StepsByRules(system, self.came_from)


class UpToSymmetry(Reference):
    """A backend that keeps the first state found of each orbit. Predecessors are real states, so
    traces are behaviours.
    """

    def __init__(self, system: System[Any], checks: Checks) -> None:
        """Start with no states."""
        super().__init__(system)
        self.checks = checks
        self.seen: set[Any] = set()
        """All states of the orbits found."""

    def is_new(self, state: Any) -> bool:
        """Whether no state of this orbit has been found before; marks the orbit as found."""
        if state in self.seen:
            return False
        self.seen |= self.checks.symmetry.orbit(state)
        return True

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the level, and check a share of its states for symmetry."""
        shown = super().expand(go_on)
        if FAILED not in shown:
            for state in self.checks.share(self.level):
                self.checks.check(state)
        return shown

    def stands_for(self) -> int:
        """The number of states in all orbits."""
        return len(self.seen)
