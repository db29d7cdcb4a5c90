"""Failover: the records that are written, the group that is loaded, and rejected requests."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.impl.coordinator import compact
from kspec.spec.messages import (
    Error,
    GroupMetadata,
    GroupState,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    Offset,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    OffsetsTopicRecord,
    Protocol,
    Settings,
    SyncGroup,
    SyncGroupResponse,
)
from tests.impl.coordinator.scene import (
    BOTH,
    GROUP,
    MEMBERS,
    P0,
    P1,
    STATES,
    A,
    B,
    S,
    Scene,
    commit,
    completing,
    empty,
    fetched,
    heartbeat,
    preparing,
    stable,
)


def after_failover(old: Scene, settings: Settings | None = None) -> Scene:
    """A new coordinator that has loaded the old one's records."""
    scene = Scene(settings)
    scene.ids = old.ids
    scene.take(scene.coordinator.load(old.log))
    return scene


# -- what is written ------------------------------------------------------------------------


def test_a_group_is_stored_when_created_assigned_or_emptied() -> None:
    scene = empty()
    written = [r.value for r in scene.log if isinstance(r.value, GroupMetadata)]
    assert [(g.generation, len(g.members)) for g in written] == [(0, 0), (1, 3), (2, 0)]


def test_joins_and_rebalances_in_progress_are_not_stored() -> None:
    scene = preparing()
    written = len(scene.log)
    scene.joins("d")
    scene.joins("b", member=B)
    scene.fire("join")
    assert scene.state is GroupState.COMPLETING_REBALANCE
    assert len(scene.log) == written


# -- what is read ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "found", "generation"),
    [
        ("empty", GroupState.EMPTY, 2),
        ("completing", GroupState.EMPTY, 0),
        ("stable", GroupState.STABLE, 1),
        ("preparing", GroupState.STABLE, 1),
    ],
)
def test_a_group_is_loaded_as_it_was_stored(state: str, found: GroupState, generation: int) -> None:
    scene = after_failover(STATES[state]())
    assert (scene.state, scene.group.generation) == (found, generation)


def test_members_keep_their_state_and_the_selected_protocol() -> None:
    scene = after_failover(stable())
    assert scene.group.leader == A
    assert (scene.group.protocol_type, scene.group.protocol) == ("consumer", "range")
    assert [m.assignment for m in scene.group.members.values()] == [f"for {m}" for m in MEMBERS]
    assert {m.protocols for m in scene.group.members.values()} == {(Protocol("range", b"range"),)}
    assert not any(m.is_new for m in scene.group.members.values())
    assert scene.timers() == {("session", m) for m in MEMBERS}
    assert scene.group.instances == {"s": S}
    assert scene.ask("b", heartbeat()).error is Error.NONE
    assert scene.syncs("b", B).assignment == f"for {B}"


def test_pending_members_are_lost() -> None:
    old = stable()
    given = old.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert after_failover(old).joins("c", member=given).error is Error.UNKNOWN_MEMBER_ID


def test_the_number_of_an_unstored_generation_is_used_again() -> None:
    old = completing()
    scene = after_failover(old)
    scene.joins("d")
    scene.fire("initial delay")
    assert old.group.generation == scene.group.generation == 1


def test_a_loaded_group_above_its_maximum_size_rebalances() -> None:
    scene = after_failover(stable(), Settings(max_size=2))
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert ("join",) in scene.timers()


def test_offsets_are_loaded_and_a_group_with_only_offsets_is_empty() -> None:
    old = Scene()
    for number, partition in enumerate([P0, P1]):
        old.ask("c", commit(number, partition))
        old.store()
    scene = after_failover(old)
    assert (scene.state, scene.group.protocol_type) == (GroupState.EMPTY, None)
    assert fetched(scene, P0, P1) == [0, 1]


def test_the_latest_record_of_a_key_wins_and_tombstones_delete() -> None:
    log = [
        OffsetsTopicRecord("g", P0, Offset(1)),
        OffsetsTopicRecord("g", None, GroupMetadata(1)),
        OffsetsTopicRecord("g", P1, Offset(2)),
        OffsetsTopicRecord("g", P0, Offset(3)),
        OffsetsTopicRecord("h", P0, Offset(4)),
        OffsetsTopicRecord("g", P1, None),
    ]
    assert compact(log) == [log[1], log[3], log[4]]
    assert compact(compact(log)) == compact(log)
    for records in (log, compact(log)):
        scene = Scene()
        scene.take(scene.coordinator.load(records))
        assert list(scene.coordinator.groups) == ["g", "h"]
        answer = scene.ask("c", OffsetFetch(), group="g")
        assert answer == OffsetFetchResponse(offsets=((P0, Offset(3)),))


# -- which broker coordinates ---------------------------------------------------------------


def refused(scene: Scene) -> list[object]:
    """How each kind of request is answered."""
    requests: list[Any] = [
        JoinGroup(),
        SyncGroup(A, 1),
        heartbeat(A),
        LeaveGroup(()),
        commit(),
        OffsetFetch(),
    ]
    return [scene.ask("c", request) for request in requests]


def errors(error: Error) -> list[object]:
    """All answered with this."""
    return [
        JoinGroupResponse(error),
        SyncGroupResponse(error),
        HeartbeatResponse(error),
        LeaveGroupResponse(error),
        OffsetCommitResponse(((P0, error),)),
        OffsetFetchResponse(error),
    ]


def test_while_loading_requests_are_rejected_but_heartbeats_succeed() -> None:
    scene = Scene()
    scene.coordinator.start_loading()
    expected = errors(Error.COORDINATOR_LOAD_IN_PROGRESS)
    expected[2] = HeartbeatResponse(Error.NONE)
    assert refused(scene) == expected
    scene.take(scene.coordinator.load(stable().log))
    assert scene.ask("b", heartbeat()).error is Error.NONE


def test_unloading_answers_parked_requests_with_not_coordinator() -> None:
    joins, syncs, commits = preparing(), completing(), stable()
    syncs.syncs("b", B)
    commits.ask("b", commit(member=B, generation=1))
    waiting = ((joins, "a"), (syncs, "b"), (commits, "b"))
    for scene, who in waiting:
        group = scene.group
        scene.take(scene.coordinator.unload())
        assert scene.error(who) is Error.NOT_COORDINATOR
        assert group.state is GroupState.DEAD
        assert not scene.coordinator.groups
        assert not scene.armed
        assert refused(scene) == errors(Error.NOT_COORDINATOR)


def test_a_write_that_completes_after_unloading_has_no_effect() -> None:
    scene = stable()
    scene.ask("b", commit(member=B, generation=1))
    scene.take(scene.coordinator.unload())
    heard = len(scene.heard["b"])
    scene.store()
    assert len(scene.heard["b"]) == heard


def test_a_broker_that_has_shut_down_is_not_available() -> None:
    scene = preparing()
    scene.take(scene.coordinator.shut_down())
    assert scene.error("a") is Error.NOT_COORDINATOR
    assert refused(scene) == errors(Error.COORDINATOR_NOT_AVAILABLE)


def test_a_coordinator_may_load_the_group_again() -> None:
    scene = stable()
    scene.take(scene.coordinator.unload())
    scene.take(scene.coordinator.load(scene.log))
    assert (scene.state, list(scene.group.members)) == (GroupState.STABLE, list(MEMBERS))
    assert scene.group.generation == 1
    assert GROUP in scene.coordinator.groups
