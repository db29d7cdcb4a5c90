"""The search's backend with learned rules: compiled code on all cores, independent of timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial, reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kspec.checkers.engine.learned.book import Book
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.expander import BATCH, LearnedExpander, Repacked
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.steps import StepsByLearning
from kspec.checkers.engine.learned.walk import DEADLOCK_BIT, FAILED_BIT, move_to_other_words
from kspec.checkers.engine.learned.worker import Found, Memory, Worker, own
from kspec.checkers.engine.memory import resident_bytes
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.behaviour import behaviour
from kspec.checkers.engine.packed.checkpoint import cannot_keep
from kspec.checkers.engine.packed.codes import Coding, coding_for, decode, encoded
from kspec.checkers.engine.search import FAILED, Backend, Counts, Stopped
from kspec.checkers.engine.steps import Source
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.impl.compiled import Words
from kspec.spec.core import Reachable, System
from kspec.traces.trace import Trace, between

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.levels import Keeper

T = TypeVar("T")

TOGETHER = 1 << 16
"""The number of initial states that are encoded together."""
THIN = 2 * BATCH
"""For smaller levels, starting threads takes longer than they save."""
MOST_PATHS = 5
"""The number of rules with the most paths to report."""
MARKS = {DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
"""The bits of the marks that expanding finds."""


def take_states(worker: Worker, codes: Words, highs: Words, of: int) -> None:
    """Have a worker take its own states among some."""
    codes, highs = codes.copy(), highs.copy()
    worker.take_in(codes, highs, own(codes, highs, len(codes), worker.index, of))


class LearnedBackend(Backend):
    """Holds states as codes, each owned by one worker, which expands it by learned rules."""

    engine = "learned"

    def __init__(self, learning: Learning, options: Options, pool: ThreadPoolExecutor) -> None:
        self.learning = learning
        self.system = learning.system
        self.symmetry = learning.symmetry
        self.checking = Checking(learning, everything=options.check_learning)
        self.options = options
        self.bits = {**learning.bits, **MARKS}
        self.workers = options.cores
        self.pool = pool
        self.counts = Counts()
        self.keeper: Keeper | None = None
        self.kept_runs = 0
        """The number of paths from earlier runs."""
        self.spent: dict[str, float] = {}
        self.traces: list[tuple[str, Trace]] = []
        """The violations found: marks and behaviours."""
        self.base = resident_bytes()
        self.parity = 0
        self.is_thin = False
        """Whether the last level is too small to be shared among threads."""
        self.level = -1
        """The last complete level."""
        self.create_workers()

    def create_workers(self) -> None:
        """Create workers for states with the bits that their values now need."""
        learning = self.learning
        self.coding = coding_for(learning.tables.packing.widths)
        memory = Memory(self.base, self.options.max_memory, beside=lambda: learning.bytes)
        self.all = [
            Worker(
                i,
                self.workers,
                LearnedExpander(learning, up_to_symmetry=self.symmetry is not None),
                self.coding,
                memory,
            )
            for i in range(self.workers)
        ]

    def initial(self) -> list[tuple[int, ...]]:
        """The words of the initial states."""
        if self.symmetry:
            states = self.system.initial()
            return list(dict.fromkeys(map(self.learning.representative_of, states)))
        return [self.learning.words(row) for row in self.learning.initial]

    def steps_of(self, system: System[Any]) -> Source[Any]:
        return StepsByLearning(system, Learnable(self.learning.tables))

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
        shown = self.collected()
        if FAILED not in shown:
            for worker in self.all:
                self.checking.check_level(worker, self.level, self.watch)
        return shown

    def begin_expanding(self) -> None:
        """Prepare to expand the last level."""
        for worker in self.all:
            worker.ask_level(self.level)
            worker.begin_level()
            worker.outboxes[0].counts[:] = worker.outboxes[1].counts[:] = 0

    def collected(self) -> set[str]:
        """Add up the counts of expanding; returns the marks that it found."""
        for worker in self.all:
            self.counts.add(worker.expander.take_counts())
        mask = reduce(or_, (worker.found for worker in self.all))
        return {name for name, bit in MARKS.items() if mask >> bit & 1}

    def cut_short(self) -> set[str]:
        shown = self.collected()
        if self.learning.tables.is_outgrown:
            self.repack(len(self.all[0].levels))
        return shown

    def marks(self, wanted: Sequence[str]) -> set[str]:
        """The marks of the last level's states."""
        self.learning.ask_for(wanted)
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

    def check_last(self) -> None:
        for worker in self.all:
            self.checking.check_latest(worker.expander, self.watch, least_growth=1)

    # -- learning -------------------------------------------------------------------------------

    def learn(self) -> bool:
        """Learn what workers missed; returns whether they missed anything."""
        missed = self.take_missed()
        if not missed:
            return False
        if self.learning.learn(missed, self.watch):
            self.repack(self.level + 1)
            self.begin_expanding()
        for worker in self.all:
            worker.take_again()
        return True

    def learn_looking_back(self) -> bool:
        """Learn what was missed while looking back; returns whether anything was."""
        missed = self.take_missed()
        if not missed:
            return False
        if self.learning.learn(missed):
            # the last level was not expanded to its end: its other states have new successors
            self.repack(len(self.all[0].levels))
            raise Repacked
        return True

    def take_missed(self) -> list[tuple[Words, Words]]:
        """The states that workers could not answer."""
        missed = []
        for worker in self.all:
            missed += worker.expander.missed
            worker.expander.missed = []
        return missed

    def repack(self, levels: int) -> None:
        """Give the states of all complete levels more bits; the next level is discarded."""
        learning, old = self.learning, self.all
        old_coding, old_layout = self.coding, learning.layout_arrays
        learning.repack()
        self.create_workers()
        for worker, before in zip(self.all, old, strict=True):
            worker.expander.go_on_from(before.expander)
        new_layout = learning.layout_arrays
        for level in range(levels):
            for worker in self.all:
                worker.begin_level()
            move = partial(
                move_level, level=level, old=old, coding=old_coding,
                layout=old_layout, to=new_layout, of=self.workers,
            )  # fmt: skip
            self.of_all(move)

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
            with suppress(Repacked):
                return self.find_way_to(level, mark)

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

    def as_trace(self, way: list[tuple[int, ...]], mark: str) -> Trace:
        """A behaviour of the specification from words."""
        if not self.symmetry:
            states = [self.learning.state(words) for words in way]
            steps = [between(self.system, a, b) for a, b in pairwise(states)]
            return Trace(self.system, tuple(states), tuple(steps), mark)
        try:
            trace = behaviour(self.system, self.learning.representative_of, way, mark)
        except StopIteration:
            raise self.symmetry.false() from None
        self.symmetry.check_end(trace)
        return trace

    def stands_for(self) -> int | None:
        """The number of states in all orbits found."""
        if not self.symmetry:
            return None
        count = partial(Worker.count_orbits, represent=self.learning.represent)
        return sum(sum(self.of_all(partial(count, level=level))) for level in range(self.level + 1))

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

    # -- what else is asked ---------------------------------------------------------------------

    @property
    def learned(self) -> int:
        return self.learning.tables.runs.count

    def seconds(self) -> Mapping[str, float]:
        """The time spent on compiling, on the checkpoint and on learning."""
        kept = {"checkpoint": self.keeper.seconds} if self.keeper else {}
        return {**self.spent, **kept, "learn": self.learning.book.seconds}

    def statistics(self) -> Mapping[str, Any]:
        book, tables = self.learning.book, self.learning.tables
        return {
            "learned": {
                "runs": sum(instance.runs for instance in book.instances),
                "paths": tables.runs.count,
                "kept_runs": self.kept_runs,
                "values": len(book.values.kinds),
                "components": {c.name: len(c.values) for c in book.components},
                "bits": sum(tables.packing.widths),
                "bytes": tables.bytes,
                "checked": self.checking.checked,
                "plainer": book.plainer,
                "most_paths": dict(most_paths(book)),
            }
        }


def most_paths(book: Book) -> list[tuple[str, int]]:
    """The rules and properties with the most paths."""
    paths: Counter[str] = Counter()
    for instance in book.instances:
        if instance.asked is not None:
            paths[instance.name] += instance.paths
    return [(name, count) for name, count in paths.most_common(MOST_PATHS) if count]


def move_level(
    worker: Worker,
    level: int,
    old: Sequence[Worker],
    coding: Coding,
    layout: tuple[Words, Words, Words],
    to: tuple[Words, Words, Words],
    of: int,
) -> None:
    """Copy a worker's states of a level from the previous workers."""
    words: Words = np.empty((len(coding.widths), BATCH), np.int64)
    moved: Words = np.empty((len(worker.coding.widths), BATCH), np.int64)
    for other in old:
        for chunk in other.levels[level]:
            for begin in range(0, chunk.count, BATCH):
                count = min(BATCH, chunk.count - begin)
                decode(chunk.codes, chunk.pieces, begin, count, coding, words)
                move_to_other_words(words, count, *layout, to[0], to[1], moved)
                codes, highs = encoded(moved[:, :count].copy(), worker.coding)
                kept = own(codes, highs, count, worker.index, of)
                worker.take_in(codes, highs, kept)


def warm_up_learning(learning: Learning) -> None:
    """Compile everything that learning and asking need, or read it from the cache."""
    coding = coding_for(learning.tables.packing.widths)
    expander = LearnedExpander(learning, up_to_symmetry=learning.symmetry is not None)
    worker = Worker(0, 1, expander, coding, Memory(0, None))
    worker.begin_level()
    take_states(worker, *encoded(np.zeros((len(coding.widths), 1), np.int64), coding), 1)
    worker.ask_level(0)
    worker.mark()
    worker.ask_level(0)
    worker.begin_level()
    worker.round(0, [worker])
    worker.table.grow()
    expander.take_counts()
    outgrown = learning.learn(expander.missed)
    moved = Worker(0, 1, expander, coding, Memory(0, None))
    moved.begin_level()
    layout = learning.layout_arrays
    move_level(moved, 0, [worker], coding, layout, layout, 1)
    if outgrown:
        learning.repack()
