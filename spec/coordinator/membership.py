"""JoinGroup and LeaveGroup: how a client becomes a member, and how a member leaves.

Kafka: `GroupMetadataManager.classicGroupJoin` and `classicGroupLeave`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from kspec.spec.coordinator.rebalance import (
    join_response,
    maybe_complete_join,
    prepare_rebalance,
    prepare_rebalance_or_complete_join,
    remove_member,
    select_protocol,
)
from kspec.spec.coordinator.state import (
    Caller,
    Group,
    GroupMember,
    Handler,
    Outcome,
    Replacement,
    validate_alive,
    validate_member,
)
from kspec.spec.core import Check, Checked, appended, evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    MemberIdentity,
    Response,
    SyncGroupResponse,
)

# -- JoinGroup: checks ------------------------------------------------------------------------


def validate_join(group: Group, request: JoinGroup) -> Checked[None]:
    """The checks of every JoinGroup, in Kafka's order.

    Kafka: `GroupCoordinatorService.joinGroup` for the session timeout, then
    `classicGroupJoinToClassicGroup`.
    """
    is_within = session_timeout_is_valid(group, request)
    yield Check("session timeout is within limits", is_within, Error.INVALID_SESSION_TIMEOUT)
    # During a rebalance, the first to join have room (`acceptJoiningMember`).
    preparing = group.state is GroupState.PREPARING_REBALANCE
    counted = [m for m in group.members if not preparing or m.awaiting_join is not None]
    has_room = (
        group.state in (GroupState.EMPTY, GroupState.DEAD)
        or any(m.id == request.member for m in counted)
        or len(counted) < group.settings.max_size
    )
    yield Check("group has room", has_room, Error.GROUP_MAX_SIZE_REACHED)
    yield from validate_alive(group)
    # The client and every member support some protocol (`ClassicGroup.supportsProtocols`).
    names = {p.name for p in request.protocols}
    if group.state is GroupState.EMPTY:
        is_supported = bool(request.protocol_type and names)
    else:
        common = any(all(m.supports(name) for m in group.members) for name in names)
        is_supported = common and request.protocol_type == group.protocol_type
    yield Check("protocols are compatible", is_supported, Error.INCONSISTENT_GROUP_PROTOCOL)


def session_timeout_is_valid(group: Group, request: JoinGroup) -> bool:
    """Whether the session timeout is within the broker's limits."""
    settings = group.settings
    return settings.min_session_timeout <= request.session_timeout <= settings.max_session_timeout


# -- JoinGroup: new members -------------------------------------------------------------------


def issue_member_id(group: Group, request: JoinGroup, caller: Caller, new_id: str) -> Handler:
    """Answer a first JoinGroup with a member id; the client joins again with it.

    So a client whose responses are lost does not fill the group with members without a live
    consumer (KIP-394, KAFKA-7824). Old clients and static members are added at once.

    Kafka: `classicGroupJoinNewDynamicMember`, MEMBER_ID_REQUIRED.
    """
    yield from validate_join(group, request)
    issued = evolve(group, pending=group.pending | {new_id})
    return Outcome(issued, ((caller, JoinGroupResponse(Error.MEMBER_ID_REQUIRED, new_id)),))


def join_new_member(group: Group, request: JoinGroup, caller: Caller, member_id: str) -> Handler:
    """Add a member; its JoinGroup is parked until the next generation begins.

    The first member leads. Kafka: `addMemberThenRebalanceOrCompleteJoin`.
    """
    yield from validate_join(group, request)
    member = updated(GroupMember(member_id, request.instance), request, caller)
    known_type = group.protocol_type if group.members else None
    extends = group.settings.variant.extends_every_initial_delay or group.generation == 0
    added = evolve(
        group,
        members=appended(group.members, member),
        leader=group.leader or member_id,
        protocol_type=known_type or request.protocol_type,
        pending=group.pending - {member_id},
        new_member_added=group.new_member_added or (group.in_initial_delay and extends),
    )
    return prepare_rebalance_or_complete_join(added)


def join_pending_member(group: Group, request: JoinGroup, caller: Caller) -> Handler:
    """A pending member joins with its id, and becomes a member.

    Static members are never pending: an instance id makes the coordinator fail.
    Kafka: `classicGroupJoinExistingMember`, which throws IllegalStateException.
    """
    yield from validate_join(group, request)
    is_dynamic = request.instance is None
    yield Check("pending member is dynamic", is_dynamic, Error.UNKNOWN_SERVER_ERROR)
    return (yield from join_new_member(group, request, caller, request.member))


# -- JoinGroup: existing members --------------------------------------------------------------


def rejoin(group: Group, request: JoinGroup, caller: Caller) -> Handler:
    """A member joins again: a rebalance begins, unless the request changes nothing.

    After its rebalance has completed, a JoinGroup is a repetition and is answered with the current
    generation. In a stable group only the leader, which saw topics change, and a member with
    another subscription begin a rebalance.

    Kafka: `classicGroupJoinExistingMember`.
    """
    yield from validate_join(group, request)
    member = yield from validate_member(group, request.member, request.instance)
    completing = group.state is GroupState.COMPLETING_REBALANCE
    follower = group.state is GroupState.STABLE and member.id != group.leader
    if (completing or follower) and member.protocols == request.protocols:
        return Outcome(group, ((caller, join_response(group, member)),))
    return prepare_rebalance_or_complete_join(group.with_member(updated(member, request, caller)))


def updated(member: GroupMember, request: JoinGroup, caller: Caller) -> GroupMember:
    """The member with what its new JoinGroup says, which is parked.

    Kafka: `ClassicGroup.updateMember`.
    """
    return evolve(
        member,
        protocols=request.protocols,
        session_timeout=request.session_timeout,
        rebalance_timeout=request.rebalance_timeout,
        awaiting_join=caller,
    )


# -- JoinGroup: static members that restarted -------------------------------------------------


def replace_static_member(
    group: Group,
    request: JoinGroup,
    caller: Caller,
    new_id: str,
    keeps_generation_in: Collection[GroupState] = (GroupState.STABLE,),
) -> Handler:
    """A static member rejoins without its member id: it gets a new one, and the old is fenced.

    It inherits assignment and leadership. A stable group keeps its generation (KIP-345) as long as
    the selected protocol stays the same. A group that is completing a rebalance begins another:
    the leader assigns to the old id, so the new one would get nothing (KAFKA-9801).

    Kafka: `updateStaticMemberThenRebalanceOrCompleteJoin`.
    """
    yield from validate_join(group, request)
    replaced, fenced = with_new_id(group, request, caller, new_id)
    keeps_protocol = select_protocol(replaced.members) == group.protocol
    if group.state in keeps_generation_in and keeps_protocol:
        old = group.static_member(request.instance)
        assert old is not None, "only the instance id of a member is replaced"
        replacement = Replacement(new_id, old, group.leader, request.supports_skipping_assignment)
        return Outcome(replaced, fenced, replaced.stored(), replacement=replacement)
    return Outcome(replaced, fenced).then(prepare_rebalance_or_complete_join)


def with_new_id(
    group: Group, request: JoinGroup, caller: Caller, new_id: str
) -> tuple[Group, tuple[tuple[Caller, Response], ...]]:
    """The group with a static member's new id, and the responses that fence the old one.

    Kafka: `ClassicGroup.replaceStaticMember`.
    """
    old = group.static_member(request.instance)
    assert old is not None, "only the instance id of a member is replaced"
    fenced: list[tuple[Caller, Response]] = []
    if old.awaiting_join is not None:
        fenced.append((old.awaiting_join, JoinGroupResponse(Error.FENCED_INSTANCE_ID, old.id)))
    if old.awaiting_sync is not None:
        fenced.append((old.awaiting_sync, SyncGroupResponse(Error.FENCED_INSTANCE_ID)))
    is_new = old.is_new and group.settings.variant.replacement_stays_new
    new = evolve(updated(old, request, caller), id=new_id, is_new=is_new, awaiting_sync=None)
    return renamed(group, old, new), tuple(fenced)


def renamed(group: Group, old: GroupMember, new: GroupMember) -> Group:
    """The group with a member under another id; it comes last, and leads if the old one did."""
    others = tuple(m for m in group.members if m.id != old.id)
    leader = new.id if group.leader == old.id else group.leader
    return evolve(group, members=(*others, new), leader=leader)


def replacement_stored(
    group: Group, replacement: Replacement, error: Error = Error.NONE
) -> Outcome:
    """The write of a static member's new id has succeeded, or failed with this error.

    Only now does the member receive the current generation, unless it was answered or fenced
    meanwhile. If it leads, it must not assign. A client that does not understand this is answered
    that its old id leads, so that it does not assign either (KIP-814). If the write failed, the
    member gets its old id again, and a SyncGroup that it has sent meanwhile under the new one is
    fenced.

    Kafka: the append future of `updateStaticMemberThenRebalanceOrCompleteJoin`. If the member
    leads and a rebalance has begun meanwhile, `currentClassicGroupMembers` throws, so that the
    JoinGroup stays parked until the next generation begins. `ClassicGroup.replaceStaticMember`
    fences the SyncGroup.
    """
    member = group.member(replacement.member)
    if member is None:
        return Outcome(group)
    parked, leads = member.awaiting_join, member.id == group.leader
    if error is not Error.NONE:
        restored = evolve(
            replacement.old,
            is_new=False,
            awaiting_join=None,
            awaiting_sync=None,
            assignment=member.assignment,
        )
        reverted = renamed(group, member, restored)
        refused = evolve(
            join_response(group, member),
            error=error,
            member=NO_MEMBER_ID,
            members=(),
            leader=replacement.leader or NO_MEMBER_ID,
        )
        responses: tuple[tuple[Caller, Response], ...] = ()
        if parked is not None:
            responses = ((parked, refused),)
        if member.awaiting_sync is not None:
            responses += ((member.awaiting_sync, SyncGroupResponse(Error.FENCED_INSTANCE_ID)),)
        return Outcome(reverted, responses)
    skips = replacement.skips_assignment
    unreadable = skips and leads and group.state is GroupState.PREPARING_REBALANCE
    if parked is None or unreadable:
        return Outcome(group)
    if skips:
        response = join_response(group, member, skip_assignment=leads)
    else:
        response = evolve(
            join_response(group, member), leader=replacement.leader or NO_MEMBER_ID, members=()
        )
    return Outcome(group.with_member(evolve(member, awaiting_join=None)), ((parked, response),))


# -- LeaveGroup -------------------------------------------------------------------------------


def leave(group: Group, request: LeaveGroup, caller: Caller) -> Handler:
    """Members leave, so that the others need not wait for their sessions to expire.

    Each has its own result: an unknown member does not keep the others from leaving.

    Kafka: `classicGroupLeaveToClassicGroup`. Before version 3 the response has one error:
    `LeaveGroupResponse`.
    """
    yield from validate_alive(group)
    outcome, results = Outcome(group), []
    batches = [request.members]
    if group.settings.variant.leaves_in_turn:
        batches = [(member,) for member in request.members]
    for leaving in batches:
        before = outcome.group
        for identity in leaving:
            removed, error = remove_leaving(outcome.group, identity)
            responses = outcome.responses + removed.responses
            outcome = evolve(outcome, group=removed.group, responses=responses)
            results.append((identity, error))
        outcome = outcome.then(partial(rebalance_after_leave, before))
    if request.version >= 3:
        response = LeaveGroupResponse(members=tuple(results))
    else:
        response = LeaveGroupResponse(results[0][1])
    return evolve(outcome, responses=(*outcome.responses, (caller, response)))


def remove_leaving(group: Group, identity: MemberIdentity) -> tuple[Outcome, Error]:
    """Remove one member, or return the error that explains why not.

    A pending member is forgotten before its instance id is looked at.
    """
    if identity.member in group.pending:
        return Outcome(evolve(group, pending=group.pending - {identity.member})), Error.NONE
    if identity.instance is not None:
        static = group.static_member(identity.instance)
        if static is None:
            return Outcome(group), Error.UNKNOWN_MEMBER_ID
        if identity.member not in (NO_MEMBER_ID, static.id):
            return Outcome(group), Error.FENCED_INSTANCE_ID
        return remove_member(group, static), Error.NONE
    member = group.member(identity.member)
    if member is None:
        return Outcome(group), Error.UNKNOWN_MEMBER_ID
    return remove_member(group, member), Error.NONE


def rebalance_after_leave(before: Group, group: Group) -> Outcome:
    """If members have left, begin a rebalance or see whether one in progress is complete.

    In Java, pending members count among those that have left.
    """
    members_left, pending_left = group.members != before.members, group.pending != before.pending
    if not (members_left or pending_left):
        return Outcome(group)
    rebalances = members_left or group.settings.variant.pending_leave_rebalances
    if rebalances and group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return prepare_rebalance(group)
    return maybe_complete_join(group)
