"""The coordinator of `impl.coordinator` in lockstep with `spec.group`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

from checkers.lockstep import Compared, Difference, Differs, compare_everywhere, walk_in_step
from impl.coordinator import coordinator
from impl.coordinator.desk import Desk
from impl.coordinator.group import Group
from impl.coordinator.rounds import prepare
from spec.group import GROUP
from spec.messages import Error
from tests.impl.coordinator.adapter import ROOMY, WEIGHTS, GroupAdapter
from tests.impl.coordinator.anything import ask_anything
from tests.impl.coordinator.calls import Account, Call, Handle

VARIANTS = ("eager", "cooperative")

# -- every step of small worlds -------------------------------------------------------------------


def every_step(variant: str, **bounds: int) -> Compared:
    compared = compare_everywhere(GroupAdapter(variant), GROUP.system(variant, bounds))
    assert compared.differences == []
    assert not compared.left_out
    return compared


ALONE = {"consumers": 1, "ids": 1, "generations": 2, "crashes": 0, "failovers": 0}
"""Nothing goes wrong, if not said otherwise."""


@pytest.mark.parametrize(
    "more", [{"failovers": 1}, {"static": 1, "crashes": 1, "ids": 2}, {"early": 1, "leaves": 1}]
)
def test_every_step_of_one_consumer_is_the_same(more: dict[str, int]) -> None:
    assert every_step("eager", **(ALONE | more)).steps > 50


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
def test_every_step_of_small_worlds_is_the_same(variant: str, bounds: dict[str, int]) -> None:
    assert every_step(variant, **bounds).steps > 1_000


# -- walks of consumers that behave ---------------------------------------------------------------


def walk(variant: str, walks: int, steps: int) -> Compared:
    return walk_in_step(
        GroupAdapter(variant),
        GROUP.system(variant, ROOMY),
        settings(max_examples=walks, stateful_step_count=steps, database=None),
        weights=WEIGHTS,
    )


def test_walks_of_consumers_go_the_same_way() -> None:
    assert walk("eager", walks=6, steps=50).steps > 200


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_long_walks_of_consumers_go_the_same_way(variant: str) -> None:
    """With those of callers that ask anything, a hundred thousand steps."""
    assert walk(variant, walks=300, steps=100).steps > 25_000


# -- walks of callers that ask anything -----------------------------------------------------------


def test_whatever_is_asked_the_answers_are_the_same() -> None:
    asked = ask_anything(settings(max_examples=12, stateful_step_count=50, database=None))
    assert asked.steps > 400


@pytest.mark.slow
def test_whatever_is_asked_for_long_the_answers_are_the_same() -> None:
    """Each kind of request is answered with each of the errors that there are for it."""
    answered: set[tuple[str, Error]] = set()

    def watch(account: Account, call: Call) -> None:
        if isinstance(call, Handle):
            kind = type(call.request).__name__
            for caller, answer in account.after(call)[1]:
                if caller == call.caller:
                    answered.update((kind, error) for error in errors_in(answer))

    compared = ask_anything(
        settings(max_examples=600, stateful_step_count=100, database=None), watch=watch
    )
    assert compared.steps > 50_000
    assert answered >= {(kind, Error(error)) for kind, errors in ERRORS.items() for error in errors}


def errors_in(answer: Any) -> set[Error]:
    """What an answer says: as a whole, or of each part."""
    parts = getattr(answer, "partitions", ()) + getattr(answer, "leavers", ())
    return {getattr(answer, "error", Error.NONE), *(error for _, error in parts)}


MEMBER_CHECK = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "NOT_COORDINATOR", "NONE")
ERRORS = {
    "JoinGroup": (
        *MEMBER_CHECK,
        "INVALID_SESSION_TIMEOUT",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "MEMBER_ID_REQUIRED",
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
        "REBALANCE_IN_PROGRESS",
        "OFFSET_METADATA_TOO_LARGE",
    ),
}
"""What each kind of request may be answered with."""

# -- planted faults -------------------------------------------------------------------------------


def misses_a_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of older generations are taken for members of this one."""

    def why_not(self: Group, member: str, instance: str | None, generation: int) -> Error:
        return self.why_not_member(member, instance)

    monkeypatch.setattr(Group, "why_not", why_not)


def leaves_a_timer_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that has come back is still expected."""

    def drop_pending(self: Desk, group: Group, member_id: str) -> None:
        group.pending_joins.discard(member_id)

    monkeypatch.setattr(Desk, "drop_pending", drop_pending)


def keeps_who_never_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is another round, and who held up the last one is still waited for."""
    monkeypatch.setattr(coordinator, "syncs_are_overdue", prepare)


PLANTED = [misses_a_generation, leaves_a_timer_armed, keeps_who_never_syncs]
Plant = Callable[[pytest.MonkeyPatch], None]
in_each = pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)


def story_of(drive: Callable[[settings], Compared]) -> Difference:
    """What is found, however it was. Some faults show once in ten thousand steps."""
    with pytest.raises(Differs) as differs:
        drive(settings(max_examples=1500, stateful_step_count=60, database=None))
    return differs.value.difference


@pytest.mark.slow
@in_each
def test_who_asks_anything_finds_a_planted_fault(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    story = story_of(ask_anything)
    assert len(story.steps) <= 4, str(story)


@pytest.mark.slow
@in_each
def test_consumers_that_behave_find_a_planted_fault(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    system = GROUP.system("eager", ROOMY)
    story = story_of(lambda given: walk_in_step(GroupAdapter(), system, given, weights=WEIGHTS))
    assert len(story.steps) <= 20, str(story)
