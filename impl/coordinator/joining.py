"""JoinGroup: who comes in, who comes back, and who comes back under another id."""

from __future__ import annotations

import attrs

from impl.coordinator.answers import JOINED, told_instead
from impl.coordinator.desk import Caller, Desk
from impl.coordinator.group import Group, Member, Parked
from impl.coordinator.rounds import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    has_synced,
    joined,
    rebalance,
)
from spec.messages import NOBODY, Error, GroupMetadata, Joined, JoinGroup, Record


def join_group(desk: Desk, group_id: str, caller: Caller, request: JoinGroup) -> Joined | None:
    """Answer a join, or keep it until the round is complete."""
    if not group_id:
        return JOINED[Error.INVALID_GROUP_ID]
    settings = desk.settings
    timeout = request.session_timeout
    if not settings.min_session_timeout <= timeout <= settings.max_session_timeout:
        return JOINED[Error.INVALID_SESSION_TIMEOUT]
    group = desk.groups.get(group_id)
    if group is None:
        if request.member != NOBODY:
            return JOINED[Error.UNKNOWN_MEMBER_ID]
        group = desk.create(group_id)
        desk.write(Record(group_id, None, GroupMetadata(), group.since))
    if not _has_room(desk, group, request.member):
        _turn_away(desk, group, request.member)
        return JOINED[Error.GROUP_MAX_SIZE_REACHED]
    if not group.can_agree(request.protocol_type, request.protocols):
        return JOINED[Error.INCONSISTENT_GROUP_PROTOCOL]
    if request.member == NOBODY:
        return _joins_without_id(desk, group, caller, request)
    if request.member in group.pending_joins and request.instance is None:
        desk.drop_pending(group, request.member)
        _is_added(desk, group, caller, request, request.member)
        return None
    error = group.why_not_member(request.member, request.instance)
    if error is not Error.NONE:
        return JOINED[error]
    return _joins_again(desk, group, caller, request, group.members[request.member])


# -- room ----------------------------------------------------------------------------------


def _has_room(desk: Desk, group: Group, member_id: str) -> bool:
    """Whether `group.max.size` admits a member.

    While a round goes on, those who have joined it count: the group may be larger than it
    should be since the setting was changed, and shrinks so to those who come first.
    """
    if group.state is EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING:
        return (member is not None and member.join is not None) or (
            group.joined < desk.settings.max_size
        )
    return member is not None or len(group.members) < desk.settings.max_size


def _turn_away(desk: Desk, group: Group, member_id: str) -> None:
    """Who finds no room is no member any more. Nothing else follows from it."""
    member = group.members.get(member_id)
    if member is not None:
        desk.remove(group, member)
    elif member_id in group.pending_joins:
        desk.drop_pending(group, member_id)


# -- new members ---------------------------------------------------------------------------


def _joins_without_id(
    desk: Desk, group: Group, caller: Caller, request: JoinGroup
) -> Joined | None:
    member_id = desk.new_member_id(request)
    if request.instance is not None:
        old_id = group.instances.get(request.instance)
        if old_id is not None:
            _is_replaced(desk, group, caller, request, group.members[old_id], member_id)
            return None
    elif request.can_take_an_id_first:
        # Clients that ask again and again would otherwise fill the group with ghosts (KIP-394).
        group.pending_joins.add(member_id)
        desk.timers.schedule(group.pending_timer(member_id), request.session_timeout)
        return Joined(Error.MEMBER_ID_REQUIRED, member_id)
    _is_added(desk, group, caller, request, member_id)
    return None


def _is_added(desk: Desk, group: Group, caller: Caller, request: JoinGroup, member_id: str) -> None:
    member = _member(desk, group, request, member_id)
    member.is_new = True
    if group.state is PREPARING and group.came_from is EMPTY:
        group.grew = True
    group.add(member, request.protocol_type)
    desk.park_join(group, member, caller)
    desk.expect_sign_of_life(member)
    rebalance(desk, group)


def _member(desk: Desk, group: Group, request: JoinGroup, member_id: str) -> Member:
    return Member(
        member_id,
        request.instance,
        request.session_timeout,
        request.rebalance_timeout,
        request.protocols,
        desk.member_timer(group, member_id),
    )


# -- members that are known ----------------------------------------------------------------


def _joins_again(
    desk: Desk, group: Group, caller: Caller, request: JoinGroup, member: Member
) -> Joined | None:
    """A member that repeats itself is told the current generation; else there is a new round.

    In a stable group the leader's join alone is reason enough: so it asks to assign again.
    """
    leads = member.id == group.leader
    repeats = request.protocols == member.protocols
    if group.state is COMPLETING and repeats:
        return joined(group, member, tell=leads)
    if group.state is STABLE and repeats and not leads:
        return joined(group, member, tell=False)
    group.says(member, request.protocols)
    member.session_timeout = request.session_timeout
    member.rebalance_timeout = request.rebalance_timeout
    desk.park_join(group, member, caller)
    rebalance(desk, group)
    return None


# -- static members that come back without their id ----------------------------------------


def _is_replaced(
    desk: Desk, group: Group, caller: Caller, request: JoinGroup, old: Member, member_id: str
) -> None:
    """The same instance, started again: it takes the place of its old id, which is fenced."""
    old_leader = group.leader
    new = _member(desk, group, request, member_id)
    _take_the_place(desk, group, old, new)
    desk.park_join(group, new, caller)
    if group.state is STABLE and group.vote() == group.protocol:
        assert new.join is not None
        waiting = Replacement(group, old, new, new.join, old_leader or NOBODY, request)
        desk.write_and_wait(waiting, group.record())
    else:
        rebalance(desk, group)


def _take_the_place(desk: Desk, group: Group, old: Member, new: Member) -> None:
    """Swap one member for another, which comes last, but inherits assignment and leadership."""
    leads = group.leader == old.id
    new.assignment = old.assignment
    has_synced(desk, group, old)
    desk.remove(group, old, Error.FENCED_INSTANCE_ID)
    group.add(new, group.protocol_type or "")
    if leads:
        group.leader = new.id
    desk.expect_sign_of_life(new)


@attrs.frozen(eq=False)
class Replacement:
    """A static member got a new id in a stable group, which is being written down."""

    group: Group
    old: Member
    new: Member
    parked: Parked
    old_leader: str
    request: JoinGroup

    def stored(self, desk: Desk, ticket: int, error: Error) -> None:
        """Tell the member its new id, or take it back; unless the group has moved on."""
        group, new = self.group, self.new
        if group.members.get(new.id) is not new or new.join is not self.parked:
            return
        if error is not Error.NONE:
            desk.answer_join(group, new, JOINED[told_instead(error)])
            _take_the_place(desk, group, new, self.old)
            return
        leads = group.leader == new.id
        if self.request.can_skip_assignment:
            answer = attrs.evolve(joined(group, new, tell=leads), skip_assignment=leads)
        else:
            # A client that would assign again if it heard that it leads.
            answer = attrs.evolve(joined(group, new, tell=False), leader=self.old_leader)
        desk.answer_join(group, new, answer)
