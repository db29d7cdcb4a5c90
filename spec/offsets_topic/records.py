"""The log of the offsets topic: what a reader of it knows, and what compaction leaves.

The coordinator stores everything durable as a record, and the latest record of a key counts. A
tombstone, a record without value, deletes its key.

Kafka: the topic `__consumer_offsets`, with `cleanup.policy=compact`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

from kspec.spec.messages import GroupMetadata, Offset, OffsetsTopicRecord
from kspec.spec.vocabulary import TopicPartition

Key: TypeAlias = tuple[str, TopicPartition | None]
"""A group, and a partition whose offset it committed; None stands for the group itself."""


@attrs.frozen
class LogEntry:
    """A record at its offset in the log."""

    offset: int
    """Its offset in the log, which it keeps when compaction removes others."""
    record: OffsetsTopicRecord
    """The record: its group, its partition and its value."""
    time: int = 0
    """When it was written: the time of a commit, or of the group's last transition."""
    expires: int | None = None
    """When a commit expires, where the client set it (value version 1, before KIP-211)."""

    @property
    def key(self) -> Key:
        """The record's key."""
        return self.record.group, self.record.partition

    @property
    def value(self) -> GroupMetadata | Offset | None:
        """The record's value; None for a tombstone."""
        return self.record.value

    @property
    def is_tombstone(self) -> bool:
        """Whether the record deletes its key."""
        return self.record.value is None


OffsetsLog: TypeAlias = tuple[LogEntry, ...]
"""Entries in the order of their offsets; compaction leaves gaps."""
Latest: TypeAlias = dict[Key, LogEntry]
"""What a reader knows: the latest entry of each key, without deleted keys."""


def apply(latest: Latest, entry: LogEntry) -> Latest:
    """What a reader knows after one more entry. Kafka: `OffsetMetadataManager.replay`."""
    others = {key: known for key, known in latest.items() if key != entry.key}
    return others if entry.is_tombstone else others | {entry.key: entry}


def read(log: Iterable[LogEntry], latest: Latest | None = None) -> Latest:
    """What a reader knows after these entries, given what it knew before."""
    known = latest or {}
    for entry in log:
        known = apply(known, entry)
    return known


def compact(log: OffsetsLog, end: int) -> OffsetsLog:
    """Keep, below offset `end`, only the latest entry of each key.

    Tombstones stay: a reader may have read the entry that they delete. Kafka:
    `Cleaner.cleanSegments`, with the offset map of the section that ends at `end`.
    """
    last = {entry.key: entry.offset for entry in log if entry.offset < end}
    return tuple(e for e in log if e.offset >= end or last[e.key] == e.offset)


def hides(log: OffsetsLog, tombstone: LogEntry) -> bool:
    """Whether the log still has an earlier entry of the tombstone's key."""
    return any(e.key == tombstone.key and e.offset < tombstone.offset for e in log)


def without(log: OffsetsLog, removed: LogEntry) -> OffsetsLog:
    """The log without one entry."""
    return tuple(entry for entry in log if entry.offset != removed.offset)


def next_entry(log: Sequence[LogEntry], offset: int) -> LogEntry | None:
    """The first entry at this offset or above: the next one for a reader."""
    return next((entry for entry in log if entry.offset >= offset), None)
