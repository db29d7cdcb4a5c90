"""Consistency of the offsets topic, and of the bounds."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.group.state import World
from kspec.spec.messages import GroupMetadata, GroupState


@always
def StoredGroupMatchesMemory(s: World) -> Claims:
    """A group that is Empty or Stable is in the offsets topic as it is in memory."""
    if s.group.state in (GroupState.EMPTY, GroupState.STABLE):
        stored = GroupMetadata() if s.stored is None else s.stored
        yield "offsets topic", stored == s.group.stored()


@always
def StoredGroupIsComplete(s: World) -> Claims:
    """A stored group has members and a leader among them, or neither."""
    if s.stored is not None:
        ids = [m.id for m in s.stored.members]
        yield "leader", s.stored.leader in ids if ids else s.stored.leader is None
        yield "protocol", (s.stored.protocol is not None) == bool(ids)


@always
def StateIsWithinBounds(s: World) -> Claims:
    """Failovers and new partitions stay within the bounds."""
    yield "coordinators", s.coordinator <= s.bounds.failovers
    yield "partitions", s.partitions <= s.bounds.partitions + s.bounds.growths


STORED = (
    StoredGroupMatchesMemory,
    StoredGroupIsComplete,
    StateIsWithinBounds,
)
