"""JoinGroup: what is checked first, and what it does in each state of the group."""

from __future__ import annotations

import pytest

from spec.messages import (
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    Protocol,
    Settings,
    Synced,
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
    initial,
    preparing,
    stable,
)

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
in_all_states = pytest.mark.parametrize("state", STATES)

# -- what is checked first ------------------------------------------------------------------


def test_checks_come_in_order() -> None:
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


def test_a_group_begins_with_a_join_without_id_and_is_written_down() -> None:
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
def test_protocols_have_to_fit_those_of_all_members(
    state: str, protocol_type: str, protocols: tuple[Protocol, ...], fits: bool
) -> None:
    request = JoinGroup(protocol_type=protocol_type, protocols=protocols)
    error = STATES[state]().ask("c", request).error
    assert error is (Error.MEMBER_ID_REQUIRED if fits else Error.INCONSISTENT_GROUP_PROTOCOL)


def test_a_protocol_that_one_member_lacks_fits_nobody() -> None:
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
def test_a_full_group_admits_its_members_only(
    state: str, request_: JoinGroup, admitted: bool
) -> None:
    scene = STATES[state](THREE)
    answer = scene.ask("c", request_)
    refused = answer is not None and answer.error is Error.GROUP_MAX_SIZE_REACHED
    assert refused != admitted


def test_in_a_round_the_first_to_join_find_room_and_the_others_are_removed() -> None:
    old = stable()
    scene = Scene(Settings(max_size=2))
    scene.take(scene.coordinator.load(old.log))
    assert scene.state is PREPARING, "it is too large since the setting was changed"
    assert scene.joins("a", member=A) is None
    assert scene.joins("b", member=B) is None
    assert scene.joins("a2", member=A) is None, "who has joined already may join again"
    assert scene.joins("s", member=S, instance="s") == Joined(Error.GROUP_MAX_SIZE_REACHED)
    assert list(scene.group.members) == [A, B]
    assert ("member", S) not in scene.timers()
    scene.fire("join")
    assert scene.state is COMPLETING


# -- new members ----------------------------------------------------------------------------


@in_all_states
def test_a_dynamic_member_is_given_an_id_first(state: str) -> None:
    scene = STATES[state]()
    before = None if state == "absent" else scene.state
    answer = scene.ask("c", JoinGroup(protocols=BOTH, client="c", session_timeout=7_000))
    assert answer == Joined(Error.MEMBER_ID_REQUIRED, f"c-{scene.ids}")
    assert ("pending", answer.member) in scene.timers()
    assert 7_000 in scene.armed.values()
    assert scene.state is (before or GroupState.EMPTY)
    assert answer.member not in scene.group.members
    # with that id it is added, as who needs none is at once
    assert scene.joins("c", member=answer.member) is None
    assert scene.state is PREPARING
    assert scene.group.members[answer.member].is_new
    assert ("member", answer.member) in scene.timers()
    assert ("pending", answer.member) not in scene.timers()
    assert scene.armed[scene.group.members[answer.member].timer] == 300_000


@in_all_states
@pytest.mark.parametrize(
    "new", [{"can_take_an_id_first": False}, {"instance": "new", "can_take_an_id_first": True}]
)
def test_an_old_client_or_a_new_instance_is_added_at_once(
    state: str, new: dict[str, object]
) -> None:
    scene = STATES[state]()
    assert scene.joins("c", **new) is None
    assert scene.state is PREPARING
    assert list(scene.group.members)[-1] == f"{new.get('instance', 'c')}-{scene.ids}"


def test_the_last_one_to_join_completes_the_round() -> None:
    scene = preparing()
    scene.joins("b", member=B)
    assert scene.state is PREPARING
    scene.joins("s", member=S, instance="s")
    assert (scene.state, scene.group.generation) == (COMPLETING, 2)
    assert ("join",) not in scene.timers()


def test_a_given_id_that_has_not_joined_is_waited_for() -> None:
    scene = preparing()
    given = scene.ask("c", JoinGroup(protocols=BOTH, client="c")).member
    scene.joins("b", member=B)
    scene.joins("s", member=S, instance="s")
    assert scene.state is PREPARING
    scene.joins("c", member=given)
    assert scene.state is COMPLETING


# -- members that are known -----------------------------------------------------------------


def test_a_member_that_is_known_nowhere() -> None:
    assert empty().joins("b", member=B) == Joined(Error.UNKNOWN_MEMBER_ID)
    for make in (preparing, completing, stable):
        assert make().joins("c", member="c-9") == Joined(Error.UNKNOWN_MEMBER_ID)
        assert make().joins("c", member=B, instance="s") == Joined(Error.FENCED_INSTANCE_ID)
        assert make().joins("c", member=S, instance="t") == Joined(Error.UNKNOWN_MEMBER_ID)


def test_while_a_round_goes_on_who_joins_again_is_answered_in_the_newer_place() -> None:
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
    ("state", "member", "protocols", "begins_a_round"),
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
def test_a_member_joins_again(
    state: str, member: str, protocols: tuple[Protocol, ...], begins_a_round: bool
) -> None:
    scene = STATES[state]()
    answer = scene.joins("again", member=member, protocols=protocols)
    if begins_a_round:
        assert answer is None
        assert scene.state is PREPARING
        assert scene.group.members[member].protocols == protocols
        assert ("sync",) not in scene.timers()
    else:
        members = tuple((m, "s" if m == S else None, b"range") for m in (A, B, S))
        told = members if member == A else ()
        assert answer == Joined(Error.NONE, member, 1, "consumer", "range", A, told)
        assert scene.state is STATES[state]().state


# -- static members that come back without their id ------------------------------------------


def test_in_a_round_the_new_id_takes_the_place_of_the_old() -> None:
    scene = preparing()
    scene.joins("s", member=S, instance="s")
    assert scene.joins("again", instance="s") is None
    assert scene.last("s") == Joined(Error.FENCED_INSTANCE_ID)
    assert list(scene.group.members) == [A, B, "s-4"]
    assert ("member", S) not in scene.timers()
    assert ("member", "s-4") in scene.timers()
    scene.joins("b", member=B)
    assert scene.last("again").member == "s-4"
    assert scene.state is COMPLETING


def test_while_assignments_are_waited_for_there_is_a_new_round() -> None:
    scene = completing()
    scene.syncs("s", S)
    assert scene.joins("again", instance="s") is None
    assert scene.last("s") == Synced(Error.FENCED_INSTANCE_ID)
    assert scene.state is PREPARING


def test_in_a_stable_group_only_the_id_changes_once_that_is_stored() -> None:
    scene = stable()
    assert scene.joins("again", instance="s") is None, "it waits for the write"
    written = scene.log[-1].value
    assert isinstance(written, GroupMetadata)
    assert [(m.id, m.assignment) for m in written.members][-1] == ("s-4", f"for {S}")
    scene.store()
    assert scene.last("again") == Joined(Error.NONE, "s-4", 1, "consumer", "range", A)
    assert scene.state is STABLE
    assert scene.syncs("again", "s-4").assignment == f"for {S}"


def test_even_a_changed_subscription_is_no_reason_while_the_protocol_stays() -> None:
    scene = stable()
    scene.joins("again", instance="s", protocols=(Protocol("range", b"other"),))
    scene.store()
    assert scene.state is STABLE


def test_a_changed_protocol_begins_a_round() -> None:
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


@pytest.mark.parametrize(
    ("understands", "leader", "skips"), [(True, "s-2", True), (False, "s-1", False)]
)
def test_a_leader_that_comes_back_need_not_assign(
    understands: bool, leader: str, skips: bool
) -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.fire("initial delay")
    scene.syncs("s", "s-1", "s-1")
    scene.store()
    scene.joins("again", instance="s", can_skip_assignment=understands)
    scene.store()
    answer = scene.last("again")
    assert (answer.member, answer.leader, answer.skip_assignment) == ("s-2", leader, skips)
    assert answer.members == ((("s-2", "s", b"range"),) if skips else ())
    assert scene.group.leader == "s-2"


def test_a_leader_that_comes_back_leads_though_it_comes_last() -> None:
    scene = Scene()
    scene.joins("s", instance="s")
    scene.joins("b")
    scene.fire("initial delay")
    scene.fire("initial delay")
    scene.joins("again", instance="s")
    assert list(scene.group.members) == [B, "s-3"]
    assert scene.group.leader == "s-3"


def test_a_new_id_that_cannot_be_stored_is_taken_back() -> None:
    scene = stable()
    scene.joins("again", instance="s", protocols=(RANGE,), session_timeout=9_000)
    scene.store(Error.NOT_ENOUGH_REPLICAS)
    assert scene.last("again") == Joined(Error.COORDINATOR_NOT_AVAILABLE)
    restored = scene.group.members[S]
    assert (restored.protocols, restored.session_timeout) == (BOTH, 45_000)
    assert restored.assignment == f"for {S}"
    assert ("member", S) in scene.timers()
    assert "s-4" not in scene.group.members
    assert scene.group.joined == 0
    assert scene.state is STABLE


def test_a_new_id_that_took_part_in_a_round_since_is_not_taken_back() -> None:
    scene = stable()
    scene.joins("again", instance="s")
    scene.joins("a", member=A)
    scene.joins("b", member=B)
    assert scene.last("again").generation == 2, "its join counted in the round"
    scene.store(Error.REQUEST_TIMED_OUT)
    assert "s-4" in scene.group.members


def test_a_silent_static_member_that_is_replaced_is_not_waited_for_any_more() -> None:
    scene = completing()
    scene.syncs("b", B)
    scene.syncs("a", A, A, B, S)
    scene.store()
    assert scene.group.pending_syncs == {S}
    scene.joins("again", instance="s")
    assert not scene.group.pending_syncs
    assert ("sync",) not in scene.timers()


def test_the_initial_delay_is_waited_for_also_by_a_static_member_that_came_twice() -> None:
    scene = initial()
    scene.joins("s", instance="s")
    scene.joins("again", instance="s")
    assert scene.state is PREPARING
    assert list(scene.group.members) == [A, "s-3"]
