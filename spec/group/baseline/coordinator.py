"""Consistency of the group in its coordinator's memory."""

from __future__ import annotations

from kspec.spec.coordinator import Group
from kspec.spec.core import Claims, always
from kspec.spec.group.state import MODEL_SETTINGS, REBALANCE_TIMEOUT, World
from kspec.spec.messages import GroupState

IN_GENERATION = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""The states in which a generation has members."""


@always
def EmptyGroupHasNoMembers(s: World) -> Claims:
    """An empty group has neither members nor a protocol nor a leader."""
    g = s.group
    if g.state is GroupState.EMPTY:
        yield "coordinator", (g.members, g.protocol, g.leader) == ((), None, None)


@always
def DeadGroupHasNoState(s: World) -> Claims:
    """A coordinator that has unloaded the group remembers nothing."""
    if s.group.state is GroupState.DEAD:
        blank = Group(GroupState.DEAD, s.group.previous_state, settings=MODEL_SETTINGS)
        yield "coordinator", s.group == blank


@always
def ParkedJoinOnlyWhilePreparing(s: World) -> Claims:
    """Only a group that prepares a rebalance has parked JoinGroups and new members."""
    preparing = s.group.state is GroupState.PREPARING_REBALANCE
    for m in s.group.members:
        yield f"member {m.id}", m.awaiting_join is None or preparing
        yield f"member {m.id}, new", not m.is_new or m.awaiting_join is not None


@always
def PendingSyncExcludesParkedSyncs(s: World) -> Claims:
    """While a rebalance completes, the members without a parked SyncGroup are the pending ones."""
    completing = s.group.state is GroupState.COMPLETING_REBALANCE
    for m in s.group.members:
        yield f"member {m.id}", m.awaiting_sync is None or completing
    if completing:
        pending = {m.id for m in s.group.members if m.awaiting_sync is None}
        yield "coordinator", s.group.pending_sync == pending
    elif s.group.state is not GroupState.STABLE:
        yield "coordinator", not s.group.pending_sync


@always
def GenerationHasCommonProtocol(s: World) -> Claims:
    """A group in a generation has members, all of which support its protocol."""
    g = s.group
    if g.state in IN_GENERATION:
        yield "coordinator", bool(g.members) and g.protocol is not None
        yield "protocol", all(m.supports(str(g.protocol)) for m in g.members)
        yield "pending sync", g.pending_sync <= {m.id for m in g.members}


@always
def AssignmentsAreStoredAtOnce(s: World) -> Claims:
    """In the model no state lies between the write of assignments and its completion."""
    yield "coordinator", s.group.unstored is None


@always
def InitialDelayIsBounded(s: World) -> Claims:
    """The initial delay is extended only while it lasts, up to the longest rebalance timeout.

    If all members leave before it ends, what remains of it stays until a member joins.
    """
    g = s.group
    lasts = g.in_initial_delay or g.state is GroupState.EMPTY
    longest = REBALANCE_TIMEOUT - MODEL_SETTINGS.initial_rebalance_delay
    yield "remaining delay", 0 <= g.remaining_delay <= (longest if lasts else 0)
    yield "new member", lasts or not g.new_member_added


@always
def InitialDelayExtensionIsConsumed(s: World) -> Claims:
    """A member that joins in the initial delay extends it, unless nothing remains of it."""
    g = s.group
    if g.in_initial_delay and len(g.members) > 1 and not g.new_member_added:
        yield "coordinator", g.remaining_delay == 0


COORDINATOR = (
    EmptyGroupHasNoMembers,
    DeadGroupHasNoState,
    ParkedJoinOnlyWhilePreparing,
    PendingSyncExcludesParkedSyncs,
    GenerationHasCommonProtocol,
    AssignmentsAreStoredAtOnce,
    InitialDelayIsBounded,
    InitialDelayExtensionIsConsumed,
)
