"""The callbacks of a rebalance listener: which, in which order, with which partitions.

Kafka: `ConsumerCoordinator`, which calls `ConsumerRebalanceListenerInvoker`.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import TypeAlias

import attrs

from kspec.spec.vocabulary import TopicPartition

Partitions: TypeAlias = frozenset[TopicPartition]


class Callback(StrEnum):
    """A method of `ConsumerRebalanceListener`."""

    REVOKED = "onPartitionsRevoked"
    ASSIGNED = "onPartitionsAssigned"
    LOST = "onPartitionsLost"


@attrs.frozen
class Call:
    """One call of the listener."""

    callback: Callback
    """The method that is called."""
    partitions: Partitions
    """Its argument."""


@attrs.frozen
class Effect:
    """The effect of one step of a rebalance on a consumer."""

    owned: Partitions
    """The partitions that it owns afterwards."""
    calls: tuple[Call, ...] = ()
    """The calls of its listener, in order."""
    rejoins: bool = False
    """Whether it joins again, so that the partitions it revoked are assigned to others."""


def before_join(
    owned: Partitions, subscribed: Collection[str], *, cooperative: bool, first: bool = False
) -> Effect:
    """Before a join, an eager consumer revokes everything, a cooperative one unsubscribed topics.

    A consumer that joins for the first time owns nothing, and its listener is not called.
    Kafka: `ConsumerCoordinator.onJoinPrepare`.
    """
    if first:
        return Effect(owned)
    if not cooperative:
        return Effect(frozenset(), (Call(Callback.REVOKED, owned),))
    revoked = frozenset(p for p in owned if p.topic not in subscribed)
    return Effect(owned - revoked, _unless_empty(Callback.REVOKED, revoked))


def after_sync(owned: Partitions, assigned: Partitions, *, cooperative: bool) -> Effect:
    """With the assignment, a cooperative consumer revokes what it lost, then adds what is new.

    onPartitionsAssigned is called even where nothing is new. Kafka:
    `ConsumerCoordinator.onJoinComplete`.
    """
    added = Call(Callback.ASSIGNED, assigned - owned)
    if not cooperative:
        return Effect(assigned, (added,))
    revoked = owned - assigned
    calls = (*_unless_empty(Callback.REVOKED, revoked), added)
    return Effect(assigned, calls, rejoins=bool(revoked))


def loses_membership(owned: Partitions) -> Effect:
    """The member id or generation was reset: others may already own the partitions.

    Kafka: `ConsumerCoordinator.onJoinPrepare`, where the generation is NO_GENERATION.
    """
    return Effect(frozenset(), _unless_empty(Callback.LOST, owned))


def leaves_group(owned: Partitions, *, membership_is_void: bool) -> Effect:
    """On close or unsubscribe, the partitions are revoked, or lost where membership is void.

    Membership is void also while a rebalance is in progress. Kafka:
    `ConsumerCoordinator.onLeavePrepare`.
    """
    callback = Callback.LOST if membership_is_void else Callback.REVOKED
    return Effect(frozenset(), _unless_empty(callback, owned))


def sends_leave_group(instance: str | None) -> bool:
    """Whether the consumer sends LeaveGroup on close: a static member does not.

    Kafka: `AbstractCoordinator.maybeLeaveGroup`.
    """
    return instance is None


def _unless_empty(callback: Callback, partitions: Partitions) -> tuple[Call, ...]:
    """The call, unless it would have no partitions."""
    return (Call(callback, partitions),) if partitions else ()
