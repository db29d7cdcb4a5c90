"""A rebalance: how a round of joins begins, goes on, and is completed."""

from __future__ import annotations

from impl.coordinator.answers import SYNCED
from impl.coordinator.desk import Desk
from impl.coordinator.group import Group, Member
from impl.coordinator.timers import TimerKind
from spec.messages import NO_ASSIGNMENT, Error, GroupState, Joined, Synced

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


def rebalance(desk: Desk, group: Group) -> None:
    """The group's members changed, or what they want: begin a round, or see whether it is done."""
    if group.state is PREPARING:
        try_complete(desk, group)
    else:
        prepare(desk, group)


def prepare(desk: Desk, group: Group) -> None:
    """Begin a round. Out of an empty group, others are given time to come."""
    if group.state is COMPLETING:
        fail_syncs(desk, group, Error.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    desk.timers.cancel(group.timer(TimerKind.SYNC))
    group.becomes(PREPARING, desk.clock())
    if group.came_from is EMPTY:
        delay = desk.settings.initial_rebalance_delay
        group.grew = False
        group.delay = delay
        group.delay_left = max(group.rebalance_timeout() - delay, 0)
        desk.timers.schedule(group.timer(TimerKind.INITIAL_DELAY), delay)
    elif group.everybody_joined():
        complete(desk, group)
    else:
        desk.timers.schedule(group.timer(TimerKind.JOIN), group.rebalance_timeout())


def initial_delay_is_over(desk: Desk, group: Group) -> None:
    """Wait on while members come, but not for longer than the slowest of the first may take."""
    if group.grew and group.delay_left > 0:
        elapsed = group.delay
        group.grew = False
        group.delay = min(desk.settings.initial_rebalance_delay, group.delay_left)
        group.delay_left = max(group.delay_left - elapsed, 0)
        desk.timers.schedule(group.timer(TimerKind.INITIAL_DELAY), group.delay)
    else:
        complete(desk, group)


def try_complete(desk: Desk, group: Group) -> None:
    """Complete the round if nobody is missing; but the initial delay is waited for."""
    if group.state is PREPARING and group.came_from is not EMPTY and group.everybody_joined():
        complete(desk, group)


def complete(desk: Desk, group: Group) -> None:
    """End the round, with those who came; silent static members stay."""
    desk.timers.cancel(group.timer(TimerKind.INITIAL_DELAY))
    desk.timers.cancel(group.timer(TimerKind.JOIN))
    if group.joined < len(group.members):
        silent = [m for m in group.members.values() if m.join is None and m.instance is None]
        for member in silent:
            desk.remove(group, member)
    if not group.members:
        _becomes_empty(desk, group)
    elif group.joined == 0:
        # Only silent static members are left: nobody could assign. Wait until they come or go.
        desk.timers.schedule(group.timer(TimerKind.JOIN), group.rebalance_timeout())
    else:
        _hand_out_generation(desk, group)


def _becomes_empty(desk: Desk, group: Group) -> None:
    group.generation += 1
    group.protocol = None
    group.becomes(EMPTY, desk.clock())
    desk.write(group.record())


def _hand_out_generation(desk: Desk, group: Group) -> None:
    """The next generation begins: everybody is told of it, the leader also of the others."""
    members = group.members
    if group.leader is None or members[group.leader].join is None:
        group.leader = next(member.id for member in members.values() if member.join is not None)
    group.generation += 1
    group.protocol = group.vote()
    group.becomes(COMPLETING, desk.clock())
    group.pending_syncs = set(members)
    for member in members.values():
        desk.answer_join(group, member, joined(group, member, tell=member.id == group.leader))
        member.is_new = False
        desk.expect_sign_of_life(member)
    if desk.settings.pending_sync_timer:
        desk.timers.schedule(group.timer(TimerKind.SYNC), group.rebalance_timeout())


def joined(group: Group, member: Member, *, tell: bool) -> Joined:
    """The current generation, for this member; with what is known of the others, or without."""
    return Joined(
        member=member.id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or "",
        members=group.subscriptions() if tell else (),
    )


def leaves(desk: Desk, group: Group, member: Member) -> None:
    """A member is missed, so the group does without it. This may end the initial delay early."""
    desk.remove(group, member)
    if group.state is not PREPARING:
        prepare(desk, group)
    elif group.everybody_joined():
        complete(desk, group)


# -- assignments ---------------------------------------------------------------------------


def synced(group: Group, member: Member) -> Synced:
    """A member's assignment."""
    return Synced(
        assignment=member.assignment, protocol_type=group.protocol_type, protocol=group.protocol
    )


def fail_syncs(desk: Desk, group: Group, error: Error) -> None:
    """There will be no assignment in this generation: blank what there was, and say so."""
    for member in group.members.values():
        member.assignment = NO_ASSIGNMENT
        if member.sync is not None:
            desk.answer_sync(member, SYNCED[error])
            desk.expect_sign_of_life(member)


def has_synced(desk: Desk, group: Group, member: Member) -> None:
    """One less to wait for; after the last one, the timer has nothing to do."""
    group.pending_syncs.discard(member.id)
    if not group.pending_syncs:
        desk.timers.cancel(group.timer(TimerKind.SYNC))
