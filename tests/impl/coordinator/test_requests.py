"""Heartbeat, sync, leave and commit, in each state of the group: a line for each cell."""

from __future__ import annotations

import pytest

from impl.coordinator import TimerKey, TimerKind
from spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupState,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Leaver,
    Left,
    Synced,
    SyncGroup,
)
from tests.impl.coordinator.scene import (
    BOTH,
    GROUP,
    MEMBERS,
    STATES,
    A,
    B,
    S,
    Scene,
    absent,
    beat,
    commit,
    completing,
    initial,
    preparing,
    stable,
)

NONE = Error.NONE
UNKNOWN = Error.UNKNOWN_MEMBER_ID
FENCED = Error.FENCED_INSTANCE_ID
STALE = Error.ILLEGAL_GENERATION
REBALANCING = Error.REBALANCE_IN_PROGRESS

in_states = pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
"""Where there are members: b is a dynamic member, s a static one, and the generation is 1."""


# -- who says to be whom --------------------------------------------------------------------

WHO = [
    # member, instance, generation: the member check, then the generation check
    (B, None, 1, NONE),
    (S, "s", 1, NONE),
    (S, None, 1, NONE),
    (S, "other", 1, UNKNOWN),
    (B, "s", 1, FENCED),
    ("nobody", "s", 1, FENCED),
    ("nobody", None, 1, UNKNOWN),
    ("nobody", None, 7, UNKNOWN),
    (B, None, 0, STALE),
    (B, None, 2, STALE),
    (B, None, -1, STALE),
]


@in_states
@pytest.mark.parametrize(("member", "instance", "generation", "error"), WHO)
def test_who_is_no_member_or_of_another_generation_is_refused(
    state: str, member: str, instance: str | None, generation: int, error: Error
) -> None:
    scene = STATES[state]()
    scene.ask("m", Heartbeat(member, generation, instance))
    assert (error is NONE) == (scene.error("m") in (NONE, REBALANCING))
    if error is not NONE:
        assert scene.error("m") is error
        assert scene.ask("m", SyncGroup(member, generation, instance=instance)).error is error
        scene.ask("m", commit(member=member, generation=generation, instance=instance))
        assert scene.error("m") is error


@in_states
def test_an_id_that_was_only_given_out_is_no_member(state: str) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert scene.ask("c", beat(given)).error is UNKNOWN
    assert scene.ask("c", SyncGroup(given, 1)).error is UNKNOWN
    scene.ask("c", commit(member=given, generation=1))
    assert scene.error("c") is UNKNOWN


@pytest.mark.parametrize(
    ("protocol_type", "protocol", "error"),
    [
        (None, None, NONE),
        ("consumer", "range", NONE),
        ("connect", None, Error.INCONSISTENT_GROUP_PROTOCOL),
        (None, "sticky", Error.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_compares_protocols_that_are_sent(
    protocol_type: str | None, protocol: str | None, error: Error
) -> None:
    scene = stable()
    request = SyncGroup(B, 1, protocol_type=protocol_type, protocol=protocol)
    assert scene.ask("b", request).error is error


# -- Heartbeat ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("absent", UNKNOWN),
        ("empty", UNKNOWN),
        ("preparing", REBALANCING),
        ("completing", NONE),
        ("stable", NONE),
    ],
)
def test_heartbeat(state: str, error: Error) -> None:
    scene = STATES[state]()
    key = TimerKey(TimerKind.MEMBER, GROUP, B)
    scene.armed.pop(key, None)
    assert scene.ask("b", beat()).error is error
    assert (key in scene.armed) == (error is not UNKNOWN), "the session timer is set anew"


def test_a_refused_heartbeat_is_no_sign_of_life() -> None:
    scene = stable()
    del scene.armed[TimerKey(TimerKind.MEMBER, GROUP, B)]
    scene.ask("b", beat(generation=0))
    assert ("member", B) not in scene.timers()


# -- SyncGroup ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("absent", UNKNOWN),
        ("empty", UNKNOWN),
        ("preparing", REBALANCING),
        ("completing", None),
        ("stable", NONE),
    ],
)
def test_sync(state: str, error: Error | None) -> None:
    scene = STATES[state]()
    answer = scene.ask("b", SyncGroup(B, 1))
    assert answer == error if error is None else answer.error is error
    if state == "stable":
        assert answer == Synced(NONE, f"for {B}", "consumer", "range")
    if state == "completing":
        assert scene.group.pending_syncs == {A, S}


def test_the_leaders_sync_is_handed_out_once_it_is_stored() -> None:
    scene = completing()
    scene.syncs("b", B)
    assert scene.syncs("a", A, A, B) is None, "the leader waits, too"
    assert scene.state is GroupState.COMPLETING_REBALANCE
    written = scene.log[-1].value
    assert {m.id: m.assignment for m in written.members} == {  # type: ignore[union-attr]
        A: f"for {A}",
        B: f"for {B}",
        S: NO_ASSIGNMENT,
    }
    scene.store()
    assert scene.state is GroupState.STABLE
    assert scene.last("a") == Synced(NONE, f"for {A}", "consumer", "range")
    assert scene.last("b") == Synced(NONE, f"for {B}", "consumer", "range")
    late = scene.syncs("s", S)
    assert late.assignment == NO_ASSIGNMENT, "the leader left it out"
    assert ("sync",) not in scene.timers(), "all have synced"


def test_members_that_wait_for_the_leader_are_expected_again_when_answered() -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.fire("member", B)
    assert B in scene.group.members, "who waits is alive"
    scene.syncs("a", A, *MEMBERS)
    assert ("member", B) not in scene.timers()
    scene.store()
    assert ("member", B) in scene.timers()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.REQUEST_TIMED_OUT, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
        (Error.RECORD_LIST_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_cannot_be_stored_fails_all_syncs_and_commits(error: Error, told: Error) -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.syncs("a", A, *MEMBERS)
    scene.store(error)
    assert [scene.error(who) for who in "ab"] == [told, told]
    assert scene.state is GroupState.PREPARING_REBALANCE
    scene.ask("b", commit(member=B, generation=1))
    scene.store(error)
    assert scene.error("b") is told


def test_the_leaders_sync_comes_to_nothing_after_another_rebalance() -> None:
    scene = completing()
    scene.syncs("a", A, *MEMBERS)
    scene.joins("d")
    assert scene.error("a") is REBALANCING
    heard = len(scene.heard["a"])
    scene.store()
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert len(scene.heard["a"]) == heard
    for name, member, instance in (("a", A, None), ("b", B, None), ("s", S, "s")):
        scene.joins(name, member=member, instance=instance)
    assert (scene.state, scene.group.generation) == (GroupState.COMPLETING_REBALANCE, 2)
    scene.syncs("a", A, *MEMBERS)
    scene.joins("b", member=B, protocols=BOTH[:1])
    scene.fire("join")
    scene.syncs("b", B, B)
    scene.store()
    assert scene.state is GroupState.COMPLETING_REBALANCE, "the write of generation 2 is too late"
    scene.store()
    assert scene.state is GroupState.STABLE


def test_who_syncs_twice_is_answered_in_the_newer_place() -> None:
    scene = completing()
    scene.ask("old", SyncGroup(B, 1))
    scene.ask("new", SyncGroup(B, 1))
    scene.syncs("a", A, *MEMBERS)
    scene.store()
    assert "old" not in scene.heard
    assert scene.error("new") is NONE


# -- LeaveGroup -----------------------------------------------------------------------------


def leaves(scene: Scene, *leavers: Leaver) -> list[Error]:
    """How each of them fared."""
    answer = scene.ask("admin", LeaveGroup(leavers))
    assert isinstance(answer, Left)
    assert [who for who, _ in answer.leavers] == list(leavers)
    return [error for _, error in answer.leavers]


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        ("absent", UNKNOWN, None),
        ("empty", UNKNOWN, GroupState.EMPTY),
        ("preparing", NONE, GroupState.PREPARING_REBALANCE),
        ("completing", NONE, GroupState.PREPARING_REBALANCE),
        ("stable", NONE, GroupState.PREPARING_REBALANCE),
    ],
)
def test_leave(state: str, error: Error, after: GroupState | None) -> None:
    scene = STATES[state]()
    assert leaves(scene, Leaver(B)) == [error]
    if after is None:
        assert not scene.coordinator.groups
    else:
        assert scene.state is after
        assert B not in scene.group.members
        assert ("member", B) not in scene.timers()


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("empty", GroupState.EMPTY),
        ("preparing", GroupState.PREPARING_REBALANCE),
        ("completing", GroupState.PREPARING_REBALANCE),
        ("stable", GroupState.PREPARING_REBALANCE),
    ],
)
def test_an_id_that_was_given_out_is_given_back(state: str, after: GroupState) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert leaves(scene, Leaver(given)) == [NONE]
    assert not scene.group.pending_joins
    assert ("pending", given) not in scene.timers()
    assert scene.state is after


def test_an_id_that_was_given_out_goes_before_its_instance_is_looked_at() -> None:
    scene = stable()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert leaves(scene, Leaver(given, "s"), Leaver(given, "s")) == [NONE, FENCED]


def test_the_last_one_that_is_missing_leaves_and_the_round_completes() -> None:
    scene = preparing()
    scene.joins("s", member=S, instance="s")
    assert leaves(scene, Leaver(B)) == [NONE]
    assert (scene.state, scene.group.generation) == (GroupState.COMPLETING_REBALANCE, 2)


def test_leaving_does_not_end_the_initial_delay() -> None:
    scene = initial()
    assert leaves(scene, Leaver(A)) == [NONE]
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert scene.last("a") == Joined(UNKNOWN, A), "what it waited for is answered"
    scene.fire("initial delay")
    assert (scene.state, scene.group.generation) == (GroupState.EMPTY, 1)


@pytest.mark.parametrize(
    ("leaver", "error"),
    [
        (Leaver("", "s"), NONE),
        (Leaver(S, "s"), NONE),
        (Leaver(S), NONE),
        (Leaver("", "unheard"), UNKNOWN),
        (Leaver("", None), UNKNOWN),
        (Leaver(B, "s"), FENCED),
        (Leaver(S, "unheard"), UNKNOWN),
    ],
)
def test_a_static_member_leaves_by_its_name(leaver: Leaver, error: Error) -> None:
    scene = stable()
    assert leaves(scene, leaver) == [error]
    assert (S in scene.group.members) == (error is not NONE)
    assert ("s" in scene.group.instances) == (error is not NONE)
    assert (scene.state is GroupState.STABLE) == (error is not NONE)


def test_several_leave_at_once_and_each_is_told_how() -> None:
    scene = stable()
    assert leaves(scene, Leaver(A), Leaver("nobody"), Leaver("", "s")) == [NONE, UNKNOWN, NONE]
    assert list(scene.group.members) == [B]
    assert scene.group.leader == B, "the first of those that are left"


def test_who_leaves_while_it_waits_for_its_assignment_is_told_nothing() -> None:
    scene = completing()
    scene.syncs("b", B)
    heard = len(scene.heard["b"])
    leaves(scene, Leaver(B))
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert len(scene.heard["b"]) == heard


# -- OffsetCommit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("absent", STALE),
        ("empty", UNKNOWN),
        ("preparing", NONE),
        ("completing", REBALANCING),
        ("stable", NONE),
    ],
)
def test_a_member_commits(state: str, error: Error) -> None:
    scene = STATES[state]()
    key = TimerKey(TimerKind.MEMBER, GROUP, B)
    scene.armed.pop(key, None)
    answer = scene.ask("b", commit(member=B, generation=1))
    if error is NONE:
        assert answer is None
        assert key in scene.armed, "the session timer is set anew"
        scene.store()
    assert scene.error("b") is error


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("absent", NONE),
        ("empty", NONE),
        ("preparing", UNKNOWN),
        ("completing", UNKNOWN),
        ("stable", UNKNOWN),
    ],
)
def test_who_assigns_itself_commits_only_where_there_are_no_members(
    state: str, error: Error
) -> None:
    scene = STATES[state]()
    answer = scene.ask("c", commit())
    if error is NONE:
        assert answer is None
        scene.store()
    assert scene.error("c") is error


def test_in_an_empty_group_any_member_id_will_do_without_a_generation() -> None:
    scene = absent()
    scene.ask("c", commit(member="whoever"))
    scene.store()
    assert scene.error("c") is NONE
