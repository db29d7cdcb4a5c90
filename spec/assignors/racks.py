"""Racks: which members share a rack with which partitions (KIP-881).

A consumer can fetch from a replica on its own rack, and traffic between racks costs time and
money. So range and the sticky assignors prefer, among equals, a member on one of the
partition's racks; round-robin ignores racks. Every replica counts, in sync or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kspec.spec.core import Claims
from kspec.spec.vocabulary import Member, Racks, TopicPartition, racks_by_partition


@attrs.frozen
class Places:
    """The racks of members and replicas."""

    members: Mapping[str, str]
    """The rack of each member that has one; an empty name is none (`client.rack`)."""
    partitions: Mapping[TopicPartition, frozenset[str]]
    """The racks that hold a replica of each partition."""

    def are_relevant(self) -> bool:
        """Whether some member shares a rack with some partitions, but not with all.

        Where all partitions are on the same racks, no choice improves anything. Kafka:
        `AbstractPartitionAssignor.useRackAwareAssignment`.
        """
        everywhere = frozenset[str]().union(*self.partitions.values())
        alike = all(racks == everywhere for racks in self.partitions.values())
        return not alike and not everywhere.isdisjoint(self.members.values())

    def shares_rack(self, member: str, tp: TopicPartition) -> bool:
        """Whether the member is on a rack of the partition."""
        return self.members.get(member) in self.partitions.get(tp, ())

    def is_off_rack(self, member: str, tp: TopicPartition) -> bool:
        """Whether the member has a rack, and it is none of the partition's.

        Both answers are no for a member without a rack.
        """
        return member in self.members and not self.shares_rack(member, tp)

    def members_sharing_rack(self, tp: TopicPartition) -> int:
        """How many members share a rack with the partition, whatever they subscribe to."""
        return sum(self.shares_rack(member, tp) for member in self.members)


NOWHERE = Places({}, {})
"""No racks are known."""


def swaps_do_not_improve_racks(
    places: Places, assigned: Mapping[str, Iterable[TopicPartition]]
) -> Claims:
    """No partition is off its member's rack while a member on its racks has one off its own."""
    off = {m: [tp for tp in given if places.is_off_rack(m, tp)] for m, given in assigned.items()}
    for member, given in off.items():
        for tp in given:
            others = [m for m in off if off[m] and places.shares_rack(m, tp)]
            place = f"{tp} is off the rack of {member!r}; {' and '.join(others)} could swap"
            yield place, not others


def places_of(
    members: Mapping[str, Member], names: Iterable[str], racks: Racks, sizes: Mapping[str, int]
) -> Places:
    """The racks of these members, and of the replicas of these topics."""
    return Places(
        {name: rack for name in names if (rack := members[name].rack)},
        {
            TopicPartition(topic, index): names
            for topic, size in sizes.items()
            for index, names in enumerate(racks_by_partition(racks, topic, size))
        },
    )
