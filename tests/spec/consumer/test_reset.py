"""Where `kafka-consumer-groups --reset-offsets` moves a group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.consumer import reset
from kspec.spec.consumer.errors import GroupIsActive, NothingCommitted
from kspec.spec.consumer.reset import Effect, PartitionOffsets
from kspec.spec.messages import GroupState

LOG = PartitionOffsets(start=10, end=14, committed=12, times=(100, 110, 110, 130))
NEW = PartitionOffsets(start=10, end=14, times=(100, 110, 110, 130))
GONE = PartitionOffsets(start=10, end=14, committed=3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reset.to_earliest(LOG), 10),
        (reset.to_latest(LOG), 14),
        (reset.to_current(LOG), 12),
        (reset.to_current(NEW), 14),
        (reset.to_current(GONE), 3),  # not clamped
        (reset.to_offset(LOG, 11), 11),
        (reset.to_offset(LOG, 3), 10),
        (reset.to_offset(LOG, 99), 14),
        (reset.shift_by(LOG, -1), 11),
        (reset.shift_by(LOG, -9), 10),
        (reset.shift_by(LOG, 9), 14),
        (reset.to_datetime(LOG, 0), 10),
        (reset.to_datetime(LOG, 101), 11),
        (reset.to_datetime(LOG, 110), 11),
        (reset.to_datetime(LOG, 131), 14),
        (reset.to_found(LOG, 11), 11),
        (reset.to_found(LOG, None), 14),
        (reset.by_duration(LOG, now=140, duration=30), 11),
        (reset.by_duration(LOG, now=140, duration=5), 14),
    ],
)
def test_each_kind_of_reset(found: int, expected: int) -> None:
    assert found == expected


def test_shifting_needs_a_committed_offset() -> None:
    with pytest.raises(NothingCommitted):
        reset.shift_by(NEW, 1)


@pytest.mark.parametrize("state", GroupState)
def test_only_a_group_without_members_is_reset(state: GroupState) -> None:
    if state in (GroupState.EMPTY, GroupState.DEAD):
        reset.check_reset(state)
    else:
        with pytest.raises(GroupIsActive):
            reset.check_reset(state)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 30), st.integers(-40, 40))
def test_a_clamped_reset_stays_within_the_log(
    start: int, length: int, committed: int, number: int
) -> None:
    p = PartitionOffsets(start, start + length, committed, tuple(range(0, 10 * length, 10)))
    for found in (
        reset.to_offset(p, number),
        reset.shift_by(p, number),
        reset.to_datetime(p, number),
    ):
        assert p.start <= found <= p.end


@pytest.mark.parametrize(
    ("log", "new", "expected"),
    [
        (LOG, 12, Effect(0, 0)),
        (LOG, 10, Effect(0, 2)),
        (LOG, 14, Effect(2, 0)),
        (NEW, 10, Effect(0, 0)),
        (NEW, 13, Effect(3, 0)),  # it has read nothing
        (GONE, 10, Effect(0, 0)),  # what is deleted is neither skipped nor repeated
        (GONE, 3, Effect(0, 0)),
        (GONE, 14, Effect(4, 0)),
        (PartitionOffsets(start=10, end=14, committed=50), 10, Effect(0, 4)),
        (PartitionOffsets(start=10, end=14, committed=50), 50, Effect(0, 0)),
    ],
)
def test_a_reset_skips_or_repeats_what_the_log_has(
    log: PartitionOffsets, new: int, expected: Effect
) -> None:
    assert reset.effect(log, new) == expected


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 20), st.integers(0, 20))
def test_what_is_skipped_and_repeated_is_what_two_readers_differ_in(
    start: int, length: int, committed: int, new: int
) -> None:
    log = PartitionOffsets(start, start + length, committed)
    have = set(range(start, start + length))
    read_before = {offset for offset in have if offset < committed}
    read_after = {offset for offset in have if offset >= new}
    skipped = have - read_before - read_after
    assert reset.effect(log, new) == Effect(len(skipped), len(read_before & read_after))
