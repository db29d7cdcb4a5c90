"""What one process has learned of a model, and its answers for states as bytes.

As in `kspec.checkers.engine.learned`, a state is a row of numbers here, one for each component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from kspec.checkers.engine.learned.asking import Expanded, LearnedAsking
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.divided import Unfit
from kspec.checkers.engine.learned.expander import LearnedExpander
from kspec.checkers.engine.learned.frames import Frames
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.learned.search import by_learning
from kspec.impl.compiled import Words
from kspec.spec.core import System

T = TypeVar("T")


class LearnedModel:
    """The learned rules of one model in one process."""

    def __init__(self, system: System[Any]) -> None:
        self.system = system
        self.codec = Codec(system)
        self.learnable = Learnable()
        self.begin()

    def begin(self) -> None:
        """Start with nothing learned."""
        self.learning = by_learning(self.system, self.learnable, lambda learning: learning, None)
        self.book, self.tables = self.learning.book, self.learning.tables
        self.asking = LearnedAsking(self.learning)
        self.checking = Checking(self.learning, everything=False)
        self.frames = Frames(self.codec, self.book)
        self.last: tuple[Sequence[bytes], Words] = (
            (),
            np.zeros((0, len(self.book.components)), np.int64),
        )
        """The states that were converted to rows last; the next task asks for them again."""

    def answer(self, ask: Callable[[], T]) -> T:
        """The result of a function; it runs again if components turn out not to fit."""
        while True:
            try:
                return ask()
            except Unfit as unfit:
                self.learnable.lay_out_anew(unfit)
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
            if self.tables.is_outgrown:
                self.asking.repack()
            else:
                self.learning.refresh()
        self.last = states, rows
        return rows

    def bytes_of(self, rows: Words) -> list[bytes]:
        """Rows as states."""
        narrow = self.frames.narrowed(rows.astype(np.int64))
        return self.frames.snapshot().states(narrow)

    # -- answers --------------------------------------------------------------------------------

    def masks_of(self, rows: Words) -> Words:
        """The marks of each state."""
        masks: Words = np.zeros(len(rows), np.int64)
        columns_at = partial(self.columns_at, rows)
        for places, found in self.asking.mark(np.arange(len(rows)), columns_at):
            masks[places] = found
        return masks

    def expand(self, rows: Words) -> Iterator[Expanded]:
        """Expand states, which are numbered by their rows."""
        return self.asking.expand(np.arange(len(rows)), partial(self.columns_at, rows))

    def columns_at(self, rows: Words, places: Words) -> Words:
        """The words of some rows, a column for each."""
        return self.tables.columns_of(rows[places])

    def successors_of(self, rows: Words) -> tuple[Words, int]:
        """The distinct successors of some states, and the marks found by expanding."""
        found, mask = [rows[:0].astype(np.int32)], 0
        for answer in self.expand(rows):
            mask |= int(np.bitwise_or.reduce(answer.masks, initial=0))
            once = np.unique(answer.successors, axis=1)
            found.append(self.tables.rows_of(once).astype(np.int32))
        width = max(rows.shape[1] for rows in found)  # rows before an element was found lack it
        wide = [np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in found]
        return np.unique(np.concatenate(wide), axis=0), mask

    def check(self, rows: Words) -> None:
        """Compare the learned answers for some states with those of the rules, and those for the
        states with the last values of components.
        """
        learned = LearnedExpander(self.learning)
        for row in rows:
            self.checking.check(learned, self.tables.columns_of(row[None]))
        self.checking.check_latest(self.asking.expander, lambda: None, least_growth=1)
