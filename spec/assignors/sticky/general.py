"""Sticky, when members subscribe to different topics: fill, then balance by single moves.

Kafka: `GeneralAssignmentBuilder`. Nothing is optimal here; which partition moves when decides
the outcome, and so the order of everything is part of the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

import attrs

from spec.assignors.common import partitions_of
from spec.assignors.racks import Places
from spec.assignors.sticky.movements import Movements
from spec.assignors.sticky.ownership import Ownership, earlier_owners, left_over
from spec.java import int32, utf16
from spec.vocabulary import KafkaRaises, Member, TopicPartition


@attrs.define
class Balancing:
    """Where the balancing stands."""

    sizes: Mapping[str, int]
    """How many partitions each topic has."""
    topics: dict[str, list[str]]
    """Which of those topics each member subscribes to, as often as it says so."""
    candidates: dict[str, list[str]]
    """Who may get the partitions of a topic, as often as it subscribes."""
    assigned: dict[str, list[TopicPartition]]
    """What each member has by now. A member set aside is not in here."""
    places: Places
    """Where members and replicas stand."""
    owner: dict[TopicPartition, str] = attrs.field(factory=dict)
    """Who has each partition by now."""
    earlier: dict[TopicPartition, str] = attrs.field(factory=dict)
    """Who had each partition in an earlier generation."""
    movements: Movements = attrs.field(factory=Movements)

    def count(self, member: str) -> int:
        """How many partitions a member has."""
        if member not in self.assigned:
            # Quirk: Kafka set the member aside and then asks for its partitions all the same.
            raise KafkaRaises("NullPointerException", f"{member} takes no part in balancing")
        return len(self.assigned[member])

    def capacity(self, member: str) -> int:
        """How many partitions a member may have at the most, as Kafka counts.

        Quirk: as many topics as there are passes for all topics, even if one is named twice.
        """
        topics = self.topics[member]
        every = self.sizes if len(topics) == len(self.sizes) else topics
        return sum(self.sizes[topic] for topic in every)

    def contested(self, topic: str) -> bool:
        """Whether there is a choice who gets the partitions of a topic."""
        return len(self.candidates[topic]) >= 2

    def least_loaded(self, topic: str) -> str:
        """Of those who may have the topic, the one with the fewest partitions; then by id."""
        taking_part = (member for member in self.candidates[topic] if member in self.assigned)
        return min(taking_part, key=self.by_load)

    def by_load(self, member: str) -> tuple[int, bytes]:
        """Fewest partitions first, then by id."""
        return self.count(member), utf16(member)

    def rivals(self, tp: TopicPartition) -> list[str]:
        """Who might take the partition from its owner, in the order in which they are asked.

        Those near it are asked first, if its owner is near. It makes no difference to who gets
        it (the least loaded, near or not), only to whether Kafka meets a member set aside.
        """
        rivals = self.candidates[tp.topic]
        if self.places.is_near(self.owner[tp], tp):
            return sorted(rivals, key=lambda member: not self.places.is_near(member, tp))
        return rivals

    def give(self, tp: TopicPartition, member: str) -> None:
        """Assign a partition that nobody has."""
        self.assigned[member].append(tp)
        self.owner[tp] = member

    def move(self, tp: TopicPartition, destination: str) -> None:
        """Move a partition, or in its stead one that thereby goes back to where it was."""
        tp = self.movements.stands_for(tp, self.owner[tp], destination)
        source = self.owner[tp]
        self.movements.record(tp, source, destination)
        self.assigned[source].remove(tp)
        self.give(tp, destination)


def assign_general(
    sizes: Mapping[str, int], members: Mapping[str, Member], before: Ownership, places: Places
) -> dict[str, list[TopicPartition]]:
    """Keep what was owned, give what is free to the least loaded, then balance.

    Who is far from a partition does not keep it, and only gets it when all who may have it are
    far. Balancing does not mind distances.
    """
    topics = {m: [t for t in told.topics if t in sizes] for m, told in members.items()}
    candidates = {t: [m for m in topics for named in topics[m] if named == t] for t in sizes}
    kept = {
        member: [tp for tp in owned if tp.topic in topics[member] and not places.is_far(member, tp)]
        for member, owned in before.owned.items()
    }
    must_revoke = kept != before.owned
    state = Balancing(sizes, topics, candidates, kept, places)
    state.owner = {tp: member for member, owned in kept.items() for tp in owned}
    state.earlier = earlier_owners(members, before.newest)

    # Topics that few may have come first, so that those few are still free for them.
    in_order = sorted(sizes, key=lambda topic: (len(candidates[topic]), utf16(topic)))
    everything = [tp for topic in in_order for tp in partitions_of(topic, sizes[topic])]
    place = {topic: i for i, topic in enumerate(in_order)}
    free = left_over(everything, sorted(state.owner, key=lambda tp: (place[tp[0]], tp[1])))

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


def fill(state: Balancing, free: Iterable[TopicPartition]) -> None:
    """Give each partition to the least loaded that is not far; then what is left to anybody."""
    left = []
    for tp in free:
        not_far = [m for m in state.candidates[tp.topic] if not state.places.is_far(m, tp)]
        if not_far:
            state.give(tp, min(not_far, key=state.by_load))
        else:
            left.append(tp)
    for tp in left:
        state.give(tp, state.least_loaded(tp.topic))


def balance(
    state: Balancing,
    *,
    everything: list[TopicPartition],
    free: list[TopicPartition],
    new_first: bool,
    from_scratch: bool,
) -> None:
    """Move partitions until no move helps, and undo it all if that did not help.

    Members that can neither gain nor lose are set aside meanwhile. If no subscription forced
    anybody to give something up, the partitions that were free are moved first: nobody misses
    them. What was built from scratch is never undone.
    """
    aside = {m: state.assigned.pop(m) for m in state.topics if is_settled(state, m)}
    as_before = {member: list(assigned) for member, assigned in state.assigned.items()}
    if new_first:
        move_while_it_helps(state, free)
    moved = move_while_it_helps(state, everything)
    if moved and not from_scratch and imbalance(state.assigned) >= imbalance(as_before):
        state.assigned = as_before
    state.assigned |= aside


def is_settled(state: Balancing, member: str) -> bool:
    """Whether a member has all it may have, and nobody else may have any of it."""
    full = state.count(member) >= state.capacity(member)
    return full and not any(state.contested(tp.topic) for tp in state.assigned[member])


def move_while_it_helps(state: Balancing, partitions: Iterable[TopicPartition]) -> bool:
    """Go over the partitions again and again, until a round moves none; say if any moved."""
    rounds = 0
    while one_round(state, partitions):
        rounds += 1
    return rounds > 0


def one_round(state: Balancing, partitions: Iterable[TopicPartition]) -> bool:
    """Look at one partition after the other while balance is missing; say if any moved.

    A partition goes back to who had it in an earlier generation, if that evens out anything.
    Otherwise it goes to the least loaded, if anybody who may have it has two fewer than its
    owner. Quirk: nobody asks whether the earlier owner still subscribes to the topic.
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


def is_balanced(state: Balancing) -> bool:
    """Whether all have the same, give or take one, or no single move would even out anything."""
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
    """How far members are apart: the difference of every pair, added up.

    Quirk: added up in 32 bits, so that very large groups may look better balanced than even.
    """
    counts = [len(partitions) for partitions in assigned.values()]
    return int32(sum(abs(a - b) for a, b in combinations(counts, 2)))
