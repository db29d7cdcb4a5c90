"""Sticky with equal subscriptions, in slices instead of one partition after the other.

A partition is the number `index * topics + topic`, topics numbered by name. Sorted, those
numbers stand by index and then by topic, as Kafka sorts what a member owned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from impl.assignors.group import Group, partitions_of
from impl.assignors.java import sort_names
from impl.assignors.sticky.ownership import settle_claims
from spec.vocabulary import Assignment, KafkaRaises, TopicPartition

Partitions: TypeAlias = tuple[TopicPartition, ...]


def assign_constrained(group: Group, *, withhold: bool) -> Assignment:
    """The same as the specification's, faster."""
    topics = sort_names(group.sizes)
    number_of = {topic: number for number, topic in enumerate(topics)}
    width = len(topics)
    claims = {
        name: [i * width + number_of[t] for t, i in member.owned if t in number_of]
        for name, member in group.members.items()
    }
    owned, disputed = settle_claims(group.members, claims)
    sharing = Sharing(sum(group.sizes.values()), owned, disputed)
    free = left_over(partitions_of(group.sizes, topics), sharing.kept)
    dealt = sharing.deal_out(free)
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
    """What was kept and then each slice, copied as rarely as can be."""
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
    """Every partition that nobody keeps, by topic and index.

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
    """What members keep, and who is to get more."""

    __slots__ = ("at_low", "below", "given_up", "kept", "low")

    def __init__(self, total: int, owned: Mapping[str, list[int]], disputed: set[int]) -> None:
        self.low, above = divmod(total, len(owned))
        high = self.low + (above > 0)
        self.kept: dict[str, list[int]] = {}
        self.given_up: dict[int, str | None] = dict.fromkeys(disputed)
        self.below: list[str] = []
        self.at_low: list[str] = []
        members_above = 0
        for name, numbers in owned.items():
            mine = sorted(n for n in numbers if n not in disputed) if disputed else sorted(numbers)
            keeps = len(mine)
            if keeps < self.low:
                self.below.append(name)
            elif keeps >= high and members_above < above:
                keeps = high
                members_above += 1
                if members_above == above:
                    self.at_low.clear()
            else:
                keeps = self.low
                if members_above < above:
                    self.at_low.append(name)
            self.given_up |= dict.fromkeys(mine[keeps:], name)
            self.kept[name] = mine[:keeps]

    def deal_out(self, free: Partitions) -> dict[str, list[Partitions]]:
        """Deal the free partitions out, as many rounds at a time as nobody reaches the quota.

        A round gives one to each member that is below; so many rounds give each a slice.
        """
        dealt: dict[str, list[Partitions]] = {name: [] for name in self.kept}
        waiting = sort_names(self.below)
        at_low = sort_names(self.at_low)
        lacks = {name: self.low - len(self.kept[name]) for name in waiting}
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
        return dealt
