"""Sticky with unequal subscriptions: assign what is unassigned, then balance by single moves.

The algorithm is a heuristic: the order of moves decides the result, so every order here is
Kafka's. Kafka: `AbstractStickyAssignor.GeneralAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

import attrs

from kspec.spec.assignors.common import partitions_of
from kspec.spec.assignors.racks import Places
from kspec.spec.assignors.sticky.movements import Movements
from kspec.spec.assignors.sticky.ownership import Ownership, earlier_owners, unassigned
from kspec.spec.java import int32, utf16
from kspec.spec.vocabulary import KafkaRaises, Member, TopicPartition


@attrs.define
class Builder:
    """The state of the assignment under construction."""

    sizes: Mapping[str, int]
    """How many partitions each topic has."""
    topics: dict[str, list[str]]
    """The topics of each member, repeated where its subscription repeats them."""
    candidates: dict[str, list[str]]
    """The subscribers of each topic, repeated where a subscription repeats it."""
    assigned: dict[str, list[TopicPartition]]
    """The partitions of each member so far, without members set aside."""
    places: Places
    """The racks of members and replicas."""
    owner: dict[TopicPartition, str] = attrs.field(factory=dict)
    """The member of each partition so far."""
    earlier: dict[TopicPartition, str] = attrs.field(factory=dict)
    """The owner of each partition in an earlier generation."""
    movements: Movements = attrs.field(factory=Movements)
    """The net movements since balancing began."""

    def count(self, member: str) -> int:
        """How many partitions a member has."""
        if member not in self.assigned:
            # Quirk: Kafka has set the member aside, and still looks up its partitions.
            raise KafkaRaises("NullPointerException", f"{member} takes no part in balancing")
        return len(self.assigned[member])

    def capacity(self, member: str) -> int:
        """The most partitions that a member may have.

        Quirk: a subscription as long as the list of topics counts as all of them, even where it
        repeats one.
        """
        topics = self.topics[member]
        every = self.sizes if len(topics) == len(self.sizes) else topics
        return sum(self.sizes[topic] for topic in every)

    def contested(self, topic: str) -> bool:
        """Whether more than one member may have the topic.

        Kafka: `canTopicParticipateInReassignment`.
        """
        return len(self.candidates[topic]) >= 2

    def least_loaded(self, topic: str) -> str:
        """The subscriber with the fewest partitions, ties by id."""
        taking_part = (member for member in self.candidates[topic] if member in self.assigned)
        return min(taking_part, key=self.by_load)

    def by_load(self, member: str) -> tuple[int, bytes]:
        """Fewest partitions first, then by id."""
        return self.count(member), utf16(member)

    def rivals(self, tp: TopicPartition) -> list[str]:
        """The members that the partition's owner is compared with, in Kafka's order.

        Where the owner shares a rack with the partition, members that do come first. The order
        does not decide who gets it (the least loaded does), only whether Kafka comes upon a
        member set aside.
        """
        rivals = self.candidates[tp.topic]
        if self.places.shares_rack(self.owner[tp], tp):
            return sorted(rivals, key=lambda member: not self.places.shares_rack(member, tp))
        return rivals

    def give(self, tp: TopicPartition, member: str) -> None:
        """Assign an unassigned partition."""
        self.assigned[member].append(tp)
        self.owner[tp] = member

    def move(self, tp: TopicPartition, destination: str) -> None:
        """Move a partition, or one that thereby returns to its earlier owner.

        Kafka: `reassignPartition`, `processPartitionMovement`.
        """
        tp = self.movements.stands_for(tp, self.owner[tp], destination)
        source = self.owner[tp]
        self.movements.record(tp, source, destination)
        self.assigned[source].remove(tp)
        self.give(tp, destination)


def assign_general(
    sizes: Mapping[str, int], members: Mapping[str, Member], before: Ownership, places: Places
) -> dict[str, list[TopicPartition]]:
    """Keep owned partitions, assign the rest to the least loaded, then balance.

    A member on no rack of a partition does not keep it, and gets it only if no subscriber is on
    one. Balancing ignores racks. Kafka: `GeneralAssignmentBuilder.build`.
    """
    topics = {m: [t for t in member.topics if t in sizes] for m, member in members.items()}
    candidates = {t: [m for m in topics for named in topics[m] if named == t] for t in sizes}
    kept = {
        member: [
            tp for tp in owned if tp.topic in topics[member] and not places.is_off_rack(member, tp)
        ]
        for member, owned in before.owned.items()
    }
    must_revoke = kept != before.owned
    state = Builder(sizes, topics, candidates, kept, places)
    state.owner = {tp: member for member, owned in kept.items() for tp in owned}
    state.earlier = earlier_owners(members, before.newest)

    # Topics with few subscribers come first, while those have few partitions.
    in_order = sorted(sizes, key=lambda topic: (len(candidates[topic]), utf16(topic)))
    everything = [tp for topic in in_order for tp in partitions_of(topic, sizes[topic])]
    place = {topic: i for i, topic in enumerate(in_order)}
    free = unassigned(everything, sorted(state.owner, key=lambda tp: (place[tp[0]], tp[1])))

    from_scratch = not any(state.assigned.values())
    fill(state, free)
    balance(
        state,
        everything=[tp for tp in everything if state.contested(tp.topic)],
        free=[tp for tp in free if state.contested(tp.topic)],
        new_first=not must_revoke,
        from_scratch=from_scratch,
    )
    return state.assigned


def fill(state: Builder, free: Iterable[TopicPartition]) -> None:
    """Assign each partition to the least loaded member not off its racks, the rest to any.

    Kafka: `maybeAssign`, in `GeneralAssignmentBuilder.balance`.
    """
    left = []
    for tp in free:
        on_rack = [m for m in state.candidates[tp.topic] if not state.places.is_off_rack(m, tp)]
        if on_rack:
            state.give(tp, min(on_rack, key=state.by_load))
        else:
            left.append(tp)
    for tp in left:
        state.give(tp, state.least_loaded(tp.topic))


def balance(
    state: Builder,
    *,
    everything: list[TopicPartition],
    free: list[TopicPartition],
    new_first: bool,
    from_scratch: bool,
) -> None:
    """Move partitions until no move improves the balance; undo all moves if the score did not.

    Members that can neither gain nor lose are set aside meanwhile. Where no member had to give
    a partition up, those that were unassigned move first, since no member owned them. An
    assignment from scratch is never undone. Kafka: `GeneralAssignmentBuilder.balance`.
    """
    aside = {m: state.assigned.pop(m) for m in state.topics if is_settled(state, m)}
    as_before = {member: list(assigned) for member, assigned in state.assigned.items()}
    if new_first:
        move_while_it_helps(state, free)
    moved = move_while_it_helps(state, everything)
    if moved and not from_scratch and imbalance(state.assigned) >= imbalance(as_before):
        state.assigned = as_before
    state.assigned |= aside


def is_settled(state: Builder, member: str) -> bool:
    """Whether a member has all that it may have, and no other member may have any of it.

    Kafka: `canConsumerParticipateInReassignment`, negated.
    """
    full = state.count(member) >= state.capacity(member)
    return full and not any(state.contested(tp.topic) for tp in state.assigned[member])


def move_while_it_helps(state: Builder, partitions: Iterable[TopicPartition]) -> bool:
    """Repeat rounds until one moves no partition; returns whether any moved.

    Kafka: `performReassignments`.
    """
    rounds = 0
    while one_round(state, partitions):
        rounds += 1
    return rounds > 0


def one_round(state: Builder, partitions: Iterable[TopicPartition]) -> bool:
    """Visit the partitions in order until all is balanced; returns whether any moved.

    A partition returns to its owner in an earlier generation where that improves the balance.
    Otherwise it moves to the least loaded subscriber, if some subscriber has two fewer than its
    owner. Quirk: Kafka does not check that the earlier owner still subscribes to the topic.
    """
    moved = False
    for tp in partitions:
        if is_balanced(state):
            break
        load = state.count(state.owner[tp])
        earlier = state.earlier.get(tp)
        if earlier is not None and load > state.count(earlier) + 1:
            state.move(tp, earlier)
            moved = True
        elif any(load > state.count(member) + 1 for member in state.rivals(tp)):
            state.move(tp, state.least_loaded(tp.topic))
            moved = True
    return moved


def is_balanced(state: Builder) -> bool:
    """Whether loads differ by at most one, or no single move would improve the balance.

    Kafka: `GeneralAssignmentBuilder.isBalanced`.
    """
    counts = {member: len(assigned) for member, assigned in state.assigned.items()}
    if max(counts.values()) - min(counts.values()) <= 1:
        return True
    holder = {tp: member for member, assigned in state.assigned.items() for tp in assigned}
    for member, count in counts.items():
        if count == state.capacity(member):
            continue
        has = set(state.assigned[member])
        for topic in state.topics[member]:
            for tp in partitions_of(topic, state.sizes[topic]):
                if tp not in has and counts[holder[tp]] > count + 1:
                    return False
    return True


def imbalance(assigned: Mapping[str, list[TopicPartition]]) -> int:
    """The sum of the differences in load of every pair of members.

    Quirk: the sum has 32 bits, so a very large group may seem better balanced than an even one.
    Kafka: `GeneralAssignmentBuilder.getBalanceScore`.
    """
    counts = [len(partitions) for partitions in assigned.values()]
    return int32(sum(abs(a - b) for a, b in combinations(counts, 2)))
