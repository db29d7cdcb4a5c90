"""Expand states from the tables; what is missing is recorded, to be learned.

A **mark** is a property that a state violates or witnesses; DEADLOCK and FAILED are marks too. An
expander answers for a batch of states; those that it cannot answer yet are `lost`, and its caller
asks again after learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.growing import MOST_IN_TREES, TooMany
from kspec.checkers.engine.learned.packing import rows_of
from kspec.checkers.engine.search import Counts
from kspec.impl.compiled import Words

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.learning import Learning

BATCH = 2048
"""The number of states in a batch."""
MISSES = 1 << 14
"""The number of recorded misses at which a batch ends early."""
MOST_USES = 1 << 30
"""Use counts of shortened lists have 32 bits; they are collected before they overflow."""


class Repacked(Exception):
    """States have other words than before, so a search among them begins again."""


class LearnedExpander:
    """Answers one worker's requests from the tables, which change only between rounds."""

    def __init__(self, learning: Learning, *, up_to_symmetry: bool = False) -> None:
        self.learning = learning
        self.up_to_symmetry = up_to_symmetry
        self.room = BATCH * 16
        """The most successors of a batch; a batch with more ends early."""
        self.successors: Words = np.empty((learning.width, self.room), np.int64)
        self.origins = np.empty(self.room, np.int64)
        """By successor: the index of its state in the batch, above the bits of a label."""
        self.masks = np.empty(BATCH, np.int64)
        """By index in the batch: the marks."""
        self.misses: Words = np.empty((MISSES, 5), np.int64)
        self.missed: list[tuple[Words, Words]] = []
        """The misses, each with the row of a state that needs it."""
        self.lost_places: Words = np.empty(BATCH, np.int64)
        self.lost = self.lost_places[:0]
        """The indexes of states without an answer."""
        self.count: Words = np.zeros(1, np.int64)
        self.short: Any = np.zeros(1 << 16, np.int32)
        """Shortened lists of instances, by the value of the first component that they read."""
        self.short_used: Words = np.zeros(1, np.int64)
        self.short_at: Any = np.zeros(0, np.int32)
        self.version = -1
        self.uses = 0
        """States expanded since the use counts were collected."""
        self.packing = learning.tables.packing
        """In use since this expander exists."""
        self.latest: Words = np.full(learning.book.fixed, -1, np.int64)
        """By component that is no element: the highest number of a value in a state seen so far."""
        self.latest_words: Words = np.zeros((learning.width, len(self.latest)), np.int64)
        """By component: the first state with that value, as a column."""
        self.fired: Words = np.zeros(64, np.int64)
        self.blocked: Words = np.zeros(64, np.int64)
        self.ends: Words = np.zeros(1, np.int64)

    def go_on_from(self, before: LearnedExpander) -> None:
        """Go on from the states with the last values that another expander has noted."""
        self.latest = before.latest
        rows = rows_of(before.latest_words, before.packing)
        self.latest_words = self.learning.tables.columns_of(rows)

    def make_room(self, most: int, most_misses: int) -> None:
        """Make room for the results and the misses of states."""
        if walk.BLOCK * most > self.room:
            self.room = 2 * walk.BLOCK * most
            self.successors = np.empty((len(self.successors), self.room), np.int64)
            self.origins = np.empty(self.room, np.int64)
        if 2 * walk.BLOCK * most_misses > len(self.misses):
            self.misses = np.empty((2 * walk.BLOCK * most_misses, 5), np.int64)
        book = self.learning.book
        if len(self.fired) < len(book.rules):
            self.fired = grown(self.fired, 2 * len(book.rules))
        if len(self.blocked) < len(book.guards):
            self.blocked = grown(self.blocked, 2 * len(book.guards))

    def expand(self, words: Words, begin: int, end: int) -> tuple[int, int]:
        """Write the successors of a range of states, and the marks that only expanding finds.

        Returns where it stopped, and the number of successors.
        """
        learning = self.learning
        self.make_room(learning.most_steps, learning.most_misses)
        self.begin_short()
        self.count[0] = 0
        stop, successors, lost = walk.expand(
            words, begin, end, learning.layout_arrays, learning.asked_rules, learning.known,
            learning.elements,
            walk.Shortened(self.short, self.short_used, self.short_at, learning.short_begin),
            walk.Successors(
                self.successors, self.origins, self.masks, self.fired, self.blocked, self.ends
            ),
            self.noted, learning.most_steps, learning.most_misses,
        )  # fmt: skip
        self.uses += stop - begin
        np.add.at(self.blocked, learning.always_blocked, stop - begin - lost)
        self.note_misses(words, lost)
        if self.up_to_symmetry:
            learning.represent(self.successors, successors)
        return stop, successors

    def begin_short(self) -> None:
        """Make room for shortened lists, and drop those that are void."""
        learning, used = self.learning, int(self.short_used[0])
        is_current = self.version == learning.version
        if is_current and used < len(self.short) // 2 and self.uses < MOST_USES:
            return
        walk.count_blocks(self.short, used, self.blocked)
        self.uses = 0
        if self.version != learning.version:
            self.version = learning.version
            self.short_used[0] = 0
            self.short_at = np.full(int(learning.tables.component_count.sum()), -1, np.int32)
        least = 64 * learning.most_short
        if used >= len(self.short) // 2 or len(self.short) < 2 * least:
            size = 2 * max(len(self.short), least)
            if size > MOST_IN_TREES:
                raise TooMany("entries in shortened lists", MOST_IN_TREES)
            larger = np.zeros(size, np.int32)
            larger[: len(self.short)] = self.short
            self.short = larger

    def mark(self, words: Words, begin: int, end: int) -> int:
        """Write the marks of a range of states; returns where it stopped."""
        learning = self.learning
        self.make_room(learning.most_marks, learning.most_marks)
        self.count[0] = 0
        stop, lost = walk.mark(
            words, begin, end, learning.layout_arrays, learning.asked_properties, learning.known,
            learning.elements, self.masks, self.noted, learning.most_marks,
        )  # fmt: skip
        self.note_misses(words, lost)
        return int(stop)

    @property
    def noted(self) -> walk.Noted:
        """Where compiled code notes what it has missed and seen."""
        return walk.Noted(
            self.misses.reshape(-1), self.count, self.lost_places, self.latest, self.latest_words
        )

    def note_misses(self, words: Words, lost: int) -> None:
        """Record what is to be learned."""
        self.lost = self.lost_places[:lost]
        if not lost:
            return
        some = self.misses[: int(self.count[0])]
        # One state for each thing that is missed: others that miss the same learn it, too.
        _, first = np.unique(some[:, :4], axis=0, return_index=True)
        kept = some[np.sort(first)]
        rows = self.learning.tables.rows_of(words[:, kept[:, 4]])
        self.missed.append((kept, rows))

    def take_counts(self) -> Counts:
        """The counts since the last call."""
        book = self.learning.book
        walk.count_blocks(self.short, int(self.short_used[0]), self.blocked)
        found = Counts(dict(zip(book.rules, self.fired.tolist(), strict=False)))
        for (rule, guard), times in zip(book.guards, self.blocked.tolist(), strict=False):
            if times:
                found.blocked.setdefault(rule, {})[guard] = times
        found.edge_of_bounds = int(self.ends[0])
        self.fired[:] = 0
        self.blocked[:] = 0
        self.ends[:] = 0
        return found


def grown(counts: Words, size: int) -> Words:
    """The counts, with room for more."""
    return np.concatenate([counts, np.zeros(size - len(counts), np.int64)])
