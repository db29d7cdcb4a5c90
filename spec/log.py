"""The log of one replica: records at consecutive offsets, never changed in place.

Kafka: `UnifiedLog` and `LocalLog`, without segments, indexes, sizes and timestamps.
Offsets are exclusive bounds: a log that ends at 3 holds the records below offset 3.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from spec.core import appended


class Record(NamedTuple):
    """What was written: which record it is, and the leader epoch it was written under."""

    id: int
    """Which write this was. Two records with one id are copies of each other."""
    epoch: int
    """The leader epoch with which the leader stamped it (partitionLeaderEpoch of its batch)."""


@attrs.frozen
class Log:
    """A replica's log."""

    records: tuple[Record, ...] = ()
    """The records that are kept, oldest first."""
    start: int = 0
    """The offset of the oldest record that is kept (log start offset, LS)."""

    @property
    def end(self) -> int:
        """The offset that the next record will have (log end offset, LEO)."""
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
        """The log without the records at `offset` and above; as it is if it ends before.

        Kafka: `UnifiedLog.truncateTo`. Below the log start nothing is kept, and the log
        starts anew at `offset`.
        """
        if offset >= self.end:
            return self
        return Log(self.records[: max(0, offset - self.start)], min(self.start, offset))

    def delete_before(self, offset: int) -> Log:
        """The log without the records below `offset`: what retention does.

        Kafka: `UnifiedLog.maybeIncrementLogStartOffset`. The start never retreats, and never
        passes the end.
        """
        start = min(max(offset, self.start), self.end)
        return Log(self.records[start - self.start :], start)

    def agrees_at(self, offset: int, other: Log) -> bool:
        """Whether both logs hold the same record, id and epoch, at this offset."""
        record = self.at(offset)
        return record is not None and record == other.at(offset)
