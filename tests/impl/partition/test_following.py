"""What a follower asks, where it cuts its log, and what it makes of each answer."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.partition import GENERATIONS, Batch, EpochEnd, Follower, Generation, Replica
from impl.partition.generations import KIP_101, KIP_279, KIP_320, KIP_595, TO_HW
from impl.partition.messages import (
    Diverging,
    Ends,
    EndsQuestion,
    EpochQuestion,
    Fetched,
    FetchRequest,
)
from spec.leader_epochs import EpochEnd as PlainEnd
from spec.leader_epochs import EpochEntry, LeaderEpochs, truncation_for
from spec.vocabulary import PartitionError
from tests.impl.partition.replicas import follow, lead, with_epochs

NAMES = [generation.name for generation in GENERATIONS]


def follower(generation: Generation = KIP_595, hw: int = 3) -> Follower:
    """It follows in epoch 4, and holds offsets 0 to 3 of epoch 1, and 4 of epoch 2."""
    replica = with_epochs((1, 4), (2, 1), broker=1, generation=generation)
    replica.hw = hw
    return follow(replica, 4)


# -- a new leader ---------------------------------------------------------------------------------

# What each generation asks first, after it was told of the new leader, and where its log ends.
FIRST = [
    (TO_HW, FetchRequest(1, 3, 9), 3),
    (KIP_101, EpochQuestion(2, None), 5),
    (KIP_279, EpochQuestion(2, None), 5),
    (KIP_320, EpochQuestion(2, 4), 5),
    (KIP_595, FetchRequest(1, 5, 9, 4, 2), 5),
]


@pytest.mark.parametrize(("generation", "request_", "end"), FIRST, ids=NAMES)
def test_what_each_generation_asks_under_a_new_leader(
    generation: Generation, request_: object, end: int
) -> None:
    role = follower(generation)
    replica = role.replica
    assert role.next_request(at_most=9) == request_
    assert replica.log.end == end


@pytest.mark.parametrize("generation", GENERATIONS, ids=NAMES)
def test_a_log_without_epochs_is_cut_to_the_high_watermark(generation: Generation) -> None:
    replica = with_epochs((1, 4), broker=1, generation=generation)
    replica.epochs.clear()
    replica.hw = 3
    request = follow(replica, 4).next_request(at_most=9)
    assert replica.log.end == 3
    assert request == FetchRequest(1, 3, 9, 4 if generation.is_fenced else None)


@pytest.mark.parametrize("generation", GENERATIONS, ids=NAMES)
def test_a_new_epoch_begins_with_truncation_even_under_the_same_leader(
    generation: Generation,
) -> None:
    replica = with_epochs((1, 4), broker=1, generation=generation)
    replica.hw = 3
    before = follow(replica, 4)
    before.must_ask = False
    replica.copy([Batch(replica.log.end, 4, array("q", [9]))])
    end = replica.log.end
    assert replica.become_follower(4, 41, 0, {0}) is False
    assert replica.role is before
    after = follow(replica, 5)
    assert after is not before
    assert replica.log.end == (3 if generation is TO_HW else end)
    assert after.must_ask is generation.asks


OFFSETS = st.integers(-1, 12)
HISTORIES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=4)


@given(
    HISTORIES, st.integers(-1, 8), OFFSETS, st.integers(0, 12), st.sampled_from([KIP_320, KIP_595])
)
def test_it_cuts_where_the_specification_says(
    history: list[tuple[int, int]], epoch: int, offset: int, hw: int, generation: Generation
) -> None:
    epochs = [(n * 2 + skip % 2, records) for n, (skip, records) in enumerate(history)]
    replica = with_epochs(*epochs, broker=1, generation=generation)
    replica.set_hw(hw)
    role = follow(replica, 20)
    entries = LeaderEpochs(tuple(EpochEntry(*entry) for entry in replica.epochs.entries))
    end = replica.log.end
    cut = truncation_for(PlainEnd(epoch, offset), entries, end, replica.hw)
    answer = EpochEnd(epoch, offset)
    role.take(Diverging(answer) if generation.sends_last_epoch else answer)
    kept = min(cut.offset, end)
    assert (replica.log.end, replica.hw) == (kept, min(hw, kept))
    assert replica.epochs.entries == list(entries.truncate_from_end(kept).entries)
    if generation.asks:
        assert role.must_ask is not cut.done


@pytest.mark.parametrize(
    ("generation", "answer", "end", "asks_again"),
    [
        (KIP_101, EpochEnd(1, 3), 3, False),  # which epoch it was about, it does not hear
        (KIP_279, EpochEnd(1, 3), 3, False),
        (KIP_279, EpochEnd(0, 3), 0, False),
        (KIP_279, EpochEnd(-1, 2), 2, False),
        (KIP_279, EpochEnd(-1, -1), 3, False),  # to the high watermark
        (KIP_279, EpochEnd(3, 5), 5, False),
        (KIP_320, EpochEnd(2, 5), 5, False),
    ],
)
def test_where_it_cuts_by_the_end_of_an_epoch(
    generation: Generation, answer: EpochEnd, end: int, asks_again: bool
) -> None:
    role = follower(generation)
    replica = role.replica
    assert role.take(answer)
    assert replica.log.end == end
    request = role.next_request()
    assert isinstance(request, EpochQuestion) is asks_again


@pytest.mark.parametrize("generation", [KIP_279, KIP_320, KIP_595], ids=lambda g: g.name)
def test_it_asks_until_both_know_the_epoch_and_copies_the_rest(generation: Generation) -> None:
    leader = with_epochs((1, 3), (5, 2), (7, 2))
    replica = with_epochs((1, 2), (2, 2), (4, 1), (6, 2), broker=1, generation=generation)
    replica.hw = 2
    lead(leader, 8)
    role = follow(replica, 8)
    for _ in range(9):
        request = role.next_request()
        assert request is not None
        role.take(leader.answer(request))
    assert replica.log.read(0, 99) == leader.log.read(0, 99)


# -- an answer with records -----------------------------------------------------------------------


def test_the_high_watermark_is_the_leader_s_within_the_own_log_and_may_go_back() -> None:
    role = follower(hw=4)
    replica = role.replica
    moved = []
    for hw in (9, 2, 0):
        assert role.take(Fetched(5, hw, 0, []))
        moved.append(replica.hw)
    assert moved == [5, 2, 0]


def test_records_are_copied_under_the_epochs_that_they_were_written_under() -> None:
    role = follower()
    replica = role.replica
    batches = [Batch(5, 2, array("q", [50, 51])), Batch(7, 3, array("q", [70]))]
    assert role.take(Fetched(5, 6, 0, batches))
    assert (replica.log.end, replica.hw) == (8, 6)
    assert replica.epochs.entries == [(1, 0), (2, 4), (3, 7)]


def test_the_log_s_start_follows_the_leader_s() -> None:
    role = follower()
    replica = role.replica
    batches = [Batch(5, 4, array("q", [50]))]
    role.take(Fetched(5, 5, 3, batches))
    assert (replica.log.start, replica.hw, replica.log.end) == (3, 5, 6)
    assert replica.epochs.entries == [(1, 3), (2, 4), (4, 5)]
    role.take(Fetched(6, 2, 3, []))
    assert replica.hw == 3  # never before the log (KAFKA-9491)


def test_what_is_not_committed_is_not_deleted() -> None:
    role = follower(hw=3)
    replica = role.replica
    with pytest.raises(ValueError, match="beyond the high watermark"):
        replica.delete_before(4)
    replica.delete_before(3)
    assert replica.log.start == 3


def test_an_answer_to_an_earlier_fetch_changes_nothing() -> None:
    role = follower()
    replica = role.replica
    assert not role.take(Fetched(4, 0, 4, [Batch(4, 4, array("q", [9]))]))
    assert (replica.log.start, replica.hw, replica.log.end) == (0, 3, 5)


def test_an_answer_that_diverges_leaves_high_watermark_and_start_where_the_log_was_not_cut() -> (
    None
):
    role = follower(hw=3)
    replica = role.replica
    assert role.take(Diverging(EpochEnd(2, 5)))
    assert (replica.log.start, replica.hw, replica.log.end) == (0, 3, 5)
    assert role.take(Diverging(EpochEnd(1, 2)))
    assert (replica.log.start, replica.hw, replica.log.end) == (0, 2, 2)


# -- errors ---------------------------------------------------------------------------------------

# Where the leader's log begins and ends; and where the own one does afterwards: it was 2 to 5.
RANGES = [
    ((0, 9), (2, 5)),  # as it is, and asks again
    ((0, 5), (2, 5)),
    ((0, 4), (2, 4)),  # the leader's log is shorter
    ((0, 1), (1, 1)),  # it ends before the own one begins
    ((5, 9), (2, 5)),
    ((6, 9), (6, 6)),  # it begins after the own one ends
]


@pytest.mark.parametrize(("theirs", "ours"), RANGES)
def test_out_of_range_it_goes_where_the_leader_s_log_is(
    theirs: tuple[int, int], ours: tuple[int, int]
) -> None:
    role = follower()
    replica = role.replica
    replica.delete_before(2)
    assert not role.take(PartitionError.OFFSET_OUT_OF_RANGE)
    assert role.next_request() == EndsQuestion(4)
    assert role.take(Ends(*theirs))
    assert (replica.log.start, replica.log.end) == ours
    assert replica.log.start <= replica.hw <= replica.log.end
    assert all(start < replica.log.end for _, start in replica.epochs.entries)
    request = role.next_request()
    assert isinstance(request, FetchRequest)
    assert request.offset == replica.log.end


def test_a_follower_that_lagged_behind_retention_begins_at_the_leader_s_start() -> None:
    leader, replica = with_epochs((1, 9)), Replica(1)
    leader.delete_before(6)
    lead(leader, 2)
    role = follow(replica, 2)
    for _ in range(3):
        request = role.next_request()
        assert request is not None
        role.take(leader.answer(request))
    assert (replica.log.start, replica.log.end) == (6, 9)
    assert replica.log.read(6, 9) == leader.log.read(6, 9)
    assert replica.epochs.entries == [(1, 6)]


def test_who_is_fenced_asks_nothing_until_it_hears_of_the_new_epoch() -> None:
    role = follower()
    replica = role.replica
    assert not role.take(PartitionError.FENCED_LEADER_EPOCH)
    assert role.next_request() is None
    assert not replica.become_follower(4, 41, 0, {0, 1})
    assert role.next_request() is None
    assert follow(replica, 5).next_request() is not None


@pytest.mark.parametrize(
    "error", [PartitionError.UNKNOWN_LEADER_EPOCH, PartitionError.NOT_LEADER_OR_FOLLOWER]
)
def test_a_leader_that_does_not_know_yet_is_asked_again(error: PartitionError) -> None:
    role = follower()
    request = role.next_request()
    assert not role.take(error)
    assert role.next_request() == request
