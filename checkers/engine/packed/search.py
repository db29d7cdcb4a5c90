"""Exploration of packed states by compiled code on all cores, independent of timing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial, reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kspec.checkers.engine.memory import resident_bytes
from kspec.checkers.engine.options import NOT_WRITTEN, Options
from kspec.checkers.engine.packed.codes import Coding, encoded
from kspec.checkers.engine.packed.expander import (
    BATCH,
    DEADLOCK_BIT,
    FAILED_BIT,
    Expander,
    Repacked,
    bits_of_marks,
)
from kspec.checkers.engine.packed.worker import Found, Memory, Worker, own, send
from kspec.checkers.engine.search import FAILED, Backend, Counts, Stopped
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.checkers.needs import needs
from kspec.impl.compiled import Words
from kspec.spec.core import Reachable, System
from kspec.traces.trace import Trace, between

if TYPE_CHECKING:
    from kspec.checkers.engine.packed.keep import Keeper

T = TypeVar("T")

TOGETHER = 1 << 16
"""The number of initial states that are encoded together."""
THIN = 2 * BATCH
"""For smaller levels, starting threads takes longer than they save."""


def assert_pyarrow() -> None:
    """Raise SpecError if pyarrow is missing, before anything that needs it is imported."""
    needs("a checkpoint", "checkpoint", "pyarrow")


def warm_up(expander: Expander, coding: Coding) -> None:
    """Compile every function, or read it from the cache, by calling it once."""
    worker = Worker(0, 1, expander, coding, Memory(0, None))
    worker.begin_level()
    send_states(worker, [(0,) * len(coding.widths)])
    worker.round(0, [worker])
    take_states(worker, *encoded(np.zeros((len(coding.widths), 1), np.int64), coding), 1)
    worker.ask_level(0)
    worker.mark()
    worker.ask_level(0)
    worker.begin_level()
    worker.round(1, [worker])
    worker.table.grow()
    expander.take_counts()


def send_states(worker: Worker, states: Iterable[Sequence[int]]) -> None:
    """Put a few packed states in a worker's outboxes, to be received in an even round."""
    codes, highs = encoded(np.array(list(states), np.int64).T.copy(), worker.coding)
    box = worker.outboxes[1]
    sent = send(
        codes, highs, 0, len(codes), worker.recent, worker.recent_highs,
        box.codes, box.highs, box.counts,
    )  # fmt: skip
    assert sent == len(codes), "more states than an outbox has room for"


def take_states(worker: Worker, codes: Words, highs: Words, of: int) -> None:
    """Have a worker take its own states among some."""
    codes, highs = codes.copy(), highs.copy()
    worker.take_in(codes, highs, own(codes, highs, len(codes), worker.index, of))


def cannot_keep(error: OSError) -> str:
    """The reason of a run that ends because its checkpoint cannot be written."""
    return f"{NOT_WRITTEN} ({error.filename}: {error.strerror or error})"


class PackedBackend(Backend):
    """A backend that holds states as codes, each owned by one worker."""

    def __init__(
        self,
        system: System[Any],
        options: Options,
        coding: Coding,
        bits: Mapping[str, int],
        pool: ThreadPoolExecutor,
    ) -> None:
        self.system = system
        self.options = options
        self.bits = bits_of_marks(bits)
        self.workers = options.cores
        self.pool = pool
        self.counts = Counts()
        self.keeper: Keeper | None = None
        self.spent: dict[str, float] = {}
        self.traces: list[tuple[str, Trace]] = []
        """The violations found: marks and behaviours."""
        self.base = resident_bytes()
        self.parity = 0
        self.is_thin = False
        """Whether the last level is too small to be shared among threads."""
        self.level = -1
        """The last complete level."""
        self.create_workers(coding)

    def create_workers(self, coding: Coding) -> None:
        """Create workers for states of this coding."""
        self.coding = coding
        memory = Memory(self.base, self.options.max_memory)
        memory.beside = self.bytes_beside
        self.all = [
            Worker(i, self.workers, self.expander(), coding, memory) for i in range(self.workers)
        ]

    def expander(self) -> Expander:
        """Create the expander of a worker."""
        raise NotImplementedError

    def bytes_beside(self) -> int:
        """The memory used besides the states."""
        return 0

    def initial(self) -> list[tuple[int, ...]]:
        """The words of the initial states."""
        raise NotImplementedError

    def state(self, words: Sequence[int]) -> Any:
        """The state of some words."""
        raise NotImplementedError

    def learn(self) -> bool:
        """Learn what workers missed; returns whether they missed anything."""
        return False

    def of_all(self, task: Callable[[Worker], T]) -> list[T]:
        """Run a task in every worker, in parallel if the level is large enough."""
        if self.workers == 1 or self.is_thin:
            return [task(worker) for worker in self.all]
        futures = [self.pool.submit(task, worker) for worker in self.all]
        wait(futures)
        return [future.result() for future in futures]

    # -- levels ---------------------------------------------------------------------------------

    @property
    def found(self) -> int:
        """The number of states in the next level so far."""
        if self.keeper and self.keeper.unread:
            return self.keeper.unread[-1].states
        if len(self.all[0].levels) <= self.level + 1:
            return 0
        return sum(worker.found_last() for worker in self.all)

    @property
    def distinct(self) -> int:
        """The number of distinct states so far."""
        unread = self.keeper.unread if self.keeper else []
        read = sum(worker.table.count for worker in self.all)
        return read + sum(level.states for level in unread)

    def next_level(self) -> int:
        """Make the states found the last level."""
        found = self.found
        self.is_thin = found < THIN
        if found:
            self.level += 1
        return found

    def begin(self) -> int:
        """Take the initial states, or the first level of a checkpoint."""
        if self.take_kept_level() is None:
            for worker in self.all:
                worker.begin_level()
            words = np.array(self.initial(), np.int64).reshape(-1, len(self.coding.widths))
            for begin in range(0, len(words), TOGETHER):
                codes, highs = encoded(words[begin : begin + TOGETHER].T.copy(), self.coding)
                self.of_all(partial(take_states, codes=codes, highs=highs, of=len(self.all)))
            self.parity = 0
        found = self.next_level()
        self.keep(complete=True)
        return found

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the last level in rounds, until every worker is done."""
        kept = self.take_kept_level()
        if kept is not None:
            return kept
        self.read_kept()
        known = sum(chunk.count for worker in self.all for chunk in worker.levels[self.level])
        expanded = self.distinct - known
        self.begin_expanding()
        while True:
            parity, self.parity = self.parity, 1 - self.parity
            self.of_all(partial(Worker.round, parity=parity, senders=self.all))
            if self.learn():
                go_on(self.distinct - expanded)
                continue
            if all(w.done and not w.outboxes[parity].counts.any() for w in self.all):
                break
            go_on(self.distinct - expanded)
        return self.end_of_expanding()

    def begin_expanding(self) -> None:
        """Prepare to expand the last level."""
        for worker in self.all:
            worker.ask_level(self.level)
            worker.begin_level()
            worker.outboxes[0].counts[:] = worker.outboxes[1].counts[:] = 0

    def end_of_expanding(self) -> set[str]:
        """Collect the counts of expanding."""
        for worker in self.all:
            self.counts.add(worker.expander.take_counts())
        mask = reduce(or_, (worker.found for worker in self.all))
        bits = {DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
        return {name for name, bit in bits.items() if mask >> bit & 1}

    def cut_short(self) -> set[str]:
        return self.end_of_expanding()

    def marks(self, wanted: Sequence[str]) -> set[str]:
        """The marks of the last level's states."""
        asked = list(wanted)
        kept = self.keeper.manifest.marks_of(self.level) if self.keeper else None
        shown = (kept or set()) & {*asked}
        if kept is not None:  # a checkpoint has the violations, but no witnesses
            reachable = {p.name for p in self.system.properties if isinstance(p, Reachable)}
            asked = [name for name in asked if name in reachable]
        if asked:
            self.read_kept()
            for worker in self.all:
                worker.ask_level(self.level)
            while True:
                self.of_all(Worker.mark)
                if not self.learn() and all(worker.done for worker in self.all):
                    break
            mask = reduce(or_, (worker.found for worker in self.all))
            shown |= {name for name in asked if mask >> self.bits[name] & 1}
            if mask >> FAILED_BIT & 1:
                shown.add(FAILED)
        return shown

    # -- counterexamples ------------------------------------------------------------------------

    def trace_to(self, level: int, mark: str) -> Trace:
        """A shortest behaviour, found backwards through the levels; the least of several."""
        kept = self.keeper.manifest.violations_in(level).get(mark) if self.keeper else None
        if self.keeper and kept:
            trace = self.keeper.trace(self.system, kept)
        else:
            trace = self.as_trace(self.way_to(level, mark), mark)
        self.traces.append((mark, trace))
        return trace

    def way_to(self, level: int, mark: str) -> list[tuple[int, ...]]:
        """The words of that behaviour's states."""
        self.read_kept()
        while True:
            try:
                return self.find_way_to(level, mark)
            except Repacked:
                continue

    def find_way_to(self, level: int, mark: str) -> list[tuple[int, ...]]:
        """The same; Repacked if states got other words on the way."""
        way = [self.least_marked(level, mark)[1]]
        for before in reversed(range(level)):
            found = self.first(partial(Worker.least_predecessor, level=before, of=way[-1]))
            assert found is not None, "a state that was found has a predecessor"
            way.append(found[1])
        way.reverse()
        return way

    def least_marked(self, level: int, mark: str) -> Found:
        """The least state of a level that has a mark."""
        tries = [(self.bits.get(mark, FAILED_BIT), False), (FAILED_BIT, True)]
        if mark == DEADLOCK:
            tries = [(DEADLOCK_BIT, True)]
        for bit, by_expanding in tries:
            found = self.first(
                partial(Worker.least_marked, level=level, bit=bit, by_expanding=by_expanding)
            )
            if found is not None:
                return found
        raise AssertionError(f"no state of level {level + 1} has the mark {mark}")

    def first(self, look: Callable[[Worker], Found | None]) -> Found | None:
        """The least of the states that the workers find, after everything needed is learned."""
        while True:
            found = [one for one in self.of_all(look) if one is not None]
            if not self.learn_looking_back():
                break
        for worker in self.all:
            worker.expander.take_counts()  # looking back must not change the counts
        return min(found, default=None)

    def learn_looking_back(self) -> bool:
        """Learn what was missed while looking back; returns whether anything was."""
        return False

    def as_trace(self, way: list[tuple[int, ...]], mark: str) -> Trace:
        """A behaviour of the specification from words."""
        states = [self.state(words) for words in way]
        steps = [between(self.system, a, b) for a, b in pairwise(states)]
        return Trace(self.system, tuple(states), tuple(steps), mark)

    def count_orbits(self, represent: Callable[[Words, int], int]) -> int:
        """The number of states in all orbits found."""
        return sum(
            sum(self.of_all(partial(Worker.count_orbits, level=level, represent=represent)))
            for level in range(self.level + 1)
        )

    # -- what is kept ---------------------------------------------------------------------------

    def keep(self, *, complete: bool) -> None:
        """Let the keeper write a complete level, or finish."""
        if self.keeper is None:
            return
        try:
            if complete:
                self.keeper.keep_level(self)
            else:
                self.keeper.finish(self)
        except OSError as error:
            raise Stopped(cannot_keep(error)) from error

    def take_kept_level(self) -> set[str] | None:
        """Load the next level and the marks of expanding from the checkpoint, if it has them."""
        return None if self.keeper is None else self.keeper.take_level(self)

    def read_kept(self) -> None:
        """Read the states of the levels that were loaded from the checkpoint."""
        if self.keeper:
            self.keeper.read(self)

    def seconds(self) -> Mapping[str, float]:
        """The time spent on compiling and on the checkpoint."""
        if self.keeper:
            return {**self.spent, "checkpoint": self.keeper.seconds}
        return self.spent
