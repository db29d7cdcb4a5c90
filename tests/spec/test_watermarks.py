"""How high watermark and end offset follow each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checkers.explore import explore
from spec.watermarks import (
    WATERMARKS,
    Follower,
    Leader,
    after_append,
    after_fetch,
    after_response,
    after_truncation,
    follower_hw,
    leader_hw,
)


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


def test_the_model_tells_the_same_four_moments() -> None:
    trace = explore(WATERMARKS.system()).witnesses["EveryoneKnows"]
    assert [(s.leader, s.followers[0]) for s in trace.states] == [
        (Leader(0, 0, (0,)), Follower(0, 0)),
        (Leader(0, 1, (0,)), Follower(0, 0)),
        (Leader(0, 1, (0,)), Follower(0, 1)),
        (Leader(1, 1, (1,)), Follower(1, 1)),
    ]


def test_a_reply_with_the_hw_of_before_the_fetch_takes_one_fetch_more() -> None:
    trace = explore(WATERMARKS.system("reply-before-update")).witnesses["EveryoneKnows"]
    assert len(trace.states) == 5


def test_every_property_holds_with_more_followers_and_records() -> None:
    for variant in WATERMARKS.variants:
        verdict = explore(WATERMARKS.system(variant.name, {"followers": 2, "records": 3}))
        assert verdict.verdict == "holds"


def test_the_slowest_member_of_the_isr_holds_the_hw_back() -> None:
    assert leader_hw(2, [9, 5, 4]) == 4
    assert leader_hw(6, [9, 5, 4]) == 6


def test_a_follower_never_counts_as_committed_what_it_does_not_hold() -> None:
    assert follower_hw(7, 3) == 3
    assert follower_hw(2, 3) == 2


def test_a_log_that_is_cut_takes_the_hw_along() -> None:
    assert after_truncation(Follower(hw=3, leo=5), 4) == Follower(hw=3, leo=4)
    assert after_truncation(Follower(hw=3, leo=5), 1) == Follower(hw=1, leo=1)
    assert after_truncation(Follower(hw=3, leo=5), 7) == Follower(hw=3, leo=5)


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 3)), max_size=30),
)
def test_a_leaders_hw_never_retreats_and_never_passes_what_the_isr_holds(
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
