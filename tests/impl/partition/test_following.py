"""A follower: its requests, where it truncates, and how it handles each response."""

from __future__ import annotations

from array import array

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.impl.partition import Follower, Replica
from kspec.impl.partition.epochs import EpochEnd
from kspec.impl.partition.generations import (
    GENERATIONS,
    KIP_101,
    KIP_279,
    KIP_320,
    KIP_595,
    TO_HW,
    Generation,
)
from kspec.impl.partition.log import Batch
from kspec.impl.partition.messages import (
    DivergingEpoch,
    EpochEndRequest,
    FetchRequest,
    FetchResponse,
    LogOffsets,
    LogOffsetsRequest,
)
from kspec.spec.leader_epochs import EpochEnd as PlainEnd
from kspec.spec.leader_epochs import EpochEntry, LeaderEpochs, truncation_for
from kspec.spec.vocabulary import PartitionError
from tests.impl.partition.replicas import follow, lead, with_epochs

NAMES = [generation.name for generation in GENERATIONS]


def follower(generation: Generation = KIP_595, hw: int = 3) -> Follower:
    """It follows in epoch 4, and holds offsets 0 to 3 of epoch 1, and 4 of epoch 2."""
    replica = with_epochs((1, 4), (2, 1), broker=1, generation=generation)
    replica.hw = hw
    return follow(replica, 4)


# -- a new leader ---------------------------------------------------------------------------------

# The first request of each generation to a new leader, and the log end offset then.
FIRST = [
    (TO_HW, FetchRequest(1, 3, 9), 3),
    (KIP_101, EpochEndRequest(2, None), 5),
    (KIP_279, EpochEndRequest(2, None), 5),
    (KIP_320, EpochEndRequest(2, 4), 5),
    (KIP_595, FetchRequest(1, 5, 9, 4, 2), 5),
]


@pytest.mark.parametrize(("generation", "request_", "end"), FIRST, ids=NAMES)
def test_each_generation_has_its_first_request_to_a_new_leader(
    generation: Generation, request_: object, end: int
) -> None:
    role = follower(generation)
    replica = role.replica
    assert role.next_request(at_most=9) == request_
    assert replica.log.end == end


@pytest.mark.parametrize("generation", GENERATIONS, ids=NAMES)
def test_a_log_without_epochs_is_truncated_to_the_high_watermark(generation: Generation) -> None:
    replica = with_epochs((1, 4), broker=1, generation=generation)
    replica.epochs.clear()
    replica.hw = 3
    request = follow(replica, 4).next_request(at_most=9)
    assert replica.log.end == 3
    assert request == FetchRequest(1, 3, 9, 4 if generation.is_fenced else None)


def following(generation: Generation) -> Follower:
    """It follows broker 0 in epoch 4, and holds a record beyond its high watermark."""
    replica = with_epochs((1, 4), broker=1, generation=generation)
    replica.hw = 3
    role = follow(replica, 4)
    role.must_ask = False
    replica.copy([Batch(replica.log.end, 4, array("q", [9]))])
    return role


@pytest.mark.parametrize("generation", GENERATIONS, ids=NAMES)
def test_the_same_epoch_changes_only_the_isr(generation: Generation) -> None:
    role = following(generation)
    replica = role.replica
    end = replica.log.end
    assert replica.become_follower(4, 41, 0, {0}) is False
    assert (replica.role, role.isr, replica.log.end) == (role, {0}, end)


@pytest.mark.parametrize("generation", GENERATIONS, ids=NAMES)
def test_another_leader_begins_with_truncation(generation: Generation) -> None:
    before = following(generation)
    replica = before.replica
    end = replica.log.end
    assert replica.become_follower(5, 50, 2, {0, 2}) is True
    after = replica.role
    assert isinstance(after, Follower)
    assert after is not before
    assert replica.log.end == (3 if generation is TO_HW else end)
    assert after.must_ask is generation.asks


IN_2_0_1 = attrs.evolve(KIP_279, name="2.0.1", passes_over=1)


@pytest.mark.parametrize(
    ("generation", "epoch", "anew"),
    [
        *[(old, epoch, False) for old in (TO_HW, KIP_101, KIP_279) for epoch in (5, 6)],
        (IN_2_0_1, 5, False),
        (IN_2_0_1, 6, True),
        *[(since_2_1, epoch, True) for since_2_1 in (KIP_320, KIP_595) for epoch in (5, 6)],
    ],
    ids=lambda given: given.name if isinstance(given, Generation) else str(given),
)
def test_a_new_epoch_of_the_same_leader_begins_with_truncation_since_2_1(
    generation: Generation, epoch: int, anew: bool
) -> None:
    """Kafka: `Partition.makeFollower`, by release."""
    before = following(generation)
    replica = before.replica
    end = replica.log.end
    assert replica.become_follower(epoch, 10 * epoch, 0, {0}) is anew
    assert (replica.leader_epoch, replica.log.end) == (epoch, end)
    after = replica.role
    assert isinstance(after, Follower)
    assert (after is not before) is anew
    assert after.must_ask is (anew and generation.asks)
    assert after.isr == {0}


def test_a_leader_that_becomes_follower_again_has_another_leader() -> None:
    """Before 2.1 too: what counts is the leader that it knew last."""
    replica = following(TO_HW).replica
    lead(replica, 5, {1})
    replica.write([10])
    replica.hw = 3
    assert replica.become_follower(6, 60, 0, {0}) is True
    assert replica.log.end == 3


OFFSETS = st.integers(-1, 12)
HISTORIES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=4)


@pytest.mark.slow
@given(
    HISTORIES, st.integers(-1, 8), OFFSETS, st.integers(0, 12), st.sampled_from([KIP_320, KIP_595])
)
def test_truncation_agrees_with_the_specification(
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
    role.take(DivergingEpoch(answer) if generation.sends_last_epoch else answer)
    kept = min(cut.offset, end)
    assert (replica.log.end, replica.hw) == (kept, min(hw, kept))
    assert replica.epochs.entries == list(entries.truncate_from_end(kept).entries)
    if generation.asks:
        assert role.must_ask is not cut.done


@pytest.mark.parametrize(
    ("generation", "answer", "end", "asks_again"),
    [
        (KIP_101, EpochEnd(1, 3), 3, False),  # the response does not name its epoch
        (KIP_279, EpochEnd(1, 3), 3, False),
        (KIP_279, EpochEnd(0, 3), 3, False),  # it does not look before its first epoch
        (KIP_320, EpochEnd(0, 3), 0, False),
        (KIP_279, EpochEnd(-1, 2), 2, False),
        (KIP_279, EpochEnd(-1, -1), 3, False),  # to the high watermark
        (KIP_279, EpochEnd(3, 5), 5, False),
        (KIP_320, EpochEnd(2, 5), 5, False),
    ],
)
def test_truncation_by_the_end_of_an_epoch(
    generation: Generation, answer: EpochEnd, end: int, asks_again: bool
) -> None:
    role = follower(generation)
    replica = role.replica
    assert role.take(answer)
    assert replica.log.end == end
    request = role.next_request()
    assert isinstance(request, EpochEndRequest) is asks_again


@pytest.mark.parametrize("generation", [KIP_279, KIP_320, KIP_595], ids=lambda g: g.name)
def test_a_follower_asks_until_both_know_the_epoch_and_then_fetches(generation: Generation) -> None:
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


# -- a response with records ----------------------------------------------------------------------


def test_a_followers_high_watermark_is_within_its_log_and_may_decrease() -> None:
    role = follower(hw=4)
    replica = role.replica
    moved = []
    for hw in (9, 2, 0):
        assert role.take(FetchResponse(5, hw, 0, []))
        moved.append(replica.hw)
    assert moved == [5, 2, 0]


def test_copied_records_keep_their_epochs() -> None:
    role = follower()
    replica = role.replica
    batches = [Batch(5, 2, array("q", [50, 51])), Batch(7, 3, array("q", [70]))]
    assert role.take(FetchResponse(5, 6, 0, batches))
    assert (replica.log.end, replica.hw) == (8, 6)
    assert replica.epochs.entries == [(1, 0), (2, 4), (3, 7)]


def test_the_log_start_follows_the_leaders() -> None:
    role = follower()
    replica = role.replica
    batches = [Batch(5, 4, array("q", [50]))]
    role.take(FetchResponse(5, 5, 3, batches))
    assert (replica.log.start, replica.hw, replica.log.end) == (3, 5, 6)
    assert replica.epochs.entries == [(1, 3), (2, 4), (4, 5)]
    role.take(FetchResponse(6, 2, 3, []))
    assert replica.hw == 3  # never before the log (KAFKA-9491)


def test_only_committed_records_are_deleted() -> None:
    role = follower(hw=3)
    replica = role.replica
    with pytest.raises(ValueError, match="beyond the high watermark"):
        replica.delete_before(4)
    replica.delete_before(3)
    assert replica.log.start == 3


def test_an_outdated_response_changes_nothing() -> None:
    role = follower()
    replica = role.replica
    assert not role.take(FetchResponse(4, 0, 4, [Batch(4, 4, array("q", [9]))]))
    assert (replica.log.start, replica.hw, replica.log.end) == (0, 3, 5)


def test_a_diverging_response_keeps_the_start_and_the_high_watermark() -> None:
    role = follower(hw=3)
    replica = role.replica
    assert role.take(DivergingEpoch(EpochEnd(2, 5)))
    assert (replica.log.start, replica.hw, replica.log.end) == (0, 3, 5)
    assert role.take(DivergingEpoch(EpochEnd(1, 2)))
    assert (replica.log.start, replica.hw, replica.log.end) == (0, 2, 2)


# -- errors ---------------------------------------------------------------------------------------

# The range of the leader's log, and that of the follower's afterwards; it was 2 to 5.
RANGES = [
    ((0, 9), (2, 5)),  # unchanged; the follower fetches again
    ((0, 5), (2, 5)),
    ((0, 4), (2, 4)),  # the leader's log is shorter
    ((0, 1), (1, 1)),  # it ends before the follower's begins
    ((5, 9), (2, 5)),
    ((6, 9), (6, 6)),  # it begins after the follower's ends
]


@pytest.mark.parametrize(("theirs", "ours"), RANGES)
def test_an_out_of_range_follower_moves_into_the_leaders_range(
    theirs: tuple[int, int], ours: tuple[int, int]
) -> None:
    role = follower()
    replica = role.replica
    replica.delete_before(2)
    assert not role.take(PartitionError.OFFSET_OUT_OF_RANGE)
    assert role.next_request() == LogOffsetsRequest(4)
    assert role.take(LogOffsets(*theirs))
    assert (replica.log.start, replica.log.end) == ours
    assert replica.log.start <= replica.hw <= replica.log.end
    assert all(start < replica.log.end for _, start in replica.epochs.entries)
    request = role.next_request()
    assert isinstance(request, FetchRequest)
    assert request.offset == replica.log.end


def test_a_follower_behind_retention_restarts_at_the_leaders_start() -> None:
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


def test_a_fenced_follower_waits_for_the_new_epoch() -> None:
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
def test_a_follower_retries_while_its_leader_is_behind(error: PartitionError) -> None:
    role = follower()
    request = role.next_request()
    assert not role.take(error)
    assert role.next_request() == request
