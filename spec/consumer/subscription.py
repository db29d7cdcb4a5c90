"""What a consumer reads: topics, a pattern, or partitions of its own choice; never two of them.

Kafka: `SubscriptionState`, and the checks of `KafkaConsumer`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

import attrs

from spec.consumer.errors import IllegalArgument, IllegalState
from spec.core import evolve
from spec.vocabulary import TopicPartition


class Mode(StrEnum):
    """How a consumer came to what it reads."""

    NONE = "NONE"
    AUTO_TOPICS = "AUTO_TOPICS"
    AUTO_PATTERN = "AUTO_PATTERN"
    USER_ASSIGNED = "USER_ASSIGNED"


@attrs.frozen
class Subscription:
    """What a consumer reads."""

    mode: Mode = Mode.NONE
    topics: frozenset[str] = frozenset()
    """The topics that it subscribes to; of a pattern, those that are known to match."""
    pattern: str | None = None
    assigned: frozenset[TopicPartition] = frozenset()
    """The partitions that it has, by its own choice or by the group's."""

    @property
    def joins_a_group(self) -> bool:
        """Whether partitions come from the group's leader."""
        return self.mode in (Mode.AUTO_TOPICS, Mode.AUTO_PATTERN)


def _in_mode(s: Subscription, mode: Mode) -> Subscription:
    """The subscription in this mode: only from the same one, or from none."""
    if s.mode not in (Mode.NONE, mode):
        raise IllegalState(
            "subscription to topics, partitions and pattern are mutually exclusive: "
            f"the consumer is in {s.mode}, and must unsubscribe before {mode}"
        )
    return evolve(s, mode=mode)


def subscribe(s: Subscription, topics: Collection[str]) -> Subscription:
    """Subscribe to these topics, instead of those before. No topics means unsubscribe.

    What it has stays until the next rebalance.
    """
    if any(not topic.strip() for topic in topics):
        raise IllegalArgument("a topic without a name")
    if not topics:
        return unsubscribe(s)
    return evolve(_in_mode(s, Mode.AUTO_TOPICS), topics=frozenset(topics))


def subscribe_to_pattern(s: Subscription, pattern: str, known: Collection[str]) -> Subscription:
    """Subscribe to all topics whose whole name matches, those that are known now and later."""
    if not pattern:
        raise IllegalArgument("a pattern that is empty")
    s = evolve(_in_mode(s, Mode.AUTO_PATTERN), pattern=pattern)
    return topics_are_known(s, known)


def topics_are_known(s: Subscription, known: Collection[str]) -> Subscription:
    """New metadata: a pattern is matched again; anything else stays as it is."""
    if s.pattern is None:
        return s
    matching = frozenset(topic for topic in known if re.fullmatch(s.pattern, topic))
    return evolve(s, topics=matching)


def assign(s: Subscription, partitions: Collection[TopicPartition]) -> Subscription:
    """Take these partitions, instead of those before; no group is asked. None: unsubscribe."""
    if any(not partition.topic.strip() for partition in partitions):
        raise IllegalArgument("a topic without a name")
    if not partitions:
        return unsubscribe(s)
    return evolve(_in_mode(s, Mode.USER_ASSIGNED), assigned=frozenset(partitions))


def assigned_by_group(s: Subscription, partitions: Collection[TopicPartition]) -> Subscription:
    """A rebalance gives these partitions."""
    if not s.joins_a_group:
        raise IllegalState(f"a consumer in {s.mode} takes no assignment from a group")
    return evolve(s, assigned=frozenset(partitions))


def unsubscribe(s: Subscription) -> Subscription:
    """Read nothing any more; any mode is possible again."""
    return Subscription()


def may_poll(s: Subscription) -> None:
    """A poll needs something to read."""
    if s.mode is Mode.NONE:
        raise IllegalState(
            "the consumer is not subscribed to any topics or assigned any partitions"
        )


def may_touch(s: Subscription, partition: TopicPartition) -> None:
    """Asking for the position, pausing or seeking needs a partition that is assigned."""
    if partition not in s.assigned:
        raise IllegalState(f"no current assignment for partition {partition}")


def may_seek(s: Subscription, partition: TopicPartition, offset: int) -> None:
    """A seek goes to an offset that there may be, in a partition that is assigned."""
    if offset < 0:
        raise IllegalArgument("seek offset must not be a negative number")
    may_touch(s, partition)
