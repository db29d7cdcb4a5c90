"""Kafka's client-side assignors: which member of a group is assigned which partitions.

Each assignor is a function of the partitions by topic and of the members in order. With the
members in `kafka_order`, its result is Kafka's own, list order included:

    from kspec.spec.assignors import ASSIGNORS, Member, kafka_order

    members = kafka_order({"a": Member(["orders"]), "b": Member(["orders"])})
    ASSIGNORS["range"]({"orders": 3}, members)

For rack-aware assignment (KIP-881), give the rack of a member, `Member(topics, rack="a")`, and
those of each partition's replicas, `racks={"orders": [["a", "b"], ["b", "c"], ["c", "a"]]}`.

Where Kafka's assignor raises an exception, `KafkaRaises` names it; an input that no group can
have raises `InvalidGroup`. An empty group has an empty assignment: Kafka never calls an
assignor for one, since the leader itself is a member.

- `range`, `roundrobin`, `sticky`, `cooperative`: one module (or package) for each assignor.
- `properties`: what every assignment must satisfy; `GUARANTEES` has them by assignor.
- `racks`: which members and replicas share a rack.
- `common`: the topics that count, and the order of the members.

The Kafka classes and methods named are those of Kafka 3.9 and 4.0, where they are the same.
"""

from collections.abc import Mapping

from kspec.spec.assignors.common import kafka_order
from kspec.spec.assignors.cooperative import COOPERATIVE_GUARANTEES, assign_cooperative
from kspec.spec.assignors.properties import Property
from kspec.spec.assignors.range import RANGE_GUARANTEES, assign_range
from kspec.spec.assignors.roundrobin import ROUNDROBIN_GUARANTEES, assign_roundrobin
from kspec.spec.assignors.sticky import assign_sticky
from kspec.spec.assignors.sticky.guarantees import STICKY_GUARANTEES
from kspec.spec.vocabulary import (
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
"""The assignors, by the names they have in consumer groups (`ConsumerPartitionAssignor.name`)."""

GUARANTEES: Mapping[str, tuple[Property, ...]] = {
    "range": RANGE_GUARANTEES,
    "roundrobin": ROUNDROBIN_GUARANTEES,
    "sticky": STICKY_GUARANTEES,
    "cooperative-sticky": COOPERATIVE_GUARANTEES,
}
"""The properties that each assignor guarantees; they can be checked on any client's result."""

__all__ = [
    "ASSIGNORS",
    "GUARANTEES",
    "Assignment",
    "InvalidGroup",
    "KafkaRaises",
    "Member",
    "Racks",
    "TopicPartition",
    "kafka_order",
]
