"""The offsets topic: its compaction, and the groups that are loaded from it."""

from __future__ import annotations

from collections.abc import Iterable

from kspec.impl.coordinator.rebalance import STABLE, prepare_rebalance
from kspec.impl.coordinator.shard import Shard
from kspec.impl.coordinator.state import CommittedOffset, Group, Member
from kspec.spec.messages import GroupMetadata, Offset, OffsetsTopicRecord, Protocol, StoredMember
from kspec.spec.vocabulary import TopicPartition


def compact(records: Iterable[OffsetsTopicRecord]) -> list[OffsetsTopicRecord]:
    """The latest record of each key, in the order of the log, without tombstones."""
    latest: dict[tuple[str, TopicPartition | None], OffsetsTopicRecord] = {}
    for record in records:
        key = record.group, record.partition
        latest.pop(key, None)
        latest[key] = record
    return [record for record in latest.values() if record.value is not None]


def load(shard: Shard, records: Iterable[OffsetsTopicRecord]) -> None:
    """Load the groups; parked requests, rebalances in progress and pending ids are lost."""
    for record in compact(records):
        group = shard.groups.get(record.group) or shard.create(record.group)
        match record.value:
            case GroupMetadata() as metadata:
                _restore(shard, group, metadata, record.time)
            case Offset() as offset if record.partition is not None:
                group.offsets[record.partition] = CommittedOffset(offset, record.time, 0)
    for group in shard.groups.values():
        for member in group.members.values():
            shard.reschedule_session(member)
        if len(group.members) > shard.settings.max_size:
            # The setting was changed: the members that join first may stay.
            prepare_rebalance(shard, group)


def _restore(shard: Shard, group: Group, metadata: GroupMetadata, time: int) -> None:
    group.generation = metadata.generation
    for stored in metadata.members:
        group.add(_member(shard, group, stored, metadata.protocol), metadata.protocol_type or "")
    group.protocol_type = metadata.protocol_type
    group.protocol = metadata.protocol
    group.leader = metadata.leader
    shard.note_subscriptions(group)
    if group.members:
        group.transition_to(STABLE, time)
    group.since = time


def _member(shard: Shard, group: Group, stored: StoredMember, protocol: str | None) -> Member:
    """A member, of whose protocols only the selected one is stored."""
    return Member(
        stored.id,
        stored.instance,
        stored.session_timeout,
        stored.rebalance_timeout,
        () if protocol is None else (Protocol(protocol, stored.subscription),),
        shard.member_timer(group, stored.id),
        stored.assignment,
    )
