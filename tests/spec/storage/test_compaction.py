"""Compaction: what readers know before it, they know after it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.storage.batches import Batch, Marker, StoredRecord
from kspec.spec.storage.compaction import Cleaning, clean, offset_map, table

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["v", "w", None])


@st.composite
def logs(draw: st.DrawFn) -> tuple[Batch, ...]:
    """Batches of data and transactions, each with its marker in the end."""
    found: list[Batch] = []
    open_producers: set[int] = set()

    def add(producer: int, records: list[tuple[str | None, str | None]], **more: Any) -> None:
        offset = found[-1].next_offset if found else 0
        stored = tuple(StoredRecord(offset + n, 0, *record) for n, record in enumerate(records))
        batch = Batch(offset, stored[-1].offset, records=stored, producer_id=producer)
        found.append(attrs.evolve(batch, **more))

    def end(producer: int) -> None:
        open_producers.discard(producer)
        marker = draw(st.sampled_from(Marker))
        add(producer, [(marker.value, "")], is_transactional=True, marker=marker)

    for producer in draw(st.lists(st.sampled_from([-1, -1, 7, 8]), max_size=10)):
        if producer in open_producers and draw(st.booleans()):
            end(producer)
            continue
        records = draw(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=3))
        add(producer, list(records), is_transactional=producer >= 0)
        open_producers |= {producer} - {-1}
    for producer in sorted(open_producers):
        end(producer)
    return tuple(found)


CLEANINGS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 100), st.booleans()), max_size=4)


def cleaned(
    log: tuple[Batch, ...], cleanings: list[tuple[int, int, bool]], first_dirty: int = 0
) -> tuple[Batch, ...]:
    """The log after some cleanings: each up to a batch, after a pause, with a small map or not."""
    now, end = 0, log[-1].next_offset if log else 0
    for count, pause, is_small in cleanings:
        now += pause
        stop = min([b.base_offset for b in log][count:] or [end])
        latest = offset_map(log, first_dirty, stop, capacity=1 if is_small else None)
        part = [batch for batch in log if batch.base_offset < latest.end]
        rest = log[len(part) :]
        log = (*clean(part, Cleaning(latest, stop, now, delete_retention_ms=50), rest), *rest)
    return log


@given(logs(), CLEANINGS)
def test_a_reader_from_the_beginning_knows_the_same(
    log: tuple[Batch, ...], cleanings: list[tuple[int, int, bool]]
) -> None:
    assert table(cleaned(log, cleanings)) == table(log)


@pytest.mark.slow
@given(logs(), CLEANINGS)
def test_offsets_their_order_and_the_log_end_stay(
    log: tuple[Batch, ...], cleanings: list[tuple[int, int, bool]]
) -> None:
    before = {record.offset: record for batch in log for record in batch.records}
    left = cleaned(log, cleanings)
    after = [record for batch in left for record in batch.records]
    assert [record.offset for record in after] == sorted({record.offset for record in after})
    assert all(before[record.offset] == record for record in after)
    headers = [(batch.base_offset, batch.last_offset) for batch in log]
    assert {(batch.base_offset, batch.last_offset) for batch in left} <= {*headers}
    assert [batch.next_offset for batch in left][-1:] == [batch.next_offset for batch in log][-1:]


@pytest.mark.slow
@given(logs(), CLEANINGS, st.integers(0, 30))
def test_a_reader_within_the_delete_horizon_misses_no_deletion(
    log: tuple[Batch, ...], cleanings: list[tuple[int, int, bool]], position: int
) -> None:
    """It has read up to a batch, and reads on after cleanings that take less than the retention."""
    quick = [(count, 10, is_small) for count, _, is_small in cleanings]
    ends = [0, *(batch.next_offset for batch in log)]
    position = max(end for end in ends if end <= position)
    known = [batch for batch in log if batch.base_offset < position]
    rest = [batch for batch in cleaned(log, quick) if batch.base_offset >= position]
    assert table([*known, *rest]) == table(log)


@pytest.mark.slow
@given(logs())
def test_a_full_cleaning_leaves_one_record_of_each_key(log: tuple[Batch, ...]) -> None:
    after = cleaned(log, [(99, 0, False), (99, 100, False), (99, 100, False)])
    keys = [r.key for batch in after if not batch.is_control for r in batch.records]
    assert Counter(keys) == Counter(table(log).keys())


def test_tombstones_stay_until_the_delete_horizon() -> None:
    log = (Batch(0, 0, records=(StoredRecord(0, 0, "a", None),)), Batch(1, 1))
    once = cleaned(log, [(1, 7, False)])
    assert once[0].delete_horizon == 57
    assert cleaned(once, [(1, 56, False)])[0].records
    assert not cleaned(once, [(1, 57, False)])[0].records


def test_a_marker_stays_as_long_as_its_transaction_has_a_batch() -> None:
    data = Batch(
        0, 0, records=(StoredRecord(0, 0, "a", "v"),), producer_id=7, is_transactional=True
    )
    mark = StoredRecord(1, 0, "COMMIT", "")
    marker = Batch(1, 1, records=(mark,), producer_id=7, marker=Marker.COMMIT)
    end = Batch(2, 2, records=(StoredRecord(2, 0, "b", "v"),))
    assert [b.delete_horizon for b in cleaned((data, marker, end), [(9, 0, False)])] == [None] * 3
    later = Batch(3, 3, records=(StoredRecord(3, 0, "a", "w"),))
    assert [b.base_offset for b in cleaned((data, marker, end, later), [(9, 0, False)])] == [
        1,
        2,
        3,
    ]
