"""The coordinator of `kspec.impl.coordinator` in lockstep with `spec.group`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

from kspec.checkers.lockstep import Compared, Difference, Differs, compare_everywhere, walk_in_step
from kspec.impl.coordinator import coordinator
from kspec.impl.coordinator.rebalance import prepare_rebalance
from kspec.impl.coordinator.shard import Shard
from kspec.impl.coordinator.state import Group
from kspec.spec.group import GROUP
from kspec.spec.messages import Error, LeaveGroupResponse
from tests.impl.coordinator.adapter import ROOMY, WEIGHTS, GroupAdapter
from tests.impl.coordinator.anything import ask_anything
from tests.impl.coordinator.calls import Account, Call, Handle

VARIANTS = ("eager", "cooperative", "scala")

# -- every step of small worlds -------------------------------------------------------------------


def every_step(variant: str, **bounds: int) -> Compared:
    compared = compare_everywhere(GroupAdapter(variant), GROUP.system(variant, bounds))
    for difference in compared.differences:
        raise Differs(difference)
    assert not compared.left_out
    return compared


ALONE = {"consumers": 1, "ids": 1, "generations": 2, "crashes": 0, "failovers": 0}
"""No faults, unless a test adds some."""


@pytest.mark.parametrize(
    "more", [{"failovers": 1}, {"static": 1, "crashes": 1, "ids": 2}, {"early": 1, "leaves": 1}]
)
@pytest.mark.parametrize("variant", ["eager", "scala"])
def test_every_step_of_one_consumer_agrees(variant: str, more: dict[str, int]) -> None:
    assert every_step(variant, **(ALONE | more)).steps > 50


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "bounds",
    [
        {"consumers": 1},
        {"crashes": 0, "failovers": 0},
        {"consumers": 1, "static": 1, "failovers": 0, "early": 1, "losses": 1},
    ],
)
def test_every_step_within_small_bounds_agrees(variant: str, bounds: dict[str, int]) -> None:
    assert every_step(variant, **bounds).steps > 1_000


# -- walks of consumers that behave ---------------------------------------------------------------


def walk(variant: str, walks: int, steps: int) -> Compared:
    return walk_in_step(
        GroupAdapter(variant),
        GROUP.system(variant, ROOMY),
        settings(max_examples=walks, stateful_step_count=steps),
        weights=WEIGHTS,
    )


def test_walks_of_consumers_agree() -> None:
    assert walk("eager", walks=6, steps=50).steps > 200


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_long_walks_of_consumers_agree(variant: str) -> None:
    """.ci/run takes other walks with each commit."""
    assert walk(variant, walks=60, steps=100).steps > 3_000


# -- walks of callers that ask anything -----------------------------------------------------------


def test_arbitrary_requests_agree() -> None:
    asked = ask_anything(settings(max_examples=16, stateful_step_count=50))
    assert asked.steps > 400


@pytest.mark.slow
def test_long_walks_of_arbitrary_requests_agree() -> None:
    """Each kind of request is answered with each of its possible errors."""
    answered: set[tuple[str, Error]] = set()

    def watch(account: Account, call: Call) -> None:
        if isinstance(call, Handle):
            kind = type(call.request).__name__
            for caller, answer in account.after(call)[1]:
                if caller == call.caller:
                    answered.update((kind, error) for error in errors_in(answer))

    compared = ask_anything(settings(max_examples=600, stateful_step_count=100), watch=watch)
    assert compared.steps > 50_000
    assert answered >= {(kind, Error(error)) for kind, errors in ERRORS.items() for error in errors}


def errors_in(answer: Any) -> set[Error]:
    """The errors of a response: as a whole, or of each part."""
    parts = answer.members if isinstance(answer, LeaveGroupResponse) else ()
    parts += getattr(answer, "partitions", ())
    return {getattr(answer, "error", Error.NONE), *(error for _, error in parts)}


MEMBER_CHECK = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "NOT_COORDINATOR", "NONE")
ERRORS = {
    "JoinGroup": (
        *MEMBER_CHECK,
        "INVALID_SESSION_TIMEOUT",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "MEMBER_ID_REQUIRED",
        "UNKNOWN_SERVER_ERROR",
    ),
    "SyncGroup": (
        *MEMBER_CHECK,
        "ILLEGAL_GENERATION",
        "INCONSISTENT_GROUP_PROTOCOL",
        "REBALANCE_IN_PROGRESS",
    ),
    "Heartbeat": (*MEMBER_CHECK, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"),
    "LeaveGroup": MEMBER_CHECK,
    "OffsetCommit": (
        *MEMBER_CHECK,
        "ILLEGAL_GENERATION",
        "GROUP_ID_NOT_FOUND",
        "REBALANCE_IN_PROGRESS",
        "OFFSET_METADATA_TOO_LARGE",
    ),
}
"""The errors that answer each kind of request."""

# -- planted faults -------------------------------------------------------------------------------


def accepts_any_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of older generations are accepted."""

    def validate_generation(
        self: Group, member: str, instance: str | None, generation: int
    ) -> Error:
        return self.validate_member(member, instance)

    monkeypatch.setattr(Group, "validate_generation", validate_generation)


def leaves_a_timer_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer of a pending member stays armed after it has joined."""

    def remove_pending(self: Shard, group: Group, member_id: str) -> None:
        group.pending_joins.discard(member_id)

    monkeypatch.setattr(Shard, "remove_pending", remove_pending)


def keeps_members_that_never_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rebalance begins, and the members that never synced are not removed."""
    monkeypatch.setattr(coordinator, "expire_pending_sync", prepare_rebalance)


PLANTED = [accepts_any_generation, leaves_a_timer_armed, keeps_members_that_never_sync]
Plant = Callable[[pytest.MonkeyPatch], None]
in_each = pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)


def difference_of(drive: Callable[[settings], Compared]) -> Difference:
    """The difference that is found. Some faults show once in ten thousand steps."""
    with pytest.raises(Differs) as differs:
        drive(settings(max_examples=1500, stateful_step_count=60))
    return differs.value.difference


@pytest.mark.slow
@in_each
def test_arbitrary_requests_find_a_planted_fault(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    difference = difference_of(ask_anything)
    assert len(difference.steps) <= 8, str(difference)


@pytest.mark.slow
@in_each
def test_well_behaved_consumers_find_a_planted_fault(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    system = GROUP.system("eager", ROOMY)
    difference = difference_of(
        lambda given: walk_in_step(GroupAdapter(), system, given, weights=WEIGHTS)
    )
    assert len(difference.steps) <= 20, str(difference)
