"""Sticky: as even as can be, and of all that is even, what moves least.

It has two halves. Where all members subscribe to the same topics, quotas decide
(`constrained`); where not, partitions move one by one until no move helps (`general`). Both
begin with who owned what (`ownership`).
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from spec.assignors.common import as_assignment, topic_sizes
from spec.assignors.sticky.constrained import assign_constrained
from spec.assignors.sticky.general import assign_general
from spec.assignors.sticky.ownership import NO_GENERATION, ownership
from spec.vocabulary import Assignment, Member, TopicPartition


@attrs.frozen
class Outcome:
    """What both sticky strategies begin with."""

    assigned: dict[str, list[TopicPartition]]
    transferring: dict[TopicPartition, str] | None
    """Partitions that another member has to let go first, and who gets them; None if unknown."""


def share_out(
    partitions: Mapping[str, int | None], members: Mapping[str, Member], seen_generation: int
) -> Outcome:
    """Share out by quotas or by moves, as the subscriptions ask for."""
    if not members:
        return Outcome({}, {})
    sizes = topic_sizes(partitions, members)
    before = ownership(sizes, members, seen_generation)
    if before.equal_topics:
        sharing = assign_constrained(sizes, before)
        return Outcome(sharing.assigned, sharing.transferring)
    assigned = assign_general(sizes, members, before)
    return Outcome({member: assigned[member] for member in members}, None)


def assign_sticky(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
) -> Assignment:
    """Assign at once: eager members have let go of everything before they join.

    Kafka: `StickyAssignor`. The highest generation that an assignor saw in earlier calls
    counts on; `seen_generation` is that memory.
    """
    return as_assignment(share_out(partitions, members, seen_generation).assigned)
