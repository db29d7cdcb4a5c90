"""What a broker answers to Fetch and Produce requests, and when.

A fetch is limited by its *isolation*: followers read to the log's end, consumers to the high
watermark (HW), or to the last stable offset (LSO) with isolation.level=read_committed. A request
that cannot be answered yet is parked in the *purgatory*, and tried again when something changes.

    >>> from kspec.spec.serving import FetchIsolation, Offsets, readable
    >>> log = Offsets(start=2, end=9, hw=7, first_unstable=4)
    >>> readable(log, 3, FetchIsolation.HIGH_WATERMARK)
    range(3, 7)
    >>> readable(log, 3, FetchIsolation.TXN_COMMITTED)
    range(3, 4)
    >>> print(readable(log, 1, FetchIsolation.HIGH_WATERMARK))
    OFFSET_OUT_OF_RANGE

The functions are about one partition. A request for several is answered at once if one of them
has an error, and otherwise when their bytes together reach its minimum. Kafka: `Partition`,
`ReplicaManager`, `DelayedFetch` and `DelayedProduce` (4.0.0).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import attrs

from kspec.spec.leader_epochs import UNDEFINED, EpochEnd
from kspec.spec.vocabulary import PartitionError

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


def epoch_error(leader_epoch: int, asked_in: int | None) -> PartitionError | None:
    """The error for a request with another leader epoch than the replica's; None if it fits.

    A request without an epoch (`asked_in` None) always fits. Kafka:
    `Partition.checkCurrentLeaderEpoch` (KIP-320).
    """
    if asked_in is None or asked_in == leader_epoch:
        return None
    if asked_in < leader_epoch:
        return PartitionError.FENCED_LEADER_EPOCH
    return PartitionError.UNKNOWN_LEADER_EPOCH


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


# -- when a fetch is answered ---------------------------------------------------------------------


@attrs.frozen
class Fetch:
    """A Fetch request for one partition."""

    offset: int
    """The fetch offset."""
    isolation: FetchIsolation
    """How far it may read."""
    min_bytes: int = 1
    """The number of bytes that it waits for (fetch.min.bytes, replica.fetch.min.bytes)."""
    max_wait: int = 500
    """How long it waits, in milliseconds (fetch.max.wait.ms, replica.fetch.wait.max.ms)."""
    last_epoch: int | None = None
    """The epoch of the follower's last record (lastFetchedEpoch); None before 2.7."""


def diverges(fetch: Fetch, last_epoch_end: EpochEnd) -> bool:
    """Whether the follower's log diverges: its last epoch is not the leader's, or ended earlier.

    `last_epoch_end` is where the follower's last epoch ended in the leader's log
    (`LeaderEpochs.end_of`). Kafka: `Partition.readRecords`, `DelayedFetch.tryComplete` (KIP-595).
    """
    if fetch.last_epoch is None:
        return False
    return last_epoch_end.epoch < fetch.last_epoch or last_epoch_end.offset < fetch.offset


def fetch_error(
    fetch: Fetch, log: Offsets, last_epoch_end: EpochEnd | None = None
) -> PartitionError | EpochEnd | None:
    """The response to a fetch instead of records: an error, or the diverging epoch.

    A follower's last epoch is looked up first: if the leader does not know it, or the offset is
    below the log start, the follower is out of range; if the logs diverge, the response says where
    (KIP-595). Kafka: `Partition.readRecords`.
    """
    if fetch.last_epoch is not None and last_epoch_end is not None:
        unknown = UNDEFINED in last_epoch_end
        if unknown or fetch.offset < log.start:
            return PartitionError.OFFSET_OUT_OF_RANGE
        if diverges(fetch, last_epoch_end):
            return last_epoch_end
    found = readable(log, fetch.offset, fetch.isolation)
    return found if isinstance(found, PartitionError) else None


def is_answered_at_once(fetch: Fetch, readable_bytes: int, has_error: bool = False) -> bool:
    """Whether a fetch is answered when it arrives; if not, it is parked.

    `has_error` includes a diverging epoch. Kafka: `ReplicaManager.fetchMessages`. Simplification:
    no remote storage, and no preferred read replica, which Kafka answers at once. From 2.4 to 2.5,
    the fetch of a follower with an outdated HW was also answered at once (KAFKA-9731).
    """
    return has_error or fetch.max_wait <= 0 or readable_bytes >= fetch.min_bytes


def completes_parked_fetch(
    fetch: Fetch,
    log: Offsets,
    readable_bytes: int,
    error: PartitionError | None = None,
    last_epoch_end: EpochEnd | None = None,
    is_in_older_segment: bool = False,
) -> bool:
    """Whether a parked fetch is answered, tried when the log, the HW or the leader changes.

    It is answered because of an `error` (`access_error`: another leader or epoch), because the
    fetch offset is beyond its limit (the log was truncated, or a consumer is ahead of the HW),
    because the log has rolled to another segment, because the logs now diverge, or because enough
    bytes can be read. A new HW does not complete the fetch of a follower, which waits for records:
    it learns the HW when the wait ends.

    Kafka: `DelayedFetch.tryComplete`. The response has the records and the HW of *that* moment
    (`DelayedFetch.onComplete`), and does not count as another fetch of the follower.
    Simplification: no throttling.
    """
    limit = log.limit(fetch.isolation)
    if error is not None or fetch.offset > limit:
        return True
    if is_in_older_segment and fetch.offset < limit:
        return True
    if fetch.last_epoch is not None and last_epoch_end is not None:
        unknown = UNDEFINED in last_epoch_end
        if unknown or diverges(fetch, last_epoch_end):
            return True
    return readable_bytes >= fetch.min_bytes


# -- when a produce is answered -------------------------------------------------------------------


def append_error(
    leads: bool, acks: int, isr_size: int, effective_min_isr: int
) -> PartitionError | None:
    """Why a leader does not append a producer's records; None if it does.

    `isr_size` is that of the committed ISR, `effective_min_isr` that of `spec.in_sync`. With
    acks 0 and 1 the size of the ISR does not matter. Kafka: `ReplicaManager.appendRecords`,
    `Partition.appendRecordsToLeader`.
    """
    if acks not in (-1, 0, 1):
        return PartitionError.INVALID_REQUIRED_ACKS
    if not leads:
        return PartitionError.NOT_LEADER_OR_FOLLOWER
    if acks == -1 and isr_size < effective_min_isr:
        return PartitionError.NOT_ENOUGH_REPLICAS
    return None


Acknowledged: TypeAlias = bool | PartitionError
"""True: acknowledged. False: not yet. Otherwise the error."""


def is_acknowledged(
    leads: bool, end: int, hw: int, maximal_isr_size: int, effective_min_isr: int
) -> Acknowledged:
    """Whether records that end at offset `end` are acknowledged with acks=all, or the error.

    The producer waits for the HW, not for the ISR. Once the HW is reached, the size of the ISR is
    checked again; the records stay in the log whatever the response. The leader counts its pending
    ISR members here (KIP-497). If it is deposed meanwhile, the producer gets an error. Kafka:
    `Partition.checkEnoughReplicasReachOffset`, called by `DelayedProduce.tryComplete` whenever
    the HW advances or the leader changes; after request.timeout.ms the answer is
    REQUEST_TIMED_OUT.
    """
    if not leads:
        return PartitionError.NOT_LEADER_OR_FOLLOWER
    if hw < end:
        return False
    if maximal_isr_size < effective_min_isr:
        return PartitionError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True


def waits_for_replicas(acks: int, was_appended: bool) -> bool:
    """Whether a produce is parked: acks=all, and at least one partition took its records.

    With acks=1 the response follows the append; with acks=0 there is none, and an error closes the
    connection (`KafkaApis.handleProduceRequest`). Kafka:
    `ReplicaManager.delayedProduceRequestRequired`.
    """
    return acks == -1 and was_appended
