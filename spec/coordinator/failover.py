"""Failover: what a coordinator answers when it unloads a group, and what its successor loads.

Kafka: `GroupMetadataManager.onUnloaded`, `replay` and `onLoaded`.
"""

from __future__ import annotations

from kspec.spec.coordinator.rebalance import prepare_rebalance
from kspec.spec.coordinator.state import Caller, Group, GroupMember, Outcome
from kspec.spec.messages import (
    Error,
    GroupMetadata,
    GroupState,
    JoinGroupResponse,
    Protocol,
    Response,
    Settings,
    SyncGroupResponse,
)


def unload(group: Group) -> Outcome:
    """The partition of the offsets topic has another leader: parked requests are answered.

    Kafka: `onUnloaded`, NOT_COORDINATOR.
    """
    responses: list[tuple[Caller, Response]] = []
    for m in group.members:
        if m.awaiting_join is not None:
            responses.append((m.awaiting_join, JoinGroupResponse(Error.NOT_COORDINATOR, m.id)))
        if m.awaiting_sync is not None:
            responses.append((m.awaiting_sync, SyncGroupResponse(Error.NOT_COORDINATOR)))
    dead = Group(state=GroupState.DEAD, previous_state=group.state, settings=group.settings)
    return Outcome(dead, tuple(responses))


def load(stored: GroupMetadata | None, settings: Settings) -> Group:
    """The group as the offsets topic has it; a rebalance that was in progress is lost.

    So the number of a generation that was never assigned may be used again.

    Kafka: `replay` of the group's record, then `onLoaded`.
    """
    stored = stored or GroupMetadata()
    if not stored.members:
        return Group(
            generation=stored.generation, protocol_type=stored.protocol_type, settings=settings
        )
    members = tuple(
        GroupMember(
            id=m.id,
            instance=m.instance,
            protocols=(Protocol(stored.protocol or "", m.subscription),),
            session_timeout=m.session_timeout,
            rebalance_timeout=m.rebalance_timeout,
            is_new=False,
            assignment=m.assignment,
        )
        for m in stored.members
    )
    loaded = Group(
        state=GroupState.STABLE,
        generation=stored.generation,
        protocol_type=stored.protocol_type,
        protocol=stored.protocol,
        leader=stored.leader,
        members=members,
        settings=settings,
    )
    too_large = len(members) > settings.max_size
    return prepare_rebalance(loaded).group if too_large else loaded
