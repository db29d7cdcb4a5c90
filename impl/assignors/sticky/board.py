"""The members and partitions of a group with unequal subscriptions, as numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from impl.assignors.racks import Places
from spec.vocabulary import TopicPartition


class Board:
    """Who has what, and who may have what."""

    def __init__(
        self,
        *,
        names: list[str],
        joined: Iterable[str],
        topics: list[str],
        sizes: list[int],
        candidates: list[list[int]],
        contested_from: int,
        capacity: list[int],
        places: Places | None,
    ) -> None:
        self.names = names
        self.number = {name: number for number, name in enumerate(names)}
        self.joined = [self.number[name] for name in joined]
        """The members in the order in which they were given."""
        self.topics = topics
        self.candidates = candidates
        """For each topic, the members that may have its partitions, by number."""
        self.contested_from = contested_from
        """The first topic that more than one may have; all later ones are like it."""
        self.capacity = capacity
        """How many partitions each member may have."""
        self.places = places
        """Where members and replicas stand, if that matters."""
        self.begin = [0, *accumulate(sizes)]
        """The number of the first partition of each topic; in the end, how many there are."""
        self.owner = [-1] * self.begin[-1]
        self.count = [0] * len(names)
        self.lists: list[list[int]] = [[] for _ in names]
        """What each member has, in order."""
        self.earlier: dict[int, int] = {}
        """Who had each partition in an earlier generation."""
        self.twice = False
        """Whether some partition is held twice: Kafka's mistake, see the specification."""

    def hold(self, name: str, kept: list[int]) -> None:
        """Let a member keep what it owned."""
        member = self.number[name]
        self.lists[member] = list(kept)
        self.count[member] = len(kept)
        owner, total = self.owner, len(self.owner)
        for number in kept:
            if number < total:
                owner[number] = member

    def in_member_order(self, topic: int) -> list[int]:
        """The candidates for a topic, in the order in which the members were given."""
        candidates = set(self.candidates[topic])
        return [member for member in self.joined if member in candidates]

    def on_racks_of(self, topic: int, number: int) -> set[int]:
        """The candidates that are near a partition, if its owner is near it too."""
        if self.places is None:
            return set()
        racks = self.places.racks(self.topics[topic], number - self.begin[topic])
        rack_of = self.places.of_member.get
        if rack_of(self.names[self.owner[number]]) not in racks:
            return set()
        return {m for m in self.candidates[topic] if rack_of(self.names[m]) in racks}

    def left_over(self, unreal: Sequence[TopicPartition]) -> Sequence[int]:
        """The partitions that nobody keeps, ascending.

        And every one after a kept one that does not exist: see the specification.
        """
        total = len(self.owner)
        stuck = total
        if unreal:
            place = {topic: number for number, topic in enumerate(self.topics)}
            kept = (unreal[n - total] for numbers in self.lists for n in numbers if n >= total)
            first = (self.begin[place[t] + (index > 0)] for t, index in kept)
            stuck = min(first, default=total)
            self.twice = any(member >= 0 for member in self.owner[stuck:])
        elif not any(self.count):
            return range(total)
        return [n for n, member in enumerate(self.owner) if member < 0 or n >= stuck]

    def by_topic(
        self, numbers: Sequence[int], topics: Iterable[int]
    ) -> Iterator[tuple[int, Sequence[int]]]:
        """Cut ascending partitions into those of each topic; topics without any are left out."""
        for topic in topics:
            first = bisect_left(numbers, self.begin[topic])
            last = bisect_left(numbers, self.begin[topic + 1], first)
            if first < last:
                yield topic, numbers[first:last]

    def settled(self, unreal: Sequence[TopicPartition]) -> set[int]:
        """Members that have all they may have, none of it contested: they stand aside."""
        contested = set(self.topics[self.contested_from :])
        total = len(self.owner)
        first = self.begin[self.contested_from]
        return {
            member
            for member, numbers in enumerate(self.lists)
            if len(numbers) >= self.capacity[member]
            and not any(
                unreal[n - total].topic in contested if n >= total else n >= first for n in numbers
            )
        }
