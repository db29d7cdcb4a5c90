"""What a rebalance listener is told: which callbacks, in which order, with which partitions.

Kafka: `ConsumerCoordinator.onJoinPrepare`, `onJoinComplete`, `onLeavePrepare`.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import TypeAlias

import attrs

from spec.vocabulary import TopicPartition

Partitions: TypeAlias = frozenset[TopicPartition]


class Callback(StrEnum):
    """A method of the listener."""

    REVOKED = "onPartitionsRevoked"
    ASSIGNED = "onPartitionsAssigned"
    LOST = "onPartitionsLost"


@attrs.frozen
class Call:
    """One call of the listener."""

    callback: Callback
    partitions: Partitions


@attrs.frozen
class Told:
    """What a moment of a rebalance does to a consumer."""

    owned: Partitions
    """What it has afterwards."""
    calls: tuple[Call, ...] = ()
    rejoins: bool = False
    """Whether it asks for another rebalance, in which what it gave back is handed out."""


def before_join(
    owned: Partitions, subscribed: Collection[str], *, cooperative: bool, first: bool = False
) -> Told:
    """Before a consumer joins: an eager one gives all back, a cooperative one what it left.

    On its first join there is nothing to give back, and nothing is said.
    """
    if first:
        return Told(owned)
    if not cooperative:
        return Told(frozenset(), (Call(Callback.REVOKED, owned),))
    gone = frozenset(p for p in owned if p.topic not in subscribed)
    return Told(owned - gone, _if_any(Callback.REVOKED, gone))


def after_sync(owned: Partitions, assigned: Partitions, *, cooperative: bool) -> Told:
    """When the assignment has come: a cooperative consumer is only told the difference."""
    if not cooperative:
        return Told(assigned, (Call(Callback.ASSIGNED, assigned),))
    gone = owned - assigned
    new = Call(Callback.ASSIGNED, assigned - owned)
    return Told(assigned, (*_if_any(Callback.REVOKED, gone), new), rejoins=bool(gone))


def membership_is_lost(owned: Partitions) -> Told:
    """Its generation or member id is void: others may own by now what it had."""
    return Told(frozenset(), _if_any(Callback.LOST, owned))


def leaves(owned: Partitions, *, membership_is_void: bool) -> Told:
    """On close or unsubscribe: revoked, or lost if a rebalance went on without it."""
    callback = Callback.LOST if membership_is_void else Callback.REVOKED
    return Told(frozenset(), _if_any(callback, owned))


def sends_leave_group(instance: str | None) -> bool:
    """Whether the coordinator is told on close: a static member comes back, and says nothing."""
    return instance is None


def _if_any(callback: Callback, partitions: Partitions) -> tuple[Call, ...]:
    """A call, where there is anything to say."""
    return (Call(callback, partitions),) if partitions else ()
