"""Heartbeat, sync, leave and commit in each state of the group, as tables."""

from __future__ import annotations

import pytest

from kspec.impl.coordinator import TimerKey, TimerKind
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupState,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroup,
    SyncGroupResponse,
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
    commit,
    completing,
    heartbeat,
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
def test_unknown_members_and_other_generations_are_rejected(
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
def test_a_pending_member_is_not_a_member(state: str) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert scene.ask("c", heartbeat(given)).error is UNKNOWN
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


def test_sync_names_a_protocol_from_version_5_on() -> None:
    inconsistent = SyncGroupResponse(Error.INCONSISTENT_GROUP_PROTOCOL)
    for scene in (stable(), absent()):
        assert scene.ask("b", SyncGroup(B, 1, version=5)) == inconsistent
        assert scene.ask("b", SyncGroup(B, 1, protocol="range", version=5)) == inconsistent
    scene = stable()
    scene.coordinator.unload()
    assert scene.ask("b", SyncGroup(B, 1, version=5)) == inconsistent, "the broker is asked first"


def test_sync_compares_no_protocol_before_the_first_generation() -> None:
    scene = initial()
    named = SyncGroup(A, 0, protocol_type="consumer", protocol="range", version=5)
    assert scene.ask("a", named).error is REBALANCING
    other_type = SyncGroup(A, 0, protocol_type="connect", protocol="range", version=5)
    assert scene.ask("a", other_type).error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_only_offsets_belong_to_a_group_without_a_name() -> None:
    scene = absent()
    for request in (JoinGroup(), SyncGroup(A, 1), heartbeat(A), LeaveGroup((MemberIdentity(A),))):
        assert scene.ask("c", request, group="").error is Error.INVALID_GROUP_ID
    scene.ask("c", commit(), group="")
    scene.store()
    assert scene.error("c") is NONE


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
    key = TimerKey(TimerKind.SESSION, GROUP, B)
    scene.armed.pop(key, None)
    assert scene.ask("b", heartbeat()).error is error
    assert (key in scene.armed) == (error is not UNKNOWN), "the session timer is set anew"


def test_a_rejected_heartbeat_does_not_restart_the_session() -> None:
    scene = stable()
    del scene.armed[TimerKey(TimerKind.SESSION, GROUP, B)]
    scene.ask("b", heartbeat(generation=0))
    assert ("session", B) not in scene.timers()


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
        assert answer == SyncGroupResponse(NONE, f"for {B}", "consumer", "range")
    if state == "completing":
        assert scene.group.pending_syncs == {A, S}


def test_assignments_are_sent_once_they_are_stored() -> None:
    scene = completing()
    scene.syncs("b", B)
    assert scene.syncs("a", A, A, B) is None, "the leader's request is parked, too"
    assert scene.state is GroupState.COMPLETING_REBALANCE
    written = scene.log[-1].value
    assert {m.id: m.assignment for m in written.members} == {  # type: ignore[union-attr]
        A: f"for {A}",
        B: f"for {B}",
        S: NO_ASSIGNMENT,
    }
    scene.store()
    assert scene.state is GroupState.STABLE
    assert scene.last("a") == SyncGroupResponse(NONE, f"for {A}", "consumer", "range")
    assert scene.last("b") == SyncGroupResponse(NONE, f"for {B}", "consumer", "range")
    late = scene.syncs("s", S)
    assert late.assignment == NO_ASSIGNMENT, "the leader left it out"
    assert ("sync",) not in scene.timers(), "all have synced"


def test_the_session_of_a_parked_member_restarts_with_the_response() -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.fire("session", B)
    assert B in scene.group.members, "a parked member stays"
    scene.syncs("a", A, *MEMBERS)
    assert ("session", B) not in scene.timers()
    scene.store()
    assert ("session", B) in scene.timers()


@pytest.mark.parametrize(
    ("error", "received"),
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
def test_a_failed_write_fails_all_syncs_and_commits(error: Error, received: Error) -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.syncs("a", A, *MEMBERS)
    scene.store(error)
    assert [scene.error(who) for who in "ab"] == [received, received]
    assert scene.state is GroupState.PREPARING_REBALANCE
    scene.ask("b", commit(member=B, generation=1))
    scene.store(error)
    assert scene.error("b") is received


def test_assignments_have_no_effect_after_another_rebalance() -> None:
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


def test_a_repeated_sync_replaces_the_parked_one() -> None:
    scene = completing()
    scene.ask("old", SyncGroup(B, 1))
    scene.ask("new", SyncGroup(B, 1))
    scene.syncs("a", A, *MEMBERS)
    scene.store()
    assert "old" not in scene.heard
    assert scene.error("new") is NONE


# -- LeaveGroup -----------------------------------------------------------------------------


def leaves(scene: Scene, *members: MemberIdentity) -> list[Error]:
    """The result of each."""
    answer = scene.ask("admin", LeaveGroup(members))
    assert isinstance(answer, LeaveGroupResponse)
    assert [who for who, _ in answer.members] == list(members)
    return [error for _, error in answer.members]


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
    assert leaves(scene, MemberIdentity(B)) == [error]
    if after is None:
        assert not scene.coordinator.groups
    else:
        assert scene.state is after
        assert B not in scene.group.members
        assert ("session", B) not in scene.timers()


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("empty", GroupState.EMPTY),
        ("preparing", GroupState.PREPARING_REBALANCE),
        ("completing", GroupState.PREPARING_REBALANCE),
        ("stable", GroupState.PREPARING_REBALANCE),
    ],
)
def test_a_pending_member_may_leave(state: str, after: GroupState) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert leaves(scene, MemberIdentity(given)) == [NONE]
    assert not scene.group.pending_joins
    assert ("pending", given) not in scene.timers()
    assert scene.state is after


def test_a_pending_member_leaves_before_its_instance_id_is_checked() -> None:
    scene = stable()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert leaves(scene, MemberIdentity(given, "s"), MemberIdentity(given, "s")) == [NONE, FENCED]


def test_a_rebalance_completes_when_the_last_missing_member_leaves() -> None:
    scene = preparing()
    scene.joins("s", member=S, instance="s")
    assert leaves(scene, MemberIdentity(B)) == [NONE]
    assert (scene.state, scene.group.generation) == (GroupState.COMPLETING_REBALANCE, 2)


def test_leaving_does_not_end_the_initial_delay() -> None:
    scene = initial()
    assert leaves(scene, MemberIdentity(A)) == [NONE]
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert scene.last("a") == JoinGroupResponse(UNKNOWN), "its parked request is answered"
    scene.fire("initial delay")
    assert (scene.state, scene.group.generation) == (GroupState.EMPTY, 1)


@pytest.mark.parametrize(
    ("leaver", "error"),
    [
        (MemberIdentity("", "s"), NONE),
        (MemberIdentity(S, "s"), NONE),
        (MemberIdentity(S), NONE),
        (MemberIdentity("", "unheard"), UNKNOWN),
        (MemberIdentity("", None), UNKNOWN),
        (MemberIdentity(B, "s"), FENCED),
        (MemberIdentity(S, "unheard"), UNKNOWN),
    ],
)
def test_a_static_member_leaves_by_its_instance_id(leaver: MemberIdentity, error: Error) -> None:
    scene = stable()
    assert leaves(scene, leaver) == [error]
    assert (S in scene.group.members) == (error is not NONE)
    assert ("s" in scene.group.instances) == (error is not NONE)
    assert (scene.state is GroupState.STABLE) == (error is not NONE)


def test_several_members_leave_at_once_with_a_result_each() -> None:
    scene = stable()
    assert leaves(scene, MemberIdentity(A), MemberIdentity("nobody"), MemberIdentity("", "s")) == [
        NONE,
        UNKNOWN,
        NONE,
    ]
    assert list(scene.group.members) == [B]
    assert scene.group.leader == B, "the first of those that are left"


def test_before_version_3_the_response_to_leave_has_one_error() -> None:
    scene = stable()
    for group, member, error in ((GROUP, B, NONE), (GROUP, B, UNKNOWN), ("none", B, UNKNOWN)):
        answer = scene.ask("b", LeaveGroup((MemberIdentity(member),), version=2), group=group)
        assert answer == LeaveGroupResponse(error)


def test_a_parked_sync_is_not_answered_when_its_member_leaves() -> None:
    scene = completing()
    scene.syncs("b", B)
    heard = len(scene.heard["b"])
    leaves(scene, MemberIdentity(B))
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert len(scene.heard["b"]) == heard


# -- OffsetCommit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("absent", Error.GROUP_ID_NOT_FOUND),
        ("empty", UNKNOWN),
        ("preparing", NONE),
        ("completing", REBALANCING),
        ("stable", NONE),
    ],
)
def test_a_member_commits(state: str, error: Error) -> None:
    scene = STATES[state]()
    key = TimerKey(TimerKind.SESSION, GROUP, B)
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
def test_a_standalone_consumer_commits_only_to_an_empty_group(state: str, error: Error) -> None:
    scene = STATES[state]()
    answer = scene.ask("c", commit())
    if error is NONE:
        assert answer is None
        scene.store()
    assert scene.error("c") is error


def test_an_old_commit_to_an_unknown_group_names_an_illegal_generation() -> None:
    scene = absent()
    scene.ask("c", commit(generation=0, version=8))
    assert scene.error("c") is STALE
    assert not scene.coordinator.groups


def test_an_empty_group_accepts_any_member_id_without_a_generation() -> None:
    scene = absent()
    scene.ask("c", commit(member="whoever"))
    scene.store()
    assert scene.error("c") is NONE
