"""Range: each topic by itself, in contiguous runs.

For topics of one size that the same members subscribe to, partition i of each topic goes to
the same member: that is what range is for, a join of co-partitioned topics. The price is that
the first members get the longer run of every topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from spec.assignors.properties import VALID, Round
from spec.assignors.racks import places_of, swaps_bring_nobody_nearer
from spec.assignors.range_by_rack import Share, assign_by_rack
from spec.core import Claims
from spec.lemmas import NATURAL, POSITIVE, false_neighbour, lemma, provided
from spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def run_begin(partitions: int, members: int, place: int) -> int:
    """Where the run of the member in this place begins: as even as can be, longer runs first."""
    shortest, longer = divmod(partitions, members)
    return place * shortest + min(place, longer)


def run_size(partitions: int, members: int, place: int) -> int:
    """How many partitions the member in this place gets: up to where the next run begins."""
    return run_begin(partitions, members, place + 1) - run_begin(partitions, members, place)


def run_sizes(partitions: int, members: int) -> list[int]:
    """How many partitions each member gets."""
    return [run_size(partitions, members, place) for place in range(members)]


@lemma(run_begin, partitions=NATURAL, members=POSITIVE)
def runs_add_up(partitions: int, members: int) -> Claims:
    """The first run begins at 0, and behind the last all partitions are given away.

    Each run ends where the next begins, so nothing is left out and nothing given twice.
    """
    begin, end = (run_begin(partitions, members, place) for place in (0, members))
    yield f"the first run begins at 0: {begin}", begin == 0
    yield f"{end} partitions are all {partitions}", end == partitions


@false_neighbour(of=runs_add_up)
def runs_add_up_without_the_longer_ones(partitions: int, members: int) -> Claims:
    """Members times what one gets is not all: what the division leaves over must go somewhere."""
    end = members * (partitions // members)
    yield f"{end} partitions are all {partitions}", end == partitions


@lemma(run_size, partitions=NATURAL, members=POSITIVE, place=NATURAL, later=NATURAL)
def runs_differ_by_at_most_one(partitions: int, members: int, place: int, later: int) -> Claims:
    """No member gets less than nothing; who comes first gets the same as others, or one more."""
    yield provided("the places are members'"), place <= later < members
    first = run_size(partitions, members, place)
    other = run_size(partitions, members, later)
    yield f"{other} is no less than nothing", other >= 0
    yield f"{first} is {other}, or one more", 0 <= first - other <= 1


@false_neighbour(of=runs_differ_by_at_most_one)
def runs_rounded_up_differ_by_at_most_one(
    partitions: int, members: int, place: int, later: int
) -> Claims:
    """Giving everyone the rounded quotient while there are any leaves the last ones short."""
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
    """Cut each topic into one run for each of its subscribers.

    Kafka: `RangeAssignor`. A member lists its topics in the order of Kafka's topic map, but
    sorted where racks matter.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    in_order = static_first(members)
    shares = []
    for topic, size in topic_sizes(partitions, members).items():
        subscribers = [member for member in in_order if topic in members[member].topics]
        uncut = partitions_of(topic, size)
        places = places_of(members, subscribers, racks, {topic: size})
        shares.append(Share.begin(uncut, subscribers, places))
        for member, length in zip(subscribers, run_sizes(size, len(subscribers)), strict=True):
            assigned[member] += uncut[:length]
            uncut = uncut[length:]
    if any(share.places.matter() for share in shares):
        assigned |= assign_by_rack(shares)
    return as_assignment(assigned)


def partitions_of_a_topic_are_one_run(of: Round) -> Claims:
    """What a member has of one topic is contiguous, so that neighbours stay together.

    Where racks matter, near comes before next to each other.
    """
    if of.places().matter():
        return
    for member, assigned in of.assignment.items():
        for topic, indexes in by_topic(assigned).items():
            run = range(min(indexes), min(indexes) + len(indexes))
            yield f"topic {topic!r} at {member!r}", sorted(indexes) == list(run)


def runs_are_even(of: Round) -> Claims:
    """Of each topic, its subscribers get the same, give or take one; the first get more.

    Where racks matter, those get more that are near more.
    """
    anybody = of.places().matter()
    for topic, size in topic_sizes(of.partitions, of.members).items():
        subscribers = [m for m in static_first(of.members) if topic in of.members[m].topics]
        if anybody:
            subscribers.sort(key=lambda member: -len(indexes_of(topic, of, member)))
        for member, length in zip(subscribers, run_sizes(size, len(subscribers)), strict=True):
            got = len(indexes_of(topic, of, member))
            yield f"topic {topic!r} at {member!r}: {got}, not {length}", got == length


def topics_alike_stay_together(of: Round) -> Claims:
    """Of topics of one size with the same subscribers, everybody gets the same indexes.

    So records with one key, partitioned alike, are joined where they are consumed.
    """
    alike: dict[tuple[int, frozenset[str]], str] = {}
    for topic, size in topic_sizes(of.partitions, of.members).items():
        subscribers = frozenset(m for m in of.members if topic in of.members[m].topics)
        first = alike.setdefault((size, subscribers), topic)
        for member in subscribers:
            same = indexes_of(topic, of, member) == indexes_of(first, of, member)
            yield f"topics {first!r} and {topic!r} at {member!r}", same


def topics_are_shared_out_near(of: Round) -> Claims:
    """Of a topic that has none alike, no two subscribers would swap to have theirs nearer."""
    sizes = topic_sizes(of.partitions, of.members)
    subscribers = {t: [m for m in of.members if t in of.members[m].topics] for t in sizes}
    for topic, size in sizes.items():
        alone = [t for t in sizes if (sizes[t], subscribers[t]) == (size, subscribers[topic])]
        places = places_of(of.members, subscribers[topic], of.racks, {topic: size})
        if len(alone) == 1 and places.matter():
            assigned = {
                member: [TopicPartition(topic, index) for index in indexes_of(topic, of, member)]
                for member in subscribers[topic]
            }
            yield from swaps_bring_nobody_nearer(places, assigned)


def indexes_of(topic: str, of: Round, member: str) -> list[int]:
    """What a member got of a topic, ascending."""
    return sorted(by_topic(of.assignment.get(member, ())).get(topic, []))


def by_topic(assigned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The indexes of a list of partitions, topic by topic."""
    indexes: dict[str, list[int]] = {}
    for topic, index in assigned:
        indexes.setdefault(topic, []).append(index)
    return indexes


RANGE_PROMISES = (
    *VALID,
    partitions_of_a_topic_are_one_run,
    runs_are_even,
    topics_alike_stay_together,
    topics_are_shared_out_near,
)
