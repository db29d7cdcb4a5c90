"""Compaction: which records, tombstones and transaction markers a cleaning keeps.

The cleaner reads the dirty part of a log into a map from each key to its latest offset, then
copies the log from its beginning up to there without the records that a later one of the same key
replaces. Offsets and their order never change, so positions of consumers stay valid.

A tombstone, and the marker of a transaction without records, must outlive every reader that may
have seen what it ends. The first cleaning that could remove it writes a *delete horizon* into its
batch, `delete.retention.ms` ahead; cleanings after that time remove it (KIP-534, Kafka 3.1).

Kafka: `Cleaner`, `CleanedTransactionMetadata`, `MemoryRecords.filterTo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs

from kspec.spec.storage.batches import NO_PRODUCER, Batch, Content, Marker, StoredRecord

# -- transactions ---------------------------------------------------------------------------------


def outcomes(batches: Sequence[Batch]) -> list[Marker | None]:
    """For each batch of a transaction, the transaction's outcome; None outside of transactions.

    It is the next marker of its producer. Kafka keeps it in the transaction index instead, from
    which `CleanedTransactionMetadata` takes the aborted transactions.
    """
    following: dict[int, Marker] = {}
    found: list[Marker | None] = []
    for batch in reversed(batches):
        if batch.is_control and batch.records:
            following[batch.producer_id] = batch.marker  # type: ignore[assignment]
        found.append(following.get(batch.producer_id) if batch.is_transactional else None)
    return found[::-1]


def unneeded(batches: Sequence[Batch]) -> list[bool]:
    """For each batch, whether its transaction no longer needs it.

    Data of an aborted transaction; and a marker without any batch of its transaction before it.
    Kafka: `Cleaner.shouldDiscardBatch`.
    """
    open_producers: set[int] = set()
    found = []
    for batch, outcome in zip(batches, outcomes(batches), strict=True):
        if not batch.is_control:
            if batch.is_transactional:
                open_producers.add(batch.producer_id)
            found.append(outcome is Marker.ABORT)
        elif not batch.records:
            found.append(True)
        else:
            found.append(batch.producer_id not in open_producers)
            open_producers.discard(batch.producer_id)
    return found


# -- the offset map -------------------------------------------------------------------------------


class OffsetMap(NamedTuple):
    """The latest offset of each key in the dirty part of a log, as far as memory allows."""

    latest: Mapping[Content, int]
    """By key, the offset of its latest record. Kafka stores hashes of keys (`SkimpyOffsetMap`)."""
    end: int
    """The offset up to which the map is complete, and to which this cleaning comes."""


def offset_map(
    batches: Sequence[Batch],
    first_dirty: int,
    end: int,
    capacity: int | None = None,
    base_offsets: Sequence[int] = (),
) -> OffsetMap:
    """The map of the records from `first_dirty` to below `end`, but not of aborted transactions.

    Where the map is full (`log.cleaner.dedupe.buffer.size`), the cleaning ends at the last record
    that it has, or at the last of the segments' base offsets that it reached. Kafka:
    `Cleaner.buildOffsetMap`.
    """
    latest: dict[Content, int] = {}
    reached = first_dirty
    below = [batch for batch in batches if batch.base_offset < end]
    for batch, outcome in zip(below, outcomes(batches), strict=False):
        begun = (base for base in base_offsets if base <= batch.base_offset)
        reached = max(reached, *begun, 0)
        if not batch.is_control and outcome is not Marker.ABORT:
            for record in batch.records:
                if record.key is not None and record.offset >= first_dirty:
                    if capacity is not None and len(latest) >= capacity:
                        return OffsetMap(latest, reached)
                    latest[record.key] = record.offset
                    reached = record.offset + 1
        reached = max(reached, batch.next_offset)
    return OffsetMap(latest, end)


# -- cleaning -------------------------------------------------------------------------------------


class LastOfProducer(NamedTuple):
    """The last batch of a producer that is still active, which must not vanish from the log."""

    last_data_offset: int | None
    """The last offset of its last batch of data; None where the log has only a marker of it."""
    epoch: int
    """Its epoch."""


@attrs.frozen
class Cleaning:
    """One cleaning of a log."""

    map: OffsetMap
    """The latest offsets."""
    first_uncleanable: int
    """Where cleaning has to stop in any case."""
    now: int
    """When it began."""
    delete_retention_ms: int
    """`delete.retention.ms`."""
    producers: Mapping[int, LastOfProducer] = attrs.field(factory=dict)
    """The active producers by id. Kafka: `ProducerStateManager.lastEntry`."""


def clean(
    batches: Sequence[Batch], cleaning: Cleaning, rest: Sequence[Batch] = ()
) -> tuple[Batch, ...]:
    """What a cleaning makes of the batches of whole segments.

    The rest of the log stays as it is; it has the outcomes of transactions that end there. Kafka:
    `Cleaner.cleanInto`, for all segments in order.
    """
    return tuple(kept_batches(batches, unneeded([*batches, *rest]), cleaning))


def kept_batches(
    batches: Iterable[Batch], are_unneeded: Iterable[bool], cleaning: Cleaning
) -> Iterator[Batch]:
    """Each batch that is kept, with the records that are."""
    for batch, is_unneeded in zip(batches, are_unneeded, strict=False):
        kept = kept_records(batch, is_unneeded, cleaning)
        if kept:
            yield rewritten(batch, kept, is_unneeded, cleaning)
        elif is_kept_empty(batch, cleaning):
            yield attrs.evolve(batch, records=(), delete_horizon=None)


def kept_records(batch: Batch, is_unneeded: bool, cleaning: Cleaning) -> tuple[StoredRecord, ...]:
    """The records of a batch that are kept: none of an aborted transaction, and a marker as long
    as its transaction has a batch, or its delete horizon has not passed.
    """
    if batch.is_control:
        return () if is_unneeded and horizon_passed(batch, cleaning.now) else batch.records
    if is_unneeded:
        return ()
    return tuple(record for record in batch.records if is_kept(batch, record, cleaning))


def is_kept(batch: Batch, record: StoredRecord, cleaning: Cleaning) -> bool:
    """Whether a record is kept: the latest of its key, unless it is an old tombstone.

    Records without a key are removed. Kafka: `Cleaner.shouldRetainRecord`.
    """
    if record.offset >= cleaning.map.end:
        return True
    if record.key is None:
        return False
    is_latest = record.offset >= cleaning.map.latest.get(record.key, -1)
    return is_latest and not (record.is_tombstone and horizon_passed(batch, cleaning.now))


def horizon_passed(batch: Batch, now: int) -> bool:
    """Whether the tombstones or the marker of a batch may be removed."""
    return batch.delete_horizon is not None and now >= batch.delete_horizon


def is_kept_empty(batch: Batch, cleaning: Cleaning) -> bool:
    """Whether a batch is kept without records.

    As the last batch of an active producer, with its sequence and its epoch; and as the last one
    of the cleaning, so that the log does not seem to end before it. Kafka: `checkBatchRetention`.
    """
    last = cleaning.producers.get(batch.producer_id)
    if batch.producer_id == NO_PRODUCER or last is None:
        is_last_of_producer = False
    elif last.last_data_offset is not None:
        is_last_of_producer = batch.last_offset == last.last_data_offset
    else:
        is_last_of_producer = batch.is_control and batch.producer_epoch == last.epoch
    return is_last_of_producer or batch.next_offset == cleaning.first_uncleanable


def rewritten(
    batch: Batch, kept: tuple[StoredRecord, ...], is_unneeded: bool, cleaning: Cleaning
) -> Batch:
    """The batch with the kept records, and a delete horizon if it has something to remove later.

    The offsets in its header stay. Kafka: `MemoryRecords.filterTo`.
    """
    ends_something = (batch.is_control and is_unneeded) or any(r.is_tombstone for r in kept)
    horizon = batch.delete_horizon
    if ends_something and horizon is None:
        horizon = cleaning.now + cleaning.delete_retention_ms
    greatest = batch.max_timestamp
    if kept != batch.records:
        greatest = max(record.timestamp for record in kept)
    return attrs.evolve(batch, records=kept, delete_horizon=horizon, max_timestamp=greatest)


# -- what readers see -----------------------------------------------------------------------------


def table(batches: Sequence[Batch]) -> dict[Content, Content]:
    """What a consumer with `read_committed` knows at the end: the latest value of each key."""
    known: dict[Content, Content] = {}
    for record in committed(batches):
        if record.key is not None:
            known.pop(record.key, None)
            if record.value is not None:
                known[record.key] = record.value
    return known


def committed(batches: Sequence[Batch]) -> Iterable[StoredRecord]:
    """The records of data, without those of aborted transactions."""
    for batch, outcome in zip(batches, outcomes(batches), strict=True):
        if not batch.is_control and outcome is not Marker.ABORT:
            yield from batch.records
