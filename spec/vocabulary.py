"""Types that the specification shares with the implementations that are compared with it.

They are names and values without rules: an implementation may import them and still be
independent of the specification.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

import attrs

from kspec.spec.core import SpecError


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    """The topic's name."""
    partition: int
    """The partition's index in the topic, from 0."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Assignment: TypeAlias = dict[str, tuple[TopicPartition, ...]]
"""Each member's partitions, in the order in which Kafka lists them."""


class PartitionError(StrEnum):
    """The errors with which a replica answers requests, as Kafka names them."""

    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    INVALID_REQUIRED_ACKS = "INVALID_REQUIRED_ACKS"
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"
    INVALID_RECORD = "INVALID_RECORD"
    CORRUPT_MESSAGE = "CORRUPT_MESSAGE"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"


class ProducerError(StrEnum):
    """Why a partition rejects a batch or a marker because of what it keeps of the producer."""

    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    UNKNOWN_PRODUCER_ID = "UNKNOWN_PRODUCER_ID"
    INVALID_TXN_STATE = "INVALID_TXN_STATE"
    TRANSACTION_COORDINATOR_FENCED = "TRANSACTION_COORDINATOR_FENCED"


class AppendOrigin(StrEnum):
    """Where an append comes from, which decides what is checked. Kafka: `AppendOrigin`."""

    CLIENT = "CLIENT"
    """A producer: everything is checked."""
    COORDINATOR = "COORDINATOR"
    """A group or transaction coordinator: epochs are checked, sequence numbers are not."""
    REPLICATION = "REPLICATION"
    """The leader, or the replica's own log when it is loaded: neither is checked."""


class InvalidGroup(SpecError):
    """An input that does not describe a consumer group; the message is one line."""


class KafkaRaises(SpecError):
    """An input for which Kafka's assignor throws an exception."""

    def __init__(self, exception: str, reason: str) -> None:
        super().__init__(f"Kafka raises {exception} here: {reason}")
        self.exception = exception
        """The exception's Java class, such as `NullPointerException`."""
        self.reason = reason
        """Why Kafka throws it."""


def _topics(given: Iterable[str]) -> tuple[str, ...]:
    """Read a list of topics; reject a single name, which would be read letter by letter."""
    if isinstance(given, str):
        raise InvalidGroup(f"topics is a list of names, not the name {given!r}")
    topics = tuple(given)
    for topic in topics:
        if not isinstance(topic, str):
            raise InvalidGroup(f"a topic is named by a string, not {topic!r}")
    return topics


def _partitions(given: Iterable[tuple[str, int]]) -> tuple[TopicPartition, ...]:
    """Read a list of partitions, each a pair of topic and index."""
    partitions = tuple(given)
    if not set(map(type, partitions)) <= {TopicPartition}:
        try:
            partitions = tuple(TopicPartition(topic, index) for topic, index in partitions)
        except (TypeError, ValueError):
            raise InvalidGroup("a partition is a pair of topic and index") from None
    return partitions  # type: ignore[return-value]


@attrs.frozen
class Member:
    """A member's subscription, as the group's leader receives it."""

    topics: tuple[str, ...] = attrs.field(converter=_topics)
    """The topics it subscribes to; Kafka allows duplicates, and an empty list."""
    owned: tuple[TopicPartition, ...] = attrs.field(default=(), converter=_partitions)
    """The partitions that it claims to own, from its last assignment."""
    generation: int | None = None
    """The generation of that assignment, or None if unknown."""
    instance_id: str | None = None
    """`group.instance.id`, of a static member."""
    subscription_generation: int | None = attrs.field(
        default=attrs.Factory(lambda self: self.generation, takes_self=True), kw_only=True
    )
    """The subscription's generationId (KIP-792), if it differs from `generation`.

    The sticky assignor writes owned partitions and generation into the user data; generationId
    was added later, and older clients do not send it.
    """
    rack: str | None = attrs.field(default=None, kw_only=True)
    """The member's client.rack."""


Racks: TypeAlias = Mapping[str, Sequence[Collection[str]]]
"""For each topic, the racks of each partition's replicas, as far as they are known."""

NO_RACKS: Racks = MappingProxyType({})
"""No racks are known."""


def racks_by_partition(racks: Racks, topic: str, size: int) -> list[frozenset[str]]:
    """The racks of each partition of a topic; empty sets if they are not known."""
    if topic not in racks:
        return [frozenset()] * size
    if len(racks[topic]) != size:
        known = len(racks[topic])
        raise InvalidGroup(f"topic {topic!r} has {size} partitions, and racks are given of {known}")
    for names in racks[topic]:
        if isinstance(names, str):
            raise InvalidGroup(f"the racks of a partition are a list of names, not {names!r}")
    return list(map(frozenset, racks[topic]))


class RackAware(Protocol):
    """An assignor that can take racks into account."""

    def __call__(
        self,
        partitions: Mapping[str, int | None],
        members: Mapping[str, Member],
        *,
        racks: Racks = NO_RACKS,
    ) -> Assignment:
        """Assign the partitions of each topic, given their number, to the members."""
