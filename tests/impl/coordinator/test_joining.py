"""JoinGroup: the order of its checks, and its effect in each state of the group."""

from __future__ import annotations

import pytest

from kspec.spec.messages import (
    Error,
    GroupMetadata,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    Protocol,
    Settings,
    SyncGroupResponse,
)
from tests.impl.coordinator.scene import (
    BOTH,
    GROUP,
    RANGE,
    STATES,
    STICKY,
    A,
    B,
    S,
    Scene,
    absent,
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
in_all_states = pytest.mark.parametrize("state", STATES)

# -- what is checked first ------------------------------------------------------------------


def test_checks_are_made_in_kafkas_order() -> None:
    full = Settings(max_size=3)
    wrong = JoinGroup("nobody", session_timeout=1, protocols=())
    assert absent().ask("c", wrong, group="").error is Error.INVALID_GROUP_ID
    assert absent().ask("c", wrong).error is Error.INVALID_SESSION_TIMEOUT
    wrong = JoinGroup("nobody", protocols=())
    assert absent().ask("c", wrong).error is Error.UNKNOWN_MEMBER_ID
    assert stable(full).ask("c", wrong).error is Error.GROUP_MAX_SIZE_REACHED
    assert stable().ask("c", wrong).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert stable().ask("c", JoinGroup("nobody")).error is Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("timeout", "fits"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)]
)
def test_session_timeouts_are_within_six_seconds_and_half_an_hour(timeout: int, fits: bool) -> None:
    error = absent().ask("c", JoinGroup(session_timeout=timeout)).error
    assert error is (Error.MEMBER_ID_REQUIRED if fits else Error.INVALID_SESSION_TIMEOUT)


def test_a_join_without_id_creates_and_stores_a_group() -> None:
    scene = absent()
    assert scene.ask("c", JoinGroup("c-9")).error is Error.UNKNOWN_MEMBER_ID
    assert not scene.coordinator.groups
    scene.ask("c", JoinGroup())
    assert scene.state is GroupState.EMPTY
    assert [(r.group, r.partition, r.value) for r in scene.log] == [(GROUP, None, GroupMetadata())]


@pytest.mark.parametrize(
    ("state", "protocol_type", "protocols", "fits"),
    [
        ("empty", "connect", (Protocol("compatible"),), True),
        ("empty", "", BOTH, False),
        ("empty", "consumer", (), False),
        *[
            (state, *request)
            for state in ("preparing", "completing", "stable")
            for request in [
                ("consumer", (Protocol("new"), STICKY), True),
                ("consumer", (Protocol("new"),), False),
                ("consumer", (), False),
                ("connect", BOTH, False),
            ]
        ],
    ],
)
def test_a_protocol_must_be_supported_by_all_members(
    state: str, protocol_type: str, protocols: tuple[Protocol, ...], fits: bool
) -> None:
    request = JoinGroup(protocol_type=protocol_type, protocols=protocols)
    error = STATES[state]().ask("c", request).error
    assert error is (Error.MEMBER_ID_REQUIRED if fits else Error.INCONSISTENT_GROUP_PROTOCOL)


def test_a_protocol_that_one_member_lacks_is_not_compatible() -> None:
    scene = Scene()
    scene.joins("a", protocols=BOTH)
    scene.joins("b", protocols=(RANGE,))
    assert scene.joins("c", protocols=(STICKY,)).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert scene.joins("c", protocols=(RANGE,)) is None


# -- room -----------------------------------------------------------------------------------

THREE = Settings(max_size=3)


@pytest.mark.parametrize(
    ("state", "request_", "admitted"),
    [
        ("empty", JoinGroup(protocols=BOTH), True),
        ("completing", JoinGroup(protocols=BOTH), False),
        ("completing", JoinGroup(B, protocols=BOTH), True),
        ("completing", JoinGroup(instance="s", protocols=BOTH), False),
        ("stable", JoinGroup(protocols=BOTH), False),
        ("stable", JoinGroup(B, protocols=BOTH), True),
        ("preparing", JoinGroup(protocols=BOTH), True),
    ],
)
def test_a_full_group_admits_only_its_members(
    state: str, request_: JoinGroup, admitted: bool
) -> None:
    scene = STATES[state](THREE)
    answer = scene.ask("c", request_)
    refused = answer is not None and answer.error is Error.GROUP_MAX_SIZE_REACHED
    assert refused != admitted


def test_in_a_rebalance_the_first_members_find_room_and_others_are_removed() -> None:
    old = stable()
    scene = Scene(Settings(max_size=2))
    scene.take(scene.coordinator.load(old.log))
    assert scene.state is PREPARING, "it is too large since the setting was changed"
    assert scene.joins("a", member=A) is None
    assert scene.joins("b", member=B) is None
    assert scene.joins("a2", member=A) is None, "a member that has joined may join again"
    assert scene.joins("s", member=S, instance="s") == JoinGroupResponse(
        Error.GROUP_MAX_SIZE_REACHED
    )
    assert list(scene.group.members) == [A, B]
    assert ("session", S) not in scene.timers()
    scene.fire("join")
    assert scene.state is COMPLETING


# -- new members ----------------------------------------------------------------------------


@in_all_states
def test_a_dynamic_member_is_issued_an_id_first(state: str) -> None:
    scene = STATES[state]()
    before = None if state == "absent" else scene.state
    answer = scene.ask("c", JoinGroup(protocols=BOTH, client="c", session_timeout=7_000))
    assert answer == JoinGroupResponse(Error.MEMBER_ID_REQUIRED, f"c-{scene.ids}")
    assert ("pending", answer.member) in scene.timers()
    assert 7_000 in scene.armed.values()
    assert scene.state is (before or GroupState.EMPTY)
    assert answer.member not in scene.group.members
    # with that id it is added, as a client that needs none is at once
    assert scene.joins("c", member=answer.member) is None
    assert scene.state is PREPARING
    assert scene.group.members[answer.member].is_new
    assert ("session", answer.member) in scene.timers()
    assert ("pending", answer.member) not in scene.timers()
    assert scene.armed[scene.group.members[answer.member].timer] == 300_000


@in_all_states
@pytest.mark.parametrize(
    "new",
    [{"version": 3}, {"instance": "new", "version": 9}],
)
def test_an_old_client_or_a_new_instance_is_added_at_once(
    state: str, new: dict[str, object]
) -> None:
    scene = STATES[state]()
    assert scene.joins("c", **new) is None
    assert scene.state is PREPARING
    assert list(scene.group.members)[-1] == f"{new.get('instance', 'c')}-{scene.ids}"


def test_the_last_member_to_join_completes_the_rebalance() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    assert scene.state is PREPARING
    scene.joins("s", member=S, instance="s")
    assert (scene.state, scene.group.generation) == (COMPLETING, 2)
    assert ("join",) not in scene.timers()


def test_a_rebalance_waits_for_pending_members() -> None:
    scene = preparing()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.joins("b", member=B)
    scene.joins("s", member=S, instance="s")
    assert scene.state is PREPARING
    scene.joins("c", member=given)
    assert scene.state is COMPLETING


# -- members that are known -----------------------------------------------------------------


def test_an_unknown_member_is_rejected() -> None:
    assert empty().joins("b", member=B) == JoinGroupResponse(Error.UNKNOWN_MEMBER_ID, B)
    for make in (preparing, completing, stable):
        assert make().joins("c", member="c-9") == JoinGroupResponse(Error.UNKNOWN_MEMBER_ID, "c-9")
        assert make().joins("c", member=B, instance="s") == JoinGroupResponse(
            Error.FENCED_INSTANCE_ID, B
        )
        assert make().joins("c", member=S, instance="t") == JoinGroupResponse(
            Error.UNKNOWN_MEMBER_ID, S
        )


def test_a_repeated_join_replaces_the_parked_one() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    scene.joins("b2", member=B, rebalance_timeout=7, session_timeout=8_000)
    assert scene.group.members[B].rebalance_timeout == 7
    assert scene.group.members[B].session_timeout == 8_000
    heard = len(scene.heard["b"])
    scene.joins("s", member=S, instance="s")
    assert len(scene.heard["b"]) == heard
    assert scene.last("b2").generation == 2


@pytest.mark.parametrize(
    ("state", "member", "protocols", "begins_a_rebalance"),
    [
        ("completing", A, BOTH, False),
        ("completing", B, BOTH, False),
        ("completing", B, (RANGE,), True),
        ("completing", B, (Protocol("range", b"other"), STICKY), True),
        ("completing", B, (STICKY, RANGE), True),
        ("stable", A, BOTH, True),
        ("stable", B, BOTH, False),
        ("stable", B, (RANGE,), True),
    ],
)
def test_a_rejoin_begins_a_rebalance_or_repeats_the_response(
    state: str, member: str, protocols: tuple[Protocol, ...], begins_a_rebalance: bool
) -> None:
    scene = STATES[state]()
    answer = scene.joins("again", member=member, protocols=protocols)
    if begins_a_rebalance:
        assert answer is None
        assert scene.state is PREPARING
        assert scene.group.members[member].protocols == protocols
        assert ("sync",) not in scene.timers()
    else:
        members = tuple((m, "s" if m == S else None, b"range") for m in (A, B, S))
        listed = members if member == A else ()
        assert answer == JoinGroupResponse(Error.NONE, member, 1, "consumer", "range", A, listed)
        assert scene.state is STATES[state]().state


# -- static members that come back without their id ------------------------------------------


def test_during_a_rebalance_a_new_id_replaces_the_old() -> None:
    scene = preparing()
    scene.joins("s", member=S, instance="s")
    assert scene.joins("again", instance="s") is None
    assert scene.last("s") == JoinGroupResponse(Error.FENCED_INSTANCE_ID, S)
    assert list(scene.group.members) == [A, B, "s-4"]
    assert ("session", S) not in scene.timers()
    assert ("session", "s-4") in scene.timers()
    scene.joins("b", member=B)
    assert scene.last("again").member == "s-4"
    assert scene.state is COMPLETING


def test_a_replacement_during_completing_rebalance_begins_a_rebalance() -> None:
    scene = completing()
    scene.syncs("s", S)
    assert scene.joins("again", instance="s") is None
    assert scene.last("s") == SyncGroupResponse(Error.FENCED_INSTANCE_ID)
    assert scene.state is PREPARING


def test_in_a_stable_group_the_new_id_takes_effect_once_stored() -> None:
    scene = stable()
    assert scene.joins("again", instance="s") is None, "it waits for the write"
    written = scene.log[-1].value
    assert isinstance(written, GroupMetadata)
    assert [(m.id, m.assignment) for m in written.members][-1] == ("s-4", f"for {S}")
    scene.store()
    assert scene.last("again") == JoinGroupResponse(Error.NONE, "s-4", 1, "consumer", "range", A)
    assert scene.state is STABLE
    assert scene.syncs("again", "s-4").assignment == f"for {S}"


def test_a_changed_subscription_begins_no_rebalance_if_the_protocol_stays() -> None:
    scene = stable()
    scene.joins("again", instance="s", protocols=(Protocol("range", b"other"),))
    scene.store()
    assert scene.state is STABLE


def test_a_changed_protocol_begins_a_rebalance() -> None:
    scene = Scene()
    scene.joins("a", protocols=(RANGE, STICKY))
    scene.joins("s", instance="s", protocols=(RANGE, STICKY))
    scene.fire("initial delay")
    scene.fire("initial delay")
    scene.syncs("a", A, A, "s-2")
    scene.store()
    scene.joins("again", instance="s", protocols=(STICKY,))
    assert scene.state is PREPARING
    assert not scene.tickets


@pytest.mark.parametrize(("version", "leader", "skips"), [(9, "s-2", True), (8, "s-1", False)])
def test_a_restarted_leader_must_not_assign(version: int, leader: str, skips: bool) -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.fire("initial delay")
    scene.syncs("s", "s-1", "s-1")
    scene.store()
    scene.joins("again", instance="s", version=version)
    scene.store()
    answer = scene.last("again")
    assert (answer.member, answer.leader, answer.skip_assignment) == ("s-2", leader, skips)
    assert answer.members == ((("s-2", "s", b"range"),) if skips else ())
    assert scene.group.leader == "s-2"


def test_a_restarted_leader_still_leads_although_added_last() -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.joins("b")
    scene.fire("initial delay")
    scene.fire("initial delay")
    scene.joins("again", instance="s")
    assert list(scene.group.members) == [B, "s-3"]
    assert scene.group.leader == "s-3"


def test_a_new_id_is_reverted_if_it_cannot_be_stored() -> None:
    scene = stable()
    scene.joins("again", instance="s", protocols=(RANGE,), session_timeout=9_000)
    scene.store(Error.NOT_ENOUGH_REPLICAS)
    assert scene.last("again") == JoinGroupResponse(
        Error.COORDINATOR_NOT_AVAILABLE, "", 1, "consumer", "range", A
    )
    restored = scene.group.members[S]
    assert (restored.protocols, restored.session_timeout) == (BOTH, 45_000)
    assert restored.assignment == f"for {S}"
    assert ("session", S) in scene.timers()
    assert "s-4" not in scene.group.members
    assert scene.group.num_joined == 0
    assert scene.state is STABLE


def test_a_new_id_is_reverted_even_after_another_rebalance() -> None:
    scene = stable()
    scene.joins("again", instance="s")
    scene.joins("a", member=A)
    scene.joins("b", member=B)
    assert scene.last("again").generation == 2, "its JoinGroup counted in the rebalance"
    scene.store(Error.REQUEST_TIMED_OUT)
    assert scene.group.instances == {"s": S}


def test_a_member_replaced_twice_before_its_id_is_stored_is_fenced() -> None:
    scene = stable()
    scene.joins("first", instance="s")
    scene.joins("second", instance="s")
    assert scene.last("first") == JoinGroupResponse(Error.FENCED_INSTANCE_ID, "s-4")
    scene.store()
    assert len(scene.heard["first"]) == 1
    scene.store()
    assert scene.last("second").member == "s-5"


def test_a_member_that_waits_for_its_id_is_answered_during_the_next_rebalance() -> None:
    scene = stable()
    scene.joins("again", instance="s")
    scene.joins("a", member=A)
    scene.store()
    assert (scene.last("again").member, scene.last("again").generation) == ("s-4", 1)
    assert scene.state is PREPARING
    assert scene.group.num_joined == 1, "it has to join again"


def test_a_leader_that_waits_for_its_id_stays_parked_during_the_next_rebalance() -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.joins("b")
    scene.fire("initial delay")
    scene.fire("initial delay")
    scene.syncs("s", "s-1", "s-1", B)
    scene.store()
    scene.joins("again", instance="s")
    scene.joins("d")
    scene.store()
    assert "again" not in scene.heard
    scene.joins("b", member=B)
    assert (scene.last("again").generation, scene.last("again").leader) == (2, "s-3")


def test_a_pending_sync_stays_due_from_the_old_id() -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.syncs("a", A, A, B, S)
    scene.store()
    assert scene.group.pending_syncs == {S}
    scene.joins("again", instance="s")
    scene.store()
    scene.syncs("again", "s-4")
    assert scene.group.pending_syncs == {S}
    assert ("sync",) in scene.timers()
    scene.fire("sync")
    assert scene.state is PREPARING, "although no member is missing"
    assert list(scene.group.members) == [A, B, "s-4"]


def test_the_session_of_a_replaced_member_keeps_the_old_timeout_until_its_heartbeat() -> None:
    scene = stable()
    scene.joins("again", instance="s", session_timeout=9_000)
    scene.store()
    timer = scene.group.members["s-4"].timer
    assert scene.armed[timer] == 45_000
    scene.ask("again", heartbeat("s-4"))
    assert scene.armed[timer] == 9_000


@in_all_states
def test_an_instance_id_of_a_pending_member_makes_the_coordinator_fail(state: str) -> None:
    scene = STATES[state]()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    answer = scene.joins("c", member=given, instance="s")
    assert answer == JoinGroupResponse(Error.UNKNOWN_SERVER_ERROR)
    assert given in scene.group.pending_joins


def test_a_static_member_that_joins_twice_waits_for_the_initial_delay() -> None:
    scene = initial()
    scene.joins("s", instance="s")
    scene.joins("again", instance="s")
    assert scene.state is PREPARING
    assert list(scene.group.members) == [A, "s-3"]
