"""Batches in bytes, under the rules."""

from __future__ import annotations

from kspec.spec.storage.batches import Batch, Marker
from kspec.spec.storage.compaction import Cleaning, clean, offset_map, table
from kspec.spec.storage.record_batch import Record, RecordBatch, write_batch
from kspec.spec.storage.stored import stored_batch

DATA = RecordBatch(
    5,
    2,
    (Record(0, b"a", b"1", 0), Record(1, b"a", b"2", 7), Record(2, b"b", None, 3)),
    leader_epoch=4,
    is_transactional=True,
    base_timestamp=100,
    max_timestamp=107,
    producer_id=9,
    producer_epoch=0,
    base_sequence=0,
)
ABORT = RecordBatch(
    8,
    0,
    (Record(0, b"\0\0\0\0", b"\0\0\0\0\0\3"),),
    is_transactional=True,
    is_control=True,
    producer_id=9,
    producer_epoch=0,
)


def test_a_batch_in_bytes_has_its_header_and_records() -> None:
    data = write_batch(DATA)
    batch = stored_batch(data)
    assert (batch.base_offset, batch.last_offset, batch.size) == (5, 7, len(data))
    assert (batch.max_timestamp, batch.leader_epoch, batch.producer_id) == (107, 4, 9)
    assert [(r.offset, r.timestamp, r.key, r.value) for r in batch.records] == [
        (5, 100, b"a", b"1"),
        (6, 107, b"a", b"2"),
        (7, 103, b"b", None),
    ]
    assert batch.marker is None
    assert batch.delete_horizon is None


def test_an_aborted_transaction_in_bytes_is_cleaned_away() -> None:
    """First its data, then the marker gets a delete horizon, and then the marker."""
    log: tuple[Batch, ...] = tuple(stored_batch(write_batch(b)) for b in (DATA, ABORT))
    assert log[1].marker is Marker.ABORT
    assert table(log) == {}
    latest = offset_map(log, 0, 99)
    seen = []
    for now in (50, 60, 69, 70):
        log = clean(log, Cleaning(latest, 99, now, delete_retention_ms=10))
        seen.append([(batch.base_offset, batch.delete_horizon) for batch in log])
    assert seen == [[(8, None)], [(8, 70)], [(8, 70)], []]
