"""The fetch state of a partition: every transition, and where fetching begins."""

from __future__ import annotations

from itertools import product
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.consumer.errors import LogTruncation, NoOffsetForPartition, OffsetOutOfRange
from kspec.spec.consumer.fetching import (
    AWAIT_RESET,
    AWAIT_VALIDATION,
    FETCHING,
    INITIALIZING,
    Fetching,
    FetchPosition,
    FetchState,
    Policy,
    complete_reset,
    complete_validation,
    initialize,
    leader_changes,
    out_of_range,
    request_reset,
    seek,
)
from kspec.spec.leader_epochs import EpochEnd

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


SEVEN, EIGHT = FetchPosition(7), FetchPosition(8)
WITH_EPOCHS = FetchPosition(7, epoch=3, leader_epoch=4)


@pytest.mark.parametrize(("before", "after"), list(product(FetchState, FetchState)))
def test_an_invalid_transition_changes_nothing(before: FetchState, after: FetchState) -> None:
    p = Fetching(before, SEVEN)
    moved = p.moves(after, position=EIGHT)
    assert moved == (Fetching(after, EIGHT) if (before, after) in LEGAL else p)


@pytest.mark.parametrize("state", FetchState)
def test_only_fetching_has_a_valid_position(state: FetchState) -> None:
    p = Fetching(state, SEVEN)
    assert p.is_fetchable is p.has_valid_position is (state is FETCHING)
    for held_back in ("paused", "pending_revocation", "pending_callback"):
        assert not attrs.evolve(p, **{held_back: True}).is_fetchable  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", Policy)
def test_a_committed_offset_comes_before_the_policy(policy: Policy) -> None:
    assert initialize(Fetching(), SEVEN, policy) == Fetching(FETCHING, SEVEN)


@pytest.mark.parametrize("policy", Policy)
def test_a_committed_offset_with_an_epoch_is_validated(policy: Policy) -> None:
    p = initialize(Fetching(), WITH_EPOCHS, policy)
    assert p == Fetching(AWAIT_VALIDATION, WITH_EPOCHS)


def test_without_a_committed_offset_the_policy_decides() -> None:
    for policy in (Policy.LATEST, Policy.EARLIEST):
        assert initialize(Fetching(), None, policy) == Fetching(AWAIT_RESET, strategy=policy)
    with pytest.raises(NoOffsetForPartition):
        initialize(Fetching(), None, Policy.NONE)


@pytest.mark.parametrize("state", FetchState)
def test_a_seek_validates_exactly_a_position_with_both_epochs(state: FetchState) -> None:
    p = Fetching(state, None if state in (INITIALIZING, AWAIT_RESET) else EIGHT)
    for position in (SEVEN, FetchPosition(7, epoch=3), FetchPosition(7, leader_epoch=4)):
        assert seek(p, position) == Fetching(FETCHING, position)
    assert seek(p, WITH_EPOCHS) == Fetching(AWAIT_VALIDATION, WITH_EPOCHS)


def test_a_late_response_to_a_reset_is_dropped() -> None:
    p = request_reset(Fetching(FETCHING, SEVEN), Policy.LATEST)
    nine, zero = FetchPosition(9), FetchPosition(0)
    assert p.position is None
    assert complete_reset(p, Policy.LATEST, nine) == Fetching(FETCHING, nine)
    assert complete_reset(p, Policy.EARLIEST, zero) == p
    sought = seek(p, FetchPosition(5))
    assert complete_reset(sought, Policy.LATEST, nine) == sought


def test_a_reset_position_is_not_validated() -> None:
    p = request_reset(Fetching(FETCHING, SEVEN), Policy.LATEST)
    unvalidated = FetchPosition(7, leader_epoch=4)
    assert complete_reset(p, Policy.LATEST, WITH_EPOCHS) == Fetching(FETCHING, unvalidated)


def test_out_of_range_resets_or_raises() -> None:
    p = Fetching(FETCHING, SEVEN)
    assert out_of_range(p, Policy.EARLIEST) == Fetching(AWAIT_RESET, strategy=Policy.EARLIEST)
    with pytest.raises(OffsetOutOfRange, match="no offset 7"):
        out_of_range(p, Policy.NONE)


def test_a_new_leader_epoch_validates_a_position_with_an_epoch() -> None:
    p = Fetching(FETCHING, WITH_EPOCHS)
    assert leader_changes(p, 4) == p
    assert leader_changes(p, 5) == Fetching(AWAIT_VALIDATION, FetchPosition(7, 3, 5))
    assert leader_changes(Fetching(FETCHING, SEVEN), 5).state is FETCHING
    assert leader_changes(Fetching(), 5) == Fetching()
    resetting = request_reset(p, Policy.LATEST)
    assert leader_changes(resetting, 5) == resetting


WAITING = Fetching(AWAIT_VALIDATION, WITH_EPOCHS)


@pytest.mark.parametrize(
    ("end", "state", "position"),
    [
        (None, AWAIT_RESET, None),
        (EpochEnd(2, 5), FETCHING, FetchPosition(5, 2, 4)),
        (EpochEnd(3, 7), FETCHING, WITH_EPOCHS),
        (EpochEnd(3, 9), FETCHING, WITH_EPOCHS),
    ],
)
def test_validation_ends_in_the_expected_state(
    end: EpochEnd | None, state: FetchState, position: FetchPosition | None
) -> None:
    after = complete_validation(WAITING, WITH_EPOCHS, end, Policy.LATEST)
    assert (after.state, after.position) == (state, position)


@pytest.mark.parametrize("end", [None, EpochEnd(2, 5)])
def test_truncation_without_a_policy_is_an_error(end: EpochEnd | None) -> None:
    with pytest.raises(LogTruncation):
        complete_validation(WAITING, WITH_EPOCHS, end, Policy.NONE)
    valid = complete_validation(WAITING, WITH_EPOCHS, EpochEnd(3, 7), Policy.NONE)
    assert valid.state is FETCHING


@pytest.mark.parametrize(
    "later",
    [
        seek(WAITING, FetchPosition(2)),
        seek(WAITING, FetchPosition(9, 4, 4)),
        request_reset(WAITING, Policy.LATEST),
        leader_changes(WAITING, 5),
    ],
)
def test_a_late_response_to_a_validation_is_dropped(later: Fetching) -> None:
    assert complete_validation(later, WITH_EPOCHS, EpochEnd(2, 5), Policy.NONE) == later


def at(n: int) -> FetchPosition:
    return FetchPosition(n, epoch=n % 2 or None, leader_epoch=n % 3 or None)


STEPS = [
    lambda p, n: initialize(p, at(n), Policy.LATEST) if p.state is INITIALIZING else p,
    lambda p, n: seek(p, at(n)),
    lambda p, n: request_reset(p, Policy.EARLIEST),
    lambda p, n: complete_reset(p, Policy.EARLIEST, at(n)),
    leader_changes,
    lambda p, n: complete_validation(p, p.position, EpochEnd(0, n), Policy.LATEST),
    lambda p, n: complete_validation(p, p.position, None, Policy.LATEST),
]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5))))
def test_a_position_exists_exactly_while_fetching_or_validating(steps: list[Any]) -> None:
    p = Fetching()
    for step, number in steps:
        p = step(p, number)
        assert (p.position is not None) == (p.state in (FETCHING, AWAIT_VALIDATION))
        assert (p.strategy is not None) == (p.state is AWAIT_RESET)
