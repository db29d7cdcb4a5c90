"""Range where racks are relevant: shares keep their size, but need not be contiguous.

Members first get partitions on their racks, up to their shares, then the rest. Of co-partitioned
topics, partition i still goes to one member, so it is assigned by rack only where that member
is on a rack of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from kspec.spec.assignors.racks import Places
from kspec.spec.java import utf16
from kspec.spec.vocabulary import TopicPartition


@attrs.define
class TopicShare:
    """The assignment of one topic under construction. Kafka: `TopicAssignmentState`."""

    topic: str
    """Its name."""
    places: Places
    """The racks of its subscribers and replicas."""
    free: list[TopicPartition]
    """The unassigned partitions, ascending."""
    low: int
    """How many partitions every subscriber gets."""
    above: int
    """How many subscribers may still get one more."""
    given: dict[str, list[TopicPartition]]
    """The partitions of each subscriber so far, in the order of range."""

    @classmethod
    def begin(
        cls, partitions: Sequence[TopicPartition], names: list[str], places: Places
    ) -> TopicShare:
        """The state before any partition is assigned."""
        low, above = divmod(len(partitions), len(names))
        topic = partitions[0].topic
        return cls(topic, places, list(partitions), low, above, {name: [] for name in names})

    def room(self, member: str) -> int:
        """How many more partitions a member may get now. Kafka: `maxAssignable`."""
        return max(0, self.low + (self.above > 0) - len(self.given[member]))

    def give(self, member: str, partitions: Sequence[TopicPartition]) -> None:
        """Assign unassigned partitions to a member that has room for them."""
        if partitions:
            self.given[member] += partitions
            self.free = [tp for tp in self.free if tp not in partitions]
            self.above -= len(self.given[member]) > self.low

    def deal(self, *, off_rack: bool) -> None:
        """Assign to each subscriber in turn as many as it has room for. Kafka: `assignRanges`."""
        for member in self.given:
            suitable = [
                tp for tp in self.free if off_rack or not self.places.is_off_rack(member, tp)
            ]
            self.give(member, suitable[: self.room(member)])


def assign_by_rack(shares: Sequence[TopicShare]) -> dict[str, list[TopicPartition]]:
    """The partitions of each subscriber over all topics, sorted.

    Quirk: once racks are relevant to one topic, co-partitioned topics are assigned by rack, even
    where racks are not relevant to them. Kafka: `RangeAssignor.assignWithRackMatching`.
    """
    for alike in copartitioned(shares):
        if len(alike) > 1:
            deal_together(alike)
        elif alike[0].places.are_relevant():
            alike[0].deal(off_rack=False)
    assigned: dict[str, list[TopicPartition]] = {}
    for share in shares:
        share.deal(off_rack=True)
        for member, given in share.given.items():
            assigned.setdefault(member, []).extend(given)
    for given in assigned.values():
        given.sort(key=lambda tp: (utf16(tp.topic), tp.partition))
    return assigned


def copartitioned(shares: Iterable[TopicShare]) -> Iterable[list[TopicShare]]:
    """Group the topics by number of partitions and subscribers."""
    alike: dict[tuple[int, frozenset[str]], list[TopicShare]] = {}
    for share in shares:
        alike.setdefault((len(share.free), frozenset(share.given)), []).append(share)
    return alike.values()


def deal_together(shares: Sequence[TopicShare]) -> None:
    """Assign partition i of every topic to the first member with room that is off no rack of it.

    Kafka: `RangeAssignor.assignCoPartitionedWithRackMatching`.
    """
    for index in range(len(shares[0].free)):
        row = [(share, TopicPartition(share.topic, index)) for share in shares]
        for member in shares[0].given:
            if all(
                share.room(member) and not share.places.is_off_rack(member, tp) for share, tp in row
            ):
                for share, tp in row:
                    share.give(member, [tp])
                break
