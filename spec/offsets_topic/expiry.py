"""When a committed offset expires, and when it may be deleted (KIP-211, KIP-496).

An offset expires only where no member may still need it. Kafka:
`ClassicGroup.offsetExpirationCondition` and `OffsetMetadataManager.cleanupExpiredOffsets`, every
`offsets.retention.check.interval.ms` (ten minutes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kspec.spec.messages import GroupMetadata, GroupState
from kspec.spec.offsets_topic.records import LogEntry
from kspec.spec.vocabulary import TopicPartition

CONSUMER = "consumer"
"""The protocol type of consumer groups, whose subscriptions the coordinator can read."""


@attrs.frozen
class GroupStatus:
    """What the coordinator knows of a group, as far as the expiry of its offsets depends on it."""

    state: GroupState = GroupState.EMPTY
    """The state of the group."""
    protocol_type: str | None = None
    """None for a simple group, whose consumers assign themselves partitions."""
    subscribed: frozenset[str] = frozenset()
    """The topics that the members of the last completed generation subscribe to."""
    since: int | None = None
    """When it became Empty; None in other states, or where an old record has no time."""

    @property
    def has_members(self) -> bool:
        """Whether the group has members, which may need any of its offsets."""
        return self.state not in (GroupState.EMPTY, GroupState.DEAD)

    def is_stable_without(self, topic: str) -> bool:
        """Whether the group is Stable, and no member subscribes to this topic."""
        stable = self.state is GroupState.STABLE and self.protocol_type == CONSUMER
        return stable and topic not in self.subscribed


def status_of(entry: LogEntry) -> GroupStatus:
    """The status of a group loaded from its record: Stable with members, else Empty.

    Kafka: `GroupMetadataManager.replay`, for a `GroupMetadataKey`.
    """
    metadata = entry.value
    assert isinstance(metadata, GroupMetadata), "the record of a group"
    if not metadata.members:
        return GroupStatus(GroupState.EMPTY, metadata.protocol_type, since=entry.time)
    subscribed = frozenset(t for m in metadata.members for t in _topics(m.subscription))
    return GroupStatus(GroupState.STABLE, metadata.protocol_type, subscribed)


def _topics(subscription: object) -> tuple[str, ...]:
    """The topics of a member's subscription."""
    assert isinstance(subscription, tuple), "a subscription is a tuple of topics here"
    return subscription


def expires_at(
    group: GroupStatus, partition: TopicPartition, commit: LogEntry, retention: int
) -> int | None:
    """When this commit expires if the group stays as it is; None for never.

    The retention counts from when the group became Empty, or from the commit: in a simple group,
    in one whose record has no time, and (since Kafka 2.4) for topics that no member of a Stable
    group subscribes to. Kafka: `OffsetExpirationConditionImpl.isOffsetExpired`.
    """
    if group.state is GroupState.EMPTY:
        of_group = None if group.protocol_type is None else group.since
        base = commit.time if of_group is None else of_group
    elif group.is_stable_without(partition.topic):
        base = commit.time
    else:
        return None
    return base + retention if commit.expires is None else commit.expires


def expires_after_commit(commit: LogEntry, retention: int, *, is_subscribed: bool) -> int | None:
    """When a commit expires in a group of KIP-848 or of KIP-1071; None for never.

    Whatever the group's state, the retention counts from the commit, and an offset of a topic that
    a member subscribes to is kept. So an offset that is not committed again may expire as soon as
    the last member leaves. Kafka: `ConsumerGroup.offsetExpirationCondition`,
    `StreamsGroup.offsetExpirationCondition` [4.1.0].
    """
    if is_subscribed:
        return None
    return commit.time + retention if commit.expires is None else commit.expires


def expired(
    group: GroupStatus, commits: Mapping[TopicPartition, LogEntry], now: int, retention: int
) -> list[TopicPartition]:
    """The partitions whose commits have expired, in order."""
    times = {p: expires_at(group, p, commit, retention) for p, commit in commits.items()}
    return sorted(p for p, time in times.items() if time is not None and time <= now)


def group_expires(
    group: GroupStatus, commits: Iterable[TopicPartition], deleted: Iterable[TopicPartition]
) -> bool:
    """Whether the group itself is deleted: it is Empty, and keeps no offset.

    Kafka: `GroupMetadataManager.maybeDeleteGroup`.
    """
    return group.state is GroupState.EMPTY and not set(commits) - set(deleted)


def may_delete_offset(group: GroupStatus, topic: str) -> bool:
    """Whether an administrator may delete an offset of this topic (OffsetDelete, KIP-496).

    Otherwise the response is GROUP_SUBSCRIBED_TO_TOPIC; or NON_EMPTY_GROUP, if the members are no
    consumers and their subscriptions are unknown. Kafka: `ClassicGroup.validateOffsetDelete` and
    `isSubscribedToTopic`.
    """
    if not group.has_members:
        return True
    return group.protocol_type == CONSUMER and topic not in group.subscribed
