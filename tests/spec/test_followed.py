"""A group that is followed through time: requests of administrators, offsets, writes, timers."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kspec.spec.coordinator import Group, GroupMember
from kspec.spec.coordinator.failover import load
from kspec.spec.coordinator.followed import Followed, possible_answers
from kspec.spec.coordinator.sessions import Timer
from kspec.spec.messages import (
    SCALA,
    DeleteGroup,
    DeleteGroupResponse,
    Error,
    GroupState,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Protocol,
    Settings,
    SyncGroup,
)
from kspec.spec.vocabulary import TopicPartition

P0, P1, ELSEWHERE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("none", 0)
EXISTING = (P0, P1)
UNKNOWN = Followed(Group(state=GroupState.DEAD))


def start(_: Timer, milliseconds: int) -> int:
    return milliseconds


def ask(followed: Followed, request: Any, new_id: str = "m") -> tuple[Followed, Any]:
    """What follows a request that is answered at once, and the response."""
    outcome = followed.handle("c", request, new_id, EXISTING)
    [(_, response)] = outcome.responses
    return followed.after(outcome, start, request), response


def commit(*partitions: TopicPartition) -> OffsetCommit:
    return OffsetCommit(tuple((partition, Offset(7)) for partition in partitions))


def simple() -> Followed:
    """A group without members, with two offsets."""
    return ask(UNKNOWN, commit(P1, P0))[0]


def of_one_member(**changes: Any) -> Followed:
    """A stable group of one member."""
    member = GroupMember("m", protocols=(Protocol("range"),), is_new=False)
    group = Group(
        state=GroupState.STABLE,
        generation=1,
        protocol_type="consumer",
        protocol="range",
        leader="m",
        members=(member,),
    )
    return Followed(attrs.evolve(group, **changes))


def test_partitions_that_do_not_exist_are_answered_without_the_coordinator() -> None:
    after, response = ask(UNKNOWN, commit(P0, ELSEWHERE))
    assert response == OffsetCommitResponse(
        ((P0, Error.NONE), (ELSEWHERE, Error.UNKNOWN_TOPIC_OR_PARTITION))
    )
    assert after.offsets == ((P0, Offset(7)),)
    outcome = UNKNOWN.handle("c", commit(ELSEWHERE), "m", EXISTING)
    assert outcome.decision is not None
    assert outcome.decision.guard == "partition exists"
    assert outcome.group.state is GroupState.DEAD


def test_offsets_are_fetched_in_the_order_asked_for_or_of_their_partitions() -> None:
    _, all_of_them = ask(simple(), OffsetFetch())
    assert all_of_them == OffsetFetchResponse(offsets=((P0, Offset(7)), (P1, Offset(7))))
    _, some = ask(simple(), OffsetFetch((ELSEWHERE, P1)))
    assert some == OffsetFetchResponse(offsets=((ELSEWHERE, None), (P1, Offset(7))))


@pytest.mark.parametrize(("variant", "state"), [(None, "Empty"), (SCALA, "Dead")])
def test_offsets_of_an_empty_group_are_deleted(variant: Any, state: str) -> None:
    group = simple()
    if variant is not None:
        settings = Settings(variant=variant)
        group = attrs.evolve(group, group=attrs.evolve(group.group, settings=settings))
    fewer, response = ask(group, OffsetDelete((P0, ELSEWHERE)))
    results = ((P0, Error.NONE), (ELSEWHERE, Error.UNKNOWN_TOPIC_OR_PARTITION))
    assert response == OffsetDeleteResponse(Error.NONE, results)
    assert fewer.offsets == ((P1, Offset(7)),)
    assert fewer.group.state is GroupState.EMPTY
    none, _ = ask(fewer, OffsetDelete((P1,)))
    assert none.offsets == ()
    assert none.group.state.value == state


def test_offsets_of_a_group_with_members_are_kept() -> None:
    _, response = ask(of_one_member(), OffsetDelete((P0,)))
    kept = ((P0, Error.GROUP_SUBSCRIBED_TO_TOPIC),)
    assert response == OffsetDeleteResponse(Error.NONE, kept)
    other = of_one_member(protocol_type="connect")
    assert ask(other, OffsetDelete((P0,)))[1] == OffsetDeleteResponse(Error.NON_EMPTY_GROUP)
    assert ask(UNKNOWN, OffsetDelete((P0,)))[1] == OffsetDeleteResponse(Error.GROUP_ID_NOT_FOUND)


def test_only_an_empty_group_is_deleted() -> None:
    after, response = ask(simple(), DeleteGroup())
    assert response == DeleteGroupResponse()
    assert (after.group.state, after.offsets) == (GroupState.DEAD, ())
    assert ask(after, DeleteGroup())[1] == DeleteGroupResponse(Error.GROUP_ID_NOT_FOUND)
    kept, response = ask(of_one_member(), DeleteGroup())
    assert response == DeleteGroupResponse(Error.NON_EMPTY_GROUP)
    assert kept.group.state is GroupState.STABLE


def test_the_decision_of_an_outcome_has_the_guard_and_its_source() -> None:
    outcome = UNKNOWN.handle("c", LeaveGroup((MemberIdentity("m"),)))
    assert outcome.decision is not None
    assert outcome.decision.guard == "group exists"
    assert outcome.decision.source.startswith("getOrMaybeCreateClassicGroup")
    refused = UNKNOWN.handle("c", DeleteGroup()).decision
    assert refused is not None
    assert (refused.guard, refused.source) == ("group exists", "ClassicGroup.validateDeleteGroup")


def test_a_sync_of_the_leader_is_in_progress_until_it_is_written() -> None:
    group, request = of_one_member(state=GroupState.COMPLETING_REBALANCE), SyncGroup("m", 1)
    outcome = group.handle("c", request)
    assert outcome.responses == ()
    synced = group.after(outcome, start, request)
    assert synced.writes == (1,)
    [written] = synced.completed_writes()
    assert [caller for caller, _ in written.responses] == ["c"]
    stable = synced.without_write().after(written, start)
    assert (stable.group.state, stable.writes) == (GroupState.STABLE, ())
    [failed] = synced.completed_writes(Error.NOT_COORDINATOR)
    assert failed.group.state is GroupState.PREPARING_REBALANCE


def test_a_successor_starts_the_timers_of_the_group_that_it_loads() -> None:
    group = of_one_member().group
    loaded = of_one_member().loaded(load(group.stored(), group.settings), start)
    assert dict(loaded.timers) == {Timer("session", "m"): 45_000}


def test_each_protocol_of_a_tied_vote_may_be_selected() -> None:
    both = Protocol("range", "r"), Protocol("sticky", "s")
    members = (
        GroupMember("a", protocols=both, awaiting_join="a"),
        GroupMember("b", protocols=both[::-1]),
    )
    group = of_one_member(state=GroupState.PREPARING_REBALANCE, members=members, leader="a")
    again = JoinGroup("b", protocols=both[::-1])
    outcomes = list(possible_answers(group, "b", again, "b"))
    assert {outcome.group.protocol for outcome in outcomes} == {"range", "sticky"}
    assert {outcome.group.generation for outcome in outcomes} == {2}
