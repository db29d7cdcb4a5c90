"""What a leader knows of its followers: caught up, in sync, committed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.in_sync import (
    UNKNOWN,
    Progress,
    after_election,
    after_fetch,
    after_first_election,
    effective_min_isr,
    is_caught_up,
    may_be_in_isr,
    next_hw,
    out_of_sync,
    reaches_isr,
)

LAG = 30_000


def test_a_fetch_from_the_leaders_end_is_caught_up_now() -> None:
    progress = after_fetch(Progress(), 5, leader_end=5, now=1_000)
    assert progress == Progress(end=5, last_fetch=1_000, leader_end=5, caught_up=1_000)


def test_a_fetch_from_the_end_at_the_fetch_before_was_caught_up_then() -> None:
    """The producer is always faster; the follower still keeps up."""
    progress = Progress(caught_up=0)
    for now, end in [(1_000, 10), (2_000, 20), (3_000, 30), (60_000, 40)]:
        progress = after_fetch(progress, end - 10, leader_end=end, now=now)
    assert progress.caught_up == 3_000
    assert is_caught_up(progress, 40, now=33_000, max_lag=LAG)
    assert not is_caught_up(progress, 40, now=33_001, max_lag=LAG)


def test_a_follower_that_falls_behind_keeps_the_time_at_which_it_was_caught_up() -> None:
    held = after_fetch(Progress(), 5, leader_end=5, now=1_000)
    behind = after_fetch(after_fetch(held, 5, leader_end=9, now=2_000), 6, leader_end=9, now=3_000)
    assert behind.caught_up == 1_000


def test_a_follower_at_the_leaders_end_is_caught_up_however_long_ago_it_fetched() -> None:
    idle = Progress(end=7, last_fetch=0, leader_end=7, caught_up=0)
    assert is_caught_up(idle, 7, now=10**9, max_lag=LAG)
    assert not is_caught_up(idle, 8, now=10**9, max_lag=LAG)


FETCHES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 5)), max_size=9)


@given(FETCHES)
def test_caught_up_is_the_last_moment_at_which_the_follower_held_the_whole_log(
    fetches: list[tuple[int, int, int]],
) -> None:
    """Kafka's definition: the largest fetch time whose leader's end the last fetch has reached.

    A leader's log only grows here, and so does a follower's.
    """
    progress, now, end, offset = Progress(), 0, 0, 0
    seen: list[tuple[int, int]] = []
    for fetched, appended, waited in fetches:
        now, end = now + waited, end + appended
        offset = min(end, offset + fetched)
        before, progress = progress, after_fetch(progress, offset, end, now)
        seen.append((now, end))
        assert before.caught_up <= progress.caught_up <= now
        if progress.caught_up:
            assert any(t == progress.caught_up and offset >= e for t, e in seen)


def test_an_election_gives_members_of_the_isr_the_whole_lag_time_again() -> None:
    known = Progress(end=5, last_fetch=1_000, leader_end=5, caught_up=1_000)
    member = after_election(known, is_in_isr=True, leader_end=8, now=90_000)
    other = after_election(known, is_in_isr=False, leader_end=8, now=90_000)
    assert (member.end, other.end) == (5, 5)
    assert is_caught_up(member, 8, now=90_000 + LAG, max_lag=LAG)
    assert not is_caught_up(other, 8, now=90_000, max_lag=LAG)
    assert after_fetch(other, 8, leader_end=9, now=91_000).caught_up == 0  # not brought back yet
    assert after_first_election(is_in_isr=True, now=90_000).end == UNKNOWN


def test_only_members_that_lag_are_out_of_sync() -> None:
    followers = {
        1: Progress(end=9, caught_up=0),
        2: Progress(end=4, caught_up=60_000),
        3: Progress(end=4, caught_up=0),
        4: Progress(end=4, caught_up=0),
    }
    assert out_of_sync({0, 1, 2, 3}, followers, leader_end=9, now=90_000, max_lag=LAG) == {3}


@pytest.mark.parametrize(
    ("end", "reaches"), [(UNKNOWN, False), (4, False), (5, False), (7, True), (9, True)]
)
def test_to_join_the_isr_a_follower_reaches_hw_and_epoch_start(end: int, reaches: bool) -> None:
    assert reaches_isr(Progress(end=end), hw=5, epoch_start=7) is reaches
    assert reaches_isr(Progress(end=end), hw=7, epoch_start=5) is reaches


@pytest.mark.parametrize(
    ("fenced", "shutting_down", "fetched_in", "broker_epoch", "eligible"),
    [
        (False, False, 3, 3, True),
        (False, False, -1, 3, True),  # an old request has no broker epoch
        (False, False, 2, 3, False),  # it fetched before it restarted (KIP-903)
        (False, False, None, 3, False),
        (False, False, 3, None, False),
        (True, False, 3, 3, False),
        (False, True, 3, 3, False),
    ],
)
def test_eligibility_by_the_leaders_metadata(
    fenced: bool,
    shutting_down: bool,
    fetched_in: int | None,
    broker_epoch: int | None,
    eligible: bool,
) -> None:
    assert may_be_in_isr(fenced, shutting_down, fetched_in, broker_epoch) is eligible


def test_min_isr_is_at_most_the_number_of_replicas() -> None:
    assert [effective_min_isr(2, replicas) for replicas in (1, 2, 3)] == [1, 2, 2]


def hw_with(followers: dict[int, Progress], isr: set[int], eligible: set[int]) -> int:
    return next_hw(3, 9, followers, isr, eligible, now=90_000, max_lag=LAG)


def test_the_high_watermark_is_what_each_member_holds() -> None:
    followers = {1: Progress(end=8), 2: Progress(end=5)}
    assert hw_with(followers, {0, 1, 2}, set()) == 5
    assert hw_with(followers, {0, 1}, set()) == 8
    assert hw_with(followers, {0}, set()) == 9
    assert hw_with({1: Progress(end=UNKNOWN)}, {0, 1}, set()) == 3  # it never decreases


def test_the_high_watermark_waits_for_a_follower_that_is_about_to_join() -> None:
    joining = {1: Progress(end=8, caught_up=80_000)}
    assert hw_with(joining, {0}, {1}) == 8
    assert hw_with(joining, {0}, set()) == 9  # fenced: it cannot join
    lagging = {1: Progress(end=8, caught_up=0)}
    assert hw_with(lagging, {0}, {1}) == 9
