"""Properties of assignments, which can be checked on any client's result.

A property is a function of one round (the input of an assignor and its result) that yields
claims, as the properties of models do: a place, and whether the property holds there. Those
that every assignor must satisfy are here; those of one assignor are beside its algorithm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from kspec.spec.assignors.racks import Places, places_of
from kspec.spec.core import Claims
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


@attrs.frozen
class Round:
    """One rebalance: the input of an assignor, and its result."""

    partitions: Mapping[str, int | None]
    """The number of partitions of each topic; a topic without metadata is absent."""
    members: Mapping[str, Member]
    """The members, in order."""
    assignment: Assignment
    """The partitions assigned to each member."""
    racks: Racks = NO_RACKS
    """The racks of each partition's replicas, as far as they are known."""

    def subscribed_partitions(self) -> list[TopicPartition]:
        """Every partition of every topic with a subscriber."""
        subscribed = dict.fromkeys(t for member in self.members.values() for t in member.topics)
        return [
            TopicPartition(topic, index)
            for topic in subscribed
            for index in range(self.partitions.get(topic) or 0)
        ]

    def holders(self) -> dict[TopicPartition, list[str]]:
        """The members that each assigned partition is assigned to."""
        holders: dict[TopicPartition, list[str]] = {}
        for member, assigned in self.assignment.items():
            for tp in assigned:
                holders.setdefault(tp, []).append(member)
        return holders

    def claims(self) -> dict[TopicPartition, list[str]]:
        """The members that claim to own each subscribed partition."""
        claims: dict[TopicPartition, list[str]] = {tp: [] for tp in self.subscribed_partitions()}
        for name, member in self.members.items():
            for tp in member.owned:
                if tp in claims:
                    claims[tp].append(name)
        return claims

    def previous_owner(self) -> dict[TopicPartition, str]:
        """The owner of each partition that exactly one member claims and still subscribes to."""
        return {
            tp: claimants[0]
            for tp, claimants in self.claims().items()
            if len(claimants) == 1 and tp.topic in self.members[claimants[0]].topics
        }

    def places(self) -> Places:
        """The racks of members and replicas."""
        sizes = Counter(tp.topic for tp in self.subscribed_partitions())
        return places_of(self.members, self.members, self.racks, sizes)

    def has_consistent_claims(self) -> bool:
        """Whether the members' claims are consistent.

        No subscription repeats a topic, every claimed partition exists and is claimed once, and
        all claims are of one generation. Most guarantees of the sticky assignors hold only then.
        """
        owned = [tp for member in self.members.values() for tp in member.owned]
        exist = all(tp.partition in range(self.partitions.get(tp.topic) or 0) for tp in owned)
        generations = {m.generation for m in self.members.values() if m.owned}
        no_topic_repeated = all(len(set(m.topics)) == len(m.topics) for m in self.members.values())
        claimed_once = len(set(owned)) == len(owned)
        return exist and no_topic_repeated and claimed_once and len(generations) <= 1

    def equal_topics(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return len({frozenset(member.topics) for member in self.members.values()}) <= 1


Property: TypeAlias = Callable[[Round], Claims]
"""A property of rounds: yields places, and whether it holds there."""


def failure(holds: Property, of: Round) -> str | None:
    """The first place where a property does not hold, or None."""
    return next((place for place, true in holds(of) if not true), None)


def every_member_has_an_assignment(of: Round) -> Claims:
    """Exactly the members have an assignment, which may be empty."""
    for member in dict.fromkeys([*of.members, *of.assignment]):
        yield f"member {member!r}", member in of.members and member in of.assignment


def only_subscribers_own_partitions(of: Round) -> Claims:
    """Every assigned partition exists, and its member subscribes to its topic."""
    exists = set(of.subscribed_partitions())
    for member, assigned in of.assignment.items():
        topics = of.members[member].topics if member in of.members else ()
        for tp in assigned:
            yield f"{tp} at {member!r}", tp in exists and tp.topic in topics


def one_owner_per_partition(of: Round) -> Claims:
    """No partition is assigned to two members, or twice to one."""
    for tp, holders in of.holders().items():
        yield f"{tp} at {' and '.join(map(repr, holders))}", len(holders) == 1


def every_partition_is_assigned(of: Round) -> Claims:
    """Every partition of a topic with a subscriber is assigned."""
    holders = of.holders()
    for tp in of.subscribed_partitions():
        yield str(tp), tp in holders


VALID: tuple[Property, ...] = (
    every_member_has_an_assignment,
    only_subscribers_own_partitions,
    one_owner_per_partition,
    every_partition_is_assigned,
)
"""Every partition of a topic with a subscriber is assigned to exactly one subscriber."""


def loads_are_even(of: Round) -> Claims:
    """With equal subscriptions, the members' loads differ by at most one."""
    if of.equal_topics() and of.assignment:
        loads = Counter({member: len(assigned) for member, assigned in of.assignment.items()})
        least = min(loads.values())
        for member, load in loads.items():
            yield f"member {member!r}: {load}, where another has {least}", load <= least + 1
