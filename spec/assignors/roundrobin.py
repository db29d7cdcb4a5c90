"""Round-robin: the partitions of all topics are assigned to the members in turn.

With equal subscriptions, loads differ by at most one. With unequal ones, balance is not
guaranteed.
"""

from __future__ import annotations

from collections.abc import Mapping

from kspec.spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from kspec.spec.assignors.properties import VALID, loads_are_even
from kspec.spec.java import utf16
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def assign_roundrobin(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Assign each partition to the next subscriber in turn; racks are ignored.

    A member that is skipped loses its turn: the next partition goes to the one after the last
    that got one. Kafka: `RoundRobinAssignor.assign`.
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


ROUNDROBIN_GUARANTEES = (*VALID, loads_are_even)
