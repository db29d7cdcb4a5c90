"""Topics, their partitions and their logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID, uuid4

import attrs

from kspec.impl.broker.log import PartitionLog
from kspec.impl.broker.settings import BrokerSettings
from kspec.spec.vocabulary import TopicPartition

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class TopicError(Exception):
    """A topic that cannot be created or found, by the error's name in the protocol."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


@attrs.frozen(eq=False)
class Topic:
    """A topic and the logs of its partitions."""

    name: str
    """Its name."""
    id: UUID
    """Its id (KIP-516)."""
    logs: tuple[PartitionLog, ...]
    """Its partitions' logs."""
    max_message_bytes: int
    """The size of the largest record batch."""


class Topics:
    """The topics of this broker, which leads every partition."""

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._partitions = 0

    def __iter__(self) -> Iterator[Topic]:
        """The topics, in the order of their creation."""
        return iter(self._by_name.values())

    def validate(self, name: str, partitions: int) -> None:
        """Raise TopicError if such a topic cannot be created."""
        if not _LEGAL.fullmatch(name) or name in (".", ".."):
            raise TopicError("INVALID_TOPIC_EXCEPTION", "the name of the topic is not legal")
        if name in self._by_name:
            raise TopicError("TOPIC_ALREADY_EXISTS", f"Topic '{name}' already exists.")
        if partitions < 1:
            raise TopicError("INVALID_PARTITIONS", "a topic has at least one partition")
        if self._partitions + partitions > self._settings.max_partitions:
            raise TopicError(
                "POLICY_VIOLATION",
                f"kspec.max.partitions is {self._settings.max_partitions}",
            )

    def create(
        self, name: str, partitions: int | None = None, max_message_bytes: int | None = None
    ) -> Topic:
        """Create a topic, by default with `num.partitions` partitions and `message.max.bytes`."""
        number = self._settings.partitions if partitions is None else partitions
        self.validate(name, number)
        most = self._settings.max_partition_bytes
        if max_message_bytes is None:
            max_message_bytes = self._settings.max_message_bytes
        logs = tuple(PartitionLog(most) for _ in range(number))
        topic = Topic(name, uuid4(), logs, max_message_bytes)
        self._by_name[name] = topic
        self._by_id[topic.id] = topic
        self._partitions += number
        return topic

    def delete(self, topic: Topic) -> None:
        """Delete a topic; fetches that wait for it are answered."""
        del self._by_name[topic.name], self._by_id[topic.id]
        self._partitions -= len(topic.logs)
        for log in topic.logs:
            log.wake()

    def named(self, name: str) -> Topic:
        """The topic of that name."""
        topic = self._by_name.get(name)
        if topic is None:
            raise TopicError("UNKNOWN_TOPIC_OR_PARTITION", "there is no such topic")
        return topic

    def with_id(self, topic_id: UUID | None) -> Topic:
        """The topic with that id; None stands for the id of zeros."""
        topic = self._by_id.get(topic_id) if topic_id else None
        if topic is None:
            raise TopicError("UNKNOWN_TOPIC_ID", "there is no topic with this id")
        return topic

    def exists(self, partition: TopicPartition) -> bool:
        """Whether there is such a partition."""
        topic = self._by_name.get(partition.topic)
        return topic is not None and 0 <= partition.partition < len(topic.logs)


def log_of(topic: Topic, partition: int) -> PartitionLog:
    """The log of a topic's partition."""
    if not 0 <= partition < len(topic.logs):
        raise TopicError("UNKNOWN_TOPIC_OR_PARTITION", "the topic has no such partition")
    return topic.logs[partition]
