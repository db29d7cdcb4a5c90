"""Range: each topic by itself, in contiguous runs.

For topics of one size that the same members subscribe to, partition i of each topic goes to
the same member: that is what range is for, a join of co-partitioned topics. The price is that
the first members get the longer run of every topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from spec.assignors.properties import VALID, Round
from spec.assignors.racks import places_of
from spec.assignors.range_by_rack import Share, assign_by_rack
from spec.core import Claims
from spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def run_sizes(partitions: int, members: int) -> list[int]:
    """How many partitions each member gets: as even as can be, the longer runs first."""
    shortest, longer = divmod(partitions, members)
    return [shortest + 1] * longer + [shortest] * (members - longer)


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
