"""The words that the specification, its fast twins and its checkers share: names, not rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

import attrs

from spec.core import SpecError


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Assignment: TypeAlias = dict[str, tuple[TopicPartition, ...]]
"""Who gets what: each member's partitions, in the order in which Kafka lists them."""


class PartitionError(StrEnum):
    """Why a replica does not do what it is asked: the names of Kafka's errors."""

    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    INVALID_REQUIRED_ACKS = "INVALID_REQUIRED_ACKS"


class InvalidGroup(SpecError):
    """A group that no consumer group can be; one clear line."""


class KafkaRaises(SpecError):
    """An input on which Kafka's own assignor raises an exception instead of answering."""

    def __init__(self, exception: str, reason: str) -> None:
        super().__init__(f"Kafka raises {exception} here: {reason}")
        self.exception = exception
        """The exception's Java class, as in `NullPointerException`."""
        self.reason = reason


def _topics(given: Iterable[str]) -> tuple[str, ...]:
    """Read a list of topics; a single name is a mistake that would pass as its letters."""
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
    """What a member of a group tells its leader when it joins."""

    topics: tuple[str, ...] = attrs.field(converter=_topics)
    """The topics it subscribes to. Kafka allows a name twice, and none at all."""
    owned: tuple[TopicPartition, ...] = attrs.field(default=(), converter=_partitions)
    """The partitions it says it owns, from the last assignment it heard of."""
    generation: int | None = None
    """The generation of that assignment; None when it does not say."""
    instance_id: str | None = None
    """`group.instance.id`, of a static member."""
    subscription_generation: int | None = attrs.field(
        default=attrs.Factory(lambda self: self.generation, takes_self=True), kw_only=True
    )
    """The generation in the subscription's own field, where that is not the one above.

    Sticky members write what they own, and since when, into their user data; the field next
    to it came later (KIP-792), so an old client leaves it out.
    """
    rack: str | None = attrs.field(default=None, kw_only=True)
    """`client.rack`: where it would rather fetch from."""


Racks: TypeAlias = Mapping[str, Sequence[Collection[str]]]
"""The racks that hold a replica, for each partition of each topic; as far as they are known."""

NO_RACKS: Racks = MappingProxyType({})
"""Nothing is known of racks."""


def racks_by_partition(racks: Racks, topic: str, size: int) -> list[frozenset[str]]:
    """Read the racks of each partition of a topic; of a topic that is not told of, none."""
    if topic not in racks:
        return [frozenset()] * size
    if len(racks[topic]) != size:
        told = len(racks[topic])
        raise InvalidGroup(f"topic {topic!r} has {size} partitions, and racks are given of {told}")
    for names in racks[topic]:
        if isinstance(names, str):
            raise InvalidGroup(f"the racks of a partition are a list of names, not {names!r}")
    return list(map(frozenset, racks[topic]))


class RackAware(Protocol):
    """A strategy that is asked with racks, or without."""

    def __call__(
        self,
        partitions: Mapping[str, int | None],
        members: Mapping[str, Member],
        *,
        racks: Racks = NO_RACKS,
    ) -> Assignment:
        """Share out the partitions of each topic, given how many it has, among the members."""
