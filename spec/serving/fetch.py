"""What a leader answers to a consumer's Fetch, and how far a fetch may read.

A fetch is limited by its *isolation*: followers read to the log's end, consumers to the high
watermark (HW), or to the last stable offset (LSO) with isolation.level=read_committed.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from kspec.spec.core import Check
from kspec.spec.leader_epochs import UNDEFINED
from kspec.spec.serving.partition import (
    PARTITION,
    Handler,
    Partition,
    epoch_error,
    exists,
)
from kspec.spec.vocabulary import PartitionError, TopicPartition

FIRST_BY_ID = 13
"""The first version of Fetch that names topics by their ids (KIP-516)."""


@attrs.frozen
class Fetch:
    """A consumer fetches from an offset on, and does not wait (`parked` says when others do)."""

    partition: TopicPartition = PARTITION
    """The partition."""
    offset: int = 0
    """The offset."""
    epoch: int = UNDEFINED
    """The leader epoch that the consumer knows, or -1."""
    read_committed: bool = False
    """The isolation level."""
    max_bytes: int = 2**20
    """How many bytes it wants at most; one batch it gets in any case."""
    version: int = FIRST_BY_ID
    """The version of the request."""


@attrs.frozen
class FetchResponse:
    """The response to Fetch."""

    error: str = "NONE"
    """NONE, or why there are no records."""
    high_watermark: int = -1
    """The high watermark."""
    last_stable: int = -1
    """The last stable offset."""
    records: tuple[tuple[int, int, int, str], ...] = ()
    """The records from the fetch offset on: offset, leader epoch, time and value."""

    def may_be(self, observed: FetchResponse) -> bool:
        """Whether another response has these records, or the first of them.

        How many fit into a response is left open, but at least one does (KIP-74).
        """
        seen = observed.records
        return (
            attrs.evolve(self, records=seen) == observed
            and seen == self.records[: len(seen)]
            and bool(seen) == bool(self.records)
        )


def fetch(partition: Partition, request: Fetch) -> Handler[FetchResponse]:
    """Fetch as a consumer. A leader epoch below 0 is none (`FetchRequest.optionalEpoch`).

    Kafka: `ReplicaManager.readFromLog`, `UnifiedLog.read`. Simplification: no sizes, no sessions.
    """
    guard, here, error = exists(request.partition)
    if request.version >= FIRST_BY_ID and request.partition.topic != PARTITION.topic:
        error = PartitionError.UNKNOWN_TOPIC_ID
    yield Check(guard, here, error)
    yield from partition.has_epoch(request.epoch)
    log = partition.log
    offsets = Offsets(log.start, log.end, hw=log.end)
    found = readable(offsets, request.offset, isolation_of(False, request.read_committed))
    in_range = isinstance(found, range)
    yield Check("offset is within the log", in_range, PartitionError.OFFSET_OUT_OF_RANGE)
    records = []
    for offset in found if isinstance(found, range) else ():
        index = offset - log.start
        record = log.records[index]
        records.append((offset, record.epoch, partition.times[index], value_of(record.id)))
    return partition, FetchResponse("NONE", offsets.hw, offsets.last_stable, tuple(records))


def value_of(number: int) -> str:
    """The value of each record that this request produces."""
    return f"k{number}"


# -- what a fetch may return ----------------------------------------------------------------------


class FetchIsolation(StrEnum):
    """How far a fetch may read. Kafka: `FetchIsolation`."""

    LOG_END = "LOG_END"
    """A follower reads everything."""
    HIGH_WATERMARK = "HIGH_WATERMARK"
    """A consumer reads what is committed."""
    TXN_COMMITTED = "TXN_COMMITTED"
    """A read_committed consumer reads to the first open transaction."""


def isolation_of(is_from_follower: bool, is_read_committed: bool) -> FetchIsolation:
    """The isolation of a request; a follower's isolation level is ignored.

    Kafka: `FetchIsolation.of`.
    """
    if is_from_follower:
        return FetchIsolation.LOG_END
    return FetchIsolation.TXN_COMMITTED if is_read_committed else FetchIsolation.HIGH_WATERMARK


@attrs.frozen
class Offsets:
    """The offsets of a log that decide what may be read. Kafka: `LogOffsetSnapshot`."""

    start: int
    """Log start offset."""
    end: int
    """Log end offset."""
    hw: int
    """High watermark, as far as this replica knows."""
    first_unstable: int | None = None
    """The first offset of the oldest open transaction, or None."""

    @property
    def last_stable(self) -> int:
        """LSO: the HW, or the start of the oldest open transaction if that is lower.

        Kafka: `UnifiedLog.lastStableOffset`.
        """
        return self.hw if self.first_unstable is None else min(self.hw, self.first_unstable)

    def limit(self, isolation: FetchIsolation) -> int:
        """The offset before which a fetch may read. Kafka: `UnifiedLog.read`."""
        if isolation is FetchIsolation.LOG_END:
            return self.end
        return self.hw if isolation is FetchIsolation.HIGH_WATERMARK else self.last_stable


def readable(log: Offsets, offset: int, isolation: FetchIsolation) -> range | PartitionError:
    """The offsets that a fetch may return, or OFFSET_OUT_OF_RANGE.

    An offset between the limit and the log's end is not an error: the fetch returns nothing. Also
    for a consumer, the log decides whether an offset is in range. Kafka: `UnifiedLog.read`,
    `LocalLog.read`. Simplification: no sizes; Kafka returns whole batches up to the request's
    largest size, and at least one.
    """
    if not log.start <= offset <= log.end:
        return PartitionError.OFFSET_OUT_OF_RANGE
    return range(offset, max(offset, log.limit(isolation)))


def needs_leader(is_from_follower: bool, names_its_rack: bool) -> bool:
    """Whether only the leader may answer a fetch.

    Since 2.4 a follower answers consumers that send client.rack metadata (Fetch version 11,
    KIP-392), up to the HW that it knows. Kafka: `FetchParams.fetchOnlyLeader`.
    """
    return is_from_follower or not names_its_rack


def access_error(
    leads: bool, leader_epoch: int, asked_in: int | None, needs_leader: bool
) -> PartitionError | None:
    """Why a replica does not answer a fetch: the epoch is checked first, then the leadership.

    Kafka: `Partition.getLocalLog`, `Partition.localLogWithEpochOrThrow`.
    """
    error = epoch_error(leader_epoch, asked_in)
    if error is None and needs_leader and not leads:
        return PartitionError.NOT_LEADER_OR_FOLLOWER
    return error
