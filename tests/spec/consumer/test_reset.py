"""Where `kafka-consumer-groups --reset-offsets` moves a group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.consumer import reset
from spec.consumer.errors import GroupIsActive, NothingCommitted
from spec.consumer.reset import PartitionOffsets
from spec.messages import GroupState

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
