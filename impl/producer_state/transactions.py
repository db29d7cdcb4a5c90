"""The transactions of a partition: which offset is the first unstable one, and what was aborted."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple


class Aborted(NamedTuple):
    """An entry of the index of aborted transactions. Kafka: `AbortedTxn`."""

    producer: int
    first_offset: int
    last_offset: int
    """The offset of its marker."""
    last_stable_offset: int
    """The first offset of the transaction that was open then, or the offset after the marker."""


class TransactionIndex:
    """The aborted transactions of a log, by the offset of their markers."""

    __slots__ = ("_ends", "entries")

    def __init__(self) -> None:
        self.entries: list[Aborted] = []
        self._ends: list[int] = []

    def append(self, entry: Aborted) -> None:
        """Add an entry; its marker is the last one of the log."""
        self.entries.append(entry)
        self._ends.append(entry.last_offset)

    def truncate(self, offset: int) -> None:
        """Remove the entries whose marker is at an offset or above it."""
        kept = bisect_left(self._ends, offset)
        del self.entries[kept:], self._ends[kept:]

    def between(self, fetch_offset: int, upper_bound: int) -> list[Aborted]:
        """The entries with records in a range. Kafka: `TransactionIndex.collectAbortedTxns`."""
        found = []
        for place in range(bisect_left(self._ends, fetch_offset), len(self.entries)):
            entry = self.entries[place]
            if entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                break
        return found


class Transactions:
    """The transactions that make offsets unstable, each found in constant time, or nearly.

    Transactions begin in the order of their offsets, and their markers are written in the order of
    theirs; of those that wait for the replication of their marker, a heap knows the first.
    """

    __slots__ = ("_firsts", "_open", "_unreplicated", "_waiting")

    def __init__(self) -> None:
        self._open: OrderedDict[int, int] = OrderedDict()
        """The producer id by first offset."""
        self._unreplicated: deque[tuple[int, int]] = deque()
        """The offset of the marker, and the first offset."""
        self._firsts: list[int] = []
        """A heap of first offsets of those."""
        self._waiting: set[int] = set()
        """Their first offsets."""

    def begin(self, producer: int, first_offset: int) -> None:
        """A transaction begins at the log's end."""
        self._open[first_offset] = producer

    def load(self, transactions: Iterable[tuple[int, int]]) -> None:
        """Open transactions, each with first offset and producer id, in any order."""
        self.clear()
        self._open.update(sorted(transactions))

    def end(self, first_offset: int, marker: int) -> int:
        """A transaction ends with a marker; the last stable offset that its index entry names."""
        del self._open[first_offset]
        self._unreplicated.append((marker, first_offset))
        self._waiting.add(first_offset)
        heappush(self._firsts, first_offset)
        return next(iter(self._open), marker + 1)

    def replicated(self, offset: int) -> None:
        """The markers below an offset are replicated."""
        while self._unreplicated and self._unreplicated[0][0] < offset:
            self._waiting.discard(self._unreplicated.popleft()[1])

    def clear(self) -> None:
        """Nothing is unstable."""
        self._open.clear()
        self._unreplicated.clear()
        self._firsts.clear()
        self._waiting.clear()

    @property
    def oldest(self) -> int | None:
        """The producer of the first open transaction."""
        return next(iter(self._open.values()), None)

    @property
    def first_unstable(self) -> int | None:
        """The first offset that is not decided, or whose marker is not replicated."""
        while self._firsts and self._firsts[0] not in self._waiting:
            heappop(self._firsts)
        first = next(iter(self._open), None)
        if not self._firsts:
            return first
        return self._firsts[0] if first is None else min(first, self._firsts[0])
