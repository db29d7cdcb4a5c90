"""The administrator: deleting offsets, groups and topics."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, present, rule
from kspec.spec.messages import GroupState
from kspec.spec.offsets_topic.expiry import may_delete_offset
from kspec.spec.offsets_topic.state import OffsetsTopic, partitions, tombstone, topics
from kspec.spec.vocabulary import TopicPartition


@rule(by="administrator", partition=partitions)
def admin_deletes_offset(s: OffsetsTopic, partition: TopicPartition) -> Step[OffsetsTopic]:
    """An administrator deletes an offset, unless a member subscribes to its topic (KIP-496).

    Kafka: `OffsetMetadataManager.deleteOffsets`.
    """
    group = yield from present("group exists", s.group)
    yield "offset is committed", partition in s.commits()
    yield "no member subscribes to the topic", may_delete_offset(group, partition.topic)
    yield limit("a write remains"), s.has_room()
    in_use = group.has_members and partition.topic in group.subscribed
    deleted = s.with_written(tombstone(partition))
    return deleted.with_premature(subscribed=[partition] if in_use else [])


@rule(by="administrator")
def admin_deletes_group(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """An administrator deletes a group without members, with all its offsets (DeleteGroups).

    Kafka: `GroupCoordinatorShard.deleteGroups`.
    """
    yield "group has no members", s.is_in(GroupState.EMPTY)
    deleted = [*s.commits(), None]
    yield limit("enough writes remain"), s.has_room(len(deleted))
    in_use = s.group is not None and s.group.has_members
    noted = s.with_premature(in_use=list(s.commits()) if in_use else [])
    return noted.with_written(*map(tombstone, deleted)).with_group(None)


@rule(by="administrator", topic=topics)
def admin_deletes_topic(s: OffsetsTopic, topic: str) -> Step[OffsetsTopic]:
    """An administrator deletes a topic, and the coordinator deletes its offsets.

    Kafka: `OffsetMetadataManager.onPartitionsDeleted`. Simplification: the coordinator learns of
    it at once, so none is loading at that moment.
    """
    yield "topic exists", topic in s.topics
    yield "coordinator is loaded", s.is_loaded
    deleted = [partition for partition in s.commits() if partition.topic == topic]
    yield limit("enough writes remain"), s.has_room(len(deleted))
    return evolve(s.with_written(*map(tombstone, deleted)), topics=s.topics - {topic})


RULES = (admin_deletes_offset, admin_deletes_group, admin_deletes_topic)
