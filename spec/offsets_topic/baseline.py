"""The mutation baseline of `offsets-topic`: its consistency invariants."""

from __future__ import annotations

from pathlib import Path

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
    mutants=Path(__file__).with_name("mutants.toml"),
)
