"""Range: each topic is assigned separately, in contiguous ranges.

Of topics with the same number of partitions and the same subscribers, partition i goes to the
same member: range exists to join co-partitioned topics. The price is that the first members
get the longer range of every topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kspec.spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from kspec.spec.assignors.properties import VALID, Round
from kspec.spec.assignors.racks import places_of, swaps_do_not_improve_racks
from kspec.spec.assignors.range_by_rack import TopicShare, assign_by_rack
from kspec.spec.core import Claims
from kspec.spec.lemmas import NATURAL, POSITIVE, false_neighbour, lemma, provided
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def range_start(partitions: int, members: int, place: int) -> int:
    """The first partition of the member in this place: longer ranges come first."""
    shortest, longer = divmod(partitions, members)
    return place * shortest + min(place, longer)


def range_size(partitions: int, members: int, place: int) -> int:
    """How many partitions the member in this place gets."""
    return range_start(partitions, members, place + 1) - range_start(partitions, members, place)


def range_sizes(partitions: int, members: int) -> list[int]:
    """How many partitions each member gets."""
    return [range_size(partitions, members, place) for place in range(members)]


@lemma(range_start, partitions=NATURAL, members=POSITIVE)
def ranges_cover_all_partitions(partitions: int, members: int) -> Claims:
    """The first range starts at 0, and the last ends at the number of partitions.

    Each range ends where the next starts, so every partition is in exactly one.
    """
    begin, end = (range_start(partitions, members, place) for place in (0, members))
    yield f"the first range starts at 0: {begin}", begin == 0
    yield f"{end} partitions are all {partitions}", end == partitions


@false_neighbour(of=ranges_cover_all_partitions)
def ranges_cover_all_partitions_without_the_remainder(partitions: int, members: int) -> Claims:
    """Without the remainder of the division, some partitions are not assigned."""
    end = members * (partitions // members)
    yield f"{end} partitions are all {partitions}", end == partitions


@lemma(range_size, partitions=NATURAL, members=POSITIVE, place=NATURAL, later=NATURAL)
def range_sizes_differ_by_at_most_one(
    partitions: int, members: int, place: int, later: int
) -> Claims:
    """No range is negative, and an earlier one is as long as a later one, or one longer."""
    yield provided("the places are members'"), place <= later < members
    first = range_size(partitions, members, place)
    other = range_size(partitions, members, later)
    yield f"{other} is not negative", other >= 0
    yield f"{first} is {other}, or one more", 0 <= first - other <= 1


@false_neighbour(of=range_sizes_differ_by_at_most_one)
def range_sizes_rounded_up_differ_by_at_most_one(
    partitions: int, members: int, place: int, later: int
) -> Claims:
    """Ranges of the quotient rounded up leave the last members with too few."""
    yield provided("the places are members'"), place <= later < members
    rounded_up = -(-partitions // members)
    first, other = (min(rounded_up, max(0, partitions - i * rounded_up)) for i in (place, later))
    yield f"{first} is {other}, or one more", 0 <= first - other <= 1


def assign_range(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Cut each topic into one range for each of its subscribers.

    A member's topics are in the order of Kafka's topic map, but sorted where racks are relevant.
    Kafka: `RangeAssignor.assignPartitions`.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    in_order = static_first(members)
    shares = []
    for topic, size in topic_sizes(partitions, members).items():
        subscribers = [member for member in in_order if topic in members[member].topics]
        uncut = partitions_of(topic, size)
        places = places_of(members, subscribers, racks, {topic: size})
        shares.append(TopicShare.begin(uncut, subscribers, places))
        for member, length in zip(subscribers, range_sizes(size, len(subscribers)), strict=True):
            assigned[member] += uncut[:length]
            uncut = uncut[length:]
    if any(share.places.are_relevant() for share in shares):
        assigned |= assign_by_rack(shares)
    return as_assignment(assigned)


def ranges_are_contiguous(of: Round) -> Claims:
    """A member's partitions of one topic are contiguous, except where racks are relevant."""
    if of.places().are_relevant():
        return
    for member, assigned in of.assignment.items():
        for topic, indexes in by_topic(assigned).items():
            run = range(min(indexes), min(indexes) + len(indexes))
            yield f"topic {topic!r} at {member!r}", sorted(indexes) == list(run)


def ranges_are_even(of: Round) -> Claims:
    """Of each topic, the loads of its subscribers differ by at most one; the first get more.

    Where racks are relevant, any of them may get more.
    """
    by_rack = of.places().are_relevant()
    for topic, size in topic_sizes(of.partitions, of.members).items():
        subscribers = [m for m in static_first(of.members) if topic in of.members[m].topics]
        if by_rack:
            subscribers.sort(key=lambda member: -len(indexes_of(topic, of, member)))
        for member, length in zip(subscribers, range_sizes(size, len(subscribers)), strict=True):
            got = len(indexes_of(topic, of, member))
            yield f"topic {topic!r} at {member!r}: {got}, not {length}", got == length


def copartitioned_topics_have_equal_ranges(of: Round) -> Claims:
    """Of co-partitioned topics, each subscriber gets the same partition numbers.

    Co-partitioned topics have as many partitions and the same subscribers, so that records with
    one key are read by one member.
    """
    alike: dict[tuple[int, frozenset[str]], str] = {}
    for topic, size in topic_sizes(of.partitions, of.members).items():
        subscribers = frozenset(m for m in of.members if topic in of.members[m].topics)
        first = alike.setdefault((size, subscribers), topic)
        for member in subscribers:
            same = indexes_of(topic, of, member) == indexes_of(first, of, member)
            yield f"topics {first!r} and {topic!r} at {member!r}", same


def no_swap_within_a_topic_improves_racks(of: Round) -> Claims:
    """Of a topic that is not co-partitioned, no swap between subscribers improves both racks."""
    sizes = topic_sizes(of.partitions, of.members)
    subscribers = {t: [m for m in of.members if t in of.members[m].topics] for t in sizes}
    for topic, size in sizes.items():
        alone = [t for t in sizes if (sizes[t], subscribers[t]) == (size, subscribers[topic])]
        places = places_of(of.members, subscribers[topic], of.racks, {topic: size})
        if len(alone) == 1 and places.are_relevant():
            assigned = {
                member: [TopicPartition(topic, index) for index in indexes_of(topic, of, member)]
                for member in subscribers[topic]
            }
            yield from swaps_do_not_improve_racks(places, assigned)


def indexes_of(topic: str, of: Round, member: str) -> list[int]:
    """The partition numbers that a member got of a topic, ascending."""
    return sorted(by_topic(of.assignment.get(member, ())).get(topic, []))


def by_topic(assigned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partition numbers of a list of partitions, by topic."""
    indexes: dict[str, list[int]] = {}
    for topic, index in assigned:
        indexes.setdefault(topic, []).append(index)
    return indexes


RANGE_GUARANTEES = (
    *VALID,
    ranges_are_contiguous,
    ranges_are_even,
    copartitioned_topics_have_equal_ranges,
    no_swap_within_a_topic_improves_racks,
)
