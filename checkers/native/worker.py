"""One of the workers: it owns the states whose codes fall to it, and expands them.

In each round a worker first takes in what the others found for it in the round before, and
then expands states of its own until its outboxes are full. Nobody writes what another one reads
in the same round, so nothing needs a lock, and no result depends on who is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from checkers.memory import machine_bytes
from checkers.native.codes import SHARD_BITS, Coding, Pieces, decode, encode, shard_of
from checkers.native.table import Table, insert
from impl.packed.compiled import Words, compiled
from impl.packed.kernel import MOST_GUARDS, Kernel

BATCH = 2048
"""How many states are expanded at a time."""
ROOM = BATCH * 16
"""How many successors a batch has room for; it ends earlier if they are more."""
OUTBOX = 1 << 17
"""How many states a worker sends in a round, to all owners together."""
RECENT = 1 << 15
"""How many of the states sent last are remembered, so as not to send them again."""
CHUNK = 1 << 18
"""How many states a level's memory grows by, at the most."""


class OutOfMemory(Exception):
    """The limit on memory would be passed."""


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
        """What it takes of memory."""
        return self.codes.nbytes + self.pieces.nbytes


class Outbox:
    """What a worker found in one round, by owner."""

    def __init__(self, workers: int, rows: int) -> None:
        self.codes: Words = np.empty((workers, OUTBOX // workers), np.int64)
        self.highs: Words = np.empty((workers, rows, OUTBOX // workers), np.int64)
        self.counts: Words = np.zeros(workers, np.int64)


@compiled
def owner_of(code: int, workers: int) -> int:
    """Whose state this is: an owner has whole shards, about as many as any other."""
    return shard_of(code) * workers >> SHARD_BITS


def shards_of(owner: int, workers: int) -> range:
    """The shards whose states fall to an owner."""
    first, behind = (-(-(n << SHARD_BITS) // workers) for n in (owner, owner + 1))
    return range(first, behind)


def nothing_recent(size: int, rows: int) -> tuple[Words, Words]:
    """Codes and high bits of states sent last, where none was: no code stands where it belongs."""
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
    """Put states in their owners' outboxes, but those sent a moment ago; say how far it came."""
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
        self,
        index: int,
        workers: int,
        kernel: Kernel[Any],
        coding: Coding,
        memory: Memory,
        *,
        coverage: bool = False,
    ) -> None:
        self.index = index
        self.coverage = coverage
        self.kernel = kernel
        self.coding = coding
        self.memory = memory
        self.table = Table(coding.high_bits, machine_bytes() // workers)
        self.levels: list[list[Chunk]] = []
        """The states found, by level; the last level is still growing."""
        self.found = 0
        """The mask of the properties that a state of the level that is expanded violates."""
        self.outboxes = Outbox(workers, coding.rows), Outbox(workers, coding.rows)
        """One is read while the other is written."""
        height = len(coding.widths)
        self.words: Words = np.empty((height, BATCH), np.int64)
        self.successors: Words = np.empty((height, ROOM), np.int64)
        self.origins: Words = np.empty(ROOM, np.int64)
        self.todo: Words = np.empty((len(kernel.acts), ROOM), np.int64)
        self.counts: Words = np.zeros(len(kernel.acts), np.int64)
        self.masks: Words = np.empty(BATCH, np.int64)
        self.codes: Words = np.empty(ROOM, np.int64)
        self.highs: Words = np.empty((coding.rows, ROOM), np.int64)
        self.position = 0, 0
        """Chunk and index of the state that is expanded next."""
        self.unsent = 0, 0
        """Which of these codes are not sent yet."""
        self.recent, self.recent_highs = nothing_recent(RECENT, coding.rows)
        self.fired: Words = np.zeros(len(kernel.acts), np.int64)
        """How often each act happened, in the levels that are expanded."""
        self.stopped: Words = np.zeros((len(kernel.acts), MOST_GUARDS), np.int64)
        """By act and guard, how often that guard was the first not to hold, if it is counted."""
        memory.workers.append(self)

    # -- levels ---------------------------------------------------------------------------------

    def begin_level(self) -> None:
        """What was found last is expanded next."""
        self.position = 0, 0
        self.found = 0
        self.levels.append([])

    def found_last(self) -> int:
        """How many states the last level has."""
        return sum(chunk.count for chunk in self.levels[-1])

    @property
    def done(self) -> bool:
        """Whether all of the level is expanded and sent."""
        if self.unsent[0] < self.unsent[1]:
            return False
        return len(self.levels) < 2 or self.position[0] == len(self.levels[-2])

    @property
    def bytes(self) -> int:
        """What its states take of memory."""
        return self.table.bytes + sum(c.bytes for level in self.levels for c in level)

    # -- a round --------------------------------------------------------------------------------

    def round(self, parity: int, senders: Sequence[Worker]) -> None:
        """Take in what was found in the round before, and expand until an outbox is full."""
        for sender in senders:
            box = sender.outboxes[1 - parity]
            self.take_in(box.codes[self.index], box.highs[self.index], int(box.counts[self.index]))
        box = self.outboxes[parity]
        box.counts[:] = 0
        while not self.done:
            if self.unsent[0] == self.unsent[1]:
                self.expand()
            begin, end = self.unsent
            begin = send(
                self.codes, self.highs, begin, end, self.recent, self.recent_highs,
                box.codes, box.highs, box.counts,
            )  # fmt: skip
            self.unsent = begin, end
            if begin < end:
                break

    def take_in(self, codes: Words, highs: Words, count: int) -> None:
        """Insert states, and note those that are new."""
        begin, level, table = 0, self.levels[-1], self.table
        while begin < count:
            if not level or level[-1].count == len(level[-1].codes):
                size = min(CHUNK, max(1 << 10, self.found_last()))
                level.append(Chunk.empty(size, self.coding.pieces))
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

    def expand(self) -> None:
        """Expand one batch of states."""
        index, begin = self.position
        chunk = self.levels[-2][index]
        count = min(BATCH, chunk.count - begin)
        words, kernel = self.words, self.kernel
        decode(chunk.codes, chunk.pieces, begin, count, self.coding, words)
        count, successors = kernel.expand(
            words, 0, count, self.todo, self.successors, self.origins, self.counts
        )
        self.found |= kernel.check(words, 0, count, self.masks)
        self.fired += self.counts
        if self.coverage and kernel.stops:
            kernel.stops(words, count, self.stopped)
        encode(self.successors, successors, self.coding, self.codes, self.highs)
        self.unsent = 0, successors
        begin += count
        self.position = (index, begin) if begin < chunk.count else (index + 1, 0)

    # -- looking back ---------------------------------------------------------------------------

    def check(self, level: int) -> int:
        """The mask of the properties that a state of the level violates."""
        found = 0
        for count in self.batches(level):
            found |= self.kernel.check(self.words, 0, count, self.masks)
        return found

    def batches(self, level: int) -> Iterator[int]:
        """Decode a level batch by batch into `words`; each time, how many states."""
        for chunk in self.levels[level]:
            for begin in range(0, chunk.count, BATCH):
                count = min(BATCH, chunk.count - begin)
                decode(chunk.codes, chunk.pieces, begin, count, self.coding, self.words)
                yield count

    def states(self, level: int) -> Iterator[tuple[int, ...]]:
        """The words of each state of a level."""
        for count in self.batches(level):
            yield from zip(*self.words[:, :count].tolist(), strict=True)

    def least_violating(self, level: int, bit: int) -> tuple[int, ...] | None:
        """Of the states of a level that violate a property, the one with the least words."""
        least = None
        for count in self.batches(level):
            if self.kernel.check(self.words, 0, count, self.masks) & bit:
                states = self.words[:, :count][:, self.masks[:count] & bit != 0]
                least = lesser(least, least_of(states))
        return least

    def least_predecessor(self, level: int, of: tuple[int, ...]) -> tuple[int, ...] | None:
        """Of the states of a level with this successor, the one with the least words."""
        least = None
        wanted = np.array(of, np.int64)[:, None]
        for count in self.batches(level):
            begin = 0
            while begin < count:
                begin, n = self.kernel.expand(
                    self.words, begin, count, self.todo, self.successors, self.origins, self.counts
                )
                hits = (self.successors[:, :n] == wanted).all(axis=0)
                origins = self.origins[:n][hits]
                if len(origins):
                    least = lesser(least, least_of(self.words[:, origins >> 16]))
        return least

    def count_orbits(self, level: int) -> int:
        """How many states those of a level stand for."""
        represent = self.kernel.representatives
        assert represent is not None
        return sum(represent(self.words, count) for count in self.batches(level))


def least_of(columns: Words) -> tuple[int, ...]:
    """The least column, by its first row, then the second, and so on."""
    first = np.lexsort(columns[::-1])[0]
    return tuple(int(word) for word in columns[:, first])


def lesser(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The lesser of two, where there are two."""
    if one is None or other is None:
        return one or other
    return min(one, other)


class Memory:
    """How much memory there may be; every worker asks before it takes more."""

    def __init__(self, base: int, limit: int | None) -> None:
        self.base = base
        self.limit = limit
        self.workers: list[Worker] = []

    def ask(self, more: int) -> None:
        """Raise OutOfMemory if that much more would pass the limit."""
        used = self.base + sum(w.bytes for w in self.workers)
        if self.limit is not None and used + more > self.limit:
            raise OutOfMemory
