"""What the leader assigns: the partitions of the one topic, by Kafka's own assignors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

from kspec.spec.assignors.common import kafka_order
from kspec.spec.assignors.cooperative import assign_cooperative
from kspec.spec.assignors.range import assign_range
from kspec.spec.group.state import Owns
from kspec.spec.messages import NO_GENERATION
from kspec.spec.vocabulary import Assignment, Member

TOPIC = "topic"
"""The topic that every consumer of the model subscribes to."""

Subscriptions: TypeAlias = tuple[tuple[str, str | None, Hashable], ...]
"""What the leader learns about each member: id, instance id and subscription."""
Assignments: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""The partitions of each member, by member id."""
Assign: TypeAlias = Callable[[Subscriptions, int], Assignments]
"""An assignor: subscriptions and the number of partitions in, assignments out."""


def range_assignment(subscriptions: Subscriptions, partitions: int) -> Assignments:
    """Contiguous runs of partitions. Kafka: `RangeAssignor`, here `spec.assignors.range`."""
    members = {
        member: Member((TOPIC,), instance_id=instance) for member, instance, _ in subscriptions
    }
    return numbered(assign_range({TOPIC: partitions}, members))


def cooperative_assignment(subscriptions: Subscriptions, partitions: int) -> Assignments:
    """Balanced, with as few moves as possible; a partition that moves is first withheld.

    Kafka: `CooperativeStickyAssignor`, here `spec.assignors.cooperative`.
    """
    members = {
        member: Member(
            (TOPIC,),
            tuple((TOPIC, partition) for partition in claim.partitions),
            None if claim.generation == NO_GENERATION else claim.generation,
            instance,
        )
        for member, instance, claim in claims(subscriptions)
    }
    return numbered(assign_cooperative({TOPIC: partitions}, kafka_order(members)))


def claims(subscriptions: Subscriptions) -> list[tuple[str, str | None, Owns]]:
    """The same, with the claims of cooperative members."""
    return [
        (member, instance, owns)
        for member, instance, owns in subscriptions
        if isinstance(owns, Owns)
    ]


def numbered(assignment: Assignment) -> Assignments:
    """An assignment of one topic, by partition number and in a fixed order."""
    return tuple(
        (member, tuple(sorted(partition for _, partition in assignment[member])))
        for member in sorted(assignment)
    )
