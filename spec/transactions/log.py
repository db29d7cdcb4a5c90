"""A partition's log, with what its leader knows of each producer.

Kafka: `UnifiedLog`, `ProducerStateManager` and `ProducerAppendInfo`. Sequence numbers are those of
the model `idempotence`; here a log only counts the records of an epoch.
"""

from __future__ import annotations

import attrs

from kspec.spec.core import appended, evolve, replaced

NO_ID = -1
"""The transactional id of a record outside any transaction."""
NO_EPOCH = -1
"""The epoch of a producer that a log or the coordinator does not know."""
NO_OFFSET = -1
"""The first offset of a producer's open transaction, if it has none."""


@attrs.frozen
class Entry:
    """A record, or the marker that ends a transaction."""

    id: int
    """The transactional id of its producer; NO_ID outside transactions."""
    epoch: int
    """The producer epoch."""
    commits: bool | None = None
    """Of a marker, whether it commits; None for a record."""
    coordinator_epoch: int = 0
    """Of a marker: the epoch of the coordinator that sent it."""
    value: int = 0
    """Of a record: the input whose result it is, or the next input to read."""
    txn: int = 0
    """Ghost, of a record: the transaction in which the application sent it."""

    @property
    def is_marker(self) -> bool:
        """Whether it ends a transaction."""
        return self.commits is not None


@attrs.frozen
class ProducerState:
    """What a partition's leader knows of a producer. Kafka: `ProducerStateEntry`."""

    epoch: int = NO_EPOCH
    """The highest producer epoch that was appended."""
    first: int = NO_OFFSET
    """Where its open transaction begins in this partition."""
    coordinator_epoch: int = 0
    """The coordinator epoch of the last marker."""


@attrs.frozen
class Log:
    """The log of one partition. It is replicated, and its leader does not fail."""

    entries: tuple[Entry, ...] = ()
    """Records and markers, by offset."""
    producers: tuple[ProducerState, ...] = ()
    """What the leader knows of the producer of each transactional id."""

    # -- queries ----------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """The log end offset, and the high watermark."""
        return len(self.entries)

    @property
    def stable(self) -> int:
        """The last stable offset: no transaction is open below it.

        Kafka: `UnifiedLog.fetchLastStableOffsetMetadata`.
        """
        return min([p.first for p in self.producers if p.first != NO_OFFSET], default=self.end)

    def is_open(self, tid: int, epoch: int) -> bool:
        """Whether a producer has an open transaction here, in this epoch.

        Kafka: `UnifiedLog.hasOngoingTransaction`.
        """
        known = self.producers[tid]
        return known.first != NO_OFFSET and known.epoch == epoch

    def outcome(self, offset: int) -> bool | None:
        """Whether the record at this offset is committed; None while its transaction is open.

        A reader knows it from the next marker of the same producer. Kafka: aborted transactions of
        a Fetch response, `CompletedFetch.nextFetchedRecord`.
        """
        record = self.entries[offset]
        if record.id == NO_ID:
            return True
        for later in self.entries[offset + 1 :]:
            if later.id == record.id and later.is_marker:
                return later.commits
        return None

    def committed(self, start: int = 0, end: int | None = None) -> list[Entry]:
        """The committed records between two offsets."""
        stop = self.end if end is None else end
        return [
            self.entries[offset]
            for offset in range(start, stop)
            if not self.entries[offset].is_marker and self.outcome(offset) is True
        ]

    def count(self, tid: int, epoch: int) -> int:
        """How many records a producer has appended in an epoch: the next sequence number."""
        own = (e for e in self.entries if not e.is_marker and e.id == tid and e.epoch == epoch)
        return sum(1 for _ in own)

    # -- updates ----------------------------------------------------------------------------------

    def with_record(self, record: Entry) -> Log:
        """The log after a record: it opens a transaction if none is open.

        Kafka: `ProducerAppendInfo.appendDataBatch`.
        """
        entries = appended(self.entries, record)
        if record.id == NO_ID:
            return evolve(self, entries=entries)
        known = self.producers[record.id]
        first = self.end if known.first == NO_OFFSET else known.first
        state = evolve(known, epoch=record.epoch, first=first)
        return Log(entries, replaced(self.producers, record.id, state))

    def with_marker(self, marker: Entry) -> Log:
        """The log after a marker, which ends the open transaction of its producer, if any.

        Kafka: `ProducerAppendInfo.appendEndTxnMarker`.
        """
        state = ProducerState(marker.epoch, NO_OFFSET, marker.coordinator_epoch)
        producers = replaced(self.producers, marker.id, state)
        return Log(appended(self.entries, marker), producers)
