"""The purpose of the offsets topic: no committed offset is lost, and no deleted one returns."""

from __future__ import annotations

from kspec.spec.core import Claims, always, reachable
from kspec.spec.messages import GroupState
from kspec.spec.offsets_topic.expiry import status_of
from kspec.spec.offsets_topic.records import read
from kspec.spec.offsets_topic.state import GROUP, Loaded, OffsetsTopic, as_written, partitions
from kspec.spec.vocabulary import TopicPartition


def place_of(partition: TopicPartition | None) -> str:
    """The name of a key in the log, in verdicts and pictures."""
    return f"log, group {GROUP}" if partition is None else f"log, offset of {partition}"


def in_memory(partition: TopicPartition) -> str:
    """The name of an offset in the coordinator's memory."""
    return f"offset of {partition} in memory"


def keys(s: OffsetsTopic) -> list[TopicPartition | None]:
    """Every key of the group, in the order of `written`."""
    return [None, *partitions(s)]


@always
def LogHasLatestRecords(s: OffsetsTopic) -> Claims:
    """A reader of the log finds the latest record of each key, whatever compaction removed."""
    found = as_written(s, read(s.log))
    for key, latest, wanted in zip(keys(s), found, s.written, strict=True):
        yield place_of(key), latest == wanted


@always
def CoordinatorHasLatestRecords(s: OffsetsTopic) -> Claims:
    """A loaded coordinator has exactly what was written and not deleted."""
    if isinstance(s.coordinator, Loaded):
        for partition, kept, wanted in zip(
            partitions(s), s.coordinator.commits, s.written[1:], strict=True
        ):
            yield in_memory(partition), kept == wanted
        simple = s.group is None or s.group.protocol_type is None
        rebalances = s.group is not None and s.group.has_members and not s.is_in(GroupState.STABLE)
        if not rebalances:
            stored = s.written[0]
            same = simple if stored is None else s.group == status_of(stored)
            yield "coordinator, its group", same


@always
def DeletedGroupHasNoRecord(s: OffsetsTopic) -> Claims:
    """The log has nothing but tombstones of a group that the coordinator does not have."""
    if s.is_loaded and s.group is None:
        for key, entry in zip(keys(s), as_written(s, read(s.log)), strict=True):
            yield f"{place_of(key)}, of no group", entry is None


@always
def DeletedTopicHasNoOffset(s: OffsetsTopic) -> Claims:
    """No offset is kept for a topic that does not exist."""
    for partition, entry in zip(partitions(s), s.written[1:], strict=True):
        if partition.topic not in s.topics:
            yield f"{place_of(partition)}, of a deleted topic", entry is None


@always
def OffsetsInUseDoNotExpire(s: OffsetsTopic) -> Claims:
    """No offset of a group with members expires, except of topics that a Stable one left.

    No administrator deletes such a group, with its offsets.
    """
    for partition in partitions(s):
        yield place_of(partition), partition not in s.premature.in_use


@always
def OffsetsAreRetained(s: OffsetsTopic) -> Claims:
    """No offset expires before the retention has passed since the group became Empty.

    Where the coordinator does not know that time, it counts from the commit.
    """
    for partition in partitions(s):
        yield place_of(partition), partition not in s.premature.early


@always
def SubscribedOffsetsAreNotDeleted(s: OffsetsTopic) -> Claims:
    """No administrator deletes an offset of a topic that a member subscribes to."""
    for partition in partitions(s):
        yield place_of(partition), partition not in s.premature.subscribed


@reachable
def TombstonesAreRemoved(s: OffsetsTopic) -> bool:
    """The log can become empty again."""
    return s.end > 0 and not s.log


PROPERTIES = (
    LogHasLatestRecords,
    CoordinatorHasLatestRecords,
    DeletedGroupHasNoRecord,
    DeletedTopicHasNoOffset,
    OffsetsInUseDoNotExpire,
    OffsetsAreRetained,
    SubscribedOffsetsAreNotDeleted,
)
