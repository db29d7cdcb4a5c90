"""Range: each topic by itself, in contiguous runs.

For topics of one size that the same members subscribe to, partition i of each topic goes to
the same member: that is what range is for, a join of co-partitioned topics. The price is that
the first members get the longer run of every topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from spec.assignors.properties import VALID, Round
from spec.core import Claims
from spec.lemmas import NATURAL, POSITIVE, false_neighbour, lemma, provided
from spec.vocabulary import Assignment, Member, TopicPartition


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


def assign_range(partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> Assignment:
    """Cut each topic into one run for each of its subscribers.

    Kafka: `RangeAssignor`. A member lists its topics in the order of Kafka's topic map.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    in_order = static_first(members)
    for topic, size in topic_sizes(partitions, members).items():
        subscribers = [member for member in in_order if topic in members[member].topics]
        uncut = partitions_of(topic, size)
        for member, length in zip(subscribers, run_sizes(size, len(subscribers)), strict=True):
            assigned[member] += uncut[:length]
            uncut = uncut[length:]
    return as_assignment(assigned)


def partitions_of_a_topic_are_one_run(of: Round) -> Claims:
    """What a member has of one topic is contiguous, so that neighbours stay together."""
    for member, assigned in of.assignment.items():
        for topic, indexes in by_topic(assigned).items():
            run = range(min(indexes), min(indexes) + len(indexes))
            yield f"topic {topic!r} at {member!r}", sorted(indexes) == list(run)


def runs_are_even(of: Round) -> Claims:
    """Of each topic, its subscribers get the same, give or take one; the first get more."""
    for topic, size in topic_sizes(of.partitions, of.members).items():
        subscribers = [m for m in static_first(of.members) if topic in of.members[m].topics]
        for member, length in zip(subscribers, run_sizes(size, len(subscribers)), strict=True):
            got = by_topic(of.assignment.get(member, ())).get(topic, [])
            yield f"topic {topic!r} at {member!r}: {len(got)}, not {length}", len(got) == length


def by_topic(assigned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The indexes of a list of partitions, topic by topic."""
    indexes: dict[str, list[int]] = {}
    for topic, index in assigned:
        indexes.setdefault(topic, []).append(index)
    return indexes


RANGE_PROMISES = (*VALID, partitions_of_a_topic_are_one_run, runs_are_even)
