"""When a committed offset is forgotten: only where nobody may still want it (KIP-211).

Kafka: `offsetExpirationCondition` of a group, and `OffsetMetadataManager.cleanupExpiredOffsets`,
every ten minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from spec.messages import GroupMetadata, GroupState
from spec.offsets_topic.records import Entry
from spec.vocabulary import TopicPartition

CONSUMER = "consumer"
"""The protocol type of consumer groups: the coordinator can read what they subscribe to."""


@attrs.frozen
class Group:
    """What the coordinator of a group knows of it, as far as its offsets depend on it."""

    state: GroupState = GroupState.EMPTY
    protocol_type: str | None = None
    """None for a simple group: consumers that assign themselves only keep their offsets here."""
    subscribed: frozenset[str] = frozenset()
    """The topics that the members of the last completed generation subscribe to."""
    since: int | None = None
    """When it became Empty; None where it is not, or where an old record does not say."""

    @property
    def has_members(self) -> bool:
        """Whether somebody may read on from the offsets at any moment."""
        return self.state not in (GroupState.EMPTY, GroupState.DEAD)

    def is_settled_without(self, topic: str) -> bool:
        """Whether all members are known, and none of them subscribes to this topic."""
        settled = self.state is GroupState.STABLE and self.protocol_type == CONSUMER
        return settled and topic not in self.subscribed


def group_of(entry: Entry) -> Group:
    """The group that a coordinator makes of a group's record: Stable with members, else Empty."""
    metadata = entry.value
    assert isinstance(metadata, GroupMetadata), "only a group's record makes a group"
    if not metadata.members:
        return Group(GroupState.EMPTY, metadata.protocol_type, since=entry.time)
    subscribed = frozenset(t for m in metadata.members for t in _topics(m.subscription))
    return Group(GroupState.STABLE, metadata.protocol_type, subscribed)


def _topics(subscription: object) -> tuple[str, ...]:
    """A member's subscription, which here is written as its topics."""
    assert isinstance(subscription, tuple), "a subscription is written as a tuple of topics"
    return subscription


def expires_at(
    group: Group, partition: TopicPartition, commit: Entry, retention: int
) -> int | None:
    """When this commit expires as things stand; None for never."""
    if group.state is GroupState.EMPTY:
        of_group = None if group.protocol_type is None else group.since
        base = commit.time if of_group is None else of_group
    elif group.is_settled_without(partition.topic):
        base = commit.time
    else:
        return None
    return base + retention if commit.expires is None else commit.expires


def expired(
    group: Group, commits: Mapping[TopicPartition, Entry], now: int, retention: int
) -> list[TopicPartition]:
    """The partitions whose commits have expired, in their order."""
    times = {p: expires_at(group, p, commit, retention) for p, commit in commits.items()}
    return sorted(p for p, time in times.items() if time is not None and time <= now)


def goes_too(
    group: Group, commits: Iterable[TopicPartition], gone: Iterable[TopicPartition]
) -> bool:
    """Whether the group itself goes: nobody is in it, and it keeps no offset."""
    return group.state is GroupState.EMPTY and not set(commits) - set(gone)


def may_delete_offset(group: Group, topic: str) -> bool:
    """Whether an administrator may delete an offset of this topic (OffsetDelete, KIP-496).

    Otherwise GROUP_SUBSCRIBED_TO_TOPIC; or NON_EMPTY_GROUP, if the members are no consumers and
    nobody knows what they read.
    """
    if not group.has_members:
        return True
    return group.protocol_type == CONSUMER and topic not in group.subscribed
