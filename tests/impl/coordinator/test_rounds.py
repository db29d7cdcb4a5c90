"""Rebalances: their begin and duration, the leader, the protocol; and all timers."""

from __future__ import annotations

import pytest

from kspec.impl.coordinator import TimerKey, TimerKind
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupMetadata,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    MemberIdentity,
    Protocol,
    Settings,
    SyncGroupResponse,
)
from tests.impl.coordinator.scene import (
    BOTH,
    GROUP,
    MEMBERS,
    RANGE,
    STATES,
    A,
    B,
    S,
    Scene,
    completing,
    empty,
    heartbeat,
    initial,
    preparing,
    stable,
)

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
EMPTY = GroupState.EMPTY


def delay(scene: Scene, kind: TimerKind, member: str = "") -> int | None:
    """The duration of an armed timer."""
    return scene.armed.get(TimerKey(kind, GROUP, member))


# -- beginning ------------------------------------------------------------------------------


def test_a_rebalance_resets_assignments_and_fails_parked_syncs() -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.fire("session", B)
    scene.joins("d")
    assert scene.last("b") == SyncGroupResponse(Error.REBALANCE_IN_PROGRESS)
    assert ("session", B) in scene.timers(), (
        "its request is answered, so its session is timed again"
    )
    assert {m.assignment for m in scene.group.members.values()} == {NO_ASSIGNMENT}
    assert not scene.group.pending_syncs
    assert ("sync",) not in scene.timers()


def test_a_rebalance_of_a_stable_group_keeps_assignments() -> None:
    scene = preparing()
    assert [m.assignment for m in scene.group.members.values()] == [f"for {m}" for m in MEMBERS]


def test_a_rebalance_waits_for_the_longest_rebalance_timeout() -> None:
    scene = stable()
    scene.joins("b", member=B, protocols=(RANGE,), rebalance_timeout=400_000)
    assert delay(scene, TimerKind.JOIN) == 400_000
    scene.joins("d", rebalance_timeout=900_000)
    assert delay(scene, TimerKind.JOIN) == 400_000, "a later member does not extend it"


def test_a_rebalance_of_one_joined_member_completes_at_once() -> None:
    scene = Scene()
    scene.joins("a")
    scene.fire("initial delay")
    scene.syncs("a", A, A)
    scene.store()
    answer = scene.joins("a", member=A)
    assert (answer.generation, scene.state) == (2, COMPLETING)


# -- the initial delay ----------------------------------------------------------------------


def test_the_initial_delay_of_one_member_ends_after_three_seconds() -> None:
    scene = initial()
    assert delay(scene, TimerKind.INITIAL_DELAY) == 3_000
    scene.fire("initial delay")
    assert (scene.state, scene.group.generation) == (COMPLETING, 1)


def test_an_empty_group_waits_as_a_new_group_does() -> None:
    scene = empty()
    scene.joins("a")
    assert scene.timers() >= {("initial delay",)}
    assert ("join",) not in scene.timers()


def test_joining_members_extend_the_delay_up_to_the_rebalance_timeout() -> None:
    scene = Scene()
    scene.joins("c0", rebalance_timeout=7_000)
    delays = []
    for number in range(1, 4):
        delays.append(delay(scene, TimerKind.INITIAL_DELAY))
        scene.joins(f"c{number}")
        scene.fire("initial delay")
    assert delays == [3_000, 3_000, 1_000], "in total, the first member's rebalance timeout"
    assert scene.state is COMPLETING


def test_a_rebalance_timeout_within_the_delay_is_not_extended() -> None:
    scene = Scene()
    scene.joins("a", rebalance_timeout=2_000)
    scene.joins("b")
    scene.fire("initial delay")
    assert scene.state is COMPLETING


def test_an_expiring_new_member_may_end_the_initial_delay() -> None:
    scene = initial()
    scene.joins("b")
    scene.fire("session", A)
    assert scene.last("a") == JoinGroupResponse(Error.UNKNOWN_MEMBER_ID)
    assert (scene.state, scene.group.leader) == (COMPLETING, B)
    assert ("initial delay",) not in scene.timers()


def test_an_expiring_pending_member_may_end_the_initial_delay() -> None:
    scene = initial()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.fire("pending", given)
    assert scene.state is COMPLETING


# -- completing -----------------------------------------------------------------------------


def test_missing_dynamic_members_are_removed_and_static_ones_stay() -> None:
    scene = preparing()
    scene.fire("join")
    assert list(scene.group.members) == [A, S]
    assert (scene.state, scene.group.generation) == (COMPLETING, 2)
    assert scene.group.pending_syncs == {A, S}
    assert ("session", B) not in scene.timers()
    assert ("session", S) in scene.timers(), "a silent member's session is timed, too"


def test_a_missing_leader_is_replaced_by_a_joined_member() -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.joins("b")
    scene.fire("initial delay")
    scene.fire("initial delay")
    scene.joins("b", member=B, protocols=(RANGE,))
    scene.fire("join")
    assert list(scene.group.members) == ["s-1", B]
    assert scene.group.leader == B
    assert scene.last("b").members == (("s-1", "s", b"range"), (B, None, b"range"))


def test_a_rebalance_of_only_missing_static_members_continues() -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.fire("initial delay")
    scene.joins("d")
    scene.ask("admin", LeaveGroup((MemberIdentity("d-2"),)))
    scene.fire("join")
    assert (scene.state, scene.group.generation) == (PREPARING, 1)
    assert delay(scene, TimerKind.JOIN) == 300_000


def test_a_group_without_members_becomes_empty_in_a_new_generation() -> None:
    scene = empty()
    assert scene.group.generation == 2
    assert (scene.group.protocol_type, scene.group.protocol) == ("consumer", None)
    assert scene.log[-1].value == GroupMetadata(2, "consumer")
    assert scene.group.leader is None
    assert scene.timers() == set()


def test_every_member_receives_the_generation_and_the_leader_the_members() -> None:
    scene = completing()
    expected = ((A, None, b"range"), (B, None, b"range"), (S, "s", b"range"))
    assert scene.last("a") == JoinGroupResponse(Error.NONE, A, 1, "consumer", "range", A, expected)
    assert scene.last("b") == JoinGroupResponse(Error.NONE, B, 1, "consumer", "range", A)
    assert scene.timers() == {("sync",), ("session", A), ("session", B), ("session", S)}
    assert delay(scene, TimerKind.SESSION, A) == 45_000
    assert delay(scene, TimerKind.SYNC) == 300_000
    assert not any(m.is_new for m in scene.group.members.values())


def test_the_first_member_leads_and_then_the_first_remaining() -> None:
    scene = stable()
    assert scene.group.leader == A
    scene.ask("admin", LeaveGroup((MemberIdentity(A),)))
    assert scene.group.leader == B


@pytest.mark.parametrize(
    ("liked", "chosen"),
    [
        (["xy", "yx", "yx"], "y"),
        (["xy", "yx"], "x"),
        (["yx", "xy"], "y"),
        (["zxy", "xy", "yx", "yx"], "x"),
        (["zyx", "xy", "yx", "xy"], "y"),
        (["x", "yx", "yx"], "x"),
    ],
)
def test_each_member_votes_for_its_first_common_protocol(liked: list[str], chosen: str) -> None:
    scene = Scene()
    for number, names in enumerate(liked):
        scene.joins(f"c{number}", protocols=tuple(map(Protocol, names)))
    scene.fire("initial delay")
    scene.fire("initial delay")
    assert scene.group.protocol == chosen


# -- timers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "after"),
    [("preparing", PREPARING), ("completing", PREPARING), ("stable", PREPARING)],
)
def test_a_silent_member_is_removed(state: str, after: GroupState) -> None:
    scene = STATES[state]()
    scene.fire("session", B)
    assert B not in scene.group.members
    assert scene.state is after


def test_a_rebalance_completes_when_the_last_missing_member_expires() -> None:
    scene = preparing()
    scene.fire("session", B)
    scene.fire("session", S)
    assert (scene.state, scene.group.generation) == (COMPLETING, 2)


def test_the_session_of_a_parked_member_does_not_expire_unless_new() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    scene.fire("session", B)
    assert B in scene.group.members
    scene.joins("d")
    scene.fire("session", "d-4")
    assert "d-4" not in scene.group.members
    assert scene.last("d") == JoinGroupResponse(Error.UNKNOWN_MEMBER_ID)


def test_a_new_member_has_five_minutes_until_its_first_heartbeat() -> None:
    scene = stable()
    scene.joins("d")
    assert delay(scene, TimerKind.SESSION, "d-4") == 300_000
    scene.ask("d", heartbeat("d-4"))
    assert delay(scene, TimerKind.SESSION, "d-4") == 45_000


@pytest.mark.parametrize(
    ("state", "after"),
    [("empty", EMPTY), ("preparing", PREPARING), ("completing", COMPLETING), ("stable", STABLE)],
)
def test_a_pending_member_expires(state: str, after: GroupState) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.fire("pending", given)
    assert not scene.group.pending_joins
    assert scene.state is after


def test_an_expiring_pending_member_may_complete_the_rebalance() -> None:
    scene = preparing()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.joins("b", member=B)
    scene.joins("s", member=S, instance="s")
    scene.fire("pending", given)
    assert scene.state is COMPLETING


def test_a_rebalance_without_members_does_not_wait_for_pending_members() -> None:
    scene = Scene()
    scene.joins("a")
    scene.fire("initial delay")
    scene.ask("c", JoinGroup(protocols=BOTH, client="c"))
    scene.ask("a", LeaveGroup((MemberIdentity(A),)))
    assert (scene.state, delay(scene, TimerKind.JOIN)) == (PREPARING, 0)
    scene.fire("join")
    assert scene.state is EMPTY


@pytest.mark.parametrize("leader_syncs", [False, True])
def test_members_that_never_sync_are_removed_including_static_ones(leader_syncs: bool) -> None:
    scene = completing()
    scene.syncs("b", B)
    if leader_syncs:
        scene.syncs("a", A, *MEMBERS)
        scene.store()
    scene.fire("sync")
    assert scene.state is PREPARING
    assert list(scene.group.members) == ([A, B] if leader_syncs else [B])
    assert scene.error("b") is (Error.NONE if leader_syncs else Error.REBALANCE_IN_PROGRESS)


def test_before_kafka_12890_no_timer_limits_the_wait_for_syncs() -> None:
    scene = completing(Settings(pending_sync_timer=False))
    assert ("sync",) not in scene.timers()


def test_a_late_timer_has_no_effect() -> None:
    scene = stable()
    before = scene.timers()
    for key in [
        TimerKey(TimerKind.INITIAL_DELAY, GROUP),
        TimerKey(TimerKind.JOIN, GROUP),
        TimerKey(TimerKind.SYNC, GROUP),
        TimerKey(TimerKind.SESSION, GROUP, "gone"),
        TimerKey(TimerKind.PENDING, GROUP, "gone"),
        TimerKey(TimerKind.SESSION, "no group", A),
    ]:
        outcome = scene.take(scene.coordinator.fire(key))
        assert (outcome.responses, outcome.records, outcome.pending) == ([], (), None)
    assert (scene.state, scene.timers()) == (STABLE, before)


# -- callers that go ------------------------------------------------------------------------


def test_a_disconnected_caller_gets_no_response_but_its_member_stays() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    heard = len(scene.heard["b"])
    scene.coordinator.disconnect("b")
    scene.coordinator.disconnect("who never asked")
    scene.joins("s", member=S, instance="s")
    assert scene.state is COMPLETING
    assert B in scene.group.members
    assert len(scene.heard["b"]) == heard
