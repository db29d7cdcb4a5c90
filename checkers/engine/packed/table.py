"""The set of all states that one worker owns: exact, and hardly larger than the information it
holds.

A table is a row of buckets of eight slots, each bucket one cache line. The upper half of a code
determines the bucket that is the state's home; if it is full, the state moves to the next one. An
entry therefore stores only its distance from home and the bits of the code that distinguish states
with the same home. Entry and bucket together determine the whole code; no two states share an
entry.

    entry: low bits of the code | high bits of the state, if few | distance from home, plus one

If a state has many high bits, they are in a second array, `rest`: a row of words per slot, so that
those of a bucket are adjacent too.
"""

from __future__ import annotations

import mmap

import numpy as np

from kspec.checkers.engine.packed.codes import PIECE_BITS, PIECES, Pieces, high_rows, shifted
from kspec.checkers.engine.packed.intrinsics import prefetch_element
from kspec.impl.compiled import Words, compiled, look, lowest
from kspec.spec.core import SpecError

SLOTS = 8
LINE = 64
"""Bytes per bucket."""
DISTANCE_BITS = 6
DISTANCE = (1 << DISTANCE_BITS) - 1
MARGIN = 64
"""Buckets after the last home, for displaced states."""
FIRST_BUCKETS = 4 * MARGIN
"""An entry in a bucket from this one on moves to a later bucket when the table grows by a half."""
AHEAD = 32
"""How many codes ahead a bucket is prefetched, so that memory latencies overlap."""
LOAD = 0.8
INSIDE = 10
"""More high bits than these are stored in the second array."""


@compiled
def home_of(code: int, buckets: int) -> int:
    """The home bucket of a code; it increases with the code in tables of any size."""
    return shifted(code, 32) * buckets >> 32


@compiled
def insert(
    slots: Words,
    rest: Words,
    buckets: int,
    inside: int,
    room: int,
    codes: Words,
    highs: Words,
    begin: int,
    end: int,
    new_codes: Words,
    new_pieces: Pieces,
    new: int,
) -> tuple[int, int]:
    """Insert states; copy the new ones after the first `new` ones.

    Returns where it stopped for lack of room, and the number of new states by then.
    """
    upper = inside + DISTANCE_BITS
    within = (1 << inside) - 1
    columns = rest.shape[1]
    for i in range(begin, min(begin + AHEAD, end)):
        prefetch_element(slots, home_of(codes[i], buckets) * SLOTS)
    for i in range(begin, end):
        if room == 0 or new == len(new_codes):
            return i, new
        if i + AHEAD < end:
            ahead = home_of(codes[i + AHEAD], buckets) * SLOTS
            prefetch_element(slots, ahead)
            for line in range(columns):
                prefetch_element(rest, ahead * columns + line * SLOTS)
        code = codes[i]
        at = home_of(code, buckets) * SLOTS
        entry = code << upper | (highs[0, i] & within) << DISTANCE_BITS | 1
        while True:
            found = 0
            used = 0
            for slot in range(at, at + SLOTS):
                found |= int(look(slots, slot) == entry) << slot - at
                used += int(look(slots, slot) != 0)
            while found and columns:
                slot = at + lowest(found)
                differ = 0
                for row in range(columns):
                    differ |= rest[slot, row] ^ highs[row, i]
                if differ == 0:
                    break
                found &= found - 1
            if found:
                break
            if used < SLOTS:
                slots[at + used] = entry
                for row in range(columns):
                    rest[at + used, row] = highs[row, i]
                new_codes[new] = code
                for p in range(new_pieces.shape[1]):
                    high = highs[p // PIECES, i]
                    new_pieces[new, p] = high >> (p % PIECES * PIECE_BITS) & 0xFFFF
                new += 1
                room -= 1
                break
            if entry & DISTANCE == DISTANCE:
                return i, new
            at += SLOTS
            entry += 1
    return end, new


@compiled
def move(
    entry: int, bucket: int, least: int, slots: Words, buckets: int, to_buckets: int, inside: int
) -> int:
    """Move an entry to its place in a larger table; returns the slot, or -1 if its distance from
    home does not fit.

    `least` is as in `spread`, for the entry's bucket.
    """
    upper = inside + DISTANCE_BITS
    stored = (1 << (64 - upper - 32)) - 1  # the bits of the code's upper half that are stored
    distance = (entry & DISTANCE) - 1
    if distance:
        least = ((bucket - distance << 32) + buckets - 1) // buckets
    half = least + ((shifted(entry, upper) >> 32) - least & stored)
    at = (half * to_buckets >> 32) * SLOTS
    entry = entry & ~DISTANCE | 1
    while True:
        used = 0
        for slot in range(at, at + SLOTS):
            used += int(look(slots, slot) != 0)
        if used < SLOTS:
            break
        if entry & DISTANCE == DISTANCE:
            return -1
        at += SLOTS
        entry += 1
    slots[at + used] = entry
    return at + used


@compiled
def spread(
    slots: Words,
    rest: Words,
    buckets: int,
    to_buckets: int,
    inside: int,
    aside: Words,
    rest_aside: Words,
) -> bool:
    """Spread the entries over more buckets in place, last bucket first.

    Returns False if a distance from home does not fit.

    The new place of an entry lies after its old one, where everything has been moved already,
    except for the first few buckets, which are set aside until the others are done. The least
    upper half of a code whose home is a bucket is 2**32 * bucket / buckets, rounded up; since
    division is slow, it is updated from bucket to bucket as a quotient and a remainder.
    """
    columns = rest.shape[1]
    for slot in range(FIRST_BUCKETS * SLOTS):
        aside[slot] = slots[slot]
        for row in range(columns):
            rest_aside[slot, row] = rest[slot, row]
        slots[slot] = 0
    last = buckets + MARGIN - 1
    step, step_remains = divmod(1 << 32, buckets)
    quotient, remains = divmod(last << 32, buckets)
    for bucket in range(last, FIRST_BUCKETS - 1, -1):
        least = quotient + int(remains > 0)
        for slot in range(bucket * SLOTS, bucket * SLOTS + SLOTS):
            entry = look(slots, slot)
            if entry == 0:
                break
            slots[slot] = 0
            to = move(entry, bucket, least, slots, buckets, to_buckets, inside)
            if to < 0:
                return False
            for row in range(columns):
                rest[to, row] = rest[slot, row]
        quotient -= step
        remains -= step_remains
        if remains < 0:
            remains += buckets
            quotient -= 1
    for slot in range(FIRST_BUCKETS * SLOTS):
        entry = aside[slot]
        if entry:
            bucket = slot // SLOTS
            least = ((bucket << 32) + buckets - 1) // buckets
            to = move(entry, bucket, least, slots, buckets, to_buckets, inside)
            if to < 0:
                return False
            for row in range(columns):
                rest[to, row] = rest_aside[slot, row]
    return True


def reserve(size: int) -> Words:
    """Reserve addresses for this many bytes, or as many as possible; use takes memory."""
    pages = size // mmap.PAGESIZE
    while True:
        if not pages:
            raise MemoryError
        try:
            memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
        except OSError:
            pages //= 2
        else:
            break
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.int64)


class Table:
    """The states owned by one worker."""

    def __init__(self, high_bits: int, most_bytes: int) -> None:
        apart = high_bits > INSIDE
        self.columns = high_rows(-(-high_bits // PIECE_BITS)) if apart else 0
        """Words per slot in `rest`."""
        self.inside = 0 if apart else high_bits
        # Entry and bucket together must determine the whole upper half of a code.
        self.buckets = 1 << max(12, 32 - (64 - DISTANCE_BITS - self.inside - 32))
        self.count = 0
        self.slots = reserve(most_bytes)
        rest = reserve(most_bytes * self.columns) if apart else np.empty(0, np.int64)
        slots = len(rest) // max(1, self.columns)
        self.rest = rest[: slots * self.columns].reshape(slots, self.columns)
        if not self.has_room_for(self.buckets):
            raise MemoryError

    @property
    def room(self) -> int:
        """How many more states fit before the table should grow."""
        return max(0, int(self.buckets * SLOTS * LOAD) - self.count)

    @property
    def bytes(self) -> int:
        """The memory that it takes."""
        return self.buckets * LINE * (1 + self.columns)

    @property
    def next_buckets(self) -> int:
        """The next number of buckets: twice as many, or less where that costs too much."""
        return self.buckets * 2 if self.buckets < 1 << 20 else self.buckets * 3 // 2

    @property
    def growth_bytes(self) -> int:
        """The memory that growing would add."""
        return (self.next_buckets - self.buckets) * LINE * (1 + self.columns)

    @property
    def can_grow(self) -> bool:
        """Whether there are addresses for a larger table."""
        return self.has_room_for(self.next_buckets)

    def has_room_for(self, buckets: int) -> bool:
        """Whether there are addresses for this many buckets, which a number of 31 bits counts."""
        room = min(len(self.slots), len(self.rest)) if self.columns else len(self.slots)
        return (buckets + MARGIN) * SLOTS <= room and buckets < 1 << 31

    def grow(self) -> None:
        """Spread the entries over more buckets."""
        aside: Words = np.empty(FIRST_BUCKETS * SLOTS, np.int64)
        rest_aside: Words = np.empty((len(aside), self.columns), np.int64)
        fits = spread(
            self.slots, self.rest, self.buckets, self.next_buckets, self.inside, aside, rest_aside
        )
        if not fits:
            raise SpecError(
                "the table of states is too crowded: a state is more than 62 buckets from its home"
            )
        self.buckets = self.next_buckets
