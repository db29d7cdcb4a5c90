"""A leader: what it commits, which ISR changes it proposes, and its responses to producers."""

from __future__ import annotations

import pytest

from kspec.impl.partition import Leader, Replica, Settings
from kspec.spec.vocabulary import PartitionError
from tests.impl.partition.replicas import fetch, follow, lead, with_epochs

LAG = 100
LATER = 1_000_000
"""A time at which a follower that never caught up lags."""


def leader_of(
    ends: dict[int, int], isr: set[int], *, now: int = 1000, **settings: int | bool
) -> Leader:
    """A leader of ten records, whose followers fetched up to these ends at `now`.

    No other follower was recently caught up, and nothing is committed.
    """
    replica = Replica(0, Settings(replica_lag_ms=LAG, **settings))  # type: ignore[arg-type]
    replica.become_leader(0, 0, isr, {0, *ends}, now=0)
    assert isinstance(replica.role, Leader)
    replica.log.append(range(10), 0)
    for follower, end in ends.items():
        replica.role.followers[follower].fetched(end, 10, now)
    return replica.role


# -- the high watermark ---------------------------------------------------------------------------

# The followers' end offsets, the ISR, the settings, and the high watermark.
COMMITTED = [
    ({1: 7, 2: 4}, {0, 1, 2}, {}, 4),
    ({1: 7, 2: 4}, {0, 1}, {}, 7),  # only members of the ISR count
    ({1: 7, 2: -1}, {0, 1, 2}, {}, 0),  # a member that has never fetched
    ({1: 7, 2: 4}, {0}, {}, 10),
    ({1: 10}, {0, 1}, {"min_insync_replicas": 2}, 10),
    ({1: 10}, {0}, {"min_insync_replicas": 2}, 0),
    ({1: 10}, {0}, {"min_insync_replicas": 2, "hw_waits_for_min_isr": False}, 10),  # before 3.7
    ({1: 10}, {0, 1}, {"min_insync_replicas": 3}, 10),  # there are only two replicas
    ({1: 10}, {0, 1}, {"min_insync_replicas": 3, "caps_min_isr": False}, 0),  # before 3.7
    ({1: 10, 2: 10}, {0, 1}, {"min_insync_replicas": 3}, 0),
]


@pytest.mark.parametrize(("ends", "isr", "settings", "hw"), COMMITTED)
def test_records_held_by_a_large_enough_isr_are_committed(
    ends: dict[int, int], isr: set[int], settings: dict[str, int | bool], hw: int
) -> None:
    leader = leader_of(ends, isr, **settings)
    assert leader.advance_hw(now=1000) == (hw > 0)
    assert leader.replica.hw == hw
    assert not leader.advance_hw(now=1000)


@pytest.mark.parametrize(
    ("since", "ineligible", "hw"),
    [(0, False, 4), (LAG, False, 4), (LAG + 1, False, 10), (0, True, 10)],
)
def test_the_high_watermark_waits_for_eligible_caught_up_followers(
    since: int, ineligible: bool, hw: int
) -> None:
    leader = leader_of({1: 4}, {0})
    leader.followers[1].caught_up = 1000 - since
    leader.ineligible = {1} if ineligible else set()
    leader.advance_hw(now=1000)
    assert leader.replica.hw == hw


@pytest.mark.parametrize(
    ("isr", "wanted", "hw"),
    [({0, 1}, {0}, 4), ({0}, {0, 1}, 4), ({0}, None, 10)],
    ids=["about to leave", "about to join", "out"],
)
def test_a_proposed_member_counts_as_an_isr_member(
    isr: set[int], wanted: set[int] | None, hw: int
) -> None:
    leader = leader_of({1: 4}, isr)
    leader.wanted = None if wanted is None else frozenset(wanted)
    leader.advance_hw(now=1000)
    assert leader.replica.hw == hw


def test_a_proposed_member_does_not_count_towards_min_isr() -> None:
    leader = leader_of({1: 10}, {0}, min_insync_replicas=2)
    leader.wanted = frozenset({0, 1})
    assert not leader.advance_hw(now=1000)
    assert leader.isr_is({0, 1}, partition_epoch=1, now=1000)
    assert leader.replica.hw == 10


def test_every_relevant_change_advances_the_high_watermark() -> None:
    replica = Replica(0)
    role = lead(replica, 0, {0}, now=LATER)
    role.append([0], now=LATER)
    assert replica.hw == 1  # an append, with the leader alone in the ISR
    replica.become_leader(0, 1, {0, 1}, {0, 1}, LATER)
    role.append([1, 2], now=LATER)
    assert replica.hw == 1
    fetch(replica, 1, 2, LATER)
    assert replica.hw == 2  # a fetch
    role.isr_is({0}, partition_epoch=2, now=2 * LATER)
    assert replica.hw == 3  # the ISR (KAFKA-13091)
    other = with_epochs((0, 5), broker=1)
    other.set_hw(3)
    lead(other, 1, {1}, now=LATER)
    assert other.hw == 5  # becoming leader


# -- the ISR --------------------------------------------------------------------------------------

# The follower's end and the high watermark; the epoch began at offset 6.
JOINS = [
    (8, 8, {}, True),
    (7, 8, {}, False),
    (10, 8, {}, True),
    (6, 2, {}, True),
    (5, 2, {}, False),  # lacks records of earlier epochs (KAFKA-7128)
    (5, 2, {"isr_waits_for_epoch": False}, True),
    (1, 2, {"isr_waits_for_epoch": False}, False),
]


@pytest.mark.parametrize(("end", "hw", "settings", "joins"), JOINS)
def test_a_follower_with_every_committed_record_is_proposed_for_the_isr(
    end: int, hw: int, settings: dict[str, bool], joins: bool
) -> None:
    replica = with_epochs((0, 6), settings=Settings(**settings))  # type: ignore[arg-type]
    role = lead(replica, 1, {0, 2})
    role.append([6, 7, 8, 9])
    replica.hw = hw
    role.assign({0, 1, 2})
    fetch(replica, 1, end, now=1)
    assert role.wanted == ({0, 1, 2} if joins else None)


def test_one_isr_change_is_proposed_at_a_time() -> None:
    replica = Replica(0)
    replica.become_leader(0, 0, {0}, {0, 1, 2})
    role = replica.role
    assert isinstance(role, Leader)
    fetch(replica, 1, 0)
    fetch(replica, 2, 0)
    assert role.wanted == {0, 1}
    assert not role.want_shrink(now=10**6)
    assert role.isr_is({0, 1}, partition_epoch=1)
    fetch(replica, 2, 0)
    assert role.wanted == {0, 1, 2}
    role.isr_stays()
    assert (role.isr, role.wanted) == ({0, 1}, None)


@pytest.mark.parametrize("reason", ["is a member", "may not"])
def test_members_and_ineligible_brokers_are_not_proposed(reason: str) -> None:
    replica = Replica(0)
    role = lead(replica, 0, {0, 1} if reason == "is a member" else {0})
    role.ineligible = {1} if reason == "may not" else set()
    fetch(replica, 1, 0)
    assert role.wanted is None


def test_ineligible_brokers_stay_ineligible_in_the_next_epoch() -> None:
    replica = Replica(0)
    lead(replica, 0, {0}).ineligible = {1}
    assert lead(replica, 1, {0}).ineligible == {1}


# The follower's end offset, the time since it was caught up, and whether it is to be removed.
LEAVES = [
    (9, LAG + 1, True),
    (9, LAG, False),
    (10, 10 * LAG, False),  # nothing was appended: the partition is idle
    (0, LAG, False),  # the number of missing records does not matter
    (-1, LAG + 1, True),
]


@pytest.mark.parametrize(("end", "since", "leaves"), LEAVES)
def test_a_member_that_lags_too_long_is_proposed_for_removal(
    end: int, since: int, leaves: bool
) -> None:
    leader = leader_of({1: end, 2: 10}, {0, 1, 2})
    leader.followers[1].caught_up = 1000 - since
    assert leader.want_shrink(now=1000) == leaves
    assert leader.wanted == ({0, 2} if leaves else None)


def test_outdated_isr_decisions_are_ignored() -> None:
    replica = Replica(0)
    role = lead(replica, 1, {0, 1})
    assert role.isr_is({0}, partition_epoch=11)
    assert not role.isr_is({0, 1}, partition_epoch=10)
    assert not replica.become_leader(1, 10, {0, 1}, {0, 1})
    assert not replica.become_leader(0, 12, {0, 1}, {0, 1})
    assert (role.isr, replica.partition_epoch) == ({0}, 11)


def test_a_replica_that_is_added_within_an_epoch_may_join() -> None:
    replica = Replica(0)
    role = lead(replica, 0)
    assert fetch(replica, 2, 0) == PartitionError.UNKNOWN_LEADER_EPOCH
    assert not replica.become_leader(0, 1, {0, 1}, {0, 1, 2})
    fetch(replica, 2, 0)
    assert replica.role is role
    assert role.wanted == {0, 1, 2}
    replica.become_leader(0, 2, {0, 2}, {0, 2})
    assert fetch(replica, 1, 0) == PartitionError.UNKNOWN_LEADER_EPOCH


# -- producers ------------------------------------------------------------------------------------

# acks, the ISR, and the response to a producer; min.insync.replicas is 2.
ACKS = [
    (2, {0, 1}, PartitionError.INVALID_REQUIRED_ACKS),
    (-2, {0}, PartitionError.INVALID_REQUIRED_ACKS),
    (-1, {0}, PartitionError.NOT_ENOUGH_REPLICAS),
    (-1, {0, 1}, 0),
    (0, {0}, 0),
    (1, {0}, 0),
]


@pytest.mark.parametrize(("acks", "isr", "answer"), ACKS)
def test_a_produce_request_is_answered_by_acks_and_isr(
    acks: int, isr: set[int], answer: int | PartitionError
) -> None:
    replica = Replica(0, Settings(min_insync_replicas=2))
    lead(replica, 0, isr)
    assert replica.append([7], acks) == answer
    assert replica.log.end == (0 if isinstance(answer, PartitionError) else 1)


@pytest.mark.parametrize(
    ("acks", "answer"),
    [
        (1, PartitionError.NOT_LEADER_OR_FOLLOWER),
        (-1, PartitionError.NOT_LEADER_OR_FOLLOWER),
        (3, PartitionError.INVALID_REQUIRED_ACKS),
    ],
)
def test_only_a_leader_appends(acks: int, answer: PartitionError) -> None:
    for replica in (Replica(1), with_epochs((0, 2), broker=1)):
        if replica.role is not None:
            follow(replica, 1)
        end = replica.log.end
        assert replica.append([7], acks) == answer
        assert replica.log.end == end


def test_acks_all_completes_once_the_records_are_committed() -> None:
    replica = Replica(0, Settings(min_insync_replicas=2))
    role = lead(replica, 0, {0, 1})
    replica.append([0, 1], acks=-1)
    assert replica.is_acked(2) is False
    fetch(replica, 1, 2)
    assert replica.is_acked(2) is True
    role.wanted = frozenset({0})  # still a member until the controller decides
    assert replica.is_acked(2) is True
    role.isr_is({0}, partition_epoch=1)
    assert replica.is_acked(2) == PartitionError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert replica.append([2], acks=1) == 2
    assert replica.is_acked(3) is False
    follow(replica, 1, leader=1)
    assert replica.is_acked(2) == PartitionError.NOT_LEADER_OR_FOLLOWER
