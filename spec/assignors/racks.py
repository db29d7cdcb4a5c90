"""Racks: which members are near which partitions (KIP-881).

A consumer fetches from a replica on its own rack where there is one, and traffic between racks
costs time and money. So range and sticky, when they have a choice, give a partition to a member
on one of its racks; round-robin does not look. Every replica counts, in sync or not: who is out
of sync is expected back soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from spec.core import Claims
from spec.vocabulary import Member, Racks, TopicPartition, racks_by_partition


@attrs.frozen
class Places:
    """Where members and replicas stand."""

    members: Mapping[str, str]
    """The rack of each member that names one; an empty name is none."""
    partitions: Mapping[TopicPartition, frozenset[str]]
    """The racks that hold a replica of each partition."""

    def matter(self) -> bool:
        """Whether who is near is a question: some member is near some partitions, but not all.

        Kafka: `useRackAwareAssignment`. It compares the partitions with each other: on the same
        racks all of them are equally near to each member.
        """
        everywhere = frozenset[str]().union(*self.partitions.values())
        alike = all(racks == everywhere for racks in self.partitions.values())
        return not alike and not everywhere.isdisjoint(self.members.values())

    def is_near(self, member: str, tp: TopicPartition) -> bool:
        """Whether the member is on a rack of the partition."""
        return self.members.get(member) in self.partitions.get(tp, ())

    def is_far(self, member: str, tp: TopicPartition) -> bool:
        """Whether the member is on a rack, but on none of the partition's.

        A member that names no rack is neither near nor far.
        """
        return member in self.members and not self.is_near(member, tp)

    def many_near(self, tp: TopicPartition) -> int:
        """How many members are near the partition, whatever they subscribe to."""
        return sum(self.is_near(member, tp) for member in self.members)


NOWHERE = Places({}, {})
"""Nobody is near or far."""


def swaps_bring_nobody_nearer(
    places: Places, assigned: Mapping[str, Iterable[TopicPartition]]
) -> Claims:
    """Nobody far from a partition has it, if who is near it has another from afar to give."""
    far = {m: [tp for tp in given if places.is_far(m, tp)] for m, given in assigned.items()}
    for member, given in far.items():
        for tp in given:
            others = [m for m in far if far[m] and places.is_near(m, tp)]
            yield f"{tp} is far from {member!r}; {' and '.join(others)} would swap", not others


def places_of(
    members: Mapping[str, Member], names: Iterable[str], racks: Racks, sizes: Mapping[str, int]
) -> Places:
    """Where these members stand, and the replicas of these topics."""
    return Places(
        {name: rack for name in names if (rack := members[name].rack)},
        {
            TopicPartition(topic, index): names
            for topic, size in sizes.items()
            for index, names in enumerate(racks_by_partition(racks, topic, size))
        },
    )
