"""SyncGroup: how assignments come from the leader to every member.

Kafka: `GroupMetadataManager.classicGroupSync`.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable

from spec.core import evolve
from spec.group.coordinator.checks import Handling, is_a_member, is_alive
from spec.group.coordinator.group import Caller, Group, GroupMember, Outcome
from spec.group.coordinator.rebalance import prepare_rebalance
from spec.messages import NO_ASSIGNMENT, Error, GroupState, Synced, SyncGroup


def may_sync(group: Group, request: SyncGroup) -> Generator[tuple[str, bool], None, GroupMember]:
    """What is checked of every SyncGroup, in Kafka's order."""
    yield from is_alive(group)
    member = yield from is_a_member(group, request.member, request.instance)
    yield "generation is current", request.generation == group.generation
    kind, name = request.protocol_type, request.protocol
    same = kind in (None, group.protocol_type) and name in (None, group.protocol)
    yield "protocol is the group's", same
    preparing = group.state is GroupState.PREPARING_REBALANCE
    yield "members are not waited for", not preparing
    return member


def sync(group: Group, request: SyncGroup, caller: Caller) -> Handling:
    """A member asks what it is to read; the leader's request says it for all.

    Until the leader's request has come, and its assignments are in the offsets topic, members
    wait. Whom the leader left out gets nothing. In a stable group the answer is ready. If the
    leader asks again meanwhile, this is written too, but what was written first counts.
    """
    member = yield from may_sync(group, request)
    heard = evolve(group, pending_sync=group.pending_sync - {member.id})
    if group.state is GroupState.STABLE:
        return Outcome(heard, ((caller, assigned(group, member)),))
    waiting = heard.with_member(evolve(member, syncing=caller))
    if member.id != group.leader:
        return Outcome(waiting)
    given = dict(request.assignments)
    plan = tuple((m.id, given.get(m.id, NO_ASSIGNMENT)) for m in group.members)
    first = plan if group.plan is None else group.plan
    planned = evolve(waiting, plan=first)
    return Outcome(planned, record=with_assignments(planned, plan).stored())


def plan_is_stored(group: Group, generation: int, error: Error = Error.NONE) -> Outcome:
    """The offsets topic has the leader's assignments, or could not take them.

    Members are answered only now: what they were told must be what the next coordinator finds.
    If the group has moved on, there is nobody to answer.
    """
    completing = group.state is GroupState.COMPLETING_REBALANCE
    if group.plan is None or not completing or generation != group.generation:
        return Outcome(group)
    if error is not Error.NONE:
        answers = tuple((m.syncing, Synced(error)) for m in group.members if m.syncing is not None)
        given_up = group.each_member(syncing=None)
        return Outcome(given_up, answers).then(prepare_rebalance)
    planned = with_assignments(group, group.plan)
    answers = tuple(
        (m.syncing, assigned(planned, m)) for m in planned.members if m.syncing is not None
    )
    return Outcome(planned.each_member(syncing=None).enters(GroupState.STABLE, plan=None), answers)


def with_assignments(group: Group, plan: tuple[tuple[str, Hashable], ...]) -> Group:
    """The group with what the leader gave to each."""
    given = dict(plan)
    members = tuple(evolve(m, assignment=given.get(m.id, NO_ASSIGNMENT)) for m in group.members)
    return evolve(group, members=members)


def assigned(group: Group, member: GroupMember) -> Synced:
    """The answer to a member whose assignment is known."""
    return Synced(Error.NONE, member.assignment, group.protocol_type, group.protocol)
