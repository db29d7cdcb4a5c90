"""Range where racks are relevant: every partition is visited once for each of its racks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kspec.impl.assignors.group import Group, Subscribers, partitions_of
from kspec.impl.assignors.java import sort_names
from kspec.impl.assignors.racks import Places
from kspec.spec.vocabulary import TopicPartition


class Share:
    """The assignment of one topic; members are places in the order of range."""

    __slots__ = ("above", "free", "given", "low", "racks")

    def __init__(self, subscribers: Sequence[int], racks: Sequence[frozenset[str]]) -> None:
        self.racks = racks
        self.low, self.above = divmod(len(racks), len(subscribers))
        self.free = [True] * len(racks)
        self.given: dict[int, list[int]] = {place: [] for place in subscribers}

    def room(self, place: int) -> int:
        """How many more a member may get."""
        return self.low + (self.above > 0) - len(self.given[place])

    def give(self, place: int, source: Iterable[int]) -> None:
        """Give a member the first free partitions of a source, as many as it has room for."""
        taken = list(islice(filter(self.free.__getitem__, source), max(0, self.room(place))))
        if taken:
            for index in taken:
                self.free[index] = False
            self.given[place] += taken
            self.above -= len(self.given[place]) > self.low

    def deal_by_rack(self, rack_of: Sequence[str | None]) -> None:
        """Assign to each member partitions on its rack, or any if it has no rack."""
        of_rack: dict[str | None, list[int]] = {None: list(range(len(self.racks)))}
        for index, racks in enumerate(self.racks):
            for rack in racks:
                of_rack.setdefault(rack, []).append(index)
        # What a source has yielded is assigned, so an iterator need not start again.
        sources: dict[str | None, Iterator[int]] = {r: iter(found) for r, found in of_rack.items()}
        for place in self.given:
            self.give(place, sources.get(rack_of[place], iter(())))

    def deal_rest(self) -> None:
        """Assign to each member in turn from what is left."""
        rest = iter([index for index, free in enumerate(self.free) if free])
        for place in self.given:
            self.give(place, rest)


def assign_by_rack(
    group: Group, in_order: Sequence[str], subscribers: Subscribers, places: Places
) -> dict[str, list[TopicPartition]]:
    """The partitions of each member, sorted."""
    rack_of = [places.of_member.get(name) for name in in_order]
    topics = sort_names(group.sizes)
    shares = {t: Share(subscribers.of(t), places.of_topic[t]) for t in topics}
    alike: dict[tuple[int, int], list[str]] = {}
    for topic in topics:
        alike.setdefault((group.sizes[topic], id(subscribers.of(topic))), []).append(topic)
    for together in alike.values():
        first = shares[together[0]]
        if len(together) > 1:
            deal_together([shares[topic] for topic in together], rack_of)
        elif places.are_relevant(together, map(in_order.__getitem__, first.given)):
            first.deal_by_rack(rack_of)
    assigned: dict[str, list[TopicPartition]] = {name: [] for name in in_order}
    for topic, whole in zip(topics, partitions_of(group.sizes, topics), strict=True):
        shares[topic].deal_rest()
        for place, indexes in shares[topic].given.items():
            assigned[in_order[place]] += map(whole.__getitem__, sorted(indexes))
    return assigned


def deal_together(shares: Sequence[Share], rack_of: Sequence[str | None]) -> None:
    """Assign partition i of every topic to the first member with room that is off no rack of it.

    Members on one rack form a queue; one at its head without room will not have room later.
    """
    first = shares[0]
    queues: dict[str | None, list[int]] = {}
    for place in reversed(first.given):
        queues.setdefault(rack_of[place], []).append(place)
    for index, racks in enumerate(zip(*(share.racks for share in shares), strict=True)):
        heads: list[int] = []
        for rack in (None, *frozenset.intersection(*racks)):
            queue = queues.get(rack, [])
            while queue and first.room(queue[-1]) <= 0:
                queue.pop()
            heads += queue[-1:]
        if heads:
            for share in shares:
                share.give(min(heads), (index,))
