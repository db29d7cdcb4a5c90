"""Partition movements so far, so that two members do not swap partitions of one topic.

Moving p from a to b and q, of the same topic, from b to a costs two moves and changes no load.
So where q has moved from b to a and p is to move from a to b, q returns instead. Kafka:
`AbstractStickyAssignor.PartitionMovements`.
"""

from __future__ import annotations

import attrs

from kspec.spec.java import HashOrder, partition_hash
from kspec.spec.vocabulary import TopicPartition


@attrs.define
class Movements:
    """The net movements since balancing began."""

    route: dict[TopicPartition, tuple[str, str]] = attrs.field(factory=dict)
    """The source and destination of each partition that moved, over all its moves."""
    moved: dict[tuple[str, str, str], HashOrder[TopicPartition]] = attrs.field(factory=dict)
    """The same by topic, source and destination, in the iteration order of Kafka's sets."""

    def stands_for(self, tp: TopicPartition, source: str, destination: str) -> TopicPartition:
        """The partition to move in place of `tp`. Kafka: `getTheActualPartitionToBeMoved`."""
        if tp in self.route:
            source, _ = self.route[tp]
        opposite = self.moved.get((tp.topic, destination, source))
        return opposite.first() if opposite else tp

    def record(self, tp: TopicPartition, source: str, destination: str) -> None:
        """Record a move; a partition that returns to its source has not moved.

        Kafka: `PartitionMovements.movePartition`.
        """
        if tp in self.route:
            source, via = self.route.pop(tp)
            opposite = self.moved[tp.topic, source, via]
            opposite.remove(tp)
            if not opposite:
                del self.moved[tp.topic, source, via]
        if source != destination:
            self.route[tp] = (source, destination)
            alike = self.moved.setdefault((tp.topic, source, destination), HashOrder())
            alike.add(tp, partition_hash(tp))
