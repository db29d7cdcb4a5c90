"""Adapters for the assignors of other clients: one function for each strategy.

Owned partitions are passed as the client itself encodes them: in user data for sticky, in the
subscription's fields for cooperative-sticky. Importing this module imports no client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeAlias

from kspec.spec.vocabulary import Member, TopicPartition

Answer: TypeAlias = Mapping[str, Iterable[tuple[str, int]]]
"""The result of a client's assignor: for each member, pairs of topic and partition."""

Target: TypeAlias = Mapping[str, Callable[[Mapping[str, int | None], Mapping[str, Member]], Answer]]
"""The object of a conformance test: a function for each strategy, by its name."""


def kafka_python() -> Target:
    """The assignors of kafka-python, 2.1 and later."""
    assignors = "kafka.coordinator.assignors"
    subscription = import_module(f"{assignors}.abstract").ConsumerProtocolSubscription
    user_data = import_module(f"{assignors}.sticky.user_data").StickyAssignorUserData

    def metadata(strategy: str, member: Member) -> Any:
        topics = list(member.topics)
        owned = list(_by_topic(member.owned).items())
        generation = -1 if member.generation is None else member.generation
        if strategy == "cooperative-sticky":
            fields = [subscription.TopicPartition(topic=t, partitions=ps) for t, ps in owned]
            return subscription(
                version=2,
                topics=topics,
                user_data=b"",
                owned_partitions=fields,
                generation_id=generation,
            )
        encoded = strategy == "sticky" and (owned or member.generation is not None)
        return subscription(0, topics, user_data(owned, generation) if encoded else b"")

    def join(strategy: str, _: Any, members: Mapping[str, Member]) -> Any:
        return [
            SimpleNamespace(
                member_id=name,
                group_instance_id=member.instance_id,
                metadata=metadata(strategy, member),
            )
            for name, member in members.items()
        ]

    cooperative = ("cooperative_sticky", "CooperativeStickyAssignor")
    return answering(assignors, {**CLASSES, "cooperative-sticky": cooperative}, join)


def aiokafka() -> Target:
    """The assignors of aiokafka; it knows neither static members nor cooperative rebalancing."""
    assignors = "aiokafka.coordinator.assignors"
    subscription = import_module("aiokafka.coordinator.protocol").ConsumerProtocolMemberMetadata

    def metadata(strategy: str, assignor: Any, member: Member) -> Any:
        if strategy != "sticky" or not (member.owned or member.generation is not None):
            return subscription(0, list(member.topics), b"")
        generation = -1 if member.generation is None else member.generation
        return assignor._metadata(list(member.topics), list(member.owned), generation)

    def join(strategy: str, assignor: Any, members: Mapping[str, Member]) -> Any:
        return {name: metadata(strategy, assignor, member) for name, member in members.items()}

    return answering(assignors, CLASSES, join)


CLASSES = {
    "range": ("range", "RangePartitionAssignor"),
    "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
}
"""By strategy: the module and the class of an assignor, in both clients."""


def answering(
    package: str,
    classes: Mapping[str, tuple[str, str]],
    join: Callable[[str, Any, Mapping[str, Member]], Any],
) -> Target:
    """The assignors of a client, given how its members join."""

    def function(strategy: str, module: str, name: str) -> Any:
        def assign(partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> Answer:
            assignor = getattr(import_module(f"{package}.{module}"), name)()
            answer = assignor.assign(
                _Cluster(partitions, members), join(strategy, assignor, members)
            )
            return {member: part.partitions() for member, part in answer.items()}

        return assign

    return {strategy: function(strategy, *where) for strategy, where in classes.items()}


CLIENTS: Mapping[str, Callable[[], Target]] = {"kafka-python": kafka_python, "aiokafka": aiokafka}
"""The clients known by name."""


class _Cluster:
    """The metadata that Python clients ask for: of the topics that the group subscribes to."""

    def __init__(self, partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> None:
        subscribed = {topic for member in members.values() for topic in member.topics}
        self._sizes = {t: size for t, size in partitions.items() if size and t in subscribed}

    def topics(self) -> set[str]:
        """The topics with metadata."""
        return set(self._sizes)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The indexes of a topic's partitions, or None for a topic without metadata."""
        return set(range(self._sizes[topic])) if topic in self._sizes else None


def _by_topic(owned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partitions as user data encodes them: by topic."""
    indexes: dict[str, list[int]] = {}
    for topic, index in owned:
        indexes.setdefault(topic, []).append(index)
    return indexes
