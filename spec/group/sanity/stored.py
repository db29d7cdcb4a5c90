"""What the offsets topic has, and how large the world is."""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.world import World
from spec.messages import GroupMetadata, GroupState


@always
def WhatIsStoredIsTheGroup(s: World) -> Claims:
    """A group that is empty or stable is in the offsets topic as it is."""
    if s.group.state in (GroupState.EMPTY, GroupState.STABLE):
        stored = GroupMetadata() if s.stored is None else s.stored
        yield "offsets topic", stored == s.group.stored()


@always
def WhatIsStoredIsWhole(s: World) -> Claims:
    """What a new coordinator finds has members with a leader among them, or none of both."""
    if s.stored is not None:
        ids = [m.id for m in s.stored.members]
        yield "leader", s.stored.leader in ids if ids else s.stored.leader is None
        yield "protocol", (s.stored.protocol is not None) == bool(ids)


@always
def TheWorldIsWithinItsBounds(s: World) -> Claims:
    """The group moves, and the topic grows, one at a time."""
    yield "coordinators", s.coordinator <= s.bounds.failovers
    yield "partitions", s.partitions <= s.bounds.partitions + s.bounds.growths


STORED = (
    WhatIsStoredIsTheGroup,
    WhatIsStoredIsWhole,
    TheWorldIsWithinItsBounds,
)
