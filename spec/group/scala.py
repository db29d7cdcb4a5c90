"""The Scala coordinator, where it differs from the Java one in this model.

`spec.messages.CoordinatorVariant` names every difference. Some cannot occur in this model: a group
has room for all its consumers, each LeaveGroup names one member, SyncGroups name no protocol, and a
group is not stored before it has assignments.
"""

from __future__ import annotations

from kspec.spec.core import Step, evolve, rule
from kspec.spec.group import coordinator, faults
from kspec.spec.group.state import (
    MODEL_SETTINGS,
    Inbound,
    World,
    consumers,
    member_ids,
    new_member_joins,
    pending_ids,
    replacement_joins,
)
from kspec.spec.messages import SCALA, Settings

SCALA_SETTINGS = evolve(MODEL_SETTINGS, variant=SCALA)
"""The configuration of this model, for the Scala coordinator."""


def configured(s: World, settings: Settings) -> World:
    """The state with another coordinator: for one step, so that states stay comparable."""
    return evolve(s, group=evolve(s.group, settings=settings))


@rule(by="coordinator", request=new_member_joins)
def scala_coordinator_adds_member(s: World, request: Inbound) -> Step[World]:
    """A client becomes a member; only in generation 0 does it extend the initial delay.

    Kafka: `GroupCoordinator.addMemberAndRebalance` (3.9.0).
    """
    after = yield from coordinator.coordinator_adds_member.body(
        configured(s, SCALA_SETTINGS), request
    )
    return configured(after, MODEL_SETTINGS)


@rule(by="coordinator", request=replacement_joins)
def scala_coordinator_replaces_static_member(s: World, request: Inbound) -> Step[World]:
    """A static member that restarted gets a new id; if the old one was new, so is the new one.

    Kafka: `GroupMetadata.replaceStaticMember` (3.9.0).
    """
    after = yield from coordinator.coordinator_replaces_static_member.body(
        configured(s, SCALA_SETTINGS), request
    )
    return configured(after, MODEL_SETTINGS)


@rule(by="coordinator", member=member_ids)
def scala_coordinator_expires_session(s: World, member: str) -> Step[World]:
    """A silent member is removed, which does not end the initial delay.

    Kafka: `GroupCoordinator.onExpireHeartbeat`, `InitialDelayedJoin.tryComplete` (3.9.0).
    """
    after = yield from coordinator.coordinator_expires_session.body(
        configured(s, SCALA_SETTINGS), member
    )
    return configured(after, MODEL_SETTINGS)


@rule(by="coordinator", member=pending_ids)
def scala_coordinator_expires_pending_member(s: World, member: str) -> Step[World]:
    """A pending member is forgotten, which does not end the initial delay.

    Kafka: `GroupCoordinator.removePendingMemberAndUpdateGroup` (3.9.0).
    """
    after = yield from coordinator.coordinator_expires_pending_member.body(
        configured(s, SCALA_SETTINGS), member
    )
    return configured(after, MODEL_SETTINGS)


@rule(by="consumer", consumer=consumers)
def consumer_leaves_scala_coordinator(s: World, consumer: int) -> Step[World]:
    """A consumer is closed; if it is a pending member, the others do not rebalance.

    Kafka: `GroupCoordinator.removePendingMemberAndUpdateGroup` (3.9.0).
    """
    after = yield from faults.consumer_closes.body(configured(s, SCALA_SETTINGS), consumer)
    return configured(after, MODEL_SETTINGS)
