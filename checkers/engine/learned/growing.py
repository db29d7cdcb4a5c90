"""Arrays that grow at their ends, and the limits of the tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from kspec.checkers.engine.learned.values import Unable
from kspec.impl.compiled import Words

MOST = 1 << 30
"""The maximum number of values, probes, instances and so on; 24 GB of memory holds about a tenth
as many. Hash keys of answers (`walk.answer_number`) have 30 bits for a probe."""
MOST_IN_TREES = 1 << 31
"""The maximum size of all trees: addresses are signed 32-bit integers."""


class TooMany(Unable):
    """A quantity exceeds the limit of the tables."""

    def __init__(self, what: str, limit: int) -> None:
        """State the limit."""
        super().__init__(
            f"this run needs more than {limit:,} {what}, the limit of the learned engine: use "
            "smaller bounds, or --engine reference"
        )


def assert_fits(numbers: Words, kind: Any) -> None:
    """Raise TooMany if an array of this kind cannot hold the numbers."""
    about = np.iinfo(kind)
    if numbers.size and (numbers.min() < about.min or numbers.max() > about.max):
        raise TooMany("different numbers in a table", int(about.max) + 1)


class Row:
    """An array that grows at its end, and rejects numbers that do not fit."""

    def __init__(self, width: int = 0, kind: Any = np.int64, fill: int = 0) -> None:
        self.fill = fill
        shape = (64, width) if width else (64,)
        self.array: Any = np.full(shape, fill, kind)
        self.count = 0

    def reserve(self, count: int) -> None:
        """Make room for this many."""
        if count > len(self.array):
            size = max(count, 2 * len(self.array))
            grown = np.full((size, *self.array.shape[1:]), self.fill, self.array.dtype)
            grown[: self.count] = self.array[: self.count]
            self.array = grown

    def extend(self, items: Any) -> None:
        """Add items at the end."""
        if len(items):
            if getattr(items, "dtype", None) != self.array.dtype:
                items = np.asarray(items, np.int64)
                assert_fits(items, self.array.dtype)
            self.reserve(self.count + len(items))
            self.array[self.count : self.count + len(items)] = items
            self.count += len(items)


class Lanes:
    """Arrays that grow side by side in one: lane n stands at `at[n]`, with room for `room[n]`."""

    def __init__(self, kind: Any = np.int32) -> None:
        self.content = Row(kind=kind, fill=-1)
        self.at = Row()
        self.room = Row()

    def have(self, lane: int, room: int) -> bool:
        """Make room in a lane; whether it moved."""
        while self.at.count <= lane:
            self.at.extend([0])
            self.room.extend([0])
        old = int(self.room.array[lane])
        if room <= old:
            return False
        new = max(16, 1 << (room - 1).bit_length())
        begin = self.content.count
        self.content.reserve(begin + new)
        at = int(self.at.array[lane])
        self.content.array[begin : begin + old] = self.content.array[at : at + old]
        self.content.array[begin + old : begin + new] = -1
        self.content.count = begin + new
        self.at.array[lane], self.room.array[lane] = begin, new
        return True
