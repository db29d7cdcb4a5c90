"""The log of one replica: an immutable sequence of records at consecutive offsets.

Kafka: `UnifiedLog` and `LocalLog`, without segments, indexes, sizes and timestamps. An end offset
is exclusive: a log that ends at 3 holds the records below offset 3.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from kspec.spec.core import appended


class Record(NamedTuple):
    """A record: an id in place of its content, and its leader epoch."""

    id: int
    """The number of the write. Two records with the same id are copies of each other."""
    epoch: int
    """The leader epoch in which it was written (partitionLeaderEpoch of its batch)."""


@attrs.frozen
class Log:
    """A replica's log."""

    records: tuple[Record, ...] = ()
    """The records, oldest first."""
    start: int = 0
    """Log start offset: the offset of the oldest record."""

    @property
    def end(self) -> int:
        """Log end offset (LEO): the offset of the next record."""
        return self.start + len(self.records)

    def holds(self, offset: int) -> bool:
        """Whether there is a record at this offset."""
        return self.start <= offset < self.end

    def at(self, offset: int) -> Record | None:
        """The record at this offset, or None where the log holds none."""
        return self.records[offset - self.start] if self.holds(offset) else None

    @property
    def last(self) -> Record | None:
        """The newest record, or None of an empty log."""
        return self.records[-1] if self.records else None

    def append(self, record: Record) -> Log:
        """The log with one more record at its end."""
        return Log(appended(self.records, record), self.start)

    def truncate_to(self, offset: int) -> Log:
        """The log without the records at `offset` and above; unchanged if it ends before.

        Kafka: `UnifiedLog.truncateTo`. If `offset` is below the log start, the log is empty and
        starts at `offset`.
        """
        if offset >= self.end:
            return self
        return Log(self.records[: max(0, offset - self.start)], min(self.start, offset))

    def delete_before(self, offset: int) -> Log:
        """The log without the records below `offset`, as after retention or DeleteRecords.

        Kafka: `UnifiedLog.maybeIncrementLogStartOffset`. The start never decreases, and is at
        most the end. Simplification: Kafka rejects an offset above the high watermark.
        """
        start = min(max(offset, self.start), self.end)
        return Log(self.records[start - self.start :], start)

    def agrees_at(self, offset: int, other: Log) -> bool:
        """Whether both logs hold the same record at this offset, with the same leader epoch."""
        record = self.at(offset)
        return record is not None and record == other.at(offset)
