"""The set of all states found by one worker: exact, and hardly larger than what tells them apart.

A table is a row of buckets of eight slots, each bucket one line of the processor's cache. The
upper half of a code names the bucket at which a state is at home; if that is full, it moves on
to the next. So an entry need not repeat what its bucket says: it holds how far it is from home,
and of the code only as many bits as tell apart the states that are at home there. Entry and
bucket together give back the whole code; no two states look the same.

    entry: low bits of the code | high bits of the state, if few | distance from home, and one

Where a state has many high bits, they stand in a second row, `rest`.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

import numpy as np

from checkers.native.codes import shifted
from checkers.native.prefetch import ask_for
from impl.packed.compiled import Words, compiled, look

SLOTS = 8
LINE = 64
"""Bytes of a bucket."""
DISTANCE_BITS = 6
DISTANCE = (1 << DISTANCE_BITS) - 1
MARGIN = 64
"""Buckets behind the last home, for those who move on."""
FIRST_BUCKETS = 4 * MARGIN
"""An entry of a bucket behind these moves to a later one when the table grows by a half."""
AHEAD = 32
"""How many codes ahead a bucket is asked for, so that waiting for memory overlaps."""
LOAD = 0.8
INSIDE = 10
"""More high bits than these stand in the second row."""


@compiled
def home_of(code: int, buckets: int) -> int:
    """The bucket at which a code is at home; it grows with the code, in tables of any size."""
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
    new_pieces: Words,
    new: int,
) -> tuple[int, int]:
    """Insert states; copy those that are new behind the first `new` of the new ones.

    Answers how far it came, before there was no room in the table or among the new, and how
    many new ones there are then.
    """
    upper = inside + DISTANCE_BITS
    within = (1 << inside) - 1
    apart = len(rest) > 0
    for i in range(begin, min(begin + AHEAD, end)):
        ask_for(slots, home_of(codes[i], buckets) * SLOTS)
    for i in range(begin, end):
        if room == 0 or new == len(new_codes):
            return i, new
        if i + AHEAD < end:
            ahead = home_of(codes[i + AHEAD], buckets) * SLOTS
            ask_for(slots, ahead)
            if apart:
                ask_for(rest, ahead)
        code = codes[i]
        high = highs[i]
        at = home_of(code, buckets) * SLOTS
        entry = code << upper | (high & within) << DISTANCE_BITS | 1
        while True:
            found = 0
            used = 0
            if apart:
                for slot in range(at, at + SLOTS):
                    found |= int(look(slots, slot) == entry) & int(look(rest, slot) == high)
                    used += int(look(slots, slot) != 0)
            else:
                for slot in range(at, at + SLOTS):
                    found |= int(look(slots, slot) == entry)
                    used += int(look(slots, slot) != 0)
            if found:
                break
            if used < SLOTS:
                slots[at + used] = entry
                if apart:
                    rest[at + used] = high
                new_codes[new] = code
                for p in range(new_pieces.shape[1]):
                    new_pieces[new, p] = high >> (16 * p) & 0xFFFF
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
    entry: int,
    high: int,
    bucket: int,
    least: int,
    slots: Words,
    rest: Words,
    buckets: int,
    to_buckets: int,
    inside: int,
) -> None:
    """Put an entry where it belongs in a larger table; `least` as in `spread`, for its bucket."""
    upper = inside + DISTANCE_BITS
    told = (1 << (64 - upper - 32)) - 1  # what an entry tells of the upper half of its code
    distance = (entry & DISTANCE) - 1
    if distance:
        least = ((bucket - distance << 32) + buckets - 1) // buckets
    half = least + ((shifted(entry, upper) >> 32) - least & told)
    at = (half * to_buckets >> 32) * SLOTS
    entry = entry & ~DISTANCE | 1
    while True:
        used = 0
        for slot in range(at, at + SLOTS):
            used += int(look(slots, slot) != 0)
        if used < SLOTS:
            break
        at += SLOTS
        entry += 1
    slots[at + used] = entry
    if len(rest) > 0:
        rest[at + used] = high


@compiled
def spread(
    slots: Words, rest: Words, buckets: int, to_buckets: int, inside: int, aside: Words
) -> None:
    """Spread the entries over more buckets, in place, beginning with the last.

    The new place of an entry lies behind its old one, where everything has been moved already;
    but for the first few buckets, which step aside until the others are done. The least upper
    half of a code that is at home in a bucket is 2**32 * bucket / buckets, rounded up; as
    division takes long, it is kept from bucket to bucket, as a quotient and what remains.
    """
    apart = len(rest) > 0
    for slot in range(FIRST_BUCKETS * SLOTS):
        aside[0, slot] = slots[slot]
        aside[1, slot] = rest[slot] if apart else 0
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
            high = rest[slot] if apart else 0
            slots[slot] = 0
            move(entry, high, bucket, least, slots, rest, buckets, to_buckets, inside)
        quotient -= step
        remains -= step_remains
        if remains < 0:
            remains += buckets
            quotient -= 1
    for slot in range(FIRST_BUCKETS * SLOTS):
        entry, high = aside[0, slot], aside[1, slot]
        if entry:
            bucket = slot // SLOTS
            least = ((bucket << 32) + buckets - 1) // buckets
            move(entry, high, bucket, least, slots, rest, buckets, to_buckets, inside)


def reserve(size: int) -> Words:
    """Addresses for that many bytes, or as many as there are; memory follows with their use."""
    pages = size // mmap.PAGESIZE
    while True:
        try:
            memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
        except OSError:
            pages //= 2
        else:
            break
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.int64)


NO_SLOTS: Words = np.empty(0, np.int64)


class Table:
    """The states found by one worker."""

    def __init__(
        self, high_bits: int, most_bytes: int, reserve: Callable[[int], Words] = reserve
    ) -> None:
        self.apart = high_bits > INSIDE
        self.inside = 0 if self.apart else high_bits
        # Entries and buckets together must tell the whole upper half of a code.
        self.buckets = 1 << max(12, 32 - (64 - DISTANCE_BITS - self.inside - 32))
        self.count = 0
        self.slots = reserve(most_bytes)
        self.rest = reserve(most_bytes) if self.apart else NO_SLOTS

    @property
    def room(self) -> int:
        """How many more states it takes before it is better off larger."""
        return max(0, int(self.buckets * SLOTS * LOAD) - self.count)

    @property
    def bytes(self) -> int:
        """What it takes of memory."""
        return self.buckets * LINE * (1 + self.apart)

    @property
    def next_buckets(self) -> int:
        """How many buckets it would have next: twice as many while that costs little."""
        return self.buckets * 2 if self.buckets < 1 << 20 else self.buckets * 3 // 2

    @property
    def growth_bytes(self) -> int:
        """How much more memory it would take next."""
        return (self.next_buckets - self.buckets) * LINE * (1 + self.apart)

    @property
    def can_grow(self) -> bool:
        """Whether there are addresses for more."""
        return (self.next_buckets + MARGIN) * SLOTS <= len(self.slots)

    def grow(self) -> None:
        """Spread over more buckets."""
        aside: Words = np.empty((2, FIRST_BUCKETS * SLOTS), np.int64)
        spread(self.slots, self.rest, self.buckets, self.next_buckets, self.inside, aside)
        self.buckets = self.next_buckets
