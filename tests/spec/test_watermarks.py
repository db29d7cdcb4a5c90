"""High watermarks and log end offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.engine.reference import explore
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.equivalent import equivalent_mutants
from kspec.checkers.mutation.mutate import mutate
from kspec.spec.watermarks import (
    Follower,
    Leader,
    after_append,
    after_fetch,
    after_response,
    after_truncation,
    follower_hw,
    leader_hw,
)

WATERMARKS = find_model("watermarks")


def test_the_four_moments_of_one_record() -> None:
    """T1 nothing, T2 written, T3 fetched from 0, T4 fetched from 1: on both sides."""
    leader, follower = Leader(remote=(0,)), Follower()
    moments = [(leader, follower)]

    leader = after_append(leader)
    moments.append((leader, follower))

    for _ in range(2):
        offset = follower.leo
        leader = after_fetch(leader, follower=0, offset=offset)
        follower = after_response(follower, leader.leo - offset, leader.hw)
        moments.append((leader, follower))

    assert [(a.hw, a.leo, a.remote[0], b.hw, b.leo) for a, b in moments] == [
        (0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0),
        (0, 1, 0, 0, 1),
        (1, 1, 1, 1, 1),
    ]


def test_the_model_reaches_the_four_moments() -> None:
    trace = explore(WATERMARKS.system()).witnesses["EveryReplicaLearnsHighWatermark"]
    assert [(s.leader, s.followers[0]) for s in trace.states] == [
        (Leader(0, 0, (0,)), Follower(0, 0)),
        (Leader(0, 1, (0,)), Follower(0, 0)),
        (Leader(0, 1, (0,)), Follower(0, 1)),
        (Leader(1, 1, (1,)), Follower(1, 1)),
    ]


def test_a_reply_before_the_update_takes_one_more_fetch() -> None:
    trace = explore(WATERMARKS.system("reply-before-update")).witnesses[
        "EveryReplicaLearnsHighWatermark"
    ]
    assert len(trace.states) == 5


def test_a_parked_fetch_returns_the_hw_that_it_advanced() -> None:
    """The last record is committed by a fetch that finds nothing, and that fetch says so."""
    trace = explore(WATERMARKS.system("parked-fetch")).witnesses["EveryReplicaLearnsHighWatermark"]
    assert [step.rule for step in trace.steps] == [
        "producer_sends",
        "follower_fetches_records",
        "leader_parks_fetch",
        "leader_completes_parked_fetch",
    ]
    parked, completed = trace.states[-2:]
    assert (parked.leader.hw, parked.followers[0].hw, set(parked.parked)) == (1, 0, {0})
    assert (completed.followers[0].hw, completed.parked) == (1, frozenset())


def test_every_property_holds_with_more_followers_and_records() -> None:
    for variant in WATERMARKS.variants:
        verdict = explore(WATERMARKS.system(variant.name, {"followers": 2, "records": 3}))
        assert verdict.verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("name", [variant.name for variant in WATERMARKS.variants])
def test_every_mutant_is_killed_or_equivalent(name: str) -> None:
    variant = WATERMARKS.variant(name)
    report = mutate(WATERMARKS, variant, WATERMARKS.baseline.bounds)
    assert report.having("survived") == []
    assert report.stale == []
    equivalent = {outcome.mutant for outcome in report.having("equivalent")}
    assert equivalent == set(equivalent_mutants(WATERMARKS, variant))
    assert len(report.having("killed")) >= 15
    broken = "CommittingFetchIsAnsweredWithHighWatermark"
    assert report.not_asked == ([broken] if name == "reply-before-update" else [])


def test_the_slowest_member_of_the_isr_holds_the_hw_back() -> None:
    assert leader_hw(2, [9, 5, 4]) == 4
    assert leader_hw(6, [9, 5, 4]) == 6


def test_a_followers_hw_stays_within_its_log() -> None:
    assert follower_hw(7, 3) == 3
    assert follower_hw(2, 3) == 2


def test_truncation_below_the_hw_lowers_it() -> None:
    assert after_truncation(Follower(hw=3, leo=5), 4) == Follower(hw=3, leo=4)
    assert after_truncation(Follower(hw=3, leo=5), 1) == Follower(hw=1, leo=1)
    assert after_truncation(Follower(hw=3, leo=5), 7) == Follower(hw=3, leo=5)


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 3)), max_size=30),
)
def test_a_leaders_hw_never_decreases_nor_passes_the_isr(
    followers: int, steps: list[tuple[bool, int, int]]
) -> None:
    leader, replicas = Leader(remote=(0,) * followers), [Follower()] * followers
    for writes, who, records in steps:
        before = leader.hw
        if writes:
            leader = after_append(leader, records)
        else:
            who %= followers
            asking = replicas[who]
            leader = after_fetch(leader, who, asking.leo)
            carried = min(records, leader.leo - asking.leo)
            replicas[who] = after_response(asking, carried, leader.hw)
        assert before <= leader.hw <= leader.leo
        assert all(leader.hw <= f.leo and f.hw <= f.leo for f in replicas)
