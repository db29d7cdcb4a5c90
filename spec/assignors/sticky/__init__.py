"""Sticky: an assignment as balanced as possible that moves as few partitions as possible.

It has two algorithms. Where all members subscribe to the same topics, quotas decide
(`constrained`); otherwise, partitions move one by one until no move improves the balance
(`general`). Both begin with the members' claims (`ownership`). Where racks are relevant, a
member does not keep a partition without a replica on its rack, and unassigned partitions go
first to members that share a rack with them.

Kafka: `AbstractStickyAssignor.assignPartitions`.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kspec.spec.assignors.common import as_assignment, topic_sizes
from kspec.spec.assignors.racks import NOWHERE, places_of
from kspec.spec.assignors.sticky.constrained import assign_constrained
from kspec.spec.assignors.sticky.general import assign_general
from kspec.spec.assignors.sticky.ownership import NO_GENERATION, ownership
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


@attrs.frozen
class StickyAssignment:
    """The assignment that both sticky assignors begin with."""

    assigned: dict[str, list[TopicPartition]]
    """The partitions of each member."""
    transferring: dict[TopicPartition, str] | None
    """The new member of each partition that another must revoke first; None if not computed."""


def assign_and_transfer(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    seen_generation: int,
    racks: Racks,
) -> StickyAssignment:
    """Assign by quotas where all subscriptions are equal, else by single moves."""
    if not members:
        return StickyAssignment({}, {})
    sizes = topic_sizes(partitions, members)
    before = ownership(sizes, members, seen_generation)
    places = places_of(members, members, racks, sizes)
    if not places.are_relevant():
        places = NOWHERE
    if before.equal_topics:
        builder = assign_constrained(sizes, before, places)
        return StickyAssignment(builder.assigned, builder.transferring)
    assigned = assign_general(sizes, members, before, places)
    return StickyAssignment({member: assigned[member] for member in members}, None)


def assign_sticky(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Assign every partition: eager members have revoked theirs before they join.

    Kafka: `StickyAssignor`, which remembers the highest generation of earlier calls;
    `seen_generation` is that memory.
    """
    assignment = assign_and_transfer(partitions, members, seen_generation, racks)
    return as_assignment(assignment.assigned)
