"""Round-robin: all partitions of all topics dealt out in turn.

With equal subscriptions nobody has more than one partition more than anybody else. With
unequal ones nothing of the kind is promised.
"""

from __future__ import annotations

from collections.abc import Mapping

from spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from spec.assignors.properties import VALID, loads_are_even
from spec.java import utf16
from spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def assign_roundrobin(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Deal out partition by partition, passing over who does not subscribe, whatever the racks.

    Whoever is passed over has missed the turn: the next partition goes to the one after the
    last who got one. Kafka: `RoundRobinAssignor`.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    in_order = static_first(members)
    sizes = topic_sizes(partitions, members)
    turn = 0
    for topic in sorted(sizes, key=utf16):
        for tp in partitions_of(topic, sizes[topic]):
            while topic not in members[in_order[turn % len(in_order)]].topics:
                turn += 1
            assigned[in_order[turn % len(in_order)]].append(tp)
            turn += 1
    return as_assignment(assigned)


ROUNDROBIN_PROMISES = (*VALID, loads_are_even)


def assign_ignoring_subscriptions(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """A variant that must fail: deal out in turn, whoever subscribes to what.

    So is round-robin often told: take all partitions of all topics that the group subscribes
    to for one whole and deal it out. It holds only if all subscribe to the same topics. With
    two topics of three partitions, and one subscriber each, each gets partitions of both.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    in_order = static_first(members)
    sizes = topic_sizes(partitions, members)
    whole = [tp for topic in sorted(sizes, key=utf16) for tp in partitions_of(topic, sizes[topic])]
    for turn, tp in enumerate(whole):
        assigned[in_order[turn % len(in_order)]].append(tp)
    return as_assignment(assigned)
