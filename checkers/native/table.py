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
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from checkers.native.codes import shifted
from impl.packed.compiled import Words, compiled, look

SLOTS = 8
LINE = 64
"""Bytes of a bucket."""
DISTANCE_BITS = 6
DISTANCE = (1 << DISTANCE_BITS) - 1
MARGIN = 64
"""Buckets behind the last home, for those who move on."""
AHEAD = 32
"""How many codes ahead a bucket is asked for, so that waiting for memory overlaps."""
LOAD = 0.8
INSIDE = 10
"""More high bits than these stand in the second row."""


@intrinsic  # type: ignore[misc]
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """Ask for the line of an array's element, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(function, [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


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
        prefetch(slots, home_of(codes[i], buckets) * SLOTS)
    for i in range(begin, end):
        if room == 0 or new == len(new_codes):
            return i, new
        if i + AHEAD < end:
            ahead = home_of(codes[i + AHEAD], buckets) * SLOTS
            prefetch(slots, ahead)
            if apart:
                prefetch(rest, ahead)
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
    slots: Words,
    rest: Words,
    buckets: int,
    begin: int,
    end: int,
    inside: int,
    to: Words,
    to_rest: Words,
    to_buckets: int,
) -> None:
    """Move the entries of a range of buckets to a larger table."""
    upper = inside + DISTANCE_BITS
    told = (1 << (64 - upper - 32)) - 1  # what entries tell of the upper half of a code
    apart = len(rest) > 0
    # The least upper half at home in a bucket is 2**32 * bucket / buckets, rounded up. Division
    # takes long, so it is kept up from bucket to bucket, as a quotient and what remains.
    step = (1 << 32) // buckets
    step_remains = (1 << 32) - step * buckets
    quotient = (begin << 32) // buckets
    remains = (begin << 32) - quotient * buckets
    for bucket in range(begin, end):
        for slot in range(bucket * SLOTS, bucket * SLOTS + SLOTS):
            entry = look(slots, slot)
            if entry == 0:
                break
            least = quotient + int(remains > 0)
            distance = (entry & DISTANCE) - 1
            if distance:
                least = ((bucket - distance << 32) + buckets - 1) // buckets
            half = least + ((shifted(entry, upper) >> 32) - least & told)
            at = (half * to_buckets >> 32) * SLOTS
            entry = entry & ~DISTANCE | 1
            while True:
                used = 0
                for k in range(at, at + SLOTS):
                    used += int(look(to, k) != 0)
                if used < SLOTS:
                    break
                at += SLOTS
                entry += 1
            to[at + used] = entry
            if apart:
                to_rest[at + used] = rest[slot]
        quotient += step
        remains += step_remains
        if remains >= buckets:
            remains -= buckets
            quotient += 1


class Row:
    """A row of slots in memory that the system hands out page by page and takes back."""

    def __init__(self, buckets: int) -> None:
        self.memory = mmap.mmap(-1, (buckets + MARGIN) * LINE)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self.memory.madvise(mmap.MADV_HUGEPAGE)
        self.slots: Words = np.frombuffer(self.memory, np.int64)

    def forget(self, begin: int, end: int) -> None:
        """Give back the memory of a range of buckets: multiples of a page's."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED, begin * LINE, (end - begin) * LINE)


NO_SLOTS: Words = np.empty(0, np.int64)


class Table:
    """The states found by one worker."""

    def __init__(self, high_bits: int) -> None:
        self.apart = high_bits > INSIDE
        self.inside = 0 if self.apart else high_bits
        # Entries and buckets together must tell the whole upper half of a code.
        self.buckets = 1 << max(12, 32 - (64 - DISTANCE_BITS - self.inside - 32))
        self.count = 0
        self.row: Row
        """The entries, and where there are many high bits, a second row for these."""
        self.rest_row: Row | None
        self.slots: Words
        self.rest: Words
        self.allocate(self.buckets)

    def allocate(self, buckets: int) -> None:
        """Make room for entries."""
        self.row = Row(buckets)
        self.rest_row = Row(buckets) if self.apart else None
        self.slots = self.row.slots
        self.rest = self.rest_row.slots if self.rest_row else NO_SLOTS

    @property
    def room(self) -> int:
        """How many more states it takes before it is better off larger."""
        return max(0, int(self.buckets * SLOTS * LOAD) - self.count)

    @property
    def bytes(self) -> int:
        """What it takes of memory."""
        return self.buckets * LINE * (1 + self.apart)

    @property
    def grown_buckets(self) -> int:
        """How many buckets it would have next: twice as many while that costs little."""
        return self.buckets * 2 if self.buckets < 1 << 20 else self.buckets * 3 // 2

    @property
    def growth_bytes(self) -> int:
        """How much more memory it would take next; the old row is given back on the way."""
        return (self.grown_buckets - self.buckets) * LINE * (1 + self.apart)

    def grow(self) -> None:
        """Move to a larger row, and give back the old one on the way."""
        row, rest_row, rest, buckets = self.row, self.rest_row, self.rest, self.buckets
        self.buckets = self.grown_buckets
        self.allocate(self.buckets)
        step = 1 << 16
        for begin in range(0, buckets + MARGIN, step):
            end = min(begin + step, buckets + MARGIN)
            move(
                row.slots, rest, buckets, begin, end, self.inside,
                self.slots, self.rest, self.buckets,
            )  # fmt: skip
            if end - begin == step:
                row.forget(begin, end)
                if rest_row:
                    rest_row.forget(begin, end)
