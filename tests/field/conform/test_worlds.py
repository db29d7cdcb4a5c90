"""What Kafka leaves open is a set of states, and responses rule some of them out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from kspec.field.conform.history import Ask
from kspec.field.conform.worlds import (
    Moment,
    World,
    agrees,
    forget,
    may_agree,
    new_world,
    possible,
)
from kspec.spec.messages import (
    Error,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    MemberIdentity,
    Protocol,
    Settings,
    SyncGroup,
)

NOW = Moment(0.0, 0.0)
AT_ONCE = Settings(initial_rebalance_delay=0)
RANGE, STICKY = Protocol("range", b"r"), Protocol("sticky", b"s")


def ask(number: int, request: Any, version: int = 4) -> Ask:
    return Ask(number, request, version)


def join(number: int, member: str = "", **details: Any) -> Ask:
    version = details.pop("version", 3)
    return ask(number, JoinGroup(member, version=version, **details), version)


def after(worlds: Iterable[World], *asks: Ask) -> set[World]:
    """The worlds after requests, one by one."""
    for each in asks:
        worlds = possible([forget(world) for world in worlds], (each,), NOW)
    return set(worlds)


def stable_group(*protocols: tuple[Protocol, ...]) -> set[World]:
    """A stable group of members m1, m2…, with these protocols."""
    worlds = {new_world(AT_ONCE)}
    for number, supported in enumerate(protocols, 1):
        worlds = after(worlds, join(number, protocols=supported))
        for other in range(1, number):
            worlds = after(worlds, join(10 + other, f"m{other}", protocols=protocols[other - 1]))
    generation = next(iter(worlds)).group.generation
    for number in range(len(protocols), 0, -1):
        worlds = after(worlds, ask(20 + number, SyncGroup(f"m{number}", generation)))
    return {world for world in worlds if world.group.state is GroupState.STABLE}


def test_any_member_may_lead_once_the_leader_has_left() -> None:
    worlds = stable_group((RANGE,), (RANGE,), (RANGE,))
    assert {world.group.leader for world in worlds} == {"m1"}
    left = after(worlds, ask(30, LeaveGroup((MemberIdentity("m1"),))))
    assert {world.group.leader for world in left} == {"m2", "m3"}


def test_either_protocol_may_win_a_tied_vote() -> None:
    worlds = stable_group((RANGE, STICKY), (STICKY, RANGE))
    assert {world.group.protocol for world in worlds} == {"range", "sticky"}


def test_a_majority_decides_a_vote() -> None:
    worlds = stable_group((STICKY, RANGE), (RANGE, STICKY), (STICKY, RANGE))
    assert {world.group.protocol for world in worlds} == {"sticky"}


def test_requests_at_the_same_time_have_any_order() -> None:
    worlds = stable_group((RANGE,))
    both = possible(
        [forget(world) for world in worlds],
        (ask(40, LeaveGroup((MemberIdentity("m1"),))), ask(41, Heartbeat("m1", 1))),
        NOW,
    )
    errors = {dict(world.sent)[ask(41, Heartbeat("m1", 1))] for world in both}
    assert errors == {HeartbeatResponse(), HeartbeatResponse(Error.UNKNOWN_MEMBER_ID)}


def test_responses_bind_member_ids_and_rule_states_out() -> None:
    first = join(1, version=4)
    worlds = possible([new_world(AT_ONCE)], (first,), NOW)
    required = JoinGroupResponse(Error.MEMBER_ID_REQUIRED, "k1-77")
    [bound] = [world for world in worlds if agrees(world, {first: required})]
    known = agrees(bound, {first: required})
    assert known is not None
    assert known.actual("m1") == "k1-77"
    other = attrs.evolve(required, member="k1-78")
    again = attrs.evolve(known, sent=bound.sent)
    assert agrees(again, {first: other}) is None
    assert may_agree(again, {}) is not None
    assert agrees(again, {}) is None


def test_an_unknown_member_is_echoed() -> None:
    beat = ask(1, JoinGroup("nobody", version=4))
    worlds = possible([new_world(AT_ONCE)], (beat,), NOW)
    [world] = worlds
    assert agrees(world, {beat: JoinGroupResponse(Error.UNKNOWN_MEMBER_ID, "nobody")})
    assert not agrees(world, {beat: JoinGroupResponse(Error.UNKNOWN_MEMBER_ID, "somebody")})


def test_a_timer_expires_within_its_time() -> None:
    settings = Settings(initial_rebalance_delay=1_000)
    first = join(1)
    worlds = possible([new_world(settings)], (first,), NOW)
    assert {world.group.state for world in worlds} == {GroupState.PREPARING_REBALANCE}
    early = possible(worlds, (), Moment(0.5, 0.5))
    assert {world.group.state for world in early} == {GroupState.PREPARING_REBALANCE}
    between = possible(worlds, (), Moment(1.2, 1.2))
    assert len({world.group.state for world in between}) == 2
    late = possible(worlds, (), Moment(9.0, 9.0))
    assert {world.group.state for world in late} == {GroupState.COMPLETING_REBALANCE}
