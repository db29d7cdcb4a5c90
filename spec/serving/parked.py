"""When a Fetch is answered: at once, or after it was parked.

A request that cannot be answered yet is parked in the *purgatory*, and tried again when something
changes.
"""

from __future__ import annotations

import attrs

from kspec.spec.leader_epochs import UNDEFINED, EpochEnd
from kspec.spec.serving.fetch import FetchIsolation, Offsets, readable
from kspec.spec.vocabulary import PartitionError


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
