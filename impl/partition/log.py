"""The log of a replica: an id for each record, and an epoch for each run of records."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Batch(NamedTuple):
    """Records at consecutive offsets, written in one leader epoch."""

    base: int
    """The offset of the first record."""
    epoch: int
    """Their leader epoch."""
    ids: array[int]
    """An id for each record, such as the position of its bytes."""


class Log:
    """Records at consecutive offsets, from `start` to `end`.

    An id takes eight bytes. Epochs are stored once for each run of records of one epoch. (A run
    is not an entry of the leader-epoch cache, which also has epochs without records, and drops
    entries that a later one contradicts.)
    """

    __slots__ = ("_epochs", "_ids", "_starts", "start")

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self._ids = array("q")
        self._starts: list[int] = []
        """The offset at which each run begins."""
        self._epochs: list[int] = []
        """The epoch of each run."""

    @property
    def end(self) -> int:
        """Log end offset: the offset of the next record."""
        return self.start + len(self._ids)

    def append(self, ids: Iterable[int], epoch: int) -> int:
        """Append records, and return the offset of the first."""
        base = self.end
        self._ids.extend(ids)
        if self.end > base and not (self._epochs and self._epochs[-1] == epoch):
            self._starts.append(base)
            self._epochs.append(epoch)
        return base

    def read(self, offset: int, at_most: int) -> list[Batch]:
        """At most this many records from an offset on."""
        last = min(self.end, offset + at_most)
        run = bisect_right(self._starts, offset) - 1
        batches = []
        while offset < last:
            later = self._starts[run + 1] if run + 1 < len(self._starts) else last
            until = min(later, last)
            ids = self._ids[offset - self.start : until - self.start]
            batches.append(Batch(offset, self._epochs[run], ids))
            offset = until
            run += 1
        return batches

    def truncate_to(self, offset: int) -> None:
        """Delete the records at `offset` and above; below the start, restart at `offset`."""
        if offset >= self.end:
            return
        runs = bisect_left(self._starts, offset)
        del self._starts[runs:], self._epochs[runs:]
        del self._ids[max(0, offset - self.start) :]
        self.start = min(self.start, offset)

    def delete_before(self, offset: int) -> None:
        """Delete the records below `offset`, which is within the log."""
        if offset <= self.start:
            return
        gone = bisect_right(self._starts, offset) - 1
        if offset == self.end:
            gone = len(self._starts)
        del self._starts[:gone], self._epochs[:gone]
        if self._starts:
            self._starts[0] = max(self._starts[0], offset)
        del self._ids[: offset - self.start]
        self.start = offset
