"""A rebalance: how it begins, how the next generation begins, and SyncGroup, which ends it.

Kafka: `GroupMetadataManager`, from `prepareRebalance` to `completeClassicGroupJoin`, and
`classicGroupSync`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kspec.spec.coordinator.state import (
    Caller,
    Group,
    GroupMember,
    Handler,
    Outcome,
    validate_alive,
    validate_member,
)
from kspec.spec.core import Check, Checked, evolve
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    NO_MEMBER_ID,
    Error,
    GroupState,
    JoinGroupResponse,
    SyncGroup,
    SyncGroupResponse,
)

# -- the wait for members ---------------------------------------------------------------------

CAN_REBALANCE = (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""The states in which a rebalance can begin. Kafka: `ClassicGroup.canRebalance`."""


def prepare_rebalance(group: Group) -> Outcome:
    """Begin a rebalance: wait until every member has joined again.

    A group that was empty waits for the initial delay, so that members that start together join
    one generation; any other waits until all have joined or the rebalance timeout expires. Parked
    SyncGroups of the abandoned generation are answered with REBALANCE_IN_PROGRESS.

    Kafka: `prepareRebalance`.
    """
    answered = answer_syncs(group, Error.REBALANCE_IN_PROGRESS)
    reset = answered.group
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset = reset.with_each_member(assignment=NO_ASSIGNMENT)
    was_empty = group.state is GroupState.EMPTY
    extensible = group.rebalance_timeout - group.settings.initial_rebalance_delay
    preparing = reset.transition_to(
        GroupState.PREPARING_REBALANCE,
        pending_sync=frozenset(),
        unstored=None,
        new_member_added=group.new_member_added and group.settings.new_member_mark_lasts,
        remaining_delay=max(extensible, 0) if was_empty else 0,
    )
    return evolve(answered, group=preparing).then(maybe_complete_join)


def prepare_rebalance_or_complete_join(group: Group) -> Outcome:
    """Begin a rebalance, or complete the one in progress if no one else is awaited.

    Kafka: `maybePrepareRebalanceOrCompleteJoin`.
    """
    return prepare_rebalance(group) if group.state in CAN_REBALANCE else maybe_complete_join(group)


def maybe_complete_join(group: Group, *, ends_initial_delay: bool = False) -> Outcome:
    """Begin the next generation if all members have joined.

    The initial delay continues, except where a timer has removed the last missing member.

    Kafka: `maybeCompleteJoinPhase`.
    """
    preparing = group.state is GroupState.PREPARING_REBALANCE
    is_delayed = group.in_initial_delay and not ends_initial_delay
    if preparing and not is_delayed and group.all_members_joined:
        return complete_join(group)
    return Outcome(group)


# -- the next generation ----------------------------------------------------------------------


def complete_join(group: Group) -> Outcome:
    """Begin the next generation with the members that have joined.

    A dynamic member that has not joined is removed; a static one may return within its session
    timeout. If static members remain and none has joined, the wait continues. If the leader has
    not joined, the first member that has leads.

    Kafka: `completeClassicGroupJoin`, `ClassicGroup.maybeElectNewJoinedLeader`.
    """
    missing = [m.id for m in group.members if m.awaiting_join is None and m.instance is None]
    remaining = group.without_members(missing)
    generation = remaining.generation + 1
    if not remaining.members:
        empty = remaining.transition_to(
            GroupState.EMPTY, generation=generation, protocol=None, leader=None
        )
        return Outcome(empty, record=empty.stored())
    joined = [m.id for m in remaining.members if m.awaiting_join is not None]
    if not joined:
        return Outcome(remaining)
    completing = remaining.transition_to(
        GroupState.COMPLETING_REBALANCE,
        generation=generation,
        protocol=select_protocol(remaining.members),
        leader=remaining.leader if remaining.leader in joined else joined[0],
        pending_sync=frozenset(m.id for m in remaining.members),
        new_member_added=group.new_member_added and group.settings.new_member_mark_lasts,
        remaining_delay=0,
    )
    responses = tuple(
        (m.awaiting_join, join_response(completing, m))
        for m in completing.members
        if m.awaiting_join is not None
    )
    return Outcome(completing.with_each_member(awaiting_join=None, is_new=False), responses)


def select_protocol(members: tuple[GroupMember, ...]) -> str:
    """The protocol with the most votes; each member votes for its first that all support.

    Kafka: `ClassicGroup.selectProtocol`. Simplification: Kafka breaks ties by hash order; here
    the first member's preference decides.
    """
    first = members[0]
    common = [p.name for p in first.protocols if all(m.supports(p.name) for m in members)]
    votes = Counter(next(p.name for p in m.protocols if p.name in common) for m in members)
    return max(common, key=lambda name: votes[name])


def join_response(
    group: Group, member: GroupMember, *, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The response to a member of the current generation; the leader's lists all members."""
    members = tuple((m.id, m.instance, m.metadata(group.protocol)) for m in group.members)
    return JoinGroupResponse(
        member=member.id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or NO_MEMBER_ID,
        members=members if member.id == group.leader else (),
        skip_assignment=skip_assignment,
    )


# -- members ----------------------------------------------------------------------------------


def remove_member(group: Group, member: GroupMember) -> Outcome:
    """Remove a member. Its parked JoinGroup is answered; its parked SyncGroup is not.

    The response carries no member id. Kafka: `removeMemberAndUpdateClassicGroup` and
    `removeCurrentMemberFromClassicGroup`.
    """
    removed = Outcome(group.without_members([member.id]))
    if member.awaiting_join is None:
        return removed
    response = JoinGroupResponse(Error.UNKNOWN_MEMBER_ID)
    return evolve(removed, responses=((member.awaiting_join, response),))


# -- SyncGroup --------------------------------------------------------------------------------


def validate_sync(group: Group, request: SyncGroup) -> Checked[GroupMember]:
    """The checks of SyncGroup, in Kafka's order.

    Kafka: `validateSyncGroup` and `classicGroupSyncToClassicGroup`.
    """
    yield from validate_alive(group)
    member = yield from validate_member(group, request.member, request.instance)
    is_current = request.generation == group.generation
    yield Check("generation is current", is_current, Error.ILLEGAL_GENERATION)
    same_type = is_consistent(group, request.protocol_type, group.protocol_type)
    same_protocol = is_consistent(group, request.protocol, group.protocol)
    is_selected = same_type and same_protocol
    yield Check("protocol is the selected one", is_selected, Error.INCONSISTENT_GROUP_PROTOCOL)
    preparing = group.state is GroupState.PREPARING_REBALANCE
    yield Check("group is not preparing a rebalance", not preparing, Error.REBALANCE_IN_PROGRESS)
    return member


def is_consistent(group: Group, named: str | None, selected: str | None) -> bool:
    """Whether a protocol type or a protocol that a request names is the group's.

    A group has no protocol until its first generation begins. Kafka: `isProtocolInconsistent`.
    """
    if selected is None:
        return named is None or not group.settings.variant.compares_missing_protocol
    return named in (None, selected)


def sync(group: Group, request: SyncGroup, caller: Caller) -> Handler:
    """A member asks for its assignment; the leader's request carries everyone's.

    The request is parked until the leader's assignments are stored; in a stable group it is
    answered at once. A member that the leader left out gets an empty assignment. If the leader
    repeats its request meanwhile, that is written too, but the first write takes effect.

    Kafka: `classicGroupSyncToClassicGroup`.
    """
    member = yield from validate_sync(group, request)
    synced = evolve(group, pending_sync=group.pending_sync - {member.id})
    parked = synced.with_member(evolve(member, awaiting_sync=caller))
    if group.state is GroupState.STABLE:
        return answer_syncs(parked)
    if member.id != group.leader:
        return Outcome(parked)
    assigned = with_assignments(parked, request.assignments)
    first = tuple((m.id, m.assignment) for m in assigned.members)
    writing = evolve(parked, unstored=first if group.unstored is None else group.unstored)
    return Outcome(writing, record=assigned.stored())


def assignments_stored(group: Group, generation: int, error: Error = Error.NONE) -> Outcome:
    """The write of the leader's assignments has succeeded, or failed with this error.

    Parked SyncGroups are answered only now: what members receive must be what the next
    coordinator loads. If the group has left that generation, nothing happens.

    Kafka: the append future of `classicGroupSyncToClassicGroup`.
    """
    completing = group.state is GroupState.COMPLETING_REBALANCE
    if group.unstored is None or not completing or generation != group.generation:
        return Outcome(group)
    if error is not Error.NONE:
        return answer_syncs(group, error).then(prepare_rebalance)
    answered = answer_syncs(with_assignments(group, group.unstored))
    return evolve(answered, group=answered.group.transition_to(GroupState.STABLE, unstored=None))


def with_assignments(group: Group, assignments: tuple[tuple[str, Hashable], ...]) -> Group:
    """The group with the assignment that the leader gave to each member."""
    given = dict(assignments)
    members = tuple(evolve(m, assignment=given.get(m.id, NO_ASSIGNMENT)) for m in group.members)
    return evolve(group, members=members)


def answer_syncs(group: Group, error: Error = Error.NONE) -> Outcome:
    """Answer each parked SyncGroup: with its member's assignment, or with this error."""
    responses = tuple(
        (
            m.awaiting_sync,
            SyncGroupResponse(error, m.assignment, group.protocol_type, group.protocol)
            if error is Error.NONE
            else SyncGroupResponse(error),
        )
        for m in group.members
        if m.awaiting_sync is not None
    )
    return Outcome(group.with_each_member(awaiting_sync=None), responses)
