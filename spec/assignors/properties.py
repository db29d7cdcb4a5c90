"""What an assignment is for, checkable on anyone's result.

A property looks at one round (what the members asked, what they got) and yields claims, as the
properties of models do: a place, and whether it is true there. What every strategy owes is
here; what one strategy promises stands beside its algorithm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from spec.assignors.racks import Places, places_of
from spec.core import Claims
from spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


@attrs.frozen
class Round:
    """One rebalance: what went into an assignor, and what came out."""

    partitions: Mapping[str, int | None]
    """How many partitions each topic has; a topic without metadata is absent."""
    members: Mapping[str, Member]
    """Who takes part."""
    assignment: Assignment
    """Who got what."""
    racks: Racks = NO_RACKS
    """Where the replicas of each partition stand, as far as it was told."""

    def to_share_out(self) -> list[TopicPartition]:
        """Every partition of every topic that somebody subscribes to."""
        subscribed = dict.fromkeys(t for member in self.members.values() for t in member.topics)
        return [
            TopicPartition(topic, index)
            for topic in subscribed
            for index in range(self.partitions.get(topic) or 0)
        ]

    def holders(self) -> dict[TopicPartition, list[str]]:
        """Who got each partition that anybody got."""
        holders: dict[TopicPartition, list[str]] = {}
        for member, assigned in self.assignment.items():
            for tp in assigned:
                holders.setdefault(tp, []).append(member)
        return holders

    def claims(self) -> dict[TopicPartition, list[str]]:
        """Who says that it owns each partition, of those that are shared out."""
        claims: dict[TopicPartition, list[str]] = {tp: [] for tp in self.to_share_out()}
        for name, member in self.members.items():
            for tp in member.owned:
                if tp in claims:
                    claims[tp].append(name)
        return claims

    def previous_owner(self) -> dict[TopicPartition, str]:
        """Who owned each partition that one member claims and still subscribes to."""
        return {
            tp: claimants[0]
            for tp, claimants in self.claims().items()
            if len(claimants) == 1 and tp.topic in self.members[claimants[0]].topics
        }

    def places(self) -> Places:
        """Where members and replicas stand."""
        sizes = Counter(tp.topic for tp in self.to_share_out())
        return places_of(self.members, self.members, self.racks, sizes)

    def told_plainly(self) -> bool:
        """Whether what members say fits together.

        No topic is named twice, no partition is claimed twice or beyond the end of its topic,
        and all speak of one generation. Kafka's sticky strategies promise most of what they
        promise only then.
        """
        owned = [tp for member in self.members.values() for tp in member.owned]
        exist = all(tp.partition in range(self.partitions.get(tp.topic) or 0) for tp in owned)
        generations = {m.generation for m in self.members.values() if m.owned}
        told_once = all(len(set(m.topics)) == len(m.topics) for m in self.members.values())
        claimed_once = len(set(owned)) == len(owned)
        return exist and told_once and claimed_once and len(generations) <= 1

    def equal_topics(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return len({frozenset(member.topics) for member in self.members.values()}) <= 1


Property: TypeAlias = Callable[[Round], Claims]


def failure(holds: Property, of: Round) -> str | None:
    """The first place where a property is not true of a round, or None."""
    return next((place for place, true in holds(of) if not true), None)


def members_are_answered(of: Round) -> Claims:
    """Every member gets an answer, and nobody else does."""
    for member in dict.fromkeys([*of.members, *of.assignment]):
        yield f"member {member!r}", member in of.members and member in of.assignment


def only_subscribers_get_partitions(of: Round) -> Claims:
    """What is assigned exists, and goes to somebody who subscribes to its topic."""
    exists = set(of.to_share_out())
    for member, assigned in of.assignment.items():
        topics = of.members[member].topics if member in of.members else ()
        for tp in assigned:
            yield f"{tp} at {member!r}", tp in exists and tp.topic in topics


def nobody_shares_a_partition(of: Round) -> Claims:
    """No partition is assigned twice."""
    for tp, holders in of.holders().items():
        yield f"{tp} at {' and '.join(map(repr, holders))}", len(holders) == 1


def every_partition_is_assigned(of: Round) -> Claims:
    """Every partition of a subscribed topic goes to somebody."""
    holders = of.holders()
    for tp in of.to_share_out():
        yield str(tp), tp in holders


VALID: tuple[Property, ...] = (
    members_are_answered,
    only_subscribers_get_partitions,
    nobody_shares_a_partition,
    every_partition_is_assigned,
)
"""Every partition of a subscribed topic goes to exactly one subscriber."""


def loads_are_even(of: Round) -> Claims:
    """With equal subscriptions, nobody has two partitions more than anybody else."""
    if of.equal_topics() and of.assignment:
        loads = Counter({member: len(assigned) for member, assigned in of.assignment.items()})
        least = min(loads.values())
        for member, load in loads.items():
            yield f"member {member!r}: {load}, where another has {least}", load <= least + 1
