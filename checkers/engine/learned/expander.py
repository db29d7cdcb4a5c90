"""Expand states from the tables; what is missing is recorded, to be learned.

A **mark** is a property that a state violates or witnesses; DEADLOCK and FAILED are marks too. An
expander answers for a batch of states; those that it cannot answer yet are `lost`, and its caller
asks again after learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kspec.checkers.engine.learned import walk
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
"""Use counts of lists have 32 bits; they are collected before they overflow."""
FIRST_ENTRIES = 1 << 16
MOST_ENTRIES = 1 << 24
"""Lists take no more entries than these; then no more are made."""
FEWEST_LISTS = 4
"""There is always room for this many lists of the largest size."""


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
        self.lists = lists_in(np.zeros(FIRST_ENTRIES, np.int32), np.zeros(1, np.int64), 0)
        self.rules_list = self.properties_list = 0
        """Where the lists of all rules and of all properties begin."""
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
        self.make_room_for_lists()
        self.count[0] = 0
        stop, successors, lost = walk.expand(
            words, begin, end, learning.layout_arrays, learning.asked, self.rules_list, self.lists,
            learning.known, learning.elements,
            walk.Successors(
                self.successors, self.origins, self.masks, self.fired, self.blocked, self.ends
            ),
            self.noted, learning.most_steps, learning.most_misses,
        )  # fmt: skip
        self.uses += stop - begin
        self.note_misses(words, lost)
        if self.up_to_symmetry:
            learning.represent(self.successors, successors)
        return stop, successors

    def make_room_for_lists(self) -> None:
        """Enlarge the lists if they are half full, and begin anew if they are void."""
        learning, lists = self.learning, self.lists
        used, room = int(lists.used[0]), len(lists.entries)
        most = max(learning.most_steps, learning.most_marks)
        least = FEWEST_LISTS * walk.room_for_list(most, int(learning.values[-1]))
        grows = room < least or (2 * used > room and room < MOST_ENTRIES)
        is_void = grows or self.version != learning.version
        if not is_void and self.uses < MOST_USES:
            return
        walk.count_blocks(lists.entries, used, self.blocked)
        self.uses = 0
        if is_void:
            entries = np.zeros(max(2 * room, least), np.int32) if grows else lists.entries
            self.lists = lists_in(entries, learning.values, most)
            self.version = learning.version
            self.rules_list = self.list_of(learning.rules)
            self.properties_list = self.list_of(learning.properties)

    def list_of(self, instances: Sequence[int]) -> int:
        """Where the list of some instances begins, whatever the state."""
        begin: int = walk.begin_list(np.array(instances, np.int64), self.lists, self.learning.known)
        return begin

    def mark(self, words: Words, begin: int, end: int) -> int:
        """Write the marks of a range of states; returns where it stopped."""
        learning = self.learning
        self.make_room(learning.most_marks, learning.most_marks)
        self.make_room_for_lists()
        self.count[0] = 0
        stop, lost = walk.mark(
            words, begin, end, learning.layout_arrays, self.properties_list, self.lists,
            learning.known, learning.elements, self.masks, self.noted, learning.most_marks,
        )  # fmt: skip
        self.uses += stop - begin
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
        walk.count_blocks(self.lists.entries, self.lists.used[0], self.blocked)
        found = Counts(dict(zip(book.rules, self.fired.tolist(), strict=False)))
        for (rule, guard), times in zip(book.guards, self.blocked.tolist(), strict=False):
            if times:
                found.blocked.setdefault(rule, {})[guard] = times
        found.edge_of_bounds = int(self.ends[0])
        self.fired[:] = 0
        self.blocked[:] = 0
        self.ends[:] = 0
        return found


def lists_in(entries: Any, values: Words, most: int) -> walk.Lists:
    """No lists, in an array with room for them."""
    nodes, instances, limits = (np.empty(most, np.int64) for _ in range(3))
    used: Words = np.zeros(1, np.int64)
    return walk.Lists(entries, used, values, nodes, instances, limits, np.zeros_like(values))


def grown(counts: Words, size: int) -> Words:
    """The counts, with room for more."""
    return np.concatenate([counts, np.zeros(size - len(counts), np.int64)])
