"""What a leader answers to a fetch, in which order it looks, and what it notes."""

from __future__ import annotations

import pytest

from impl.partition import EpochEnd, Leader, Progress, Replica
from impl.partition.messages import (
    Diverging,
    Ends,
    EndsQuestion,
    EpochQuestion,
    Fetched,
    FetchRequest,
)
from spec.vocabulary import PartitionError
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


# Who asks, from which offset, in which leader epoch, with which last epoch. What is wrong in
# several ways shows which is looked at first.
CHECKS = [
    ((7, 99, 3, 9), FENCED),
    ((7, 99, 5, 9), UNKNOWN),
    ((7, 99, 4, 9), UNKNOWN),  # a broker that does not have the partition
    ((7, 99, None, 9), NOT_LEADER),
    ((1, 99, 4, 9), OUT_OF_RANGE),  # an epoch that nobody here heard of
    ((1, 5, 4, 9), OUT_OF_RANGE),
    ((1, 1, 4, 2), OUT_OF_RANGE),  # diverges, and lies before the log
    ((1, 1, 4, 0), OUT_OF_RANGE),
    ((1, 4, 4, 2), Diverging(EpochEnd(1, 5))),  # epoch 2 is not known here
    ((1, 6, 4, 1), Diverging(EpochEnd(1, 5))),  # epoch 1 ended earlier here
    ((1, 9, 4, 4), Diverging(EpochEnd(4, 8))),  # diverges, and lies beyond the log
    ((1, 3, 4, 0), Diverging(EpochEnd(0, 2))),  # an epoch before the first one here
    ((1, 9, 4, None), OUT_OF_RANGE),
    ((1, 1, 4, None), OUT_OF_RANGE),
    ((1, 1, None, None), OUT_OF_RANGE),
]


@pytest.mark.parametrize(("request_", "answer"), CHECKS)
def test_the_first_thing_wrong_is_what_is_answered_and_nothing_is_noted(
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
    assert isinstance(answer, Fetched)
    assert (answer.offset, answer.hw, answer.log_start) == (4, 8, 2)
    assert [(b.base, b.epoch, list(b.ids)) for b in answer.batches] == [
        (4, 1, [4]),
        (5, 4, [5, 6]),
    ]


@pytest.mark.parametrize("request_", [FetchRequest(0, 0, 1), EpochQuestion(1, 0), EndsQuestion(0)])
@pytest.mark.parametrize(
    ("epoch", "answer"), [(None, NOT_LEADER), (3, FENCED), (4, NOT_LEADER), (5, UNKNOWN)]
)
def test_a_follower_compares_epochs_before_it_says_that_it_does_not_lead(
    request_: FetchRequest | EpochQuestion | EndsQuestion,
    epoch: int | None,
    answer: PartitionError,
) -> None:
    replica = with_epochs((1, 5), broker=1)
    follow(replica, 4)
    assert replica.answer(request_._replace(leader_epoch=epoch)) == answer


def test_questions_about_the_log_are_answered_by_the_leader() -> None:
    leader = long_leader()
    assert leader.answer(EndsQuestion(4)) == Ends(2, 8)
    assert leader.answer(EpochQuestion(1, 4)) == EpochEnd(1, 5)
    assert leader.answer(EpochQuestion(1, None)) == EpochEnd(1, 5)


# -- what is noted ------------------------------------------------------------------------------


def test_a_follower_hears_of_the_high_watermark_one_fetch_late() -> None:
    leader = with_epochs((0, 0))
    lead(leader, 1).append([0, 1, 2])
    told = []
    for offset in (0, 3, 3):
        answer = fetch(leader, 1, offset)
        assert isinstance(answer, Fetched)
        told.append((answer.hw, leader.hw))
    assert told == [(0, 0), (0, 3), (3, 3)]


# Fetches (time, offset, end of the leader's log), and when the follower was caught up last.
CAUGHT_UP = [
    ([(10, 5, 5)], 10),
    ([(10, 4, 5)], 0),
    ([(10, 4, 5), (20, 5, 7)], 10),  # what there was at the fetch before
    ([(10, 4, 5), (20, 4, 7)], 0),
    ([(10, 4, 5), (20, 5, 7), (30, 6, 9)], 10),
    ([(10, 4, 5), (20, 5, 7), (30, 7, 9)], 20),
    ([(10, 5, 5), (20, 3, 5)], 10),
]


@pytest.mark.parametrize(("fetches", "caught_up"), CAUGHT_UP)
def test_who_fetches_what_there_was_at_its_last_fetch_was_caught_up_then(
    fetches: list[tuple[int, int, int]], caught_up: int
) -> None:
    progress = Progress()
    for now, offset, end in fetches:
        progress.fetched(offset, end, now)
    assert progress.caught_up == caught_up
    assert progress.leo == fetches[-1][1]


def test_a_follower_that_was_cut_counts_with_less_and_what_is_committed_stays() -> None:
    leader = with_epochs((0, 0))
    role = lead(leader, 1)
    role.append([0, 1, 2])
    fetch(leader, 1, 3)
    fetch(leader, 1, 1)
    assert (role.followers[1].leo, leader.hw) == (1, 3)


def test_a_new_leader_knows_nothing_and_one_that_led_before_keeps_what_it_knew() -> None:
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
