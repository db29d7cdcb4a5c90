"""SyncGroup, Heartbeat and LeaveGroup: the requests of members."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import attrs

from kspec.impl.coordinator.rebalance import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    mark_synced,
    maybe_complete_join,
    prepare_rebalance,
    prepare_rebalance_or_complete_join,
    reject_syncs,
    sync_response,
)
from kspec.impl.coordinator.responses import (
    HEARTBEAT_RESPONSES,
    LEAVE_RESPONSES,
    SYNC_RESPONSES,
    response_error,
)
from kspec.impl.coordinator.shard import Caller, Shard
from kspec.impl.coordinator.state import Group
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    NO_MEMBER_ID,
    Error,
    Heartbeat,
    HeartbeatResponse,
    LeaveGroup,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroup,
    SyncGroupResponse,
)

# -- SyncGroup -----------------------------------------------------------------------------


def sync_group(
    shard: Shard, group_id: str, caller: Caller, request: SyncGroup
) -> SyncGroupResponse | None:
    """Answer a SyncGroup, or park it until the leader's assignments are stored."""
    group = shard.groups.get(group_id)
    if group is None:
        return SYNC_RESPONSES[Error.UNKNOWN_MEMBER_ID]
    error = group.validate_generation(request.member, request.instance, request.generation)
    if error is Error.NONE and not _same_protocol(shard, group, request):
        error = Error.INCONSISTENT_GROUP_PROTOCOL
    if error is Error.NONE and group.state is PREPARING:
        error = Error.REBALANCE_IN_PROGRESS
    if error is not Error.NONE:
        return SYNC_RESPONSES[error]
    member = group.members[request.member]
    mark_synced(shard, group, member)
    if group.state is STABLE:
        if shard.settings.variant.sync_renews_session:
            shard.reschedule_session(member)
        return sync_response(group, member)
    shard.park_sync(member, caller)
    if member.id == group.leader:
        given = dict(request.assignments)
        assignments = {name: given.get(name, NO_ASSIGNMENT) for name in group.members}
        waiting = AssignmentsWrite(group, group.generation, assignments)
        shard.write_and_wait(waiting, group.record(assignments.values()))
    return None


def _same_protocol(shard: Shard, group: Group, request: SyncGroup) -> bool:
    """Whether the request names the group's protocol; Java asks only where the group has one."""
    strict = shard.settings.variant.compares_missing_protocol
    pairs = (
        (request.protocol_type, group.protocol_type),
        (request.protocol, group.protocol),
    )
    for named, selected in pairs:
        if named is not None and named != selected and (strict or selected is not None):
            return False
    return True


@attrs.frozen(eq=False)
class AssignmentsWrite:
    """The write of the leader's assignments, which the group awaits."""

    group: Group
    generation: int
    assignments: Mapping[str, Hashable]

    def stored(self, shard: Shard, ticket: int, error: Error) -> None:
        """Send the assignments to the members, unless another rebalance has begun."""
        group = self.group
        if group.state is not COMPLETING or group.generation != self.generation:
            return
        if error is not Error.NONE:
            reject_syncs(shard, group, response_error(error))
            prepare_rebalance(shard, group)
            return
        group.transition_to(STABLE, shard.clock())
        for member in group.members.values():
            member.assignment = self.assignments[member.id]
            if member.parked_sync is not None:
                shard.answer_sync(member, sync_response(group, member))
                # The session timer of a parked member may have expired without effect.
                shard.reschedule_session(member)


def expire_pending_sync(shard: Shard, group: Group) -> None:
    """Remove members that have not sent SyncGroup, and rebalance (KAFKA-12890)."""
    if not group.pending_syncs:
        return
    for member_id in list(group.pending_syncs):
        member = group.members.get(member_id)
        if member is not None:  # else it is the old id of a static member
            shard.remove(group, member)
    prepare_rebalance(shard, group)


# -- Heartbeat -----------------------------------------------------------------------------

# Nearly all requests are heartbeats, and nearly all are answered with one of these.
NONE = Error.NONE
NO_ERROR = HEARTBEAT_RESPONSES[Error.NONE]
MUST_REJOIN = HEARTBEAT_RESPONSES[Error.REBALANCE_IN_PROGRESS]


def heartbeat(shard: Shard, group_id: str, caller: Caller, request: Heartbeat) -> HeartbeatResponse:
    """Restart a member's session timer; the response says whether it must join again."""
    group = shard.groups.get(group_id)
    if group is None:
        return HEARTBEAT_RESPONSES[Error.UNKNOWN_MEMBER_ID]
    error = group.validate_generation(request.member, request.instance, request.generation)
    if error is not NONE:
        return HEARTBEAT_RESPONSES[error]
    shard.reschedule_session(group.members[request.member])
    return MUST_REJOIN if group.state is PREPARING else NO_ERROR


# -- LeaveGroup ----------------------------------------------------------------------------


def leave_group(
    shard: Shard, group_id: str, caller: Caller, request: LeaveGroup
) -> LeaveGroupResponse:
    """Remove members one after the other; then the others rebalance once."""
    group = shard.groups.get(group_id)
    if group is None:
        unknown = tuple((who, Error.UNKNOWN_MEMBER_ID) for who in request.members)
        return _leave_response(request, unknown)
    variant = shard.settings.variant
    results = []
    any_removed = False
    for who in request.members:
        was_pending = who.member in group.pending_joins
        error = _remove_leaving(shard, group, who)
        results.append((who, error))
        if error is not Error.NONE:
            continue
        any_removed = any_removed or variant.pending_leave_rebalances or not was_pending
        if not variant.leaves_in_turn:
            continue
        if was_pending and not variant.pending_leave_rebalances:
            maybe_complete_join(shard, group)
        elif group.state is not EMPTY:
            prepare_rebalance_or_complete_join(shard, group)
    if any_removed and not variant.leaves_in_turn and group.state is not EMPTY:
        prepare_rebalance_or_complete_join(shard, group)
    return _leave_response(request, tuple(results))


def _leave_response(
    request: LeaveGroup, results: tuple[tuple[MemberIdentity, Error], ...]
) -> LeaveGroupResponse:
    """The result of each member; before version 3 there is one member and one error."""
    if request.version < 3:
        return LEAVE_RESPONSES[results[0][1]]
    return LeaveGroupResponse(members=results)


def _remove_leaving(shard: Shard, group: Group, who: MemberIdentity) -> Error:
    member_id = who.member
    if member_id in group.pending_joins:
        shard.remove_pending(group, member_id)
        return Error.NONE
    if member_id == NO_MEMBER_ID and who.instance is not None:
        # An administrator removes a static member without knowing its id.
        member_id = group.instances.get(who.instance, NO_MEMBER_ID)
    error = group.validate_member(member_id, who.instance)
    if error is Error.NONE:
        shard.remove(group, group.members[member_id])
    return error
