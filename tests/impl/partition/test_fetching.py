"""A leader's response to a fetch: the order of its checks, and the progress that it records."""

from __future__ import annotations

import pytest

from kspec.impl.partition import Leader, Replica
from kspec.impl.partition.epochs import EpochEnd
from kspec.impl.partition.leader import Progress
from kspec.impl.partition.messages import (
    DivergingEpoch,
    EpochEndRequest,
    FetchRequest,
    FetchResponse,
    LogOffsets,
    LogOffsetsRequest,
)
from kspec.spec.vocabulary import PartitionError
from tests.impl.partition.replicas import fetch, follow, lead, with_epochs

FENCED = PartitionError.FENCED_LEADER_EPOCH
UNKNOWN = PartitionError.UNKNOWN_LEADER_EPOCH
NOT_LEADER = PartitionError.NOT_LEADER_OR_FOLLOWER
OUT_OF_RANGE = PartitionError.OFFSET_OUT_OF_RANGE


def long_leader() -> Replica:
    """It leads in epoch 4: offsets 2 to 4 are of epoch 1, 5 to 7 of epoch 4."""
    replica = with_epochs((1, 5))
    lead(replica, 4).append([5, 6, 7])
    replica.hw = 8
    replica.delete_before(2)
    return replica


# The follower, the fetch offset, the leader epoch, the last epoch. Requests that fail several
# checks show their order.
CHECKS = [
    ((7, 99, 3, 9), FENCED),
    ((7, 99, 5, 9), UNKNOWN),
    ((7, 99, 4, 9), UNKNOWN),  # a broker without a replica
    ((7, 99, None, 9), NOT_LEADER),
    ((1, 99, 4, 9), OUT_OF_RANGE),  # an unknown epoch
    ((1, 5, 4, 9), OUT_OF_RANGE),
    ((1, 1, 4, 2), OUT_OF_RANGE),  # diverges, and is before the log
    ((1, 1, 4, 0), OUT_OF_RANGE),
    ((1, 4, 4, 2), DivergingEpoch(EpochEnd(1, 5))),  # the leader does not know epoch 2
    ((1, 6, 4, 1), DivergingEpoch(EpochEnd(1, 5))),  # the leader's epoch 1 ended earlier
    ((1, 9, 4, 4), DivergingEpoch(EpochEnd(4, 8))),  # diverges, and is beyond the log
    ((1, 3, 4, 0), DivergingEpoch(EpochEnd(0, 2))),  # an epoch before the leader's first
    ((1, 9, 4, None), OUT_OF_RANGE),
    ((1, 1, 4, None), OUT_OF_RANGE),
    ((1, 1, None, None), OUT_OF_RANGE),
]


@pytest.mark.parametrize(("request_", "answer"), CHECKS)
def test_the_first_failed_check_is_answered_and_no_progress_recorded(
    request_: tuple[int, int, int | None, int | None], answer: object
) -> None:
    leader = long_leader()
    assert isinstance(leader.role, Leader)
    before = repr(leader.role.followers)
    who, offset, epoch, last = request_
    assert leader.answer(FetchRequest(who, offset, 1000, epoch, last), now=50) == answer
    assert repr(leader.role.followers) == before


@pytest.mark.parametrize("last", [None, 1])
@pytest.mark.parametrize("epoch", [None, 4])
def test_a_fetch_that_agrees_is_answered_with_records(epoch: int | None, last: int | None) -> None:
    answer = long_leader().answer(FetchRequest(1, 4, 3, epoch, last))
    assert isinstance(answer, FetchResponse)
    assert (answer.offset, answer.hw, answer.log_start) == (4, 8, 2)
    assert [(b.base, b.epoch, list(b.ids)) for b in answer.batches] == [
        (4, 1, [4]),
        (5, 4, [5, 6]),
    ]


@pytest.mark.parametrize(
    "request_", [FetchRequest(0, 0, 1), EpochEndRequest(1, 0), LogOffsetsRequest(0)]
)
@pytest.mark.parametrize(
    ("epoch", "answer"), [(None, NOT_LEADER), (3, FENCED), (4, NOT_LEADER), (5, UNKNOWN)]
)
def test_a_follower_checks_the_epoch_before_its_role(
    request_: FetchRequest | EpochEndRequest | LogOffsetsRequest,
    epoch: int | None,
    answer: PartitionError,
) -> None:
    replica = with_epochs((1, 5), broker=1)
    follow(replica, 4)
    assert replica.answer(request_._replace(leader_epoch=epoch)) == answer


def test_requests_about_the_log_are_answered_by_the_leader() -> None:
    leader = long_leader()
    assert leader.answer(LogOffsetsRequest(4)) == LogOffsets(2, 8)
    assert leader.answer(EpochEndRequest(1, 4)) == EpochEnd(1, 5)
    assert leader.answer(EpochEndRequest(1, None)) == EpochEnd(1, 5)


# -- progress -----------------------------------------------------------------------------------


def test_a_follower_learns_the_high_watermark_one_fetch_late() -> None:
    leader = with_epochs((0, 0))
    lead(leader, 1).append([0, 1, 2])
    learned = []
    for offset in (0, 3, 3):
        answer = fetch(leader, 1, offset)
        assert isinstance(answer, FetchResponse)
        learned.append((answer.hw, leader.hw))
    assert learned == [(0, 0), (0, 3), (3, 3)]


# Fetches (time, offset, end of the leader's log), and when the follower was last caught up.
CAUGHT_UP = [
    ([(10, 5, 5)], 10),
    ([(10, 4, 5)], 0),
    ([(10, 4, 5), (20, 5, 7)], 10),  # up to the end at the previous fetch
    ([(10, 4, 5), (20, 4, 7)], 0),
    ([(10, 4, 5), (20, 5, 7), (30, 6, 9)], 10),
    ([(10, 4, 5), (20, 5, 7), (30, 7, 9)], 20),
    ([(10, 5, 5), (20, 3, 5)], 10),
]


@pytest.mark.parametrize(("fetches", "caught_up"), CAUGHT_UP)
def test_a_fetch_from_the_previous_end_was_caught_up_then(
    fetches: list[tuple[int, int, int]], caught_up: int
) -> None:
    progress = Progress()
    for now, offset, end in fetches:
        progress.fetched(offset, end, now)
    assert progress.caught_up == caught_up
    assert progress.leo == fetches[-1][1]


def test_a_truncated_follower_does_not_lower_the_high_watermark() -> None:
    leader = with_epochs((0, 0))
    role = lead(leader, 1)
    role.append([0, 1, 2])
    fetch(leader, 1, 3)
    fetch(leader, 1, 1)
    assert (role.followers[1].leo, leader.hw) == (1, 3)


def test_only_a_leader_that_led_before_knows_its_followers() -> None:
    leader = Replica(0)
    role = lead(leader, 1, {0, 1, 2}, now=100)
    assert role.followers == {1: Progress(caught_up=100), 2: Progress(caught_up=100)}
    role.append([0, 1, 2])
    fetch(leader, 1, 2, now=110)
    leader.become_leader(2, 20, {0, 1}, {0, 1, 2}, now=200)
    role = leader.role  # type: ignore[assignment]
    assert role.followers[1] == Progress(2, last_fetch=200, leader_leo=3, caught_up=200)
    assert role.followers[2] == Progress(-1, last_fetch=0, leader_leo=3, caught_up=0)
    follow(leader, 3, leader=1)
    assert lead(leader, 4, {0, 1}, now=300).followers == {1: Progress(caught_up=300)}
