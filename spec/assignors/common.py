"""What every strategy begins with: which topics count, and in which order members stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from spec.java import hash_order, utf16
from spec.vocabulary import Assignment, InvalidGroup, Member, TopicPartition

V = TypeVar("V")


def kafka_order(members: Mapping[str, V]) -> dict[str, V]:
    """The members as Kafka's leader meets them: in the order of a hash map of their ids.

    Given in the order in which they joined, which decides between ids of one bucket.
    """
    return {member: members[member] for member in hash_order(members)}


def topic_sizes(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> dict[str, int]:
    """The topics to share out, and how many partitions each has, in Kafka's order.

    A topic counts when somebody subscribes to it and it has partitions. One without is no
    error: metadata may lag, or the topic may be gone. Kafka: `AbstractPartitionAssignor.assign`,
    where the names pass through a set and then a map.
    """
    for topic, size in partitions.items():
        if size is not None and size < 0:
            raise InvalidGroup(f"topic {topic!r} has {size} partitions")
    subscribed = hash_order(topic for member in members.values() for topic in member.topics)
    known = hash_order(topic for topic in subscribed if partitions.get(topic))
    return {topic: size for topic in known if (size := partitions[topic])}


def static_first(members: Mapping[str, Member]) -> list[str]:
    """The order of range and round-robin: static members by instance id, then the others by id.

    A static member that restarts has a new member id but the same instance id, so it comes
    back to the same place and the same partitions. Kafka: `MemberInfo.compareTo`.
    """

    def place(member: str) -> tuple[bool, bytes]:
        instance_id = members[member].instance_id
        return instance_id is None, utf16(member if instance_id is None else instance_id)

    return sorted(members, key=place)


def partitions_of(topic: str, size: int) -> list[TopicPartition]:
    """Every partition of a topic, ascending."""
    return [TopicPartition(topic, index) for index in range(size)]


def as_assignment(lists: Mapping[str, Iterable[TopicPartition]]) -> Assignment:
    """The result as it is handed out: nothing in it changes any more."""
    return {member: tuple(assigned) for member, assigned in lists.items()}


Assignor = Callable[[Mapping[str, int | None], Mapping[str, Member]], Assignment]
"""A strategy: from partitions by topic, and members in order, to who gets what."""
