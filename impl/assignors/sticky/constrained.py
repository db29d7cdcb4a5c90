"""Sticky with equal subscriptions, in slices instead of one partition after the other.

A partition is the number `index * topics + topic`, topics numbered by name. Sorted, those
numbers stand by index and then by topic, as Kafka sorts what a member owned.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import TypeAlias

from kspec.impl.assignors.group import Group, partitions_of
from kspec.impl.assignors.java import sort_names
from kspec.impl.assignors.racks import Places
from kspec.impl.assignors.sticky.ownership import settle_claims
from kspec.spec.vocabulary import Assignment, KafkaRaises, TopicPartition

Partitions: TypeAlias = tuple[TopicPartition, ...]


def assign_constrained(group: Group, places: Places | None, *, withhold: bool) -> Assignment:
    """The same assignment as the specification's, faster."""
    topics = sort_names(group.sizes)
    number_of = {topic: number for number, topic in enumerate(topics)}
    width = len(topics)
    claims = {
        name: [i * width + number_of[t] for t, i in member.owned if t in number_of]
        for name, member in group.members.items()
    }
    owned, disputed = settle_claims(group.members, claims)
    far: dict[int, str] = {}
    if places is not None:
        far = take_off_rack(owned, topics, places)
    sharing = Sharing(sum(group.sizes.values()), owned, disputed, far)
    free = left_over(partitions_of(group.sizes, topics), sharing.kept)
    if places is not None:
        free = deal_out_by_rack(sharing, free, places)
    sharing.deal_out(free)
    dealt = sharing.dealt
    if withhold:
        moving = {
            TopicPartition(topics[number % width], number // width): owner
            for number, owner in sharing.given_up.items()
        }
        for name, added in dealt.items() if moving else ():
            dealt[name] = [tuple(tp for tp in one if moving.get(tp, name) == name) for one in added]
    return {
        name: _joined(_kept(sharing.kept[name], claims[name], member.owned, number_of), dealt[name])
        for name, member in group.members.items()
    }


def _joined(kept: Partitions, slices: list[Partitions]) -> Partitions:
    """The kept partitions and then each slice, with few copies."""
    if len(slices) > 2:
        return (*kept, *chain.from_iterable(slices))
    for each in slices:
        kept += each
    return kept


def _kept(
    kept: list[int], claimed: list[int], owned: Partitions, known: Mapping[str, int]
) -> Partitions:
    """The objects for the numbers that a member kept, from among those it claimed."""
    if len(owned) != len(claimed):
        owned = tuple(tp for tp in owned if tp.topic in known)
    if kept == claimed:
        return owned
    by_number = dict(zip(claimed, owned, strict=True))
    return tuple(map(by_number.__getitem__, kept))


def left_over(
    parts: Sequence[tuple[TopicPartition, ...]], kept: Mapping[str, list[int]]
) -> Partitions:
    """Every partition that no member keeps, by topic and index.

    And every one after a kept one that does not exist: see the specification.
    """
    taken = set().union(*kept.values())
    if not taken:
        return tuple(chain.from_iterable(parts))
    width = len(parts)
    sizes = [len(part) for part in parts]
    free = [
        tp
        for number, part in enumerate(parts)
        for code, tp in zip(range(number, width * len(part) + number, width), part, strict=True)
        if code not in taken
    ]
    if len(free) + len(taken) == sum(sizes):
        return tuple(free)
    stuck = min(
        (code % width, code // width)
        for code in taken
        if not 0 <= code // width < sizes[code % width]
    )
    return tuple(
        tp
        for number, part in enumerate(parts)
        for index, tp in enumerate(part)
        if index * width + number not in taken or (number, index) >= stuck
    )


class Sharing:
    """The partitions that members keep, and the members that are to get more."""

    __slots__ = ("at_low", "dealt", "given_up", "kept", "lacks", "low", "may_rise")

    def __init__(
        self,
        total: int,
        owned: Mapping[str, list[int]],
        disputed: set[int],
        far: Mapping[int, str],
    ) -> None:
        self.low, above = divmod(total, len(owned))
        high = self.low + (above > 0)
        self.kept: dict[str, list[int]] = {}
        self.given_up: dict[int, str | None] = {**far, **dict.fromkeys(disputed)}
        self.dealt: dict[str, list[Partitions]] = {name: [] for name in owned}
        below: list[str] = []
        at_low: list[str] = []
        self.may_rise = above
        """How many more members may get above the low quota."""
        for name, numbers in owned.items():
            mine = sorted(n for n in numbers if n not in disputed) if disputed else sorted(numbers)
            keeps = len(mine)
            if keeps < self.low:
                below.append(name)
            elif keeps >= high and self.may_rise:
                keeps = high
                self.may_rise -= 1
                if not self.may_rise:
                    at_low.clear()
            else:
                keeps = self.low
                if self.may_rise:
                    at_low.append(name)
            self.given_up |= dict.fromkeys(mine[keeps:], name)
            self.kept[name] = mine[:keeps]
        self.lacks = {name: self.low - len(self.kept[name]) for name in sort_names(below)}
        """How many partitions each member below the low quota lacks, by name."""
        self.at_low = sort_names(at_low)

    def deal_out(self, free: Partitions) -> None:
        """Assign partitions in turn, as many rounds at a time as no member reaches the quota.

        A round gives one to each member below the quota; several rounds give each a slice.
        """
        dealt, lacks, at_low = self.dealt, self.lacks, self.at_low
        waiting = list(lacks)
        rounds = 0
        begin = 0
        while waiting:
            more = min(map(lacks.__getitem__, waiting)) - rounds
            rounds += more
            end = begin + more * len(waiting)
            for first, name in enumerate(waiting, begin):
                dealt[name].append(free[first : end : len(waiting)])
            begin = end
            at_low += [name for name in waiting if lacks[name] == rounds]
            waiting = [name for name in waiting if lacks[name] > rounds]
        rest = free[begin:]
        if len(rest) > len(at_low):
            first_too_many = rest[len(at_low)]
            raise KafkaRaises(
                "IllegalStateException", f"all members are full before {first_too_many}"
            )
        for place, name in enumerate(at_low[: len(rest)]):
            dealt[name].append(rest[place : place + 1])


# -- where racks matter --------------------------------------------------------------------------


def take_off_rack(
    owned: dict[str, list[int]], topics: Sequence[str], places: Places
) -> dict[int, str]:
    """Take from members the partitions off their racks; returns the owner of each."""
    width = len(topics)
    far: dict[int, str] = {}
    for name in places.of_member:
        leaving = {
            n for n in owned[name] if places.is_off_rack(name, topics[n % width], n // width)
        }
        if leaving:
            owned[name] = [n for n in owned[name] if n not in leaving]
            far |= dict.fromkeys(leaving, name)
    return far


class Waiting:
    """Members by rack: those below the low quota in a ring, those at it in a queue."""

    def __init__(self, sharing: Sharing, places: Places) -> None:
        self._rack_of = places.of_member.get
        self._may_rise = sharing.may_rise
        self._turn = 0
        self.below = list(sharing.lacks)
        self._ring: dict[str, list[int]] = {}
        for number, name in enumerate(self.below):
            if rack := self._rack_of(name):
                self._ring.setdefault(rack, []).append(number)
        self._arrivals = count()
        self._queue: dict[str, deque[int]] = {}
        self.at_low: dict[int, str] = {}
        for name in sharing.at_low:
            self.stand_in_queue(name)

    def stand_in_queue(self, name: str) -> None:
        """Let a member at the low quota wait for one more, if any may get one more."""
        if self._may_rise:
            arrival = next(self._arrivals)
            self.at_low[arrival] = name
            if rack := self._rack_of(name):
                self._queue.setdefault(rack, deque()).append(arrival)

    def next_below(self, racks: frozenset[str]) -> str | None:
        """The next member in turn on these racks that is below the low quota."""
        after: int | None = None
        from_start: int | None = None
        for rack in racks:
            if ring := self._ring.get(rack):
                from_start = ring[0] if from_start is None else min(from_start, ring[0])
                place = bisect_left(ring, self._turn)
                if place < len(ring):
                    after = ring[place] if after is None else min(after, ring[place])
        number = from_start if after is None else after
        if number is None:
            return None
        self._turn = number + 1
        return self.below[number]

    def leave_ring(self, name: str) -> None:
        """The member whose turn it was has reached the low quota."""
        ring = self._ring[self._rack_of(name) or ""]
        del ring[bisect_left(ring, self._turn - 1)]
        self.stand_in_queue(name)

    def next_at_low(self, racks: frozenset[str]) -> str | None:
        """Remove the first member on these racks that waits at the low quota."""
        heads = [(queue[0], queue) for rack in racks if (queue := self._queue.get(rack))]
        if not heads:
            return None
        arrival, queue = min(heads)
        queue.popleft()
        name = self.at_low.pop(arrival)
        self._may_rise -= 1
        if not self._may_rise:
            self.at_low.clear()
            self._queue.clear()
        return name


def deal_out_by_rack(sharing: Sharing, free: Partitions, places: Places) -> Partitions:
    """Assign each partition to the next member on one of its racks; returns those left."""
    racks_of = [places.racks(*tp) for tp in free]
    # Partitions with few members on their racks come first.
    in_order = sorted(range(len(free)), key=[places.members_on(r) for r in racks_of].__getitem__)
    waiting = Waiting(sharing, places)
    lacks = sharing.lacks
    near: dict[str, list[TopicPartition]] = {}
    left: list[TopicPartition] = []
    for number in in_order:
        racks = racks_of[number]
        name = waiting.next_below(racks)
        if name is not None:
            lacks[name] -= 1
            if not lacks[name]:
                waiting.leave_ring(name)
        else:
            name = waiting.next_at_low(racks)
        if name is None:
            left.append(free[number])
        else:
            near.setdefault(name, []).append(free[number])
    for name, given in near.items():
        sharing.dealt[name].append(tuple(given))
    sharing.lacks = {name: lack for name, lack in lacks.items() if lack}
    sharing.at_low = list(waiting.at_low.values())
    return tuple(left)
