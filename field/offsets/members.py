"""The members of a group, from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kspec.field.offsets.entries import Entry
from kspec.spec.storage.consumer_protocol import CONSUMER, read_assignment, read_topics
from kspec.spec.storage.varint import Malformed

MEMBERS = {5: 8, 10: 14, 19: 22}
"""For each type of members' records, that of their current assignment."""
TOPIC_NAMES, REGULAR_EXPRESSION, TOPOLOGY = 4, 16, 23


@attrs.frozen
class Member:
    """A member of a group."""

    id: str
    """The member id."""
    instance: str | None
    """`group.instance.id` of a static member."""
    client: str
    """The client id."""
    host: str
    """Where the client is."""
    topics: list[str] | None
    """The topics that it subscribes to; None if that cannot be read."""
    assignment: dict[str, list[int]] | None
    """The partitions that it owns, by topic, or by topic id; None if that cannot be read."""
    session_timeout: int | None = None
    """In milliseconds; members of KIP-848 have the one of the group."""
    rebalance_timeout: int | None = None
    """In milliseconds."""
    epoch: int | None = None
    """The epoch of a member of KIP-848."""
    state: int | None = None
    """The number of its state; STABLE is 0, in Streams groups 1. Kafka: `MemberState`."""


def classic_members(value: Mapping[str, Any]) -> tuple[Member, ...]:
    """The members in the record of a classic group."""
    is_consumer = value.get("protocolType") == CONSUMER
    found = []
    for member in value.get("members") or ():
        topics: list[str] | None = None
        assignment: dict[str, list[int]] | None = None
        if is_consumer and member["subscription"] is not None:
            try:
                topics = read_topics(member["subscription"])
                assignment = read_assignment(member["assignment"])
            except Malformed:
                pass  # as for a coordinator, what it subscribes to is then not known
        elif member["subscription"] is not None:
            topics = []  # of another protocol type, which has no topics
        found.append(
            Member(
                member["memberId"],
                member["groupInstanceId"],
                member["clientId"],
                member["clientHost"],
                topics,
                assignment,
                member["sessionTimeout"],
                member["rebalanceTimeout"],
            )
        )
    return tuple(sorted(found, key=lambda member: member.id))


def modern_members(
    records: Mapping[int, Sequence[Entry]], topics: Mapping[str, str]
) -> tuple[Member, ...]:
    """The members of a group of KIP-848, KIP-932 or KIP-1071; `topics`: the names of topic ids."""
    names = {**topics, **topic_names(records)}
    found = []
    for type_, current_type in MEMBERS.items():
        current = {e.record.key["memberId"]: e.record.value for e in records.get(current_type, ())}
        for entry in records.get(type_, ()):
            id_, value = entry.record.key["memberId"], entry.record.value or {}
            now = current.get(id_) or {}
            assigned = now.get("assignedPartitions")
            tasks = now.get("activeTasks")
            assignment = None
            if assigned is not None:
                assignment = {
                    names.get(a["topicId"], a["topicId"]): a["partitions"] for a in assigned
                }
            elif tasks is not None:
                assignment = {task["subtopologyId"]: task["partitions"] for task in tasks}
            found.append(
                Member(
                    id_,
                    value.get("instanceId"),
                    value["clientId"],
                    value["clientHost"],
                    value.get("subscribedTopicNames"),
                    assignment,
                    None,
                    value.get("rebalanceTimeoutMs"),
                    now.get("memberEpoch"),
                    now.get("state"),
                )
            )
    return tuple(sorted(found, key=lambda member: member.id))


def topic_names(records: Mapping[int, Sequence[Entry]]) -> dict[str, str]:
    """The names of topic ids, as far as the group's records have them (up to 4.0, or commits)."""
    names = {
        topic["topicId"]: topic["topicName"]
        for entry in records.get(TOPIC_NAMES, ())
        for topic in (entry.record.value or {})["topics"]
    }
    for entry in records.get(1, ()):
        if topic_id := (entry.record.value or {}).get("topicId"):
            names.setdefault(topic_id, entry.record.key["topic"])
    return names


def subscribed_topics(
    members: Sequence[Member], records: Mapping[int, Sequence[Entry]]
) -> frozenset[str]:
    """The topics that keep the offsets of a group of KIP-848 or KIP-1071.

    Kafka: `ModernGroup.isSubscribedToTopic`, with the topics that regular expressions resolved to,
    and `StreamsGroup.isSubscribedToTopic` [4.1.0].
    """
    topics = {topic for member in members for topic in member.topics or ()}
    expressions = {
        (entry.record.value or {}).get("subscribedTopicRegex") for entry in records.get(5, ())
    }
    for entry in records.get(REGULAR_EXPRESSION, ()):
        if entry.record.key["regularExpression"] in expressions:
            topics.update((entry.record.value or {})["topics"])
    if members:
        for entry in records.get(TOPOLOGY, ()):
            for part in (entry.record.value or {})["subtopologies"]:
                topics.update(part["sourceTopics"])
                topics.update(topic["name"] for topic in part["repartitionSourceTopics"])
    return frozenset(topics)
