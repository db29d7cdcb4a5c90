"""How a rebalance begins and ends: the wait for members, and the new generation.

Kafka: `GroupMetadataManager`, from `prepareRebalance` to `completeClassicGroupJoin`.
"""

from __future__ import annotations

from collections import Counter

from spec.core import (
    appended,
    evolve,
)
from spec.group.coordinator.group import Group, GroupMember, Outcome
from spec.messages import NO_ASSIGNMENT, Error, GroupState, Joined, Synced

SETTLED = (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""The states in which a rebalance can begin."""


def prepare_rebalance(group: Group) -> Outcome:
    """Wait for every member to join again.

    An empty group waits for the initial delay, so that members that start together are in one
    generation. Any other waits until everyone has joined, or the join timer fires. Whoever waits
    for an assignment of the generation that is given up is told to join again.
    """
    answers = tuple(
        (m.syncing, Synced(Error.REBALANCE_IN_PROGRESS))
        for m in group.members
        if m.syncing is not None
    )
    if group.state is GroupState.COMPLETING_REBALANCE:
        group = group.each_member(assignment=NO_ASSIGNMENT, syncing=None)
    was_empty = group.state is GroupState.EMPTY
    delay = group.settings.initial_rebalance_delay
    preparing = group.enters(
        GroupState.PREPARING_REBALANCE,
        pending_sync=frozenset(),
        plan=None,
        joined_meanwhile=False,
        delay_left=max(group.rebalance_timeout - delay, 0) if was_empty else 0,
    )
    return Outcome(preparing, answers).then(try_to_complete)


def prepare_or_complete(group: Group) -> Outcome:
    """Begin a rebalance, or end the wait if this was the last one that was waited for."""
    return prepare_rebalance(group) if group.state in SETTLED else try_to_complete(group)


def try_to_complete(group: Group) -> Outcome:
    """End the wait for members if nobody is waited for. The initial delay is never cut short."""
    if (
        group.state is GroupState.PREPARING_REBALANCE
        and not group.waits_initially
        and group.everyone_joined
    ):
        return complete_rebalance(group)
    return Outcome(group)


def complete_rebalance(group: Group) -> Outcome:
    """Begin the next generation with whoever has joined.

    A dynamic member that did not join is out; a static one is given its session timeout to come
    back. If nobody joined, but static members remain, the wait goes on.
    """
    silent = [m.id for m in group.members if m.joining is None and m.instance is None]
    group = group.without(silent)
    leader = new_leader(group)
    if leader is None and group.members:
        return Outcome(group)
    generation = group.generation + 1
    if not group.members:
        empty = group.enters(GroupState.EMPTY, generation=generation, protocol=None, leader=None)
        return Outcome(empty, record=empty.stored())
    completing = group.enters(
        GroupState.COMPLETING_REBALANCE,
        generation=generation,
        protocol=vote(group.members),
        leader=leader,
        pending_sync=frozenset(m.id for m in group.members),
        joined_meanwhile=False,
        delay_left=0,
    )
    answers = tuple(
        (m.joining, joined(completing, m)) for m in group.members if m.joining is not None
    )
    return Outcome(completing.each_member(joining=None, is_new=False), answers)


def new_leader(group: Group) -> str | None:
    """The leader if it has joined, or else the first member that has."""
    present = [m.id for m in group.members if m.joining is not None]
    if group.leader in present:
        return group.leader
    return present[0] if present else None


def vote(members: tuple[GroupMember, ...]) -> str:
    """The way of assigning that most members prefer, of those that all of them support.

    Kafka leaves open who wins a tie; here it is what the first member prefers.
    """
    first = members[0]
    common = [p.name for p in first.protocols if all(m.supports(p.name) for m in members)]
    votes = Counter(next(p.name for p in m.protocols if p.name in common) for m in members)
    return max(common, key=lambda name: votes[name])


def joined(group: Group, member: GroupMember, *, skip_assignment: bool = False) -> Joined:
    """The answer to a member that is in the current generation: the leader hears of everyone."""
    members = tuple((m.id, m.instance, m.metadata(group.protocol)) for m in group.members)
    return Joined(
        member=member.id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or "",
        members=members if member.id == group.leader else (),
        skip_assignment=skip_assignment,
    )


def remove(group: Group, member: GroupMember) -> Outcome:
    """Put a member out. If it waits to join, it is told so; if it waits to sync, it is not."""
    out = Outcome(group.without([member.id]))
    if member.joining is None:
        return out
    told = Joined(Error.UNKNOWN_MEMBER_ID, member.id)
    return evolve(out, answers=((member.joining, told),))


def add(group: Group, member: GroupMember, protocol_type: str) -> Group:
    """Take a member in; the first one leads."""
    return evolve(
        group,
        members=appended(group.members, member),
        leader=group.leader or member.id,
        protocol_type=group.protocol_type or protocol_type if group.members else protocol_type,
        pending=group.pending - {member.id},
        joined_meanwhile=group.joined_meanwhile or group.waits_initially,
    )
