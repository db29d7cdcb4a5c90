"""What a consumer reads: topics, a pattern, or partitions of its own choice; only one of these.

Kafka: `SubscriptionState`, and the checks that `ClassicKafkaConsumer` makes before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

import attrs

from kspec.spec.consumer.errors import IllegalArgument, IllegalState
from kspec.spec.core import evolve
from kspec.spec.vocabulary import TopicPartition

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""The topics that brokers keep for themselves. Kafka: `Topic.isInternal`."""


class Mode(StrEnum):
    """How a consumer chooses what it reads. Kafka: `SubscriptionState.SubscriptionType`."""

    NONE = "NONE"
    AUTO_TOPICS = "AUTO_TOPICS"
    AUTO_PATTERN = "AUTO_PATTERN"
    USER_ASSIGNED = "USER_ASSIGNED"


@attrs.frozen
class Subscription:
    """What a consumer reads. Kafka: `SubscriptionState`."""

    mode: Mode = Mode.NONE
    """How the consumer chooses what it reads."""
    topics: frozenset[str] = frozenset()
    """The topics that it subscribes to; of a pattern, the known topics that match."""
    pattern: str | None = None
    """The pattern that it subscribes to, if it does."""
    assigned: frozenset[TopicPartition] = frozenset()
    """The partitions assigned to it, by its own choice or by the group."""
    exclude_internal_topics: bool = True
    """`exclude.internal.topics`: whether a pattern passes over internal topics."""

    @property
    def joins_a_group(self) -> bool:
        """Whether a group assigns its partitions. Kafka: `hasAutoAssignedPartitions`."""
        return self.mode in (Mode.AUTO_TOPICS, Mode.AUTO_PATTERN)


def _in_mode(s: Subscription, mode: Mode) -> Subscription:
    """Enter a mode, from the same one or from none. Kafka: `setSubscriptionType`."""
    if s.mode not in (Mode.NONE, mode):
        raise IllegalState(
            "subscription to topics, partitions and pattern are mutually exclusive: "
            f"the consumer is in {s.mode}, and must unsubscribe before {mode}"
        )
    return evolve(s, mode=mode)


def subscribe(s: Subscription, topics: Collection[str]) -> Subscription:
    """Subscribe to these topics in place of earlier ones; no topics means unsubscribe.

    Assigned partitions stay until the next rebalance. Kafka: `KafkaConsumer.subscribe`.
    """
    if any(not topic.strip() for topic in topics):
        raise IllegalArgument("a topic without a name")
    if not topics:
        return unsubscribe(s)
    return evolve(_in_mode(s, Mode.AUTO_TOPICS), topics=frozenset(topics))


def subscribe_to_pattern(s: Subscription, pattern: str, known: Collection[str]) -> Subscription:
    """Subscribe to every topic, known now or later, whose whole name matches the pattern.

    Kafka: `KafkaConsumer.subscribe(Pattern)`. Simplification: patterns are Python's, not Java's.
    """
    if not pattern:
        raise IllegalArgument("a pattern that is empty")
    return update_metadata(evolve(_in_mode(s, Mode.AUTO_PATTERN), pattern=pattern), known)


def update_metadata(s: Subscription, known: Collection[str]) -> Subscription:
    """Match a pattern against the topics that new metadata lists.

    Kafka: `ConsumerCoordinator.updatePatternSubscription`; internal topics are dropped before by
    `ConsumerMetadata.retainTopic`.
    """
    if s.pattern is None:
        return s
    hidden = INTERNAL_TOPICS if s.exclude_internal_topics else frozenset()
    matching = frozenset(t for t in known if t not in hidden and re.fullmatch(s.pattern, t))
    return evolve(s, topics=matching)


def assign(s: Subscription, partitions: Collection[TopicPartition]) -> Subscription:
    """Take these partitions in place of earlier ones, without a group; none means unsubscribe.

    Kafka: `KafkaConsumer.assign`, `SubscriptionState.assignFromUser`.
    """
    if any(not partition.topic.strip() for partition in partitions):
        raise IllegalArgument("a topic without a name")
    if not partitions:
        return unsubscribe(s)
    return evolve(_in_mode(s, Mode.USER_ASSIGNED), assigned=frozenset(partitions))


def assign_from_group(s: Subscription, partitions: Collection[TopicPartition]) -> Subscription:
    """Take the partitions that a rebalance assigns.

    Kafka: `SubscriptionState.assignFromSubscribed`, which raises IllegalArgumentException.
    """
    if not s.joins_a_group:
        raise IllegalArgument(f"a consumer in {s.mode} takes no assignment from a group")
    return evolve(s, assigned=frozenset(partitions))


def unsubscribe(s: Subscription) -> Subscription:
    """Read nothing; every mode is possible again. Kafka: `SubscriptionState.unsubscribe`."""
    return Subscription(exclude_internal_topics=s.exclude_internal_topics)


def check_poll(s: Subscription) -> None:
    """Refuse a poll without subscription or assignment. Kafka: `KafkaConsumer.poll`."""
    if s.mode is Mode.NONE:
        raise IllegalState(
            "the consumer is not subscribed to any topics or assigned any partitions"
        )


def check_assigned(s: Subscription, partition: TopicPartition) -> None:
    """Refuse `position`, `pause` and `seek` of a partition that is not assigned.

    Kafka: `SubscriptionState.assignedState`.
    """
    if partition not in s.assigned:
        raise IllegalState(f"no current assignment for partition {partition}")


def check_seek(s: Subscription, partition: TopicPartition, offset: int) -> None:
    """Refuse a seek to a negative offset, or in a partition that is not assigned."""
    if offset < 0:
        raise IllegalArgument("seek offset must not be a negative number")
    check_assigned(s, partition)
