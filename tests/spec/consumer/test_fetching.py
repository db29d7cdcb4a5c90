"""The state of a partition: every transition, and where fetching begins."""

from __future__ import annotations

from itertools import product

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.consumer.errors import LogTruncation, NoOffsetForPartition, OffsetOutOfRange
from spec.consumer.fetching import (
    AWAIT_RESET,
    AWAIT_VALIDATION,
    FETCHING,
    INITIALIZING,
    Fetching,
    FetchState,
    Policy,
    begin,
    is_validated,
    leader_changes,
    out_of_range,
    reset,
    reset_is_answered,
    seek,
)

LEGAL = {
    (INITIALIZING, FETCHING),
    (INITIALIZING, AWAIT_RESET),
    (INITIALIZING, AWAIT_VALIDATION),
    (FETCHING, FETCHING),
    (FETCHING, AWAIT_RESET),
    (FETCHING, AWAIT_VALIDATION),
    (AWAIT_RESET, FETCHING),
    (AWAIT_RESET, AWAIT_RESET),
    (AWAIT_VALIDATION, FETCHING),
    (AWAIT_VALIDATION, AWAIT_RESET),
    (AWAIT_VALIDATION, AWAIT_VALIDATION),
}


@pytest.mark.parametrize(("before", "after"), list(product(FetchState, FetchState)))
def test_what_is_no_legal_transition_does_nothing(before: FetchState, after: FetchState) -> None:
    p = Fetching(before, position=7)
    moved = p.moves(after, position=8)
    assert moved == (Fetching(after, position=8) if (before, after) in LEGAL else p)


@pytest.mark.parametrize("state", FetchState)
def test_only_fetching_has_a_valid_position(state: FetchState) -> None:
    p = Fetching(state, position=7)
    assert p.is_fetchable is p.has_valid_position is (state is FETCHING)
    assert not attrs.evolve(p, paused=True).is_fetchable
    assert not attrs.evolve(p, revoking=True).is_fetchable


@pytest.mark.parametrize("policy", Policy)
def test_what_is_committed_comes_before_the_policy(policy: Policy) -> None:
    assert begin(Fetching(), 7, policy) == Fetching(FETCHING, 7)


def test_without_a_commit_the_policy_decides() -> None:
    for policy in (Policy.LATEST, Policy.EARLIEST):
        assert begin(Fetching(), None, policy) == Fetching(AWAIT_RESET, strategy=policy)
    with pytest.raises(NoOffsetForPartition):
        begin(Fetching(), None, Policy.NONE)


def test_an_answer_to_a_reset_is_dropped_if_it_comes_too_late() -> None:
    p = reset(Fetching(FETCHING, 7), Policy.LATEST)
    assert p.position is None
    assert reset_is_answered(p, Policy.LATEST, 9) == Fetching(FETCHING, 9)
    assert reset_is_answered(p, Policy.EARLIEST, 0) == p
    sought = seek(p, 5)
    assert reset_is_answered(sought, Policy.LATEST, 9) == sought


def test_out_of_range_resets_or_raises() -> None:
    p = Fetching(FETCHING, 7)
    assert out_of_range(p, Policy.EARLIEST) == Fetching(AWAIT_RESET, strategy=Policy.EARLIEST)
    with pytest.raises(OffsetOutOfRange):
        out_of_range(p, Policy.NONE)


def test_a_new_leader_makes_a_position_with_an_epoch_wait() -> None:
    assert leader_changes(Fetching(FETCHING, 7, epoch=3)).state is AWAIT_VALIDATION
    assert leader_changes(Fetching(FETCHING, 7, epoch=3)).position == 7
    assert leader_changes(Fetching(FETCHING, 7)).state is FETCHING
    assert leader_changes(Fetching()).state is INITIALIZING
    waiting = reset(Fetching(FETCHING, 7, epoch=3), Policy.LATEST)
    assert leader_changes(waiting) == waiting


WAITING = Fetching(AWAIT_VALIDATION, 7, epoch=3)


@pytest.mark.parametrize(
    ("end", "state", "position"),
    [(None, AWAIT_RESET, None), (5, FETCHING, 5), (7, FETCHING, 7), (9, FETCHING, 7)],
)
def test_where_validation_leads(end: int | None, state: FetchState, position: int | None) -> None:
    after = is_validated(WAITING, end, Policy.LATEST)
    assert (after.state, after.position) == (state, position)


@pytest.mark.parametrize("end", [None, 5])
def test_without_a_policy_a_log_that_was_cut_is_an_error(end: int | None) -> None:
    with pytest.raises(LogTruncation):
        is_validated(WAITING, end, Policy.NONE)
    assert is_validated(WAITING, 7, Policy.NONE).state is FETCHING


def test_an_answer_to_a_validation_is_dropped_if_it_comes_too_late() -> None:
    for p in (seek(WAITING, 2), reset(WAITING, Policy.LATEST)):
        assert is_validated(p, 5, Policy.NONE) == p


STEPS = [
    lambda p, n: begin(p, n, Policy.LATEST) if p.state is INITIALIZING else p,
    lambda p, n: seek(p, n, epoch=1),
    lambda p, n: reset(p, Policy.EARLIEST),
    lambda p, n: reset_is_answered(p, Policy.EARLIEST, n),
    lambda p, n: leader_changes(p),
    lambda p, n: is_validated(p, n, Policy.LATEST),
    lambda p, n: is_validated(p, None, Policy.LATEST),
]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5))))
def test_there_is_a_position_exactly_while_fetching_or_validating(steps: list) -> None:
    p = Fetching()
    for step, number in steps:
        p = step(p, number)
        assert (p.position is not None) == (p.state in (FETCHING, AWAIT_VALIDATION))
        assert (p.strategy is not None) == (p.state is AWAIT_RESET)
