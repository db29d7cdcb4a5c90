"""Exploration by rules that are learned during the run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kspec.checkers.engine.learned.book import Book, Unfit
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.expander import LearnedExpander
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.steps import StepsByLearning
from kspec.checkers.engine.learned.walk import move_to_other_words
from kspec.checkers.engine.memory import resident_bytes
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.behaviour import behaviour
from kspec.checkers.engine.packed.checkpoint import CheckpointError
from kspec.checkers.engine.packed.codes import Coding, coding_for, decode, encoded
from kspec.checkers.engine.packed.expander import BATCH, Expander, Repacked
from kspec.checkers.engine.packed.search import (
    PackedBackend,
    assert_pyarrow,
    send_states,
    warm_up,
)
from kspec.checkers.engine.packed.worker import Memory, Worker, own
from kspec.checkers.engine.search import FAILED, RuleFailed, Search, Stopped
from kspec.checkers.engine.steps import Source
from kspec.checkers.engine.symmetry import Symmetry
from kspec.checkers.engine.verdict import INCONCLUSIVE, RuleCount, Verdict
from kspec.impl.compiled import Words, made_ready
from kspec.spec.core import System
from kspec.traces.trace import Trace

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.levels import LearnedLevels

T = TypeVar("T")

MOST_PATHS = 5
"""The number of rules with the most paths to report."""


def explore_by_learning(
    system: System[Any], options: Options | None = None, learned: Learnable | None = None
) -> Verdict:
    """Explore with what was learned before and what is learned during the run."""
    options = options or Options()
    learned = learned or Learnable(use_cache=options.use_cache)
    begun = time.perf_counter()
    symmetry = Symmetry(system) if options.symmetry else None
    with kept_levels(system, options) as levels:

        def explore(learning: Learning) -> Verdict:
            with packed_by_learning(learning, options, levels) as backend:
                backend.kept_runs = learned.kept_runs
                backend.spent["prepare"] = time.perf_counter() - begun
                return Search(system, backend, options).run()

        again = levels.begin_anew if levels else None
        try:
            return by_learning(
                system, learned, explore, options.on_compiling, symmetry, again,
                watch=within_memory(options),
            )  # fmt: skip
        except Stopped as stopped:  # before the search has begun
            return Verdict(
                system, LearnedBackend.engine, INCONCLUSIVE, str(stopped),
                rules={rule.name: RuleCount(0) for rule in system.rules},
                seconds={"explore": time.perf_counter() - begun},
            )  # fmt: skip


def within_memory(options: Options) -> Callable[[], None]:
    """A function that raises Stopped when more memory is in use than a run may use."""
    calls = count()

    def watch() -> None:
        if next(calls) % 4096 == 0 and resident_bytes() > options.max_memory:
            raise Stopped(options.limit("max_memory"))

    return watch


def by_learning(
    system: System[Any],
    learned: Learnable,
    run: Callable[[Learning], T],
    on_compiling: Callable[[], None] | None,
    symmetry: Symmetry | None = None,
    discarded: Callable[[], None] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> T:
    """Run something with what is learned of a system.

    It runs again if components do not fit, and if the cache turns out to be wrong; then
    `discarded` is called first. `watch` is called for each initial state.
    """
    while True:
        try:
            with made_ready(f"learned{'-symmetry' * (symmetry is not None)}", on_compiling):
                learning = learned.of(system, symmetry, watch)
                warm_up_learning(learning)
            answer = run(learning)
        except Unfit as unfit:
            learned.take_apart(unfit.field)
        except Stopped:
            raise
        except (RuleFailed, CheckpointError):
            learned.keep()
            raise
        except Exception:
            if not learned.discard_kept():
                raise
            if discarded:
                discarded()
        else:
            learned.keep()
            return answer


@contextmanager
def packed_by_learning(
    learning: Learning, options: Options, levels: LearnedLevels | None
) -> Iterator[LearnedBackend]:
    """The backend of a system with what is known of it."""
    with ThreadPoolExecutor(options.cores) as pool:
        backend = LearnedBackend(learning, options, pool)
        if levels is None:
            yield backend
            return
        with levels.keeping(learning) as backend.keeper:
            yield backend


@contextmanager
def kept_levels(system: System[Any], options: Options) -> Iterator[LearnedLevels | None]:
    """The checkpoint of a learned run, if there is one."""
    if options.checkpoint is None:
        yield None
        return
    assert_pyarrow()
    from kspec.checkers.engine.learned.levels import opened

    with opened(system, options) as levels:
        yield levels


class LearnedBackend(PackedBackend):
    """A backend that uses learned rules."""

    engine = "learned"

    def __init__(
        self,
        learning: Learning,
        options: Options,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.learning = learning
        self.symmetry = learning.symmetry
        self.checking = Checking(learning, everything=options.check_learning)
        self.kept_runs = 0
        """The number of paths from earlier runs."""
        coding = coding_for(learning.tables.packing.widths)
        super().__init__(learning.system, options, coding, learning.bits, pool)

    def expander(self) -> Expander:
        return LearnedExpander(self.learning, up_to_symmetry=self.symmetry is not None)

    def bytes_beside(self) -> int:
        return self.learning.bytes

    def initial(self) -> list[tuple[int, ...]]:
        if self.symmetry:
            states = self.system.initial()
            return list(dict.fromkeys(map(self.learning.representative_of, states)))
        return [self.learning.words(row) for row in self.learning.initial]

    def state(self, words: Sequence[int]) -> Any:
        return self.learning.state(words)

    def steps_of(self, system: System[Any]) -> Source[Any]:
        return StepsByLearning(system, Learnable(self.learning.tables))

    def marks(self, wanted: Sequence[str]) -> set[str]:
        self.learning.ask_for(wanted)
        return super().marks(wanted)

    def learn(self) -> bool:
        missed = self.take_missed()
        if not missed:
            return False
        if self.learning.learn(missed, self.watch):
            self.repack(self.level + 1)
            self.begin_expanding()
        for worker in self.all:
            worker.take_again()
        return True

    def take_missed(self) -> list[tuple[Words, Words]]:
        """The states that workers could not answer."""
        missed = []
        for worker in self.all:
            expander: Any = worker.expander
            missed += expander.missed
            expander.missed = []
        return missed

    def learn_looking_back(self) -> bool:
        missed = self.take_missed()
        if not missed:
            return False
        if self.learning.learn(missed):
            # the last level was not expanded to its end: its other states have new successors
            self.repack(len(self.all[0].levels))
            raise Repacked
        return True

    def repack(self, levels: int) -> None:
        """Give the states of all complete levels more bits; the next level is discarded."""
        learning, old = self.learning, self.all
        old_coding, old_layout = self.coding, learning.layout_arrays
        learning.repack()
        self.create_workers(coding_for(learning.tables.packing.widths))
        for worker, before in zip(self.all, old, strict=True):
            expander: Any = worker.expander
            expander.go_on_from(before.expander)
        new_layout = learning.layout_arrays
        for level in range(levels):
            for worker in self.all:
                worker.begin_level()
            move = partial(
                move_level, level=level, old=old, coding=old_coding,
                layout=old_layout, to=new_layout, of=self.workers,
            )  # fmt: skip
            self.of_all(move)

    def cut_short(self) -> set[str]:
        shown = super().end_of_expanding()
        if self.learning.tables.is_outgrown:
            self.repack(len(self.all[0].levels))
        return shown

    def end_of_expanding(self) -> set[str]:
        shown = super().end_of_expanding()
        if FAILED not in shown:
            for worker in self.all:
                self.checking.check_level(worker, self.level, self.watch)
        return shown

    def check_last(self) -> None:
        for worker in self.all:
            self.checking.check_latest(worker.expander, self.watch, least_growth=1)

    def as_trace(self, way: list[tuple[int, ...]], mark: str) -> Trace:
        if not self.symmetry:
            return super().as_trace(way, mark)
        try:
            states, steps = behaviour(self.system, self.learning.representative_of, way)
        except StopIteration:
            raise self.symmetry.false() from None
        trace = Trace(self.system, tuple(states), tuple(steps), mark)
        self.symmetry.check_end(trace)
        return trace

    def stands_for(self) -> int | None:
        return self.count_orbits(self.learning.represent) if self.symmetry else None

    @property
    def learned(self) -> int:
        return self.learning.tables.runs.count

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

    def seconds(self) -> Mapping[str, float]:
        return {**super().seconds(), "learn": self.learning.book.seconds}


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
    """Compile everything that learning and asking need."""
    coding = coding_for(learning.tables.packing.widths)
    expander = LearnedExpander(learning, up_to_symmetry=learning.symmetry is not None)
    warm_up(expander, coding)
    outgrown = learning.learn(expander.missed)
    worker = Worker(0, 1, expander, coding, Memory(0, None))
    worker.begin_level()
    layout = learning.layout_arrays
    send_states(worker, [(0,) * len(coding.widths)])
    worker.round(0, [worker])
    moved = Worker(0, 1, expander, coding, Memory(0, None))
    moved.begin_level()
    move_level(moved, 0, [worker], coding, layout, layout, 1)
    if outgrown:
        learning.repack()
