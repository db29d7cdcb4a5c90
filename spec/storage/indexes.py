"""The offset index and the time index of a segment.

Both are sparse: after every `index.interval.bytes` of a segment, the next batch gets an entry. A
look-up finds the greatest entry that is not above the target; from its position on, the batches
are scanned. So an index without an entry is slow, not wrong, whereas an entry that is not true of
the segment hides records. The lemmas in `spec.storage.lemmas` say so for all numbers.

Kafka: `OffsetIndex`, `TimeIndex`, `AbstractIndex`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import attrs

from kspec.spec.storage.batches import NO_TIMESTAMP

OFFSET_ENTRY_BYTES = 8
"""A relative offset and a position, of 4 bytes each."""
TIME_ENTRY_BYTES = 12
"""A timestamp of 8 bytes, and a relative offset of 4."""
GREATEST_RELATIVE_OFFSET = 2**31 - 1
"""Entries hold offsets relative to the segment's base offset, as 32-bit ints."""


class StorageError(Exception):
    """Kafka rejects the operation with an exception."""


class OffsetPosition(NamedTuple):
    """An entry of an offset index."""

    offset: int
    """The last offset of a batch."""
    position: int
    """Where in the segment that batch begins, or one that was appended just before it."""


class TimestampOffset(NamedTuple):
    """An entry of a time index."""

    timestamp: int
    """The greatest timestamp of the segment so far."""
    offset: int
    """The last offset of the first batch that has it."""


def fits(base_offset: int, offset: int) -> bool:
    """Whether an offset can be stored relative to a segment's base offset.

    Kafka: `AbstractIndex.canAppendOffset`.
    """
    return 0 <= offset - base_offset <= GREATEST_RELATIVE_OFFSET


def offset_lookup(
    base_offset: int, entries: Sequence[OffsetPosition], target: int
) -> OffsetPosition:
    """The greatest entry whose offset is not above the target, else the segment's beginning.

    Kafka: `OffsetIndex.lookup`, by binary search.
    """
    found = OffsetPosition(base_offset, 0)
    for entry in entries:
        if entry.offset <= target:
            found = entry
    return found


def time_lookup(
    base_offset: int, entries: Sequence[TimestampOffset], target: int
) -> TimestampOffset:
    """The greatest entry whose timestamp is not above the target, else the beginning.

    Kafka: `TimeIndex.lookup`.
    """
    found = TimestampOffset(NO_TIMESTAMP, base_offset)
    for entry in entries:
        if entry.timestamp <= target:
            found = entry
    return found


@attrs.frozen
class OffsetIndex:
    """The offset index of a segment."""

    base_offset: int
    """The base offset of its segment."""
    entries: tuple[OffsetPosition, ...] = ()
    """Offsets and positions increase."""
    capacity: int = 10 * 2**20 // OFFSET_ENTRY_BYTES
    """How many entries fit (`segment.index.bytes`); the entries it has, once it was trimmed."""

    @property
    def is_full(self) -> bool:
        """Whether no entry fits any more."""
        return len(self.entries) >= self.capacity

    def lookup(self, target: int) -> OffsetPosition:
        """Where a scan for the target offset begins."""
        return offset_lookup(self.base_offset, self.entries, target)

    def append(self, offset: int, position: int) -> OffsetIndex:
        """The index with one more entry. Kafka: `OffsetIndex.append`."""
        if self.is_full:
            raise StorageError("the offset index is full")
        if not fits(self.base_offset, offset):
            raise StorageError(f"offset {offset} is too far from {self.base_offset}")
        if self.entries and offset <= self.entries[-1].offset:
            raise StorageError(f"offset {offset} is not above the last entry")
        return attrs.evolve(self, entries=(*self.entries, OffsetPosition(offset, position)))

    def truncate_to(self, offset: int) -> OffsetIndex:
        """The index without the entries at this offset and above.

        The batch that holds the offset is removed from the segment, and its entry with it: the
        offset of an entry is the last one of its batch. Kafka: `OffsetIndex.truncateTo`.
        """
        kept = tuple(entry for entry in self.entries if entry.offset < offset)
        return attrs.evolve(self, entries=kept)

    def trim(self) -> OffsetIndex:
        """The index at the size of its entries, when its segment rolls."""
        return attrs.evolve(self, capacity=len(self.entries))


@attrs.frozen
class TimeIndex:
    """The time index of a segment."""

    base_offset: int
    """The base offset of its segment."""
    entries: tuple[TimestampOffset, ...] = ()
    """Timestamps increase, and offsets do not decrease."""
    capacity: int = 10 * 2**20 // TIME_ENTRY_BYTES
    """How many entries fit (`segment.index.bytes`); the entries it has, once it was trimmed."""

    @property
    def is_full(self) -> bool:
        """Whether only the place is left that is reserved for the entry at the roll."""
        return len(self.entries) >= self.capacity - 1

    @property
    def last(self) -> TimestampOffset:
        """The last entry, else the beginning of the segment, without timestamp."""
        return self.entries[-1] if self.entries else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def lookup(self, target: int) -> TimestampOffset:
        """The offset before which no record has a timestamp above the entry's."""
        return time_lookup(self.base_offset, self.entries, target)

    def append(self, entry: TimestampOffset, *, at_roll: bool = False) -> TimeIndex:
        """The index with one more entry, if its timestamp is greater than the last one.

        Records without timestamp, and those that are older than an earlier one, add nothing.
        Kafka: `TimeIndex.maybeAppend`; `skipFullCheck` when the segment rolls or closes.
        """
        if self.is_full and not at_roll:
            raise StorageError("the time index is full")
        if self.entries and (entry.offset < self.last.offset or entry.timestamp < self.last[0]):
            raise StorageError(f"entry {tuple(entry)} is below the last one")
        if entry.timestamp <= self.last.timestamp:
            return self
        if not fits(self.base_offset, entry.offset):
            raise StorageError(f"offset {entry.offset} is too far from {self.base_offset}")
        return attrs.evolve(self, entries=(*self.entries, entry))

    def truncate_to(self, offset: int) -> TimeIndex:
        """The index without the entries at this offset and above. Kafka: `TimeIndex.truncateTo`."""
        kept = tuple(entry for entry in self.entries if entry.offset < offset)
        return attrs.evolve(self, entries=kept)

    def trim(self) -> TimeIndex:
        """The index at the size of its entries, when its segment rolls."""
        return attrs.evolve(self, capacity=len(self.entries))
