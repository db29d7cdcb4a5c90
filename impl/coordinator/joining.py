"""JoinGroup: new members, members that rejoin, and static members that restarted."""

from __future__ import annotations

import attrs

from kspec.impl.coordinator.rebalance import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    join_response,
    maybe_complete_join,
    prepare_rebalance_or_complete_join,
)
from kspec.impl.coordinator.responses import SYNC_RESPONSES, response_error
from kspec.impl.coordinator.shard import Caller, Shard
from kspec.impl.coordinator.state import Group, Member
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupMetadata,
    JoinGroup,
    JoinGroupResponse,
    OffsetsTopicRecord,
)


def join_group(
    shard: Shard, group_id: str, caller: Caller, request: JoinGroup
) -> JoinGroupResponse | None:
    """Answer a JoinGroup, or park it until the next generation begins."""
    group = shard.groups.get(group_id)
    if group is None:
        if request.member != NO_MEMBER_ID:
            return JoinGroupResponse(Error.UNKNOWN_MEMBER_ID, request.member)
        group = shard.create(group_id)
        if shard.settings.variant.stores_new_group:
            shard.write(OffsetsTopicRecord(group_id, None, GroupMetadata(), group.since))
    if not _has_room(shard, group, request.member):
        _reject_for_size(shard, group, request.member)
        return JoinGroupResponse(Error.GROUP_MAX_SIZE_REACHED)
    if not group.supports_protocols(request.protocol_type, request.protocols):
        return JoinGroupResponse(Error.INCONSISTENT_GROUP_PROTOCOL, request.member)
    if request.member == NO_MEMBER_ID:
        return _join_new_member(shard, group, caller, request)
    if request.member in group.pending_joins:
        if request.instance is not None:
            # Kafka throws IllegalStateException: static members are never pending.
            return JoinGroupResponse(Error.UNKNOWN_SERVER_ERROR)
        shard.remove_pending(group, request.member)
        _add_member(shard, group, caller, request, request.member)
        return None
    error = group.validate_member(request.member, request.instance)
    if error is not Error.NONE:
        return JoinGroupResponse(error, request.member)
    return _rejoin(shard, group, caller, request, group.members[request.member])


# -- room ----------------------------------------------------------------------------------


def _has_room(shard: Shard, group: Group, member_id: str) -> bool:
    """Whether `group.max.size` admits a member.

    During a rebalance, the members that have joined count: a group that is too large because the
    setting was changed shrinks to those that join first.
    """
    if group.state is EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING:
        return (member is not None and member.parked_join is not None) or (
            group.num_joined < shard.settings.max_size
        )
    return member is not None or len(group.members) < shard.settings.max_size


def _reject_for_size(shard: Shard, group: Group, member_id: str) -> None:
    """Remove a member for which there is no room, without a rebalance.

    In Java the others wait for the rebalance timeout even if it was the last missing member.
    """
    member = group.members.get(member_id)
    if member is not None:
        shard.remove(group, member)
    elif member_id in group.pending_joins:
        shard.remove_pending(group, member_id)
    if shard.settings.variant.refusal_completes_join:
        maybe_complete_join(shard, group)


# -- new members ---------------------------------------------------------------------------


def _join_new_member(
    shard: Shard, group: Group, caller: Caller, request: JoinGroup
) -> JoinGroupResponse | None:
    member_id = shard.new_member_id(request)
    if request.instance is not None:
        old_id = group.instances.get(request.instance)
        if old_id is not None:
            _replace_static_member(shard, group, caller, request, group.members[old_id], member_id)
            return None
    elif request.requires_known_member_id:
        # Otherwise clients that retry would fill the group with dead members (KIP-394).
        group.pending_joins.add(member_id)
        shard.timers.schedule(group.pending_timer(member_id), request.session_timeout)
        return JoinGroupResponse(Error.MEMBER_ID_REQUIRED, member_id)
    _add_member(shard, group, caller, request, member_id)
    return None


def _add_member(
    shard: Shard, group: Group, caller: Caller, request: JoinGroup, member_id: str
) -> None:
    member = _member(shard, group, request, member_id)
    member.is_new = True
    if group.state is PREPARING and group.previous_state is EMPTY:
        extends = shard.settings.variant.extends_every_initial_delay or group.generation == 0
        group.new_member_added = group.new_member_added or extends
    group.add(member, request.protocol_type)
    shard.park_join(group, member, caller)
    # Its first heartbeat restarts the timer with its session timeout, even if it is still new.
    shard.timers.schedule(member.timer, shard.settings.new_member_timeout)
    prepare_rebalance_or_complete_join(shard, group)


def _member(shard: Shard, group: Group, request: JoinGroup, member_id: str) -> Member:
    return Member(
        member_id,
        request.instance,
        request.session_timeout,
        request.rebalance_timeout,
        request.protocols,
        shard.member_timer(group, member_id),
    )


# -- existing members ----------------------------------------------------------------------


def _rejoin(
    shard: Shard, group: Group, caller: Caller, request: JoinGroup, member: Member
) -> JoinGroupResponse | None:
    """A repeated request is answered with the current generation; any other begins a rebalance.

    In a stable group the leader's JoinGroup always begins one, so that it can assign again.
    """
    leads = member.id == group.leader
    repeats = request.protocols == member.protocols
    if group.state is COMPLETING and repeats:
        return join_response(group, member, with_members=leads)
    if group.state is STABLE and repeats and not leads:
        return join_response(group, member, with_members=False)
    group.update_protocols(member, request.protocols)
    member.session_timeout = request.session_timeout
    member.rebalance_timeout = request.rebalance_timeout
    shard.park_join(group, member, caller)
    prepare_rebalance_or_complete_join(shard, group)
    return None


# -- static members that restarted ---------------------------------------------------------


def _replace_static_member(
    shard: Shard, group: Group, caller: Caller, request: JoinGroup, old: Member, member_id: str
) -> None:
    """A restarted static member gets a new id, and its old id is fenced."""
    old_leader = group.leader
    new = _member(shard, group, request, member_id)
    new.is_new = old.is_new and shard.settings.variant.replacement_stays_new
    _swap_member(shard, group, old, new)
    # The old session timeout counts until the member's next heartbeat.
    shard.timers.schedule(new.timer, old.session_timeout)
    shard.park_join(group, new, caller)
    if group.state is STABLE and group.select_protocol() == group.protocol:
        waiting = ReplacementWrite(group, old, new, old_leader or NO_MEMBER_ID, request)
        shard.write_and_wait(waiting, group.record())
    else:
        prepare_rebalance_or_complete_join(shard, group)


def _swap_member(shard: Shard, group: Group, old: Member, new: Member) -> None:
    """Replace a member by another, which comes last, but inherits assignment and leadership.

    A SyncGroup that is due from the old id stays due, although it cannot arrive: the group
    rebalances when the sync timeout expires.
    """
    leads, owes_sync = group.leader == old.id, old.id in group.pending_syncs
    new.assignment = old.assignment
    shard.answer_join(group, old, JoinGroupResponse(Error.FENCED_INSTANCE_ID, old.id))
    shard.answer_sync(old, SYNC_RESPONSES[Error.FENCED_INSTANCE_ID])
    shard.remove(group, old)
    group.add(new, group.protocol_type or "")
    if leads:
        group.leader = new.id
    if owes_sync:
        group.pending_syncs.add(old.id)


@attrs.frozen(eq=False)
class ReplacementWrite:
    """The write of a static member's new id in a stable group."""

    group: Group
    old: Member
    new: Member
    old_leader: str
    request: JoinGroup

    def stored(self, shard: Shard, ticket: int, error: Error) -> None:
        """Answer the member, unless it was answered since; or restore its old id."""
        group, new = self.group, self.new
        if group.members.get(new.id) is not new:
            return
        if error is not Error.NONE:
            self._restore(shard, response_error(error))
            return
        if new.parked_join is None:
            return
        leads = group.leader == new.id
        if self.request.supports_skipping_assignment:
            if leads and group.state is PREPARING:
                # Kafka cannot list the members while another rebalance is being prepared, and
                # throws: the JoinGroup stays parked.
                return
            answer = attrs.evolve(
                join_response(group, new, with_members=leads), skip_assignment=leads
            )
        else:
            # The client would assign again if the response named it as leader.
            answer = attrs.evolve(
                join_response(group, new, with_members=False), leader=self.old_leader
            )
        shard.answer_join(group, new, answer)

    def _restore(self, shard: Shard, error: Error) -> None:
        """Give the member its old id, timeouts and protocols again."""
        group, old = self.group, self.old
        refused = join_response(group, self.new, with_members=False)
        refused = attrs.evolve(refused, error=error, member=NO_MEMBER_ID, leader=self.old_leader)
        shard.answer_join(group, self.new, refused)
        old.is_new = False
        _swap_member(shard, group, self.new, old)
        shard.reschedule_session(old)
