"""The members and partitions of a group with unequal subscriptions, as numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from kspec.impl.assignors.group import Group, Subscribers
from kspec.impl.assignors.racks import Places
from kspec.spec.vocabulary import TopicPartition


class Board:
    """The partitions that each member has, and those that it may have."""

    def __init__(
        self,
        *,
        names: list[str],
        group: Group,
        topics: list[str],
        subscribers: Subscribers,
        contested_from: int,
        places: Places | None,
    ) -> None:
        self.names = names
        self.number = {name: number for number, name in enumerate(names)}
        self.joined = [self.number[name] for name in group.members]
        """The members in the order given."""
        self.topics = topics
        self.contested_from = contested_from
        """The first topic with more than one subscriber; all later ones have more as well."""
        self.places = places
        """The racks of members and replicas, if they are relevant."""
        self._group = group
        self._subscribers = subscribers
        self._capacity: dict[tuple[str, ...], int] = {}
        self.begin = [0, *accumulate(map(group.sizes.__getitem__, topics))]
        """The number of the first partition of each topic; in the end, how many there are."""
        self.owner = [-1] * self.begin[-1]
        self.count = [0] * len(names)
        self.lists: list[list[int]] = [[] for _ in names]
        """The partitions of each member, in order."""
        self.earlier: dict[int, int] = {}
        """The owner of each partition in an earlier generation."""
        self.twice = False
        """Whether some partition has two members, by Kafka's quirk (see the specification)."""

    def candidates(self, topic: int) -> list[int]:
        """The members that may have the partitions of a topic, by number."""
        return self._subscribers.of(self.topics[topic])

    def capacity(self, member: int) -> int:
        """How many partitions a member may have."""
        kind = self._group.members[self.names[member]].topics
        capacity = self._capacity.get(kind)
        if capacity is None:
            sizes = [size for topic in kind if (size := self._group.sizes.get(topic))]
            # A list as long as that of all topics counts as all, even if one is named twice.
            capacity = len(self.owner) if len(sizes) == len(self.topics) else sum(sizes)
            self._capacity[kind] = capacity
        return capacity

    def hold(self, owned: Mapping[str, list[int]]) -> None:
        """Let members keep what they owned."""
        owner, total = self.owner, len(self.owner)
        for name, kept in owned.items():
            member = self.number[name]
            self.lists[member] = list(kept)
            self.count[member] = len(kept)
            for number in kept:
                if number < total:
                    owner[number] = member

    def in_member_order(self, topic: int) -> list[int]:
        """The subscribers of a topic, in the order given."""
        candidates = set(self.candidates(topic))
        return [member for member in self.joined if member in candidates]

    def on_racks_of(self, topic: int, number: int) -> set[int]:
        """The subscribers on a rack of the partition, if its owner is on one too."""
        if self.places is None:
            return set()
        racks = self.places.racks(self.topics[topic], number - self.begin[topic])
        rack_of = self.places.of_member.get
        if rack_of(self.names[self.owner[number]]) not in racks:
            return set()
        return {m for m in self.candidates(topic) if rack_of(self.names[m]) in racks}

    def left_over(self, unreal: Sequence[TopicPartition]) -> Sequence[int]:
        """The partitions that no member keeps, ascending.

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
        self, numbers: Sequence[int], first_topic: int = 0
    ) -> Iterator[tuple[int, Sequence[int]]]:
        """Cut ascending partitions into those of each topic; topics without any are left out."""
        first = bisect_left(numbers, self.begin[first_topic])
        while first < len(numbers):
            topic = bisect_right(self.begin, numbers[first]) - 1
            last = bisect_left(numbers, self.begin[topic + 1], first)
            yield topic, numbers[first:last]
            first = last

    def settled(self, unreal: Sequence[TopicPartition]) -> set[int]:
        """Members to set aside: they have all that they may have, and none of it is contested."""
        contested = set(self.topics[self.contested_from :])
        total = len(self.owner)
        first = self.begin[self.contested_from]
        return {
            member
            for member, numbers in enumerate(self.lists)
            # If everything is contested, so is something of each member that has partitions.
            if (self.contested_from or not numbers)
            and len(numbers) >= self.capacity(member)
            and not any(
                unreal[n - total].topic in contested if n >= total else n >= first for n in numbers
            )
        }
