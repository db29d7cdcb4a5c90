"""Ownership before the rebalance: the members' claims, with conflicts resolved.

A member claims the partitions of its last assignment, with that assignment's generation. Claims
conflict when a member missed a rebalance. The newer claim counts; of two claims in one
generation, neither does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import attrs

from kspec.spec.vocabulary import Member, TopicPartition

NO_GENERATION = -1
"""The generation of a claim without one, older than all (`DEFAULT_GENERATION`)."""


def generation_of(member: Member) -> int:
    """The generation of the member's claims."""
    return NO_GENERATION if member.generation is None else member.generation


@attrs.frozen
class Ownership:
    """The claims that count."""

    owned: dict[str, list[TopicPartition]]
    """The partitions of each member whose claims count, in the order of its claims."""
    disputed: set[TopicPartition]
    """The partitions that two members claim in one generation."""
    equal_topics: bool
    """Whether all members subscribe to the same topics, as Kafka determines it."""
    newest: int
    """The highest generation of any claim."""


def ownership(
    topics: Collection[str], members: Mapping[str, Member], seen_generation: int = NO_GENERATION
) -> Ownership:
    """Resolve conflicting claims, in the order of the members.

    Only claims of topics that are now assigned count; whether the partition exists is not
    checked. Kafka: `AbstractStickyAssignor.allSubscriptionsEqual`.
    """
    owned: dict[str, list[TopicPartition]] = {}
    disputed: set[TopicPartition] = set()
    claimant: dict[TopicPartition, str] = {}
    newest = seen_generation
    for member, joined in members.items():
        owned[member] = []
        generation = generation_of(joined)
        newest = max(newest, generation)
        for tp in joined.owned:
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
            # The rival loses it in either case, and a third claim is compared with this one. In
            # one generation this member does not get it either; a third, newer claim does, but
            # the partition stays disputed.
            if generation == rival_generation:
                disputed.add(tp)
            else:
                owned[member].append(tp)
            if tp in owned[rival]:
                owned[rival].remove(tp)
            claimant[tp] = member
    return Ownership(owned, disputed, equal_topics(members.values()), newest)


def field_generation(rival: Member) -> int:
    """The generation in the rival's subscription field, not the one in its user data.

    Quirk: Kafka takes a member's own generation from the assignor's user data, but a rival's
    from the field. They differ for old clients, which write user data only.
    """
    generation = rival.subscription_generation
    return NO_GENERATION if generation is None else max(NO_GENERATION, generation)


def equal_topics(members: Iterable[Member]) -> bool:
    """Whether every member subscribes to the same topics as the first, and to as many.

    Quirk: Kafka compares with the topics seen so far, so members without topics that come first
    count as equal, and are assigned partitions.
    """
    first: set[str] = set()
    for member in members:
        if not first:
            first = set(member.topics)
        elif len(member.topics) != len(first) or not first.issuperset(member.topics):
            return False
    return True


def earlier_owners(members: Mapping[str, Member], newest: int) -> dict[TopicPartition, str]:
    """The owner of each partition in the latest generation before the newest.

    A member that missed a rebalance may get its partition back where balance requires a move.
    Kafka: `GeneralAssignmentBuilder.prepopulateCurrentAssignments`, which resolves no conflict.
    """
    earlier: dict[TopicPartition, tuple[str, int]] = {}
    for member, joined in members.items():
        generation = generation_of(joined)
        if generation < newest:
            for tp in joined.owned:
                if tp not in earlier or generation > earlier[tp][1]:
                    earlier[tp] = (member, generation)
    return {tp: member for tp, (member, _) in earlier.items()}


def unassigned(
    everything: Iterable[TopicPartition], kept: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """Every partition that is not kept; both lists are in the same order.

    Quirk: Kafka walks both lists in step. It never meets a kept partition that does not exist
    (of a topic recreated with fewer), and from there on counts every partition as unassigned,
    kept ones included. Kafka: `getUnassignedPartitions`.
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
