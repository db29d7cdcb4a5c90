"""A worker: it owns the states of its shards, and expands them.

In each round, a worker first receives the states that the others found for it in the previous
round, and then expands its own states until its outboxes are full. No worker writes what another
one reads in the same round, so there are no locks, and no result depends on timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.learned.expander import BATCH, LearnedExpander
from kspec.checkers.engine.learned.walk import LABEL_BITS
from kspec.checkers.engine.memory import machine_bytes
from kspec.checkers.engine.packed.codes import Coding, Pieces, decode, encode, owner_of
from kspec.checkers.engine.packed.table import Table, insert
from kspec.impl.compiled import Words, compiled

MANY_LOST = 128
"""A round ends early when more states than these wait for learning."""
OUTBOX = 1 << 17
"""The number of states that a worker sends per round, to all owners together."""
RECENT = 1 << 15
"""The number of recently sent states that are remembered, so as not to send them again."""
CHUNK = 1 << 18
"""The most states by which a level's memory grows at a time."""


class OutOfMemory(MemoryError):
    """The limit on memory would be exceeded."""


@attrs.define(eq=False)
class Chunk:
    """Some states of a level."""

    codes: Words
    pieces: Pieces
    count: int = 0

    @classmethod
    def empty(cls, size: int, pieces: int) -> Chunk:
        """Room for states."""
        return cls(np.empty(size, np.int64), np.empty((size, pieces), np.uint16))

    @property
    def bytes(self) -> int:
        """The memory that it takes."""
        return self.codes.nbytes + self.pieces.nbytes


class Outbox:
    """The states that a worker found in one round, by owner."""

    def __init__(self, workers: int, rows: int) -> None:
        self.codes: Words = np.empty((workers, OUTBOX // workers), np.int64)
        self.highs: Words = np.empty((workers, rows, OUTBOX // workers), np.int64)
        self.counts: Words = np.zeros(workers, np.int64)


@compiled
def own(codes: Words, highs: Words, count: int, owner: int, of: int) -> int:
    """Move an owner's states to the front; returns their number."""
    kept = 0
    for i in range(count):
        if owner_of(codes[i], of) == owner:
            codes[kept] = codes[i]
            for row in range(highs.shape[0]):
                highs[row, kept] = highs[row, i]
            kept += 1
    return kept


def nothing_recent(size: int, rows: int) -> tuple[Words, Words]:
    """An empty memory of recently sent states: no code is where it would belong."""
    return ~(np.arange(size, dtype=np.int64) << 20), np.zeros((rows, size), np.int64)


@compiled
def send(
    codes: Words,
    highs: Words,
    begin: int,
    end: int,
    recent: Words,
    recent_highs: Words,
    out_codes: Words,
    out_highs: Words,
    counts: Words,
) -> int:
    """Put states in their owners' outboxes, except recently sent ones; returns the end."""
    workers, room = out_codes.shape
    for i in range(begin, end):
        code = codes[i]
        slot = code >> 20 & len(recent) - 1
        if recent[slot] == code:
            differ = 0
            for row in range(highs.shape[0]):
                differ |= recent_highs[row, slot] ^ highs[row, i]
            if differ == 0:
                continue
        owner = owner_of(code, workers)
        count = counts[owner]
        if count == room:
            return i
        out_codes[owner, count] = code
        counts[owner] = count + 1
        recent[slot] = code
        for row in range(highs.shape[0]):
            high = highs[row, i]
            out_highs[owner, row, count] = high
            recent_highs[row, slot] = high
    return end


class Worker:
    """The states of one owner, level by level."""

    def __init__(
        self, index: int, workers: int, expander: LearnedExpander, coding: Coding, memory: Memory
    ) -> None:
        self.index = index
        self.expander = expander
        self.coding = coding
        self.memory = memory
        self.table = Table(coding.high_bits, machine_bytes() // workers)
        self.levels: list[list[Chunk]] = []
        """The states found, by level; the last level may still grow."""
        self.held = 0
        """Bytes of all chunks."""
        self.found = 0
        """The union of the marks of the level in progress."""
        self.outboxes = Outbox(workers, coding.rows), Outbox(workers, coding.rows)
        """One is read while the other is written."""
        self.words: Words = np.empty((len(coding.widths), BATCH), np.int64)
        self.codes: Words = np.empty(expander.room, np.int64)
        self.highs: Words = np.empty((coding.rows, expander.room), np.int64)
        self.level = -1
        """The level in progress."""
        self.position = 0, 0
        """Chunk and index of its next state."""
        self.aside: list[Words] = []
        """States, as columns, without an answer in this round."""
        self.again: list[Words] = []
        """States without an answer in earlier rounds, to be asked again."""
        self.unsent = 0, 0
        """The range of codes not sent yet."""
        self.recent, self.recent_highs = nothing_recent(RECENT, coding.rows)
        memory.workers.append(self)

    # -- levels ---------------------------------------------------------------------------------

    def begin_level(self) -> None:
        """Start the next level: states received from now on belong to it."""
        self.levels.append([])

    def ask_level(self, level: int) -> None:
        """Start at the beginning of a level."""
        self.level, self.position, self.found = level, (0, 0), 0
        self.aside, self.again = [], []
        self.unsent = 0, 0  # left over from a level whose expansion was cut short

    def found_last(self) -> int:
        """The number of states in the last level."""
        return sum(chunk.count for chunk in self.levels[-1])

    @property
    def done(self) -> bool:
        """Whether the level is finished and everything found is sent."""
        if self.unsent[0] < self.unsent[1] or self.aside or self.again:
            return False
        return self.level < 0 or self.position[0] == len(self.levels[self.level])

    @property
    def bytes(self) -> int:
        """The memory that its states take."""
        return self.table.bytes + self.held

    def next_batch(self) -> tuple[Words, int]:
        """The next states, as columns, and their number."""
        if self.again:
            words = self.again.pop()
            return words, words.shape[1]
        index, begin = self.position
        while index < len(self.levels[self.level]):
            chunk = self.levels[self.level][index]
            count = min(BATCH, chunk.count - begin)
            if count:
                decode(chunk.codes, chunk.pieces, begin, count, self.coding, self.words)
                self.position = index, begin + count
                return self.words, count
            index, begin = index + 1, 0
            self.position = index, begin
        return self.words, 0

    def put_aside(self, words: Words, asked: int, count: int) -> int:
        """Keep the states that were lost or not reached; returns how many were lost."""
        if asked < count:
            self.again.append(words[:, asked:count].copy())
        lost = self.expander.lost
        if len(lost):
            self.aside.append(words[:, lost].copy())
        return len(lost)

    def take_again(self) -> None:
        """Ask again about the states that were put aside, after learning."""
        self.again += self.aside
        self.aside = []

    # -- a round --------------------------------------------------------------------------------

    def round(self, parity: int, senders: Sequence[Worker]) -> None:
        """Receive the states found in the previous round, and expand until an outbox is full."""
        for sender in senders:
            box = sender.outboxes[1 - parity]
            self.take_in(box.codes[self.index], box.highs[self.index], int(box.counts[self.index]))
        box = self.outboxes[parity]
        box.counts[:] = 0
        lost = 0
        while not self.done:
            if self.unsent[0] == self.unsent[1]:
                if lost > MANY_LOST:
                    break
                words, count = self.next_batch()
                if not count:
                    break
                lost += self.expand(words, count)
            begin, end = self.unsent
            begin = send(
                self.codes, self.highs, begin, end, self.recent, self.recent_highs,
                box.codes, box.highs, box.counts,
            )  # fmt: skip
            self.unsent = begin, end
            if begin < end:
                break

    def expand(self, words: Words, count: int) -> int:
        """Expand some states; returns how many were lost."""
        expander = self.expander
        asked, successors = expander.expand(words, 0, count)
        self.found |= int(np.bitwise_or.reduce(expander.masks[:asked], initial=0))
        if successors > len(self.codes):
            self.codes = np.empty(expander.room, np.int64)
            self.highs = np.empty((self.coding.rows, expander.room), np.int64)
        encode(expander.successors, successors, self.coding, self.codes, self.highs)
        self.unsent = 0, successors
        return self.put_aside(words, asked, count)

    def mark(self) -> None:
        """Mark the level's states until all are marked or many are lost."""
        lost = 0
        while lost <= MANY_LOST:
            words, count = self.next_batch()
            if not count:
                break
            asked = self.expander.mark(words, 0, count)
            self.found |= int(np.bitwise_or.reduce(self.expander.masks[:asked], initial=0))
            lost += self.put_aside(words, asked, count)

    def take_in(self, codes: Words, highs: Words, count: int) -> None:
        """Insert states, and append the new ones to the level."""
        begin, level, table = 0, self.levels[-1], self.table
        while begin < count:
            if not level or level[-1].count == len(level[-1].codes):
                size = min(CHUNK, max(1 << 10, self.found_last()))
                level.append(Chunk.empty(size, self.coding.pieces))
                self.held += level[-1].bytes
                self.memory.ask(0)
            chunk = level[-1]
            begin, new = insert(
                table.slots, table.rest, table.buckets, table.inside, table.room,
                codes, highs, begin, count, chunk.codes, chunk.pieces, chunk.count,
            )  # fmt: skip
            table.count += new - chunk.count
            chunk.count = new
            if begin < count and new < len(chunk.codes):
                self.memory.ask(table.growth_bytes)
                if not table.can_grow:
                    raise OutOfMemory
                table.grow()

    # -- looking back, where everything is known ------------------------------------------------

    def batches(self, level: int) -> Iterator[tuple[Words, int]]:
        """The states of a level in batches: columns of words, and their number."""
        self.ask_level(level)
        while (batch := self.next_batch())[1]:
            yield batch

    def least_marked(self, level: int, bit: int, *, by_expanding: bool) -> Found | None:
        """The least state of a level with this mark, in the order of their values."""
        least = None
        expander = self.expander
        for words, count in self.batches(level):
            asked = 0
            while asked < count:
                begin = asked
                if by_expanding:
                    asked, _ = expander.expand(words, begin, count)
                else:
                    asked = expander.mark(words, begin, count)
                hits = np.flatnonzero(expander.masks[begin:asked] >> bit & 1) + begin
                least = self.lesser(least, words[:, hits])
        return least

    def least_predecessor(self, level: int, of: tuple[int, ...]) -> Found | None:
        """The least state of a level with this successor, in the order of their values."""
        least = None
        expander = self.expander
        wanted = np.array(of, np.int64)[:, None]
        for words, count in self.batches(level):
            asked = 0
            while asked < count:
                asked, n = expander.expand(words, asked, count)
                hits = (expander.successors[:, :n] == wanted).all(axis=0)
                least = self.lesser(least, words[:, expander.origins[:n][hits] >> LABEL_BITS])
        return least

    def lesser(self, least: Found | None, columns: Words) -> Found | None:
        """The lesser of a state found so far and the states in some columns."""
        if not columns.shape[1]:
            return least
        key, first = self.expander.learning.least(columns)
        found = key, tuple(columns[:, first].tolist())
        return found if least is None else min(least, found)

    def count_orbits(self, level: int, represent: Callable[[Words, int], int]) -> int:
        """The number of states in the orbits of a level."""
        return sum(represent(words, count) for words, count in self.batches(level))


Found: TypeAlias = tuple[tuple[int | str, ...], tuple[int, ...]]
"""A state that was searched for: its sort key, and its words."""


class Memory:
    """The limit on memory; every worker asks before it takes more."""

    def __init__(self, base: int, limit: int | None, beside: Callable[[], int] = lambda: 0) -> None:
        """`beside` returns the memory used besides the workers' states."""
        self.base = base
        self.limit = limit
        self.beside = beside
        self.workers: list[Worker] = []

    def ask(self, more: int) -> None:
        """Raise OutOfMemory if this much more would exceed the limit."""
        used = self.base + self.beside() + sum(w.bytes for w in self.workers)
        if self.limit is not None and used + more > self.limit:
            raise OutOfMemory
