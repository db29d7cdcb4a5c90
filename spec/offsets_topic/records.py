"""The log of the offsets topic: what a reader of it sees, and what compaction may leave of it.

Everything that a coordinator keeps for good is a record here, and the latest record of a key
wins. A tombstone, a record without value, says that what stood under its key is gone.

Kafka: the topic `__consumer_offsets`, with `cleanup.policy=compact`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

from spec.messages import GroupMetadata, Offset, Record
from spec.vocabulary import TopicPartition

Key: TypeAlias = tuple[str, TopicPartition | None]
"""A group, and one partition whose offset it committed; None stands for the group itself."""


@attrs.frozen
class Entry:
    """A record where it stands in the log."""

    offset: int
    """Its offset in the log, which it keeps when compaction removes others."""
    record: Record
    time: int = 0
    """When it was written: of a commit its time, of a group the time of its last transition."""
    expires: int | None = None
    """When a commit expires, if the client said so (value version 1, before KIP-211)."""

    @property
    def key(self) -> Key:
        """What it says something about."""
        return self.record.group, self.record.partition

    @property
    def value(self) -> GroupMetadata | Offset | None:
        """What it says; None for a tombstone."""
        return self.record.value

    @property
    def is_tombstone(self) -> bool:
        """Whether it says that something is gone."""
        return self.record.value is None


Log: TypeAlias = tuple[Entry, ...]
"""Entries in the order of their offsets; there may be gaps."""
Latest: TypeAlias = dict[Key, Entry]
"""What a reader knows: the latest entry of each key, without those that are gone."""


def apply(latest: Latest, entry: Entry) -> Latest:
    """What a reader knows after one more entry."""
    others = {key: known for key, known in latest.items() if key != entry.key}
    return others if entry.is_tombstone else others | {entry.key: entry}


def read(log: Iterable[Entry], latest: Latest | None = None) -> Latest:
    """What a reader knows after all of these, given what it knew before."""
    known = latest or {}
    for entry in log:
        known = apply(known, entry)
    return known


def compact(log: Log, end: int) -> Log:
    """Keep, of the entries below offset `end`, the latest of each key; and all above.

    Tombstones stay: they may hide an entry in the mind of somebody who is still reading.
    Kafka: `Cleaner.cleanSegments`, with the offset map of the section that ends at `end`.
    """
    last = {entry.key: entry.offset for entry in log if entry.offset < end}
    return tuple(e for e in log if e.offset >= end or last[e.key] == e.offset)


def hides(log: Log, tombstone: Entry) -> bool:
    """Whether an earlier entry of the same key still stands in the log."""
    return any(e.key == tombstone.key and e.offset < tombstone.offset for e in log)


def without(log: Log, gone: Entry) -> Log:
    """The log without one entry."""
    return tuple(entry for entry in log if entry.offset != gone.offset)


def next_entry(log: Sequence[Entry], offset: int) -> Entry | None:
    """The first entry at this offset or above, where a reader goes on."""
    return next((entry for entry in log if entry.offset >= offset), None)
