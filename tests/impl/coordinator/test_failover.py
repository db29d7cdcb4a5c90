"""What is written, what a new coordinator makes of it, and what the old one says."""

from __future__ import annotations

import pytest

from impl.coordinator import compact
from spec.messages import (
    Beaten,
    Committed,
    Error,
    Fetched,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    LeaveGroup,
    Left,
    Offset,
    OffsetFetch,
    Protocol,
    Record,
    Settings,
    Synced,
    SyncGroup,
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
    beat,
    commit,
    completing,
    empty,
    fetched,
    preparing,
    stable,
)


def after_failover(old: Scene, settings: Settings | None = None) -> Scene:
    """A new coordinator that has read what the old one wrote."""
    scene = Scene(settings)
    scene.ids = old.ids
    scene.take(scene.coordinator.load(old.log))
    return scene


# -- what is written ------------------------------------------------------------------------


def test_groups_are_written_when_they_are_made_assigned_or_emptied() -> None:
    scene = empty()
    written = [r.value for r in scene.log if isinstance(r.value, GroupMetadata)]
    assert [(g.generation, len(g.members)) for g in written] == [(0, 0), (1, 3), (2, 0)]


def test_joins_and_rounds_are_not_written() -> None:
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
def test_a_group_is_found_as_it_was_written(state: str, found: GroupState, generation: int) -> None:
    scene = after_failover(STATES[state]())
    assert (scene.state, scene.group.generation) == (found, generation)


def test_members_keep_what_they_had_and_of_their_protocols_the_selected_one() -> None:
    scene = after_failover(stable())
    assert scene.group.leader == A
    assert (scene.group.protocol_type, scene.group.protocol) == ("consumer", "range")
    assert [m.assignment for m in scene.group.members.values()] == [f"for {m}" for m in MEMBERS]
    assert {m.protocols for m in scene.group.members.values()} == {(Protocol("range", b"range"),)}
    assert not any(m.is_new for m in scene.group.members.values())
    assert scene.timers() == {("member", m) for m in MEMBERS}
    assert scene.group.instances == {"s": S}
    assert scene.ask("b", beat()).error is Error.NONE
    assert scene.syncs("b", B).assignment == f"for {B}"


def test_given_ids_are_lost() -> None:
    old = stable()
    given = old.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    assert after_failover(old).joins("c", member=given).error is Error.UNKNOWN_MEMBER_ID


def test_a_generation_that_was_never_written_is_given_out_again() -> None:
    old = completing()
    scene = after_failover(old)
    scene.joins("d")
    scene.fire("initial delay")
    assert old.group.generation == scene.group.generation == 1


def test_a_group_that_has_become_too_large_begins_a_round() -> None:
    scene = after_failover(stable(), Settings(max_size=2))
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert ("join",) in scene.timers()


def test_offsets_are_found_and_a_group_that_has_only_offsets_is_empty() -> None:
    old = Scene()
    for number, partition in enumerate([P0, P1]):
        old.ask("c", commit(number, partition))
        old.store()
    scene = after_failover(old)
    assert (scene.state, scene.group.protocol_type) == (GroupState.EMPTY, None)
    assert fetched(scene, P0, P1) == [0, 1]


def test_the_latest_of_a_key_wins_and_tombstones_remove() -> None:
    log = [
        Record("g", P0, Offset(1)),
        Record("g", None, GroupMetadata(1)),
        Record("g", P1, Offset(2)),
        Record("g", P0, Offset(3)),
        Record("h", P0, Offset(4)),
        Record("g", P1, None),
    ]
    assert compact(log) == [log[1], log[3], log[4]]
    assert compact(compact(log)) == compact(log)
    for records in (log, compact(log)):
        scene = Scene()
        scene.take(scene.coordinator.load(records))
        assert list(scene.coordinator.groups) == ["g", "h"]
        answer = scene.ask("c", OffsetFetch(), group="g")
        assert answer == Fetched(offsets=((P0, Offset(3)),))


# -- which broker coordinates ---------------------------------------------------------------


def refused(scene: Scene) -> list[object]:
    """How each kind of request is answered."""
    requests = [
        JoinGroup(),
        SyncGroup(A, 1),
        beat(A),
        LeaveGroup(()),
        commit(),
        OffsetFetch(),
    ]
    return [scene.ask("c", request) for request in requests]


def errors(error: Error) -> list[object]:
    """All answered with this."""
    return [
        Joined(error),
        Synced(error),
        Beaten(error),
        Left(error),
        Committed(((P0, error),)),
        Fetched(error),
    ]


def test_while_loading_everybody_has_to_wait_but_nobody_is_alarmed() -> None:
    scene = Scene()
    scene.coordinator.start_loading()
    expected = errors(Error.COORDINATOR_LOAD_IN_PROGRESS)
    expected[2] = Beaten(Error.NONE)
    assert refused(scene) == expected
    scene.take(scene.coordinator.load(stable().log))
    assert scene.ask("b", beat()).error is Error.NONE


def test_who_waits_is_sent_to_the_new_coordinator() -> None:
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


def test_what_is_stored_after_all_is_not_acknowledged_by_the_old_coordinator() -> None:
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


def test_a_coordinator_may_come_back() -> None:
    scene = stable()
    scene.take(scene.coordinator.unload())
    scene.take(scene.coordinator.load(scene.log))
    assert (scene.state, list(scene.group.members)) == (GroupState.STABLE, list(MEMBERS))
    assert scene.group.generation == 1
    assert GROUP in scene.coordinator.groups
