"""Who owned what before: what members claim, put against each other.

A member reports the partitions of its last assignment and the generation of that assignment.
Reports conflict when a member missed a round. The newer claim counts; two of one generation
cannot both be true, so neither counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import attrs

from spec.vocabulary import Member, TopicPartition

NO_GENERATION = -1
"""The generation of a member that gives none, older than all; as Kafka writes it."""


def generation_of(member: Member) -> int:
    """Since when the member owns what it owns."""
    return NO_GENERATION if member.generation is None else member.generation


@attrs.frozen
class Ownership:
    """What is left of the members' claims."""

    owned: dict[str, list[TopicPartition]]
    """What each member owned, as far as its claim stands, in the order in which it claims it."""
    disputed: set[TopicPartition]
    """Partitions that two members claim in one generation."""
    equal_topics: bool
    """Whether all members subscribe to the same topics, as Kafka finds out."""
    newest: int
    """The highest generation that any member speaks of."""


def ownership(
    topics: Collection[str], members: Mapping[str, Member], seen_generation: int = NO_GENERATION
) -> Ownership:
    """Sort out the claims, in the order of the members.

    Kafka: `AbstractStickyAssignor.allSubscriptionsEqual`. Only topics that are shared out now
    count; whether the index exists is not checked.
    """
    owned: dict[str, list[TopicPartition]] = {}
    disputed: set[TopicPartition] = set()
    claimant: dict[TopicPartition, str] = {}
    newest = seen_generation
    for member, told in members.items():
        owned[member] = []
        generation = generation_of(told)
        newest = max(newest, generation)
        for tp in told.owned:
            if tp.topic not in topics:
                continue
            rival = claimant.get(tp)
            if rival is None:
                owned[member].append(tp)
                claimant[tp] = member
                continue
            rival_generation = field_generation(members[rival])
            if generation < rival_generation:
                continue
            # Either way the rival loses it, and is no longer whom a third claim is put against.
            # In one generation the newcomer does not get it either. A later, higher claim does,
            # but the partition stays disputed.
            if generation == rival_generation:
                disputed.add(tp)
            else:
                owned[member].append(tp)
            if tp in owned[rival]:
                owned[rival].remove(tp)
            claimant[tp] = member
    return Ownership(owned, disputed, equal_topics(members.values()), newest)


def field_generation(rival: Member) -> int:
    """The generation of a rival: that of the subscription's field, not that of its user data.

    Quirk: Kafka takes the newcomer's generation from where the strategy keeps it, but the
    rival's from the field. They differ for old clients, who write user data only.
    """
    generation = rival.subscription_generation
    return NO_GENERATION if generation is None else max(NO_GENERATION, generation)


def equal_topics(members: Iterable[Member]) -> bool:
    """Whether every member subscribes to as many topics as the first, and to those only.

    Quirk: a member without topics goes unnoticed while nobody before it has any, and then
    receives partitions. Kafka takes the topics seen so far for those of the first member.
    """
    first: set[str] = set()
    for member in members:
        if not first:
            first = set(member.topics)
        elif len(member.topics) != len(first) or not first.issuperset(member.topics):
            return False
    return True


def earlier_owners(members: Mapping[str, Member], newest: int) -> dict[TopicPartition, str]:
    """Who had each partition in an earlier generation: the latest of those that are not newest.

    A member that missed a round may get back what it had, when balance asks for a move anyway.
    Kafka: `prepopulateCurrentAssignments`, where claims are not checked against anything.
    """
    earlier: dict[TopicPartition, tuple[str, int]] = {}
    for member, told in members.items():
        generation = generation_of(told)
        if generation < newest:
            for tp in told.owned:
                if tp not in earlier or generation > earlier[tp][1]:
                    earlier[tp] = (member, generation)
    return {tp: member for tp, (member, _) in earlier.items()}


def left_over(
    everything: Iterable[TopicPartition], kept: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """Every partition that is not kept, given both in the same order.

    Quirk: Kafka walks both lists in step. A kept partition that does not exist (a topic that
    was deleted and made anew, smaller) never turns up; from there on all count as left over,
    those that somebody keeps too. Kafka: `getUnassignedPartitions`.
    """
    remaining = iter(kept)
    awaited = next(remaining, None)
    left: list[TopicPartition] = []
    for tp in everything:
        if tp == awaited:
            awaited = next(remaining, None)
        else:
            left.append(tp)
    return left
