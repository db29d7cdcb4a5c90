"""Sticky: as even as can be, and of all that is even, what moves least.

It has two halves. Where all members subscribe to the same topics, quotas decide
(`constrained`); where not, partitions move one by one until no move helps (`general`). Both
begin with who owned what (`ownership`). Where racks matter, a member only keeps what it is near
or not far from, and what is free goes to who is near, before it goes to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from spec.assignors.common import as_assignment, topic_sizes
from spec.assignors.racks import NOWHERE, places_of
from spec.assignors.sticky.constrained import assign_constrained
from spec.assignors.sticky.general import assign_general
from spec.assignors.sticky.ownership import NO_GENERATION, ownership
from spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


@attrs.frozen
class Outcome:
    """What both sticky strategies begin with."""

    assigned: dict[str, list[TopicPartition]]
    transferring: dict[TopicPartition, str] | None
    """Partitions that another member has to let go first, and who gets them; None if unknown."""


def share_out(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    seen_generation: int,
    racks: Racks,
) -> Outcome:
    """Share out by quotas or by moves, as the subscriptions ask for."""
    if not members:
        return Outcome({}, {})
    sizes = topic_sizes(partitions, members)
    before = ownership(sizes, members, seen_generation)
    places = places_of(members, members, racks, sizes)
    if not places.matter():
        places = NOWHERE
    if before.equal_topics:
        sharing = assign_constrained(sizes, before, places)
        return Outcome(sharing.assigned, sharing.transferring)
    assigned = assign_general(sizes, members, before, places)
    return Outcome({member: assigned[member] for member in members}, None)


def assign_sticky(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Assign at once: eager members have let go of everything before they join.

    Kafka: `StickyAssignor`. The highest generation that an assignor saw in earlier calls
    counts on; `seen_generation` is that memory.
    """
    return as_assignment(share_out(partitions, members, seen_generation, racks).assigned)
