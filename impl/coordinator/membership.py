"""SyncGroup, Heartbeat and LeaveGroup: what members ask once they are in, and how they go."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import attrs

from impl.coordinator.answers import BEATEN, SYNCED, told_instead
from impl.coordinator.desk import Caller, Desk
from impl.coordinator.group import Group
from impl.coordinator.rounds import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    fail_syncs,
    has_synced,
    prepare,
    rebalance,
    synced,
)
from spec.messages import (
    NO_ASSIGNMENT,
    NOBODY,
    Beaten,
    Error,
    Heartbeat,
    LeaveGroup,
    Leaver,
    Left,
    Synced,
    SyncGroup,
)

# -- SyncGroup -----------------------------------------------------------------------------


def sync_group(desk: Desk, group_id: str, caller: Caller, request: SyncGroup) -> Synced | None:
    """Give a member its assignment, or let it wait for the leader's."""
    group = desk.groups.get(group_id)
    if group is None:
        return SYNCED[Error.UNKNOWN_MEMBER_ID]
    error = group.why_not(request.member, request.instance, request.generation)
    if error is Error.NONE and not _same_protocol(group, request):
        error = Error.INCONSISTENT_GROUP_PROTOCOL
    if error is Error.NONE and group.state is PREPARING:
        error = Error.REBALANCE_IN_PROGRESS
    if error is not Error.NONE:
        return SYNCED[error]
    member = group.members[request.member]
    has_synced(desk, group, member)
    if group.state is STABLE:
        return synced(group, member)
    desk.park_sync(member, caller)
    if member.id == group.leader:
        given = dict(request.assignments)
        assignments = {name: given.get(name, NO_ASSIGNMENT) for name in group.members}
        waiting = Assigned(group, group.generation, assignments)
        desk.write_and_wait(waiting, group.record(assignments.values()))
    return None


def _same_protocol(group: Group, request: SyncGroup) -> bool:
    return request.protocol_type in (None, group.protocol_type) and request.protocol in (
        None,
        group.protocol,
    )


@attrs.frozen(eq=False)
class Assigned:
    """The leader has assigned, which is being written down; the group waits for that."""

    group: Group
    generation: int
    assignments: Mapping[str, Hashable]

    def stored(self, desk: Desk, ticket: int, error: Error) -> None:
        """Hand the assignments out; unless there was another rebalance in the meantime."""
        group = self.group
        if group.state is not COMPLETING or group.generation != self.generation:
            return
        if error is not Error.NONE:
            fail_syncs(desk, group, told_instead(error))
            prepare(desk, group)
            return
        group.becomes(STABLE, desk.clock())
        for member in group.members.values():
            member.assignment = self.assignments[member.id]
            if member.sync is not None:
                desk.answer_sync(member, synced(group, member))
                # Nobody misses a member that waits, so it may have gone off.
                desk.expect_sign_of_life(member)


def syncs_are_overdue(desk: Desk, group: Group) -> None:
    """Members that beat but never sync would hold everybody up for ever (KAFKA-12890)."""
    if not group.pending_syncs:
        return
    for member_id in list(group.pending_syncs):
        desk.remove(group, group.members[member_id])
    prepare(desk, group)


# -- Heartbeat -----------------------------------------------------------------------------

# Nearly all requests are heartbeats, and nearly all are answered so.
NONE = Error.NONE
ALL_IS_WELL = BEATEN[Error.NONE]
JOIN_AGAIN = BEATEN[Error.REBALANCE_IN_PROGRESS]


def heartbeat(desk: Desk, group_id: str, caller: Caller, request: Heartbeat) -> Beaten:
    """A member is alive; it learns whether it should join again."""
    group = desk.groups.get(group_id)
    if group is None:
        return BEATEN[Error.UNKNOWN_MEMBER_ID]
    error = group.why_not(request.member, request.instance, request.generation)
    if error is not NONE:
        return BEATEN[error]
    desk.expect_sign_of_life(group.members[request.member])
    return JOIN_AGAIN if group.state is PREPARING else ALL_IS_WELL


# -- LeaveGroup ----------------------------------------------------------------------------


def leave_group(desk: Desk, group_id: str, caller: Caller, request: LeaveGroup) -> Left:
    """Let members go, one after the other; then the others rebalance once."""
    group = desk.groups.get(group_id)
    if group is None:
        return Left(leavers=tuple((who, Error.UNKNOWN_MEMBER_ID) for who in request.leavers))
    fates = tuple((who, _goes(desk, group, who)) for who in request.leavers)
    somebody_went = any(fate is Error.NONE for _, fate in fates)
    if somebody_went and group.state is not EMPTY:
        rebalance(desk, group)
    return Left(leavers=fates)


def _goes(desk: Desk, group: Group, who: Leaver) -> Error:
    member_id = who.member
    if member_id in group.pending_joins:
        desk.drop_pending(group, member_id)
        return Error.NONE
    if member_id == NOBODY and who.instance is not None:
        # An administrator removes a static member, without knowing its id.
        member_id = group.instances.get(who.instance, NOBODY)
    error = group.why_not_member(member_id, who.instance)
    if error is Error.NONE:
        desk.remove(group, group.members[member_id])
    return error
