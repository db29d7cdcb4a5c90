"""An assignor that must fail."""

from __future__ import annotations

from collections.abc import Mapping

from kspec.spec.assignors.common import as_assignment, partitions_of, static_first, topic_sizes
from kspec.spec.java import utf16
from kspec.spec.vocabulary import Assignment, Member, TopicPartition


def assign_ignoring_subscriptions(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """A variant that must fail: assign in turn, regardless of subscriptions.

    Round-robin is often described so: the partitions of all topics form one list, dealt out in
    turn. That is right only where all members subscribe to the same topics: with two topics of
    three partitions and one subscriber each, both members get partitions of both topics.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    in_order = static_first(members)
    sizes = topic_sizes(partitions, members)
    whole = [tp for topic in sorted(sizes, key=utf16) for tp in partitions_of(topic, sizes[topic])]
    for turn, tp in enumerate(whole):
        assigned[in_order[turn % len(in_order)]].append(tp)
    return as_assignment(assigned)
