"""Ask what is learned of a system about any states, in batches; what is missing is learned, and
asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.learned.expander import BATCH, LearnedExpander, Repacked
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.walk import LABEL_BITS
from kspec.checkers.engine.search import Counts
from kspec.impl.compiled import Words

ColumnsAt: TypeAlias = Callable[[Words], Words]
"""The words of states, a column for each, given the numbers by which a caller knows them."""


@attrs.frozen(eq=False)
class Expanded:
    """What expanding some states found; the next question overwrites it."""

    places: Words
    """The states, by their numbers."""
    masks: Words
    """By state: the marks that expanding finds; 0 if the state is asked about again."""
    origins: Words
    """By successor: the number of the state before it."""
    labels: Words
    """By successor: the label of its step."""
    successors: Words
    """The words of the successors, a column for each."""


@attrs.define(eq=False)
class LearnedAsking:
    """Asks the tables, which grow."""

    learning: Learning
    held: Callable[[], Words] | None = None
    """Returns the words of all states that the caller holds, if it holds words."""
    hold: Callable[[Words], None] = lambda words: None
    """Receives the new words of these states where they need more bits; then Repacked is raised."""
    watch: Callable[[], None] = lambda: None
    """Called after each run of a rule."""
    counted: Counts = attrs.field(factory=Counts)
    """What expanders before this one have counted."""
    expander: LearnedExpander = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.expander = LearnedExpander(self.learning)

    def expand(self, places: Words, columns_at: ColumnsAt) -> Iterator[Expanded]:
        """Expand states; those that were missed come again in a later batch."""
        for batch, asked, count in self.asked(places, columns_at, LearnedExpander.expand):
            origins = self.expander.origins[:count]
            yield Expanded(
                batch[asked],
                self.expander.masks[asked],
                batch[origins >> LABEL_BITS],
                origins & (1 << LABEL_BITS) - 1,
                self.expander.successors[:, :count],
            )

    def mark(self, places: Words, columns_at: ColumnsAt) -> Iterator[tuple[Words, Words]]:
        """Some states and their masks; those that were missed come again in a later batch."""
        for batch, asked, _ in self.asked(places, columns_at, mark_batch):
            yield batch[asked], self.expander.masks[asked]

    def asked(
        self, places: Words, columns_at: ColumnsAt, ask: Callable[..., tuple[int, int]]
    ) -> Iterator[tuple[Words, Any, int]]:
        """Ask about states: yields a batch, the slice answered, and the number of successors."""
        for first in range(0, len(places), BATCH):
            batch = places[first : first + BATCH]
            while len(batch):
                words, begin, missed = columns_at(batch), 0, []
                while begin < len(batch):
                    end, count = ask(self.expander, words, begin, len(batch))
                    missed.append(batch[self.expander.lost])
                    yield batch, slice(begin, end), count
                    begin = end
                self.learn()
                batch = np.concatenate(missed)

    def learn(self) -> None:
        """Learn what the expander has missed; Repacked if the states need other words."""
        missed, self.expander.missed = self.expander.missed, []
        if missed and self.learning.learn(missed, self.watch):
            self.repack()

    def repack(self) -> None:
        """Give states more bits."""
        tables = self.learning.tables
        rows = None if self.held is None else tables.rows_of(self.held())
        self.counted.add(self.expander.take_counts())
        self.learning.repack()
        before, self.expander = self.expander, LearnedExpander(self.learning)
        self.expander.go_on_from(before)
        if rows is not None:
            self.hold(tables.columns_of(rows))
            raise Repacked

    def take_counts(self) -> Counts:
        """The counts since the last call."""
        counts, self.counted = self.counted, Counts()
        counts.add(self.expander.take_counts())
        return counts


def mark_batch(expander: LearnedExpander, words: Words, begin: int, end: int) -> tuple[int, int]:
    """Mark a range of states; returns where it stopped, and no successors."""
    return expander.mark(words, begin, end), 0
