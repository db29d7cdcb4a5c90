"""Where a group that was stopped begins again."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.consumer.fetching import Policy
from kspec.spec.consumer.reset import Effect, PartitionOffsets
from kspec.spec.consumer.start import Because, Beginning, ByDuration, Outlook, begin
from kspec.spec.storage.retention import FOREVER, RetentionSettings

DAY = 86_400_000
HOURLY = Fraction(1, 3_600_000)
COMMITTED = PartitionOffsets(start=10, end=20, committed=12)
NOTHING = PartitionOffsets(start=10, end=20)
DELETED = PartitionOffsets(start=10, end=20, committed=3)
ABOVE = PartitionOffsets(start=10, end=20, committed=30)


@pytest.mark.parametrize("policy", [*Policy, ByDuration(1)])
@pytest.mark.parametrize("offset", [10, 12, 20])
def test_a_commit_within_the_log_counts_whatever_the_policy(
    policy: Policy | ByDuration, offset: int
) -> None:
    log = PartitionOffsets(start=10, end=20, committed=offset)
    assert begin(log, policy, recent=15) == Beginning(offset, Because.COMMITTED)


@pytest.mark.parametrize(
    ("policy", "recent", "offset"),
    [
        (Policy.EARLIEST, None, 10),
        (Policy.LATEST, None, 20),
        (ByDuration(1), 15, 15),
        (ByDuration(1), 3, 10),
        (ByDuration(1), None, 20),
    ],
)
def test_otherwise_the_policy_decides(
    policy: Policy | ByDuration, recent: int | None, offset: int
) -> None:
    for log, because in (
        (NOTHING, Because.NOTHING_COMMITTED),
        (DELETED, Because.OUT_OF_RANGE),
        (ABOVE, Because.OUT_OF_RANGE),
    ):
        assert begin(log, policy, recent) == Beginning(offset, because)


def test_without_a_policy_the_exception_says_what_is_missing() -> None:
    assert begin(NOTHING, Policy.NONE).raises == "NoOffsetForPartitionException"
    assert begin(DELETED, Policy.NONE).raises == "OffsetOutOfRangeException"
    assert begin(NOTHING, Policy.NONE).offset is None


def outlook(
    log: PartitionOffsets = COMMITTED, rate: Fraction = HOURLY, days: int = 3, keep: int = 7
) -> Outlook:
    """A topic whose records are kept for some days, and offsets for a week."""
    return Outlook(log, rate, RetentionSettings(retention_ms=days * DAY), keep * DAY)


@pytest.mark.parametrize(
    ("days", "policy", "offset", "because", "effect", "deleted"),
    [
        (0, Policy.LATEST, 12, Because.COMMITTED, Effect(0, 0), 0),
        (2, Policy.LATEST, 12, Because.COMMITTED, Effect(0, 0), 0),
        (3, Policy.LATEST, 92, Because.OUT_OF_RANGE, Effect(72, 0), 8),
        (3, Policy.EARLIEST, 20, Because.OUT_OF_RANGE, Effect(0, 0), 8),
        (7, Policy.LATEST, 188, Because.NOTHING_COMMITTED, Effect(72, 0), 104),
        (7, Policy.EARLIEST, 116, Because.NOTHING_COMMITTED, Effect(0, 0), 104),
        (7, ByDuration(DAY), 164, Because.NOTHING_COMMITTED, Effect(48, 0), 104),
    ],
)
def test_both_retentions_take_their_turn(
    days: int,
    policy: Policy | ByDuration,
    offset: int,
    because: Because,
    effect: Effect,
    deleted: int,
) -> None:
    """A record arrives in each hour, 72 within the retention of three days."""
    ahead = outlook()
    found = ahead.begins_after(days * DAY, policy)
    assert found == Beginning(offset, because)
    assert ahead.effect_after(days * DAY, found) == effect
    assert ahead.deleted_after(days * DAY) == deleted


def test_a_group_whose_offsets_expire_first_reads_twice_or_skips() -> None:
    ahead = outlook(days=30, keep=7)
    earliest = ahead.begins_after(7 * DAY, Policy.EARLIEST)
    assert ahead.effect_after(7 * DAY, earliest) == Effect(0, 2)
    latest = ahead.begins_after(7 * DAY, Policy.LATEST)
    assert ahead.effect_after(7 * DAY, latest) == Effect(176, 0)
    assert ahead.effect_after(7 * DAY, ahead.begins_after(7 * DAY, Policy.NONE)) is None


def test_a_commit_above_the_end_is_in_range_once_the_log_has_reached_it() -> None:
    ahead = outlook(ABOVE)
    hours = DAY // 24
    assert ahead.in_range_in() == 10 * hours
    assert ahead.begins_after(10 * hours - 1, Policy.EARLIEST).because is Because.OUT_OF_RANGE
    assert ahead.begins_after(10 * hours, Policy.EARLIEST) == Beginning(30, Because.COMMITTED)


def test_without_new_records_those_in_the_log_count_as_written_now() -> None:
    ahead = outlook(rate=Fraction(0))
    assert ahead.after(3 * DAY) == COMMITTED
    assert ahead.overtaken_in() == 3 * DAY + 1
    assert ahead.after(3 * DAY + 1).start == 20
    forever = Outlook(COMMITTED, Fraction(0), RetentionSettings(retention_ms=FOREVER), None)
    assert forever.overtaken_in() is None
    assert forever.after(100 * DAY) == COMMITTED
    assert forever.changes() == {0}


@pytest.mark.slow
@given(
    st.integers(0, 50), st.integers(0, 50), st.one_of(st.none(), st.integers(0, 120)),
    st.fractions(0, 3, max_denominator=50), st.integers(-1, 60),
)  # fmt: skip
def test_changes_are_the_moments_at_which_the_reason_changes(
    start: int, length: int, committed: int | None, rate: Fraction, retention: int
) -> None:
    """Between two of these moments, the group begins for the same reason."""
    log = PartitionOffsets(start, start + length, committed)
    expires = None if committed is None else 200
    ahead = Outlook(log, rate, RetentionSettings(retention_ms=retention), expires)
    reasons = [ahead.begins_after(time, Policy.EARLIEST).because for time in range(400)]
    changes = {time for time in range(1, 400) if reasons[time] != reasons[time - 1]}
    assert changes <= ahead.changes()
