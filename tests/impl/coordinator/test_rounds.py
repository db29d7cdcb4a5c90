"""Rounds: how they begin, how long they last, who leads, what is voted; and all timers."""

from __future__ import annotations

import pytest

from impl.coordinator import TimerKey, TimerKind
from spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    LeaveGroup,
    Leaver,
    Protocol,
    Settings,
    Synced,
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
    beat,
    completing,
    empty,
    initial,
    preparing,
    stable,
)

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
EMPTY = GroupState.EMPTY


def delay(scene: Scene, kind: TimerKind, member: str = "") -> int | None:
    """For how long a timer is armed."""
    return scene.armed.get(TimerKey(kind, GROUP, member))


# -- beginning ------------------------------------------------------------------------------


def test_a_round_blanks_assignments_and_fails_those_who_wait_for_theirs() -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.fire("member", B)
    scene.joins("d")
    assert scene.last("b") == Synced(Error.REBALANCE_IN_PROGRESS)
    assert ("member", B) in scene.timers(), "it waits no more, and is expected again"
    assert {m.assignment for m in scene.group.members.values()} == {NO_ASSIGNMENT}
    assert not scene.group.pending_syncs
    assert ("sync",) not in scene.timers()


def test_a_round_after_a_stable_generation_keeps_assignments() -> None:
    scene = preparing()
    assert [m.assignment for m in scene.group.members.values()] == [f"for {m}" for m in MEMBERS]


def test_a_round_waits_for_the_slowest_of_its_members_at_the_time() -> None:
    scene = stable()
    scene.joins("b", member=B, protocols=(RANGE,), rebalance_timeout=400_000)
    assert delay(scene, TimerKind.JOIN) == 400_000
    scene.joins("d", rebalance_timeout=900_000)
    assert delay(scene, TimerKind.JOIN) == 400_000, "who comes later does not extend it"


def test_a_round_of_one_that_has_joined_completes_at_once() -> None:
    scene = Scene()
    scene.joins("a")
    scene.fire("initial delay")
    scene.syncs("a", A, A)
    scene.store()
    answer = scene.joins("a", member=A)
    assert (answer.generation, scene.state) == (2, COMPLETING)


# -- the initial delay ----------------------------------------------------------------------


def test_without_others_the_initial_delay_ends_after_three_seconds() -> None:
    scene = initial()
    assert delay(scene, TimerKind.INITIAL_DELAY) == 3_000
    scene.fire("initial delay")
    assert (scene.state, scene.group.generation) == (COMPLETING, 1)


def test_an_empty_group_waits_as_a_new_one_does() -> None:
    scene = empty()
    scene.joins("a")
    assert scene.timers() >= {("initial delay",)}
    assert ("join",) not in scene.timers()


def test_while_members_come_the_delay_is_extended_to_the_rebalance_timeout() -> None:
    scene = Scene()
    scene.joins("c0", rebalance_timeout=7_000)
    delays = []
    for number in range(1, 4):
        delays.append(delay(scene, TimerKind.INITIAL_DELAY))
        scene.joins(f"c{number}")
        scene.fire("initial delay")
    assert delays == [3_000, 3_000, 1_000], "in all, what the first member has time for"
    assert scene.state is COMPLETING


def test_a_rebalance_timeout_within_the_delay_is_not_extended() -> None:
    scene = Scene()
    scene.joins("a", rebalance_timeout=2_000)
    scene.joins("b")
    scene.fire("initial delay")
    assert scene.state is COMPLETING


def test_a_new_member_that_gives_up_may_end_the_initial_delay() -> None:
    scene = initial()
    scene.joins("b")
    scene.fire("member", A)
    assert scene.last("a") == Joined(Error.UNKNOWN_MEMBER_ID)
    assert (scene.state, scene.group.leader) == (COMPLETING, B)
    assert ("initial delay",) not in scene.timers()


def test_so_may_an_id_that_is_not_used() -> None:
    scene = initial()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.fire("pending", given)
    assert scene.state is COMPLETING


# -- completing -----------------------------------------------------------------------------


def test_at_the_end_dynamic_members_that_did_not_come_are_removed_and_static_ones_stay() -> None:
    scene = preparing()
    scene.fire("join")
    assert list(scene.group.members) == [A, S]
    assert (scene.state, scene.group.generation) == (COMPLETING, 2)
    assert scene.group.pending_syncs == {A, S}
    assert ("member", B) not in scene.timers()
    assert ("member", S) in scene.timers(), "a silent member is expected to beat, too"


def test_a_leader_that_did_not_come_is_replaced_by_one_who_did() -> None:
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


def test_where_only_silent_static_members_are_left_the_round_goes_on() -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.fire("initial delay")
    scene.joins("d")
    scene.ask("admin", LeaveGroup((Leaver("d-2"),)))
    scene.fire("join")
    assert (scene.state, scene.group.generation) == (PREPARING, 1)
    assert delay(scene, TimerKind.JOIN) == 300_000


def test_where_nobody_is_left_the_group_is_empty_in_a_generation_of_its_own() -> None:
    scene = empty()
    assert scene.group.generation == 2
    assert (scene.group.protocol_type, scene.group.protocol) == ("consumer", None)
    assert scene.log[-1].value == GroupMetadata(2, "consumer")
    assert scene.group.leader is None
    assert scene.timers() == set()


def test_everybody_is_told_the_generation_and_the_leader_who_is_in_it() -> None:
    scene = completing()
    told = ((A, None, b"range"), (B, None, b"range"), (S, "s", b"range"))
    assert scene.last("a") == Joined(Error.NONE, A, 1, "consumer", "range", A, told)
    assert scene.last("b") == Joined(Error.NONE, B, 1, "consumer", "range", A)
    assert scene.timers() == {("sync",), ("member", A), ("member", B), ("member", S)}
    assert delay(scene, TimerKind.MEMBER, A) == 45_000
    assert delay(scene, TimerKind.SYNC) == 300_000
    assert not any(m.is_new for m in scene.group.members.values())


def test_the_first_member_leads_and_after_it_the_first_that_is_left() -> None:
    scene = stable()
    assert scene.group.leader == A
    scene.ask("admin", LeaveGroup((Leaver(A),)))
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
def test_each_votes_for_the_best_protocol_that_all_support(liked: list[str], chosen: str) -> None:
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
def test_a_member_that_gives_no_sign_of_life_is_removed(state: str, after: GroupState) -> None:
    scene = STATES[state]()
    scene.fire("member", B)
    assert B not in scene.group.members
    assert scene.state is after


def test_the_last_one_that_is_missing_is_given_up_and_the_round_completes() -> None:
    scene = preparing()
    scene.fire("member", B)
    scene.fire("member", S)
    assert (scene.state, scene.group.generation) == (COMPLETING, 2)


def test_who_waits_in_a_round_is_alive_once_it_is_not_new() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    scene.fire("member", B)
    assert B in scene.group.members
    scene.joins("d")
    scene.fire("member", "d-4")
    assert "d-4" not in scene.group.members
    assert scene.last("d") == Joined(Error.UNKNOWN_MEMBER_ID)


def test_a_new_member_has_five_minutes_whatever_it_does() -> None:
    scene = stable()
    scene.joins("d")
    assert delay(scene, TimerKind.MEMBER, "d-4") == 300_000
    scene.ask("d", beat("d-4"))
    assert delay(scene, TimerKind.MEMBER, "d-4") == 300_000


@pytest.mark.parametrize(
    ("state", "after"),
    [("empty", EMPTY), ("preparing", PREPARING), ("completing", COMPLETING), ("stable", STABLE)],
)
def test_an_id_that_is_not_used_is_dropped(state: str, after: GroupState) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.fire("pending", given)
    assert not scene.group.pending_joins
    assert scene.state is after


def test_an_id_that_is_not_used_may_have_been_the_last_that_was_missing() -> None:
    scene = preparing()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.joins("b", member=B)
    scene.joins("s", member=S, instance="s")
    scene.fire("pending", given)
    assert scene.state is COMPLETING


def test_in_a_round_of_nobody_the_id_that_was_given_out_is_waited_for_no_time() -> None:
    scene = Scene()
    scene.joins("a")
    scene.fire("initial delay")
    scene.ask("c", JoinGroup(protocols=BOTH, client="c"))
    scene.ask("a", LeaveGroup((Leaver(A),)))
    assert (scene.state, delay(scene, TimerKind.JOIN)) == (PREPARING, 0)
    scene.fire("join")
    assert scene.state is EMPTY


@pytest.mark.parametrize("leader_syncs", [False, True])
def test_members_that_never_sync_are_removed_static_ones_too(leader_syncs: bool) -> None:
    scene = completing()
    scene.syncs("b", B)
    if leader_syncs:
        scene.syncs("a", A, *MEMBERS)
        scene.store()
    scene.fire("sync")
    assert scene.state is PREPARING
    assert list(scene.group.members) == ([A, B] if leader_syncs else [B])
    assert scene.error("b") is (Error.NONE if leader_syncs else Error.REBALANCE_IN_PROGRESS)


def test_before_kafka_12890_nobody_missed_a_sync() -> None:
    scene = completing(Settings(pending_sync_timer=False))
    assert ("sync",) not in scene.timers()


def test_a_timer_that_comes_too_late_does_nothing() -> None:
    scene = stable()
    before = scene.timers()
    for key in [
        TimerKey(TimerKind.INITIAL_DELAY, GROUP),
        TimerKey(TimerKind.JOIN, GROUP),
        TimerKey(TimerKind.SYNC, GROUP),
        TimerKey(TimerKind.MEMBER, GROUP, "gone"),
        TimerKey(TimerKind.PENDING, GROUP, "gone"),
        TimerKey(TimerKind.MEMBER, "no group", A),
    ]:
        outcome = scene.take(scene.coordinator.fire(key))
        assert (outcome.answers, outcome.records, outcome.pending) == ([], (), None)
    assert (scene.state, scene.timers()) == (STABLE, before)


# -- callers that go ------------------------------------------------------------------------


def test_answers_to_who_has_disconnected_go_nowhere_but_its_member_stays() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    heard = len(scene.heard["b"])
    scene.coordinator.forget("b")
    scene.coordinator.forget("who never asked")
    scene.joins("s", member=S, instance="s")
    assert scene.state is COMPLETING
    assert B in scene.group.members
    assert len(scene.heard["b"]) == heard
