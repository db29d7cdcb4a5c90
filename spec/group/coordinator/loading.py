"""Failover: what the old coordinator says to those who wait, and what the new one finds.

Kafka: `GroupMetadataManager.onLoaded` and `onClassicGroupUnloaded`.
"""

from __future__ import annotations

from spec.group.coordinator.group import Group, GroupMember, Outcome
from spec.group.coordinator.rebalance import prepare_rebalance
from spec.messages import (
    Answer,
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    Protocol,
    Settings,
    Synced,
)


def resign(group: Group) -> Outcome:
    """The partition of the offsets topic has another leader: whoever waits must look for it."""
    answers: list[tuple[object, Answer]] = []
    for m in group.members:
        if m.joining is not None:
            answers.append((m.joining, Joined(Error.NOT_COORDINATOR, m.id)))
        if m.syncing is not None:
            answers.append((m.syncing, Synced(Error.NOT_COORDINATOR)))
    dead = Group(state=GroupState.DEAD, previous=group.state, settings=group.settings)
    return Outcome(dead, tuple(answers))


def load(stored: GroupMetadata | None, settings: Settings) -> Group:
    """The group as the offsets topic has it: rounds that were not completed are lost.

    So a generation that nobody was assigned in may be counted a second time.
    """
    if stored is None or not stored.members:
        generation = 0 if stored is None else stored.generation
        kind = None if stored is None else stored.protocol_type
        return Group(generation=generation, protocol_type=kind, settings=settings)
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
    too_many = len(members) > settings.max_size
    return prepare_rebalance(loaded).group if too_many else loaded
