"""The mutation baseline of `offsets-topic`: consistency invariants and equivalent mutants."""

from __future__ import annotations

from kspec.spec.core import Baseline, Claims, always, reachable, reachable_within
from kspec.spec.messages import GroupState
from kspec.spec.offsets_topic.state import Loading, OffsetsTopic

# -- consistency invariants -------------------------------------------------------------------


@always
def LogOffsetsAscend(s: OffsetsTopic) -> Claims:
    """Entries are in the order of their offsets, below the log end, and none is from the future."""
    offsets = [entry.offset for entry in s.log]
    yield "log", offsets == sorted(set(offsets)) and all(o < s.end for o in offsets)
    yield "log, by its clock", all(0 <= entry.time <= s.clock for entry in s.log)
    yield "world", 0 <= s.clock <= s.bounds.last_moment


@always
def GroupIsWellFormed(s: OffsetsTopic) -> Claims:
    """An Empty group subscribes to nothing, and only an Empty group has a time since when."""
    if s.group is not None and s.is_in(GroupState.EMPTY):
        yield "coordinator", not s.group.subscribed
        consumers = s.group.protocol_type is not None
        yield "coordinator, since it is Empty", (s.group.since is not None) == consumers
    elif s.group is not None:
        yield "coordinator", s.group.since is None and s.group.protocol_type is not None


@always
def LoadPositionWithinLog(s: OffsetsTopic) -> Claims:
    """A coordinator that loads is within the log."""
    if isinstance(s.coordinator, Loading):
        yield "coordinator", 0 <= s.coordinator.position <= s.end


@reachable
def GroupIsDeleted(s: OffsetsTopic) -> bool:
    """A group can be deleted with all its offsets."""
    return s.is_loaded and s.group is None and s.end > 0


@reachable_within(lambda bounds: bounds.writes >= 3 and bounds.topics >= 2 and bounds.last_moment)
def StableGroupExpiresOffset(s: OffsetsTopic) -> bool:
    """An offset of a topic without subscriber can expire in a Stable group."""
    stable = s.is_in(GroupState.STABLE)
    written = {entry.key for entry in s.log if entry.time == 0 and not entry.is_tombstone}
    gone = {entry.key for entry in s.log if entry.time > 0 and entry.is_tombstone}
    return stable and len(s.topics) == s.bounds.topics and bool(written & gone)


@reachable
def GroupExistsUnwritten(s: OffsetsTopic) -> bool:
    """A group can exist before any record of it is written."""
    return s.group is not None and s.end == 0


@reachable
def TopicIsDeleted(s: OffsetsTopic) -> bool:
    """A topic can be deleted."""
    return len(s.topics) < s.bounds.topics


@reachable
def CoordinatorIsLoading(s: OffsetsTopic) -> bool:
    """A coordinator can fail, and another one load the log."""
    return not s.is_loaded


# -- equivalent mutants ------------------------------------------------------------------------

WRITERS = (
    "leader_assigns",
    "last_member_leaves",
    "member_commits",
    "standalone_commits",
    "admin_deletes_offset",
    "admin_deletes_group",
    "admin_deletes_topic",
    "coordinator_expires_offsets",
)

EQUIVALENT = {
    **{
        f"{name} makes end one more": "An unused offset is a gap, like those of compaction."
        for name in WRITERS
    },
    "group_begins_rebalance without the guard 'no rebalance is in progress'": (
        "A rebalance that begins again is the same rebalance."
    ),
    "leader_assigns forgets coordinator.group.state": (
        "The record is written, so the next coordinator loads a Stable group; that members wait "
        "until then concerns the group, not its records."
    ),
    "standalone_commits without the guard 'group has no members'": (
        "No record names the consumer that committed. The model `delivery` shows the effect of a "
        "standalone consumer's commits on a group."
    ),
    "admin_deletes_offset without the guard 'offset is committed'": (
        "A tombstone for an offset that is not committed deletes nothing."
    ),
    "admin_deletes_topic without the guard 'topic exists'": (
        "A deleted topic has no offsets to delete."
    ),
    "coordinator_expires_offsets without the guard 'an offset or the group has expired'": (
        "Nothing is written then."
    ),
    "coordinator_fails without the guard 'a record was written'": (
        "An empty log loads at once, to the same state."
    ),
    **{
        f"coordinator_loads_record {what}": "Once loaded, the offset of a group's record is unused."
        for what in (
            "forgets coordinator.group.offset",
            "makes coordinator.group.offset one more",
            "makes coordinator.group.offset one less",
        )
    },
    "coordinator_completes_load forgets coordinator": (
        "A coordinator that never answers violates no property of its answers."
    ),
    "cleaner_compacts_log without the guard 'compaction removes a record'": (
        "The log stays as it is."
    ),
}

BASELINE = Baseline(
    invariants=(
        LogOffsetsAscend,
        GroupIsWellFormed,
        LoadPositionWithinLog,
        GroupIsDeleted,
        StableGroupExpiresOffset,
        GroupExistsUnwritten,
        TopicIsDeleted,
        CoordinatorIsLoading,
    ),
    bounds=({"topics": 1, "writes": 2}, {"writes": 2}, {}),
    equivalent={"kip-211": EQUIVALENT},
)
