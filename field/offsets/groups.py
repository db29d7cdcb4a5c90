"""Groups, members and offsets from the latest record of each key, and when each offset expires."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from kspec.field.offsets.entries import Entry
from kspec.field.offsets.members import (
    TOPOLOGY,
    Member,
    classic_members,
    modern_members,
    subscribed_topics,
)
from kspec.field.shapes import some_fields
from kspec.spec.messages import GroupState, Offset, OffsetsTopicRecord
from kspec.spec.offsets_topic.expiry import GroupStatus, expires_after_commit, expires_at
from kspec.spec.offsets_topic.records import LogEntry
from kspec.spec.vocabulary import TopicPartition

CLASSIC, CONSUMER, SHARE, STREAMS = 2, 3, 11, 17
"""The types of the record that each kind of group begins with."""
KINDS = {CONSUMER: "consumer", SHARE: "share", STREAMS: "streams", CLASSIC: "classic"}
TARGETS = {CONSUMER: 6, SHARE: 12, STREAMS: 20}
"""The types of the records with the epoch of the target assignment."""
STABLE_MEMBERS = {CONSUMER: 0, STREAMS: 1}
"""The state of a member that has the assignment of its epoch. Kafka: `MemberState.STABLE`."""

Records = Mapping[int, Sequence[Entry]]
"""The records of a group, by their type."""


@attrs.frozen
class Expiry:
    """When an offset expires if its group stays as it is, and why."""

    time: int | None
    """In milliseconds; None for never, or where it is not known."""
    reason: str
    """Why then, or why never."""


@attrs.frozen
class GroupOffset:
    """A committed offset."""

    topic: str
    """The topic."""
    partition: int
    """The partition."""
    offset: int
    """The offset of the next record to read."""
    leader_epoch: int | None
    """The leader epoch of the last record read."""
    metadata: str
    """The note of the client."""
    committed: int
    """When it was committed, in milliseconds."""
    expiry: Expiry
    """When it expires."""
    live_bytes: int | None
    """The bytes of its record."""
    dead_bytes: int | None
    """The bytes of its earlier records, which compaction has yet to remove."""

    def to_json(self, now: int) -> dict[str, object]:
        """The offset, for a machine."""
        fields = attrs.asdict(self)
        expiry = fields.pop("expiry")
        fields |= {"expires": expiry["time"], "expiry": expiry["reason"]}
        return fields | {"expired": self.is_expired(now)}

    def is_expired(self, now: int) -> bool:
        """Whether the coordinator deletes it when it looks next."""
        return self.expiry.time is not None and self.expiry.time <= now


@attrs.frozen
class Group:
    """A group."""

    name: str
    """The group id."""
    kind: str | None
    """`classic`, `simple` (offsets only), `consumer`, `share` or `streams`; None if not known."""
    partition: int | None
    """The partition of `__consumer_offsets` that it was read from."""
    state: str | None
    """Its state once a coordinator has loaded it; None if not known."""
    protocol_type: str | None
    """The protocol type of a classic group."""
    protocol: str | None
    """The assignor of a classic group."""
    generation: int | None
    """The generation of a classic group, the epoch of others."""
    leader: str | None
    """The member id of a classic group's leader."""
    since: int | None
    """When a classic group was written last: its last change of state, in milliseconds."""
    members: tuple[Member, ...]
    """Its members."""
    offsets: tuple[GroupOffset, ...]
    """Its offsets, by topic and partition."""
    pending: tuple[GroupOffset, ...]
    """The offsets in open transactions."""
    live_bytes: int | None
    """The bytes of its live records."""
    dead_bytes: int | None
    """The bytes of their predecessors."""

    @property
    def next_expiry(self) -> int | None:
        """When its first offset expires."""
        times = (one.expiry.time for one in self.offsets if one.expiry.time is not None)
        return min(times, default=None)

    def to_json(self, now: int) -> dict[str, object]:
        """The group, for a machine."""
        return {
            "group": self.name,
            "type": self.kind,
            **some_fields(self, "partition", "state", "protocol_type", "protocol"),
            **some_fields(self, "generation", "leader", "since"),
            "members": [attrs.asdict(member) for member in self.members],
            "offsets": [one.to_json(now) for one in self.offsets],
            "pending": [one.to_json(now) for one in self.pending],
            **some_fields(self, "next_expiry", "live_bytes", "dead_bytes"),
        }


def groups_of(
    entries: Iterable[Entry],
    pending: Iterable[Entry],
    retention: int,
    topics: Mapping[str, str] | None = None,
    *,
    has_groups: bool = True,
) -> list[Group]:
    """The groups, by name.

    `topics` has the names of topic ids. `has_groups`: the records of groups were read, not offsets
    alone.
    """
    by_group: dict[str, dict[int, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    open_: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_group[entry.group][entry.record.type].append(entry)
    for entry in pending:
        open_[entry.group].append(entry)
    return [
        group_of(
            name, by_group.get(name, {}), open_.get(name, []), retention, topics or {}, has_groups
        )
        for name in sorted({*by_group, *open_})
    ]


def group_of(
    name: str,
    records: Records,
    pending: Sequence[Entry],
    retention: int,
    topic_names: Mapping[str, str],
    has_groups: bool,
) -> Group:
    """A group from its records."""
    first = next((kind for kind in KINDS if records.get(kind)), None)
    kind = KINDS[first] if first is not None else "simple" if has_groups else None
    value: Mapping[str, Any] = {} if first is None else records[first][0].record.value or {}
    is_classic = first == CLASSIC
    members = classic_members(value) if is_classic else modern_members(records, topic_names)
    state = state_of(first, records, members) if kind else None
    unfinished = {offset_key(entry) for entry in pending}
    status = classic_status(value, members) if kind in ("classic", "simple") else None
    topics = subscribed_topics(members, records)

    def offset(entry: Entry) -> GroupOffset:
        topic, partition = offset_key(entry)
        fields = entry.record.value or {}
        commit = commit_of(name, entry)
        if kind is None:
            expiry = Expiry(None, "unknown: the records of groups were not read")
        elif offset_key(entry) in unfinished:
            expiry = Expiry(None, "never while the transaction is open")
        elif kind in ("classic", "simple"):
            expiry = classic_expiry(status, members, value, commit, retention)
        else:
            expires = expires_after_commit(commit, retention, is_subscribed=topic in topics)
            expiry = Expiry(expires, "a member subscribes" if expires is None else "commit")
        return GroupOffset(
            topic,
            partition,
            fields["offset"],
            fields["leaderEpoch"] if fields.get("leaderEpoch", -1) >= 0 else None,
            fields["metadata"],
            fields["commitTimestamp"],
            expiry,
            entry.live_bytes,
            entry.dead_bytes,
        )

    everything = [*(entry for of_type in records.values() for entry in of_type), *pending]
    return Group(
        name,
        kind,
        next((entry.partition for entry in everything), None),
        state,
        value.get("protocolType") or None,
        value.get("protocol"),
        value.get("generation", value.get("epoch")),
        value.get("leader"),
        since_of(value) if is_classic else None,
        members,
        tuple(offset(entry) for entry in latest_offsets(records)),
        tuple(offset(entry) for entry in sorted(pending, key=offset_key)),
        total(entry.live_bytes for entry in everything),
        total(entry.dead_bytes for entry in everything),
    )


def offset_key(entry: Entry) -> tuple[str, int]:
    """The topic and the partition of a committed offset."""
    key = entry.record.key
    return key["topic"], key["partition"]


def latest_offsets(records: Records) -> list[Entry]:
    """The committed offsets; of a key that is stored in both its versions, the later one."""
    latest: dict[tuple[str, int], Entry] = {}
    for entry in sorted((*records.get(0, ()), *records.get(1, ())), key=lambda e: e.offset):
        latest[offset_key(entry)] = entry
    return [latest[key] for key in sorted(latest)]


def total(counts: Iterable[int | None]) -> int | None:
    """The sum, if they are known."""
    known = list(counts)
    return None if None in known or not known else sum(count or 0 for count in known)


# -- states ---------------------------------------------------------------------------------------


def state_of(first: int | None, records: Records, members: Sequence[Member]) -> str:
    """The state of a group once a coordinator has loaded it.

    A rebalance of a classic group that was in progress is not in its record. Whether the topics of
    a Streams group exist is not in its records: it may be NotReady where another state is said.
    Kafka: `GroupMetadataManager.replay`, `maybeUpdateGroupState` of `ConsumerGroup` and
    `StreamsGroup` [4.1.0].
    """
    if not members:
        return "Empty"
    if first in (None, CLASSIC, SHARE):
        return "Stable"
    assert first is not None, "None was handled"
    if first == STREAMS and not records.get(TOPOLOGY):
        return "NotReady"
    epoch = (records[first][0].record.value or {})["epoch"]
    target = next((e.record.value or {} for e in records.get(TARGETS[first], ())), {})
    assigned = target.get("assignmentEpoch", 0)
    if epoch > assigned:
        return "Assigning"
    has_all = all(m.state == STABLE_MEMBERS[first] and m.epoch == assigned for m in members)
    return "Stable" if has_all else "Reconciling"


def since_of(value: Mapping[str, Any]) -> int | None:
    """When a classic group changed its state last, if its record has that."""
    since: int | None = value.get("currentStateTimestamp")
    return None if since is None or since < 0 else since


# -- expiry ---------------------------------------------------------------------------------------


def classic_status(value: Mapping[str, Any], members: Sequence[Member]) -> GroupStatus:
    """The status of a classic group, from its record; without one it is a simple group."""
    protocol_type = value.get("protocolType") or None
    if not members:
        return GroupStatus(GroupState.EMPTY, protocol_type, since=since_of(value))
    topics = frozenset(topic for member in members for topic in member.topics or ())
    return GroupStatus(GroupState.STABLE, protocol_type, topics)


def classic_expiry(
    status: GroupStatus | None,
    members: Sequence[Member],
    value: Mapping[str, Any],
    commit: LogEntry,
    retention: int,
) -> Expiry:
    """When an offset of a classic group expires, by the rule of `spec.offsets_topic.expiry`."""
    assert status is not None, "the group is classic"
    assert commit.record.partition is not None, "the record is a commit"
    if commit.expires is None and value.get("currentStateTimestamp", 0) is None and not members:
        return Expiry(None, "unknown: the text does not say since when the group is Empty")
    if status.has_members and value.get("currentStateTimestamp", 0) is None:
        return Expiry(None, "unknown: the text does not say which topics the members subscribe to")
    if status.has_members and any(member.topics is None for member in members):
        return Expiry(None, "the group has members, whose topics the coordinator cannot read")
    expires = expires_at(status, commit.record.partition, commit, retention)
    if expires is None:
        subscribes = commit.record.partition.topic in status.subscribed
        return Expiry(None, "a member subscribes" if subscribes else "the group has members")
    if commit.expires is not None:
        return Expiry(expires, "set by the client")
    since_empty = status.state is GroupState.EMPTY and status.protocol_type and status.since
    return Expiry(expires, "Empty since" if since_empty else "commit")


def commit_of(group: str, entry: Entry) -> LogEntry:
    """A committed offset, as the specification sees it."""
    fields = entry.record.value or {}
    topic, partition = offset_key(entry)
    expires = fields.get("expireTimestamp", -1)
    return LogEntry(
        entry.offset,
        OffsetsTopicRecord(group, TopicPartition(topic, partition), Offset(fields["offset"])),
        fields["commitTimestamp"],
        None if expires < 0 else expires,
    )
