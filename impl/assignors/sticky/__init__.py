"""Sticky and cooperative-sticky, fast: partitions are numbers, ordered as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kspec.impl.assignors.group import Group
from kspec.impl.assignors.racks import Places
from kspec.impl.assignors.sticky.constrained import assign_constrained
from kspec.impl.assignors.sticky.general import assign_general
from kspec.impl.assignors.sticky.ownership import NO_GENERATION, equal_topics
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks


def _assign(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
    racks: Racks = NO_RACKS,
    withhold: bool,
) -> Assignment:
    """Assign, and with `withhold` leave out partitions that another member must revoke first."""
    if not members:
        return {}
    group = Group(partitions, members)
    places = Places(members, racks, group.sizes) if racks else None
    if places and not places.are_relevant(group.sizes, members):
        places = None
    if equal_topics(group):
        return assign_constrained(group, places, withhold=withhold)
    return assign_general(group, seen_generation, places, withhold=withhold)


assign_sticky = partial(_assign, withhold=False)
assign_cooperative = partial(_assign, withhold=True)
"""The same assignments as the specification's, faster."""
