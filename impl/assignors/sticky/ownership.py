"""Conflicting claims resolved, with partitions as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice

from kspec.impl.assignors.group import Group
from kspec.spec.vocabulary import Member

NO_GENERATION = -1
"""The generation of a claim without one."""


def equal_topics(group: Group) -> bool:
    """Whether all members subscribe to the same topics, as Kafka determines it.

    Members without topics that come before all others count as equal. The first member with
    topics is the one that the others are compared with, and the only one that may repeat a topic.
    """
    nothing = len(group.kinds.get((), ()))
    if any(member.topics for member in islice(group.members.values(), nothing)):
        return False
    kinds = [topics for topics in group.kinds if topics]
    if not kinds:
        return True
    first = frozenset(kinds[0])
    if len(kinds[0]) > len(first) and len(group.kinds[kinds[0]]) > 1:
        return False
    return all(len(kind) == len(first) and first.issuperset(kind) for kind in kinds[1:])


def settle_claims(
    members: Mapping[str, Member], claims: dict[str, list[int]]
) -> tuple[dict[str, list[int]], set[int]]:
    """The claims that count for each member, and partitions claimed twice in one generation."""
    claimed = list(chain.from_iterable(claims.values()))
    if len(set(claimed)) < len(claimed):
        return _settle_conflicts(members, claims)
    return dict(claims), set()


def _settle_conflicts(
    members: Mapping[str, Member], claims: dict[str, list[int]]
) -> tuple[dict[str, list[int]], set[int]]:
    """Resolve the claims in turn: the newer counts; of two in one generation, neither does."""
    owned: dict[str, dict[int, None]] = {}
    disputed: set[int] = set()
    claimant: dict[int, str] = {}
    for name, claimed in claims.items():
        mine = owned[name] = {}
        generation = members[name].generation
        if generation is None:
            generation = NO_GENERATION
        for number in claimed:
            rival = claimant.get(number)
            if rival is not None:
                of_field = members[rival].subscription_generation
                of_rival = NO_GENERATION if of_field is None else max(NO_GENERATION, of_field)
                if generation < of_rival:
                    continue
                held = number in owned[rival]
                owned[rival].pop(number, None)
                claimant[number] = name
                if generation == of_rival:
                    disputed.add(number)
                    continue
                if rival == name and not held:
                    continue  # Kafka adds it to the list, and then takes it off its rival's
            mine[number] = None
            claimant[number] = name
    return {name: list(mine) for name, mine in owned.items()}, disputed
