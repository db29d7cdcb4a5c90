"""The offsets topic: what compaction leaves of it, and the groups that are read from it."""

from __future__ import annotations

from collections.abc import Iterable

from impl.coordinator.desk import Desk
from impl.coordinator.group import CommittedOffset, Group, Member
from impl.coordinator.rounds import STABLE, prepare
from spec.messages import GroupMetadata, Offset, Protocol, Record, StoredMember
from spec.vocabulary import TopicPartition


def compact(records: Iterable[Record]) -> list[Record]:
    """The latest record of each key, in the order of the log; tombstones have done their work."""
    latest: dict[tuple[str, TopicPartition | None], Record] = {}
    for record in records:
        key = record.group, record.partition
        latest.pop(key, None)
        latest[key] = record
    return [record for record in latest.values() if record.value is not None]


def load(desk: Desk, records: Iterable[Record]) -> None:
    """What the last coordinator wrote. What it only knew is lost: joins, rounds, given ids."""
    for record in compact(records):
        group = desk.groups.get(record.group) or desk.create(record.group)
        match record.value:
            case GroupMetadata() as metadata:
                _restore(desk, group, metadata, record.time)
            case Offset() as offset if record.partition is not None:
                group.offsets[record.partition] = CommittedOffset(offset, record.time, 0)
    for group in desk.groups.values():
        for member in group.members.values():
            desk.expect_sign_of_life(member)
        if len(group.members) > desk.settings.max_size:
            # The setting was changed: those who come first may stay.
            prepare(desk, group)


def _restore(desk: Desk, group: Group, metadata: GroupMetadata, time: int) -> None:
    group.generation = metadata.generation
    for stored in metadata.members:
        group.add(_member(desk, group, stored, metadata.protocol), metadata.protocol_type or "")
    group.protocol_type = metadata.protocol_type
    group.protocol = metadata.protocol
    group.leader = metadata.leader
    if group.members:
        group.becomes(STABLE, time)
    group.since = time


def _member(desk: Desk, group: Group, stored: StoredMember, protocol: str | None) -> Member:
    """A member, who of all that it supports is known to support what was selected."""
    return Member(
        stored.id,
        stored.instance,
        stored.session_timeout,
        stored.rebalance_timeout,
        () if protocol is None else (Protocol(protocol, stored.subscription),),
        desk.member_timer(group, stored.id),
        stored.assignment,
    )
