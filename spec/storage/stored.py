"""The batch in some bytes, as retention, compaction and look-ups see it."""

from __future__ import annotations

from kspec.spec.storage.batches import Batch, Marker, StoredRecord
from kspec.spec.storage.control_records import read_marker
from kspec.spec.storage.record_batch import RecordBatch, read_batch, size_of_batch


def stored_batch(data: bytes) -> Batch:
    """The batch that these bytes are; `Malformed` if they are not an intact one of format 2."""
    read = read_batch(data)
    return Batch(
        base_offset=read.base_offset,
        last_offset=read.last_offset,
        size=size_of_batch(data),
        max_timestamp=read.max_timestamp,
        records=tuple(
            StoredRecord(read.offset(record), read.timestamp(record), record.key, record.value)
            for record in read.records
        ),
        leader_epoch=read.leader_epoch,
        producer_id=read.producer_id,
        producer_epoch=read.producer_epoch,
        is_transactional=read.is_transactional,
        marker=marker_of(read),
        delete_horizon=read.base_timestamp if read.has_delete_horizon else None,
    )


def marker_of(batch: RecordBatch) -> Marker | None:
    """The outcome in a control batch; None in others.

    A control batch that compaction emptied no longer says which, and need not.
    """
    if not batch.is_control:
        return None
    found = [read_marker(record) for record in batch.records]
    is_abort = any(marker is not None and not marker.is_commit for marker in found)
    return Marker.ABORT if is_abort else Marker.COMMIT
