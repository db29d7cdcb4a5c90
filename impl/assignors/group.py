"""A group as the fast assignors use it: members with equal subscriptions are one kind."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from operator import itemgetter

from kspec.impl.assignors.java import sort_names
from kspec.spec.vocabulary import InvalidGroup, Member, TopicPartition


class Group:
    """The topics that count, and the members by their list of topics."""

    __slots__ = ("kinds", "members", "sizes")

    def __init__(self, partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> None:
        for topic, size in partitions.items():
            if size is not None and size < 0:
                raise InvalidGroup(f"topic {topic!r} has {size} partitions")
        self.members = members
        self.kinds: dict[tuple[str, ...], list[str]] = {}
        """Members by the list of topics that they subscribe to."""
        for name, member in members.items():
            self.kinds.setdefault(member.topics, []).append(name)
        subscribed = set().union(*self.kinds)
        self.sizes: dict[str, int] = {
            topic: size for topic, size in partitions.items() if size and topic in subscribed
        }
        """The number of partitions of each topic with a subscriber and with partitions."""

    def subscribed(self) -> list[str]:
        """Topics in the order of the members."""
        return list(dict.fromkeys(chain.from_iterable(self.kinds)))


class Subscribers:
    """For each topic, the indexes of its subscribers; topics with the same ones share one list.

    A list is built when it is first used, since many topics' lists never are.
    """

    __slots__ = ("_group", "_kinds_of", "_lists", "_lists_of", "_others_of")

    def __init__(self, group: Group, in_order: list[str]) -> None:
        place = dict(zip(in_order, range(len(in_order)), strict=True))
        # A kind is ordered by its first member, so that the lists are sorted.
        firsts: list[int] = []
        others_of: dict[int, list[int]] = {}
        for names in group.kinds.values():
            first = place[names[0]]
            if len(names) > 1:
                first, *others = sorted(map(place.__getitem__, names))
                others_of[first] = others
            firsts.append(first)
        kinds_of: dict[str, list[int]] = defaultdict(list)
        for first, topics in sorted(zip(firsts, group.kinds, strict=True), key=itemgetter(0)):
            for topic in topics:
                kinds_of[topic].append(first)
        self._group = group
        self._kinds_of = kinds_of
        self._others_of = others_of
        self._lists: dict[tuple[int, ...], list[int]] = {}
        self._lists_of: dict[str, list[int]] = {}

    def of(self, topic: str) -> list[int]:
        """The subscribers of a topic, ascending; the same object for the same subscribers."""
        found = self._lists_of.get(topic)
        if found is None:
            found = self._lists_of[topic] = self._list_of(topic)
        return found

    def _list_of(self, topic: str) -> list[int]:
        # A kind occurs as often as it names the topic.
        different = dict.fromkeys(self._kinds_of[topic])
        kinds = tuple(different)
        found = self._lists.get(kinds)
        if found is None:
            found = self._lists[kinds] = list(kinds)
            if several := self._others_of.keys() & different.keys():
                for first in several:
                    found += self._others_of[first]
                found.sort()
        return found

    def how_often(self) -> dict[str, int]:
        """How many times each topic is subscribed to: twice by a member that names it twice."""
        often = {topic: len(kinds) for topic, kinds in self._kinds_of.items()}
        for topics, names in self._group.kinds.items():
            if len(names) > 1:
                for topic in topics:
                    often[topic] += len(names) - 1
        return often


def static_first(members: Mapping[str, Member]) -> list[str]:
    """Static members by instance id, then the others by member id."""
    static: dict[str, list[str]] = {}
    dynamic: list[str] = []
    for name, member in members.items():
        if member.instance_id is None:
            dynamic.append(name)
        else:
            static.setdefault(member.instance_id, []).append(name)
    ordered = [name for instance_id in sort_names(static) for name in static[instance_id]]
    return ordered + sort_names(dynamic)


# -- partitions as objects -----------------------------------------------------------------------

MOST_KEPT = 1 << 21
"""How many partitions are kept, for the next round; about 150 MiB of them."""

_kept: dict[str, tuple[TopicPartition, ...]] = {}


def partitions_of(
    sizes: Mapping[str, int], topics: Iterable[str]
) -> list[tuple[TopicPartition, ...]]:
    """Every partition of each topic, ascending.

    Making the objects takes longer than assigning them, and a group is assigned again and
    again. They never change, so they are kept, as Java keeps small integers.
    """
    found = {topic: _kept.get(topic, ()) for topic in topics}
    missing = [topic for topic, kept in found.items() if len(kept) < sizes[topic]]
    if missing:
        new = partial(tuple.__new__, TopicPartition)
        with _collection_paused():
            made = {t: tuple(map(new, zip(repeat(t), range(sizes[t])))) for t in missing}
        found |= made
        number = sum(map(len, made.values()))
        if number + sum(map(len, _kept.values())) > MOST_KEPT:
            _kept.clear()
        if number <= MOST_KEPT:
            _kept.update(made)
    return [kept[: sizes[topic]] for topic, kept in found.items()]


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Create many objects, none of them garbage; collection would double the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
