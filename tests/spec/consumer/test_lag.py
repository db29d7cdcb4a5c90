"""How far a group is behind, and the time until retention overtakes it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kspec.spec.consumer.lag import (
    Flow,
    deleted_unread,
    flow_between,
    kept_records,
    lag,
    lead,
    overtaken_in,
)
from kspec.spec.storage.batches import Batch
from kspec.spec.storage.retention import FOREVER, RetentionSettings, StoredLog, expired, without
from kspec.spec.storage.segments import Segment, SegmentSettings, append, new_segment

HOUR = 3_600_000
PER_SECOND = Fraction(1, 1_000)


def test_lag_and_lead_are_the_distances_to_the_ends_of_the_log() -> None:
    assert (lag(12, 20), lead(12, 5), deleted_unread(12, 5)) == (8, 7, 0)
    assert (lag(50, 7), lead(3, 8), deleted_unread(3, 8)) == (-43, -5, 5)


def test_rates_need_offsets_that_do_not_fall() -> None:
    assert flow_between((10, 20), (30, 80), 1_000) == Flow(Fraction(60, 1_000), Fraction(20, 1_000))
    assert flow_between((10, 20), (9, 80), 1_000) is None
    assert flow_between((10, 20), (10, 19), 1_000) is None


@pytest.mark.parametrize(
    ("behind", "produced", "consumed", "expected"),
    [
        (0, 10, 5, 2 * HOUR),  # an hour's worth of lag, gained at half the speed
        (18_000, 10, 5, HOUR),
        (36_000, 10, 5, 0),
        (36_001, 10, 12, 0),  # a group that catches up may still lose its oldest records
        (36_000, 10, 10, None),
        (0, 10, 20, None),
        (0, 0, 0, None),
        (1, 0, 0, 0),  # nothing is known of the age of that record
    ],
)
def test_a_group_is_overtaken_once_its_lag_exceeds_what_retention_keeps(
    behind: int, produced: int, consumed: int, expected: int | None
) -> None:
    flow = Flow(produced * PER_SECOND, consumed * PER_SECOND)
    kept = kept_records(RetentionSettings(retention_ms=HOUR), flow.produced)
    assert overtaken_in(behind, kept, flow) == expected


def test_the_stricter_retention_counts() -> None:
    rate = 10 * PER_SECOND
    by_both = RetentionSettings(retention_ms=HOUR, retention_bytes=1_000)
    assert kept_records(by_both, rate, Fraction(10)) == 100
    assert kept_records(by_both, rate, Fraction(1, 1_000)) == 36_000
    assert kept_records(RetentionSettings(retention_ms=FOREVER), rate) is None
    assert kept_records(RetentionSettings(delete=False), rate) is None


# -- a log whose segments are deleted by the rules of spec.storage.retention ----------------------

SIZE = 10
"""The bytes of a record."""


def segments(end: int, each: int) -> list[Segment]:
    """Segments of so many records each; record n was written at millisecond n."""
    settings = SegmentSettings()
    found = []
    for base in range(0, end, each):
        last = min(base + each, end) - 1
        batch = Batch(base, last, size=(last - base + 1) * SIZE, max_timestamp=last)
        found.append(append(new_segment(base, settings), [batch], settings))
    return found


@pytest.mark.parametrize("each", [1, 7])
@pytest.mark.parametrize("pause", [2, 5, 1_000])
@pytest.mark.parametrize(
    "settings",
    [
        RetentionSettings(retention_ms=40),
        RetentionSettings(retention_ms=FOREVER, retention_bytes=40 * SIZE),
        RetentionSettings(retention_ms=90, retention_bytes=40 * SIZE),
    ],
)
def test_deletion_by_segments_comes_no_earlier_and_not_much_later(
    settings: RetentionSettings, pause: int, each: int
) -> None:
    """One record arrives in each millisecond; the group reads one in `pause` milliseconds."""
    now, committed = 60, 35
    flow = Flow(Fraction(1), Fraction(1, pause))
    kept = kept_records(settings, flow.produced, Fraction(SIZE))
    predicted = overtaken_in(lag(committed, now), kept, flow)
    assert predicted is not None
    start, after = 0, 0
    while start <= committed + after // pause:
        after += 1
        end = now + after
        log = StoredLog(segments(end, each), start, end, end)
        start = without(log, expired(log, settings, end)).start
    assert predicted <= after <= predicted + (each + 3) / (flow.produced - flow.consumed)
