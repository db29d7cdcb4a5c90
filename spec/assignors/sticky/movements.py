"""What moved from whom to whom, so that two members do not swap partitions of one topic.

Moving p from a to b and q, of the same topic, from b to a leaves both as many as before and
costs two moves. So when p should go from a to b and q went from b to a before, q goes back
instead, and neither has moved. Kafka: `AbstractStickyAssignor.PartitionMovements`.
"""

from __future__ import annotations

import attrs

from spec.java import HashOrder, partition_hash
from spec.vocabulary import TopicPartition


@attrs.define
class Movements:
    """The net movements since balancing began."""

    route: dict[TopicPartition, tuple[str, str]] = attrs.field(factory=dict)
    """From which member to which each partition moved, all in all."""
    moved: dict[tuple[str, str, str], HashOrder[TopicPartition]] = attrs.field(factory=dict)
    """The same by topic, source and destination, in the order in which Kafka's sets have them."""

    def stands_for(self, tp: TopicPartition, source: str, destination: str) -> TopicPartition:
        """Which partition to move when `tp` is meant to go from the one to the other."""
        if tp in self.route:
            source, _ = self.route[tp]
        opposite = self.moved.get((tp.topic, destination, source))
        return opposite.first() if opposite else tp

    def record(self, tp: TopicPartition, source: str, destination: str) -> None:
        """Note a move. A partition that comes back to where it began has not moved."""
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
