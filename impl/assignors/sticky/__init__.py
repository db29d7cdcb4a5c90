"""Sticky and cooperative-sticky, fast: partitions are numbers, and orders are those of numbers."""

from __future__ import annotations

from collections.abc import Mapping

from impl.assignors.group import Group
from impl.assignors.sticky.constrained import assign_constrained
from impl.assignors.sticky.general import assign_general
from impl.assignors.sticky.ownership import NO_GENERATION, equal_topics
from spec.vocabulary import Assignment, Member


def assign_sticky(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
) -> Assignment:
    """The same as the specification's, faster."""
    return _assign(partitions, members, seen_generation, withhold=False)


def assign_cooperative(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
) -> Assignment:
    """The same as the specification's, faster."""
    return _assign(partitions, members, seen_generation, withhold=True)


def _assign(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    seen_generation: int,
    *,
    withhold: bool,
) -> Assignment:
    """Share out; withhold, if so asked, what changes hands."""
    if not members:
        return {}
    group = Group(partitions, members)
    if equal_topics(group):
        return assign_constrained(group, withhold=withhold)
    return assign_general(group, seen_generation, withhold=withhold)
