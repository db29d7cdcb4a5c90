"""Kafka's client-side assignors: who in a group gets which partitions.

Each is a function of the partitions by topic and of the members in the order given, with the
properties beside it that say what it is for. Given in `kafka_order`, the result is Kafka's
own, byte by byte, list order included:

    from spec.assignors import ASSIGNORS, Member, kafka_order

    members = kafka_order({"a": Member(["orders"]), "b": Member(["orders"])})
    ASSIGNORS["range"]({"orders": 3}, members)

Members and replicas on racks: `Member(topics, rack="a")`, and the racks of each partition of a
topic as the keyword argument `racks={"orders": [["a", "b"], ["b", "c"], ["c", "a"]]}`.

An input on which Kafka raises an exception raises `KafkaRaises`, which names it; what cannot
be a group at all raises `InvalidGroup`. An empty group gets an empty result: Kafka's leader is
itself a member, so its assignors are never asked.
"""

from collections.abc import Mapping

from spec.assignors.common import kafka_order
from spec.assignors.cooperative import COOPERATIVE_PROMISES, assign_cooperative
from spec.assignors.properties import Property
from spec.assignors.range import RANGE_PROMISES, assign_range
from spec.assignors.roundrobin import ROUNDROBIN_PROMISES, assign_roundrobin
from spec.assignors.sticky import assign_sticky
from spec.assignors.sticky.promises import STICKY_PROMISES
from spec.vocabulary import (
    Assignment,
    InvalidGroup,
    KafkaRaises,
    Member,
    RackAware,
    Racks,
    TopicPartition,
)

ASSIGNORS: Mapping[str, RackAware] = {
    "range": assign_range,
    "roundrobin": assign_roundrobin,
    "sticky": assign_sticky,
    "cooperative-sticky": assign_cooperative,
}
"""The strategies, by the names that `partition.assignment.strategy` gives them."""

PROMISES: Mapping[str, tuple[Property, ...]] = {
    "range": RANGE_PROMISES,
    "roundrobin": ROUNDROBIN_PROMISES,
    "sticky": STICKY_PROMISES,
    "cooperative-sticky": COOPERATIVE_PROMISES,
}
"""What each strategy is for: properties of a round, checkable on anyone's result."""

__all__ = [
    "ASSIGNORS",
    "PROMISES",
    "Assignment",
    "InvalidGroup",
    "KafkaRaises",
    "Member",
    "Racks",
    "TopicPartition",
    "kafka_order",
]
