"""What the assignors share: the topics that count, and the order of the members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kspec.spec.java import hash_order, utf16
from kspec.spec.vocabulary import Assignment, InvalidGroup, Member, TopicPartition

V = TypeVar("V")


def kafka_order(members: Mapping[str, V]) -> dict[str, V]:
    """The members in the order in which Kafka's leader iterates over them: that of a `HashMap`.

    The order given, in which they joined, decides between ids of one bucket. Kafka:
    `ConsumerCoordinator.onLeaderElected` puts the subscriptions into a `HashMap`.
    """
    return {member: members[member] for member in hash_order(members)}


def topic_sizes(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> dict[str, int]:
    """The topics to assign, with their numbers of partitions, in Kafka's order.

    These are the topics with a subscriber and with partitions. A topic without partitions is no
    error: metadata may lag, or the topic may have been deleted. Kafka:
    `AbstractPartitionAssignor.assign`, where the names pass through a set and then a map.
    """
    for topic, size in partitions.items():
        if size is not None and size < 0:
            raise InvalidGroup(f"topic {topic!r} has {size} partitions")
    subscribed = hash_order(topic for member in members.values() for topic in member.topics)
    known = hash_order(topic for topic in subscribed if partitions.get(topic))
    return {topic: size for topic in known if (size := partitions[topic])}


def static_first(members: Mapping[str, Member]) -> list[str]:
    """The order of range and round-robin: static members by instance id, then the others by id.

    A static member that restarts has a new member id but the same instance id, so it keeps its
    place and its partitions. Kafka: `AbstractPartitionAssignor.MemberInfo.compareTo`.
    """

    def place(member: str) -> tuple[bool, bytes]:
        instance_id = members[member].instance_id
        return instance_id is None, utf16(member if instance_id is None else instance_id)

    return sorted(members, key=place)


def partitions_of(topic: str, size: int) -> list[TopicPartition]:
    """Every partition of a topic, ascending."""
    return [TopicPartition(topic, index) for index in range(size)]


def as_assignment(lists: Mapping[str, Iterable[TopicPartition]]) -> Assignment:
    """The assignment as an immutable result."""
    return {member: tuple(assigned) for member, assigned in lists.items()}


Assignor = Callable[[Mapping[str, int | None], Mapping[str, Member]], Assignment]
"""An assignor: from partitions by topic and members in order to an assignment."""
