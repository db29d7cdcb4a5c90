"""A group as the fast assignors see it: topics in order, and members alike taken together."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from operator import itemgetter

from impl.assignors.java import sort_names
from spec.vocabulary import InvalidGroup, Member, TopicPartition


class Group:
    """The topics that count, and which members subscribe to the same list of topics."""

    __slots__ = ("kinds", "members", "sizes", "subscribed")

    def __init__(self, partitions: Mapping[str, int | None], members: Mapping[str, Member]) -> None:
        for topic, size in partitions.items():
            if size is not None and size < 0:
                raise InvalidGroup(f"topic {topic!r} has {size} partitions")
        self.members = members
        self.kinds: dict[tuple[str, ...], list[str]] = {}
        """Members by the list of topics that they subscribe to."""
        for name, member in members.items():
            alike = self.kinds.get(member.topics)
            if alike is None:
                self.kinds[member.topics] = [name]
            else:
                alike.append(name)
        self.subscribed = list(dict.fromkeys(chain.from_iterable(self.kinds)))
        """Topics in the order of the members."""
        self.sizes: dict[str, int] = {
            topic: size for topic in self.subscribed if (size := partitions.get(topic))
        }
        """How many partitions each topic has: those subscribed to that have any."""


class Subscribers:
    """For each topic, the places of its subscribers; topics with the same ones share one list."""

    __slots__ = ("_kinds_of", "_lists", "_others_of")

    def __init__(self, group: Group, in_order: list[str]) -> None:
        place = {name: number for number, name in enumerate(in_order)}.__getitem__
        # A kind goes by the place of its first member. In that order, lists come out sorted.
        firsts: list[int] = []
        others_of: dict[int, list[int]] = {}
        for names in group.kinds.values():
            first, *others = sorted(map(place, names)) if len(names) > 1 else (place(names[0]),)
            firsts.append(first)
            if others:
                others_of[first] = others
        kinds_of: dict[str, list[int]] = {topic: [] for topic in group.subscribed}
        adds = {topic: kinds.append for topic, kinds in kinds_of.items()}
        for first, topics in sorted(zip(firsts, group.kinds, strict=True), key=itemgetter(0)):
            for add in map(adds.__getitem__, topics):
                add(first)
        lists: dict[tuple[int, ...], list[int]] = {}
        self._lists: dict[str, list[int]] = {}
        for topic, kinds in kinds_of.items():
            # A kind is in there as often as it names the topic.
            different = tuple(dict.fromkeys(kinds))
            found = lists.get(different)
            if found is None:
                found = lists[different] = list(different)
                for first in others_of.keys() & different:
                    found += others_of[first]
                found.sort()
            self._lists[topic] = found
        self._kinds_of = kinds_of
        self._others_of = others_of

    def of(self, topic: str) -> list[int]:
        """The subscribers of a topic, ascending; the same object for the same subscribers."""
        return self._lists[topic]

    def how_often(self, topic: str) -> int:
        """How many times the topic is subscribed to: twice by a member that names it twice."""
        kinds = self._kinds_of[topic]
        if not self._others_of:
            return len(kinds)
        return len(kinds) + sum(len(self._others_of.get(first, ())) for first in kinds)


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
    """Make many objects, none of them garbage: looking for garbage would double the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
