"""Round-robin: member by member for a few rounds, then in whole slices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import chain, groupby, repeat

from kspec.impl.assignors.group import Group, Subscribers, partitions_of, static_first
from kspec.impl.assignors.java import sort_names
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition

Parts = Sequence[tuple[str, tuple[TopicPartition, ...]]]
"""Topics, and the partitions of each that are to be assigned."""


def assign_roundrobin(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """The same assignment as the specification's, faster."""
    group = Group(partitions, members)
    in_order = static_first(members)
    assigned: list[list[TopicPartition]] = [[] for _ in in_order]
    topics = sort_names(group.sizes)
    parts = list(zip(topics, partitions_of(group.sizes, topics), strict=True))
    subscribed = [members[name].topics for name in in_order]
    rest = walk(parts, subscribed, assigned)
    if rest:
        deal_in_slices(rest, Subscribers(group, in_order), assigned)
    result = dict(zip(in_order, map(tuple, assigned), strict=True))
    return {name: result[name] for name in members}


def walk(
    parts: Parts, subscribed: Sequence[tuple[str, ...]], assigned: list[list[TopicPartition]]
) -> Parts:
    """Assign one by one, trying each member in turn; returns what is left.

    With few partitions this is faster than to index the subscriptions. With many, or if most
    members are skipped, it stops after a few rounds, when it is the first member's turn.
    """
    turns = chain.from_iterable(repeat(list(zip(assigned, subscribed, strict=True)), 16))
    for number, (topic, whole) in enumerate(parts):
        for index, tp in enumerate(whole):
            for mine, topics in turns:
                if topic in topics:
                    mine.append(tp)
                    break
            else:
                return [(topic, whole[index:]), *parts[number + 1 :]]
    return []


def deal_in_slices(
    parts: Parts, subscribers: Subscribers, assigned: list[list[TopicPartition]]
) -> None:
    """Assign runs of topics with the same subscribers, a slice to each of them."""
    turn = 0
    places_of = ((subscribers.of(topic), whole) for topic, whole in parts if whole)
    for _, run in groupby(places_of, key=lambda part: id(part[0])):
        same = list(run)
        places = same[0][0]
        dealt = same[0][1] if len(same) == 1 else tuple(chain.from_iterable(w for _, w in same))
        first = bisect_left(places, turn) % len(places)
        in_turn = places[first:] + places[:first]
        for offset, place in enumerate(in_turn[: len(dealt)]):
            assigned[place] += dealt[offset :: len(in_turn)]
        turn = in_turn[(len(dealt) - 1) % len(in_turn)] + 1
