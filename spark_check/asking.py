"""What one process has learned of a model, and its answers for states as bytes.

As in `kspec.checkers.engine.learned`, a state is a row of numbers here, one for each component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from kspec.checkers.engine.learned.book import Unfit
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.expander import Learned
from kspec.checkers.engine.learned.frames import Frames
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.learned.search import Learnable, take_latest, warm_up_learning
from kspec.checkers.engine.packed.expander import BATCH
from kspec.checkers.engine.search import Counts
from kspec.impl.packed.compiled import Words, made_ready
from kspec.spec.core import System

T = TypeVar("T")


class Asking:
    """The learned rules of one model in one process."""

    def __init__(self, system: System[Any]) -> None:
        self.system = system
        self.codec = Codec(system)
        self.learnable = Learnable()
        self.begin()

    def begin(self) -> None:
        """Start with nothing learned."""
        with made_ready("learned", None):
            self.learning = self.learned()
        self.book, self.tables = self.learning.book, self.learning.tables
        self.expander = Learned(self.learning)
        self.checking = Checking(self.learning, everything=False)
        self.counted = Counts()
        self.frames = Frames(self.codec, self.book)
        self.last: tuple[Sequence[bytes], Words] = (
            (),
            np.zeros((0, len(self.book.components)), np.int64),
        )
        """The states that were converted to rows last; the next task asks for them again."""

    def learned(self) -> Learning:
        """New tables, with components that fit the initial states."""
        while True:
            try:
                learning = self.learnable.of(self.system)
                warm_up_learning(learning)
            except Unfit as unfit:
                self.learnable.take_apart(unfit.field)
            else:
                return learning

    def answer(self, ask: Callable[[], T]) -> T:
        """The result of a function; it runs again if components turn out not to fit."""
        while True:
            try:
                return ask()
            except Unfit as unfit:
                self.learnable.take_apart(unfit.field)
                self.begin()

    # -- bytes and rows -------------------------------------------------------------------------

    def rows_of(self, states: Sequence[bytes]) -> Words:
        """States as rows."""
        if self.last[0] is states:
            return self.last[1]
        lengths = np.fromiter(map(len, states), np.int64, len(states))
        before = self.tables.component_count.sum()
        rows = self.frames.rows_of(b"".join(states), lengths)
        if sum(len(component.values) for component in self.book.components) > before:
            self.tables.sync()
            self.take_up(outgrown=self.tables.is_outgrown)
        self.last = states, rows
        return rows

    def bytes_of(self, rows: Words) -> list[bytes]:
        """Rows as states."""
        return self.frames.snapshot().states(rows.astype(np.int64))

    # -- answers --------------------------------------------------------------------------------

    def take_up(self, *, outgrown: bool) -> None:
        """Continue with what was learned."""
        if outgrown:
            self.counted.add(self.expander.take_counts())
            self.learning.repack()
            before, self.expander = self.expander, Learned(self.learning)
            take_latest(self.expander, before)
        else:
            self.learning.refresh()

    def asked(
        self, rows: Words, ask: Callable[[Learned, Words], tuple[int, int]]
    ) -> Iterator[tuple[Words, int]]:
        """Ask about states in batches: yields the batch, and the number of successors.

        Missed states are learned, and asked about again.
        """
        todo = [np.arange(at, min(at + BATCH, len(rows))) for at in range(0, len(rows), BATCH)]
        while todo:
            places = todo.pop()
            expander = self.expander
            stop, successors = ask(expander, self.tables.columns_of(rows[places]))
            lost = places[expander.lost]
            yield places[:stop], successors
            if stop < len(places):
                todo.append(places[stop:])
            if len(lost):
                missed, expander.missed = expander.missed, []
                if self.learning.learn(missed):
                    self.take_up(outgrown=True)
                todo.append(lost)

    def masks_of(self, rows: Words) -> Words:
        """The marks of each state."""
        masks: Words = np.zeros(len(rows), np.int64)
        ask = lambda expander, words: (expander.mark(words, 0, words.shape[1]), 0)  # noqa: E731
        for places, _ in self.asked(rows, ask):
            masks[places] = self.expander.masks[: len(places)]
        return masks

    def expand(self, rows: Words) -> Iterator[tuple[Words, Words, Words, Words]]:
        """In batches: the states expanded, and their marks; the successors as columns of words,
        and the index of the state that each comes from.
        """
        ask = lambda expander, words: expander.expand(words, 0, words.shape[1])  # noqa: E731
        for places, count in self.asked(rows, ask):
            expander = self.expander
            origins = expander.origins[:count] >> expander.label_bits
            masks = expander.masks[: len(places)]
            yield places, masks, expander.successors[:, :count], places[origins]

    def successors_of(self, rows: Words) -> tuple[Words, int]:
        """The distinct successors of some states, and the marks found by expanding."""
        found, mask = [rows[:0].astype(np.int32)], 0
        for _, masks, successors, _ in self.expand(rows):
            mask |= int(np.bitwise_or.reduce(masks, initial=0))
            once = np.unique(successors, axis=1)
            found.append(self.tables.rows_of(once).astype(np.int32))
        return np.unique(np.concatenate(found), axis=0), mask

    def take_counts(self) -> Counts:
        """The counts since the last call."""
        counts, self.counted = self.counted, Counts()
        counts.add(self.expander.take_counts())
        return counts

    def check(self, rows: Words) -> None:
        """Compare the learned answers for some states with those of the rules, and those for the
        states with the last values of components.
        """
        learned = Learned(self.learning)
        for row in rows:
            self.checking.check(learned, self.tables.columns_of(row[None]))
        self.checking.check_latest(self.expander, lambda: None, least_growth=1)
