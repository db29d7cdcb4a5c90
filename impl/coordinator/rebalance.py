"""A rebalance: how it begins, and how the next generation begins."""

from __future__ import annotations

from kspec.impl.coordinator.responses import SYNC_RESPONSES
from kspec.impl.coordinator.shard import Shard
from kspec.impl.coordinator.state import Group, Member
from kspec.impl.coordinator.timers import TimerKind
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupState,
    JoinGroupResponse,
    SyncGroupResponse,
)

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


def prepare_rebalance_or_complete_join(shard: Shard, group: Group) -> None:
    """Begin a rebalance, or complete the one in progress if no one else is awaited."""
    if group.state is PREPARING:
        maybe_complete_join(shard, group)
    else:
        prepare_rebalance(shard, group)


def prepare_rebalance(shard: Shard, group: Group) -> None:
    """Begin a rebalance; a group that was empty waits for the initial delay."""
    if group.state is COMPLETING:
        reject_syncs(shard, group, Error.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    shard.timers.cancel(group.timer(TimerKind.SYNC))
    group.transition_to(PREPARING, shard.clock())
    if group.previous_state is EMPTY:
        delay = shard.settings.initial_rebalance_delay
        if not shard.settings.new_member_mark_lasts:
            group.new_member_added = False
        group.delay = delay
        group.remaining_delay = max(group.rebalance_timeout() - delay, 0)
        shard.timers.schedule(group.timer(TimerKind.INITIAL_DELAY), delay)
    elif group.all_members_joined():
        complete_join(shard, group)
    else:
        shard.timers.schedule(group.timer(TimerKind.JOIN), group.rebalance_timeout())


def end_initial_delay(shard: Shard, group: Group) -> None:
    """Complete the rebalance, or extend the delay if members are still joining."""
    if group.new_member_added and group.remaining_delay > 0:
        elapsed = group.delay
        group.new_member_added = False
        group.delay = min(shard.settings.initial_rebalance_delay, group.remaining_delay)
        group.remaining_delay = max(group.remaining_delay - elapsed, 0)
        shard.timers.schedule(group.timer(TimerKind.INITIAL_DELAY), group.delay)
    else:
        complete_join(shard, group)


def maybe_complete_join(shard: Shard, group: Group) -> None:
    """Begin the next generation if all have joined, but not during the initial delay."""
    if (
        group.state is PREPARING
        and group.previous_state is not EMPTY
        and group.all_members_joined()
    ):
        complete_join(shard, group)


def complete_join(shard: Shard, group: Group) -> None:
    """Begin the next generation; silent dynamic members are removed, static ones stay."""
    shard.timers.cancel(group.timer(TimerKind.INITIAL_DELAY))
    shard.timers.cancel(group.timer(TimerKind.JOIN))
    if group.num_joined < len(group.members):
        silent = [m for m in group.members.values() if m.parked_join is None and m.instance is None]
        for member in silent:
            shard.remove(group, member)
    if not group.members:
        _become_empty(shard, group)
    elif group.num_joined == 0:
        # Only silent static members remain, none of which could assign: wait for them.
        shard.timers.schedule(group.timer(TimerKind.JOIN), group.rebalance_timeout())
    else:
        _begin_generation(shard, group)


def _become_empty(shard: Shard, group: Group) -> None:
    group.generation += 1
    group.protocol = None
    shard.note_subscriptions(group)
    group.transition_to(EMPTY, shard.clock())
    shard.write(group.record())


def _begin_generation(shard: Shard, group: Group) -> None:
    """Begin the next generation: answer every parked JoinGroup."""
    members = group.members
    if group.leader is None or members[group.leader].parked_join is None:
        group.leader = next(
            member.id for member in members.values() if member.parked_join is not None
        )
    group.generation += 1
    group.protocol = group.select_protocol()
    shard.note_subscriptions(group)
    group.transition_to(COMPLETING, shard.clock())
    group.pending_syncs = set(members)
    for member in members.values():
        shard.answer_join(
            group, member, join_response(group, member, with_members=member.id == group.leader)
        )
        member.is_new = False
        shard.reschedule_session(member)
    if shard.settings.pending_sync_timer:
        shard.timers.schedule(group.timer(TimerKind.SYNC), group.rebalance_timeout())


def join_response(group: Group, member: Member, *, with_members: bool) -> JoinGroupResponse:
    """The response that names the current generation, with or without the list of members."""
    return JoinGroupResponse(
        member=member.id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or "",
        members=group.subscriptions() if with_members else (),
    )


def remove_and_rebalance(shard: Shard, group: Group, member: Member) -> None:
    """Remove a member whose session has expired."""
    shard.remove(group, member)
    if group.state is PREPARING:
        complete_join_after_expiry(shard, group)
    else:
        prepare_rebalance(shard, group)


def complete_join_after_expiry(shard: Shard, group: Group) -> None:
    """Begin the next generation if all have joined; in Java this may end the initial delay."""
    if not shard.settings.variant.expiry_ends_initial_delay:
        maybe_complete_join(shard, group)
    elif group.state is PREPARING and group.all_members_joined():
        complete_join(shard, group)


# -- assignments ---------------------------------------------------------------------------


def sync_response(group: Group, member: Member) -> SyncGroupResponse:
    """The response that carries a member's assignment."""
    return SyncGroupResponse(
        assignment=member.assignment, protocol_type=group.protocol_type, protocol=group.protocol
    )


def reject_syncs(shard: Shard, group: Group, error: Error) -> None:
    """Abandon this generation: reset the assignments, and answer parked SyncGroups."""
    for member in group.members.values():
        member.assignment = NO_ASSIGNMENT
        if member.parked_sync is not None:
            shard.answer_sync(member, SYNC_RESPONSES[error])
            shard.reschedule_session(member)


def mark_synced(shard: Shard, group: Group, member: Member) -> None:
    """Note that a member has sent SyncGroup; after the last one, cancel the timer."""
    group.pending_syncs.discard(member.id)
    if not group.pending_syncs:
        shard.timers.cancel(group.timer(TimerKind.SYNC))
