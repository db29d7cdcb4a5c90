"""What the offsets topic is for: nothing that was committed is lost, and nothing comes back."""

from __future__ import annotations

from spec.core import Claims, always, reachable, reachable_within
from spec.messages import GroupState
from spec.offsets_topic.expiry import group_of
from spec.offsets_topic.records import read
from spec.offsets_topic.state import GROUP, Loaded, Loading, OffsetsTopic, as_written, partitions
from spec.vocabulary import TopicPartition


def place_of(partition: TopicPartition | None) -> str:
    """Where a key stands, in verdicts and pictures: somewhere in the log."""
    return f"log, group {GROUP}" if partition is None else f"log, offset of {partition}"


def in_memory(partition: TopicPartition) -> str:
    """What the coordinator's own copy of an offset is called."""
    return f"offset of {partition} in memory"


def keys(s: OffsetsTopic) -> list[TopicPartition | None]:
    """Every key of the group, in the order of `written`."""
    return [None, *partitions(s)]


@always
def ReadersSeeWhatWasWritten(s: OffsetsTopic) -> Claims:
    """Whoever reads the log sees what was written last, whatever compaction removed."""
    seen = as_written(s, read(s.log))
    for key, found, wanted in zip(keys(s), seen, s.written, strict=True):
        yield place_of(key), found == wanted


@always
def CoordinatorHasWhatWasWritten(s: OffsetsTopic) -> Claims:
    """A coordinator that answers has exactly what was written and not taken back."""
    if isinstance(s.coordinator, Loaded):
        for partition, kept, wanted in zip(
            partitions(s), s.coordinator.commits, s.written[1:], strict=True
        ):
            yield in_memory(partition), kept == wanted
        simple = s.group is None or s.group.protocol_type is None
        rebalances = s.group is not None and s.group.has_members and not s.is_in(GroupState.STABLE)
        if not rebalances:
            stored = s.written[0]
            same = simple if stored is None else s.group == group_of(stored)
            yield "coordinator, its group", same


@always
def ForgottenGroupsLeaveNothing(s: OffsetsTopic) -> Claims:
    """A group that the coordinator does not know has nothing in the log but tombstones."""
    if s.is_loaded and s.group is None:
        for key, entry in zip(keys(s), as_written(s, read(s.log)), strict=True):
            yield f"{place_of(key)}, of no group", entry is None


@always
def DeletedTopicsLeaveNothing(s: OffsetsTopic) -> Claims:
    """No offset is kept for a topic that does not exist."""
    for partition, entry in zip(partitions(s), s.written[1:], strict=True):
        if partition.topic not in s.topics:
            yield f"{place_of(partition)}, of a topic that is gone", entry is None


@always
def NothingExpiresUnderMembers(s: OffsetsTopic) -> Claims:
    """Offsets of a group with members stay, but for topics that a Stable one does not read.

    Nor does an administrator delete such a group, with all that it has.
    """
    for partition in partitions(s):
        yield place_of(partition), partition not in s.too_soon.under_members


@always
def NothingExpiresEarly(s: OffsetsTopic) -> Claims:
    """Offsets stay for the retention, counted from when the members went.

    Where the coordinator knows of no members, it is counted from the commit.
    """
    for partition in partitions(s):
        yield place_of(partition), partition not in s.too_soon.early


@always
def SubscribedOffsetsAreNotDeleted(s: OffsetsTopic) -> Claims:
    """No administrator deletes the offset of a topic that a member subscribes to."""
    for partition in partitions(s):
        yield place_of(partition), partition not in s.too_soon.subscribed


PROPERTIES = (
    ReadersSeeWhatWasWritten,
    CoordinatorHasWhatWasWritten,
    ForgottenGroupsLeaveNothing,
    DeletedTopicsLeaveNothing,
    NothingExpiresUnderMembers,
    NothingExpiresEarly,
    SubscribedOffsetsAreNotDeleted,
)


# -- in every state, and in some ------------------------------------------------------------------


@always
def LogIsInOrder(s: OffsetsTopic) -> Claims:
    """Entries stand in the order of their offsets, below the end; none was written later."""
    offsets = [entry.offset for entry in s.log]
    yield "log", offsets == sorted(set(offsets)) and all(o < s.end for o in offsets)
    yield "log, by its clock", all(0 <= entry.time <= s.clock for entry in s.log)
    yield "world", 0 <= s.clock <= s.bounds.last_moment


@always
def GroupIsWellFormed(s: OffsetsTopic) -> Claims:
    """Groups without members subscribe to nothing; only they remember since when they are so."""
    if s.group is not None and s.is_in(GroupState.EMPTY):
        yield "coordinator", not s.group.subscribed
        consumers = s.group.protocol_type is not None
        yield "coordinator, since it is Empty", (s.group.since is not None) == consumers
    elif s.group is not None:
        yield "coordinator", s.group.since is None and s.group.protocol_type is not None


@always
def ReaderIsWithinTheLog(s: OffsetsTopic) -> Claims:
    """A coordinator that loads has read some of the log, and no more."""
    if isinstance(s.coordinator, Loading):
        yield "coordinator", 0 <= s.coordinator.position <= s.end


@reachable
def GroupIsForgotten(s: OffsetsTopic) -> bool:
    """A group can go, with everything it had."""
    return s.is_loaded and s.group is None and s.end > 0


@reachable_within(lambda bounds: bounds.writes >= 3 and bounds.topics >= 2 and bounds.last_moment)
def StableGroupForgetsTopic(s: OffsetsTopic) -> bool:
    """An offset of a topic that nobody reads any more can expire in a Stable group."""
    stable = s.is_in(GroupState.STABLE)
    written = {entry.key for entry in s.log if entry.time == 0 and not entry.is_tombstone}
    gone = {entry.key for entry in s.log if entry.time > 0 and entry.is_tombstone}
    return stable and len(s.topics) == s.bounds.topics and bool(written & gone)


@reachable
def TombstoneGoes(s: OffsetsTopic) -> bool:
    """Nothing need be left of an offset that was taken back."""
    return s.end > 0 and not s.log


@reachable
def GroupBeginsInMemory(s: OffsetsTopic) -> bool:
    """A group can come into being, and nothing is written yet."""
    return s.group is not None and s.end == 0


@reachable
def TopicIsGone(s: OffsetsTopic) -> bool:
    """A topic can go."""
    return len(s.topics) < s.bounds.topics


@reachable
def CoordinatorIsLoading(s: OffsetsTopic) -> bool:
    """A coordinator can fail, and another one begins to read."""
    return not s.is_loaded


SANITY = (
    LogIsInOrder,
    GroupIsWellFormed,
    ReaderIsWithinTheLog,
    GroupIsForgotten,
    StableGroupForgetsTopic,
    TombstoneGoes,
    GroupBeginsInMemory,
    TopicIsGone,
    CoordinatorIsLoading,
)
