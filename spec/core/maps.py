"""Mappings and bags as parts of a state: they cannot change, and iterate in ascending order.

A `Map` is a dict that cannot change; `m.set(key, value)` and `m.without(key)` return others. A
`Bag` is a multiset: it counts how often a member was added, such as a message that is sent twice.
Equal maps iterate in the same order, and so do equal bags (`sets.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar, cast

from kspec.spec.core.sets import Entries

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", covariant=True)
T = TypeVar("T", bound=Hashable)


class Map(Entries, Mapping[K, V]):
    """A mapping that cannot change, with its keys in ascending order."""

    __slots__ = ()

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        """Take the entries of a mapping, or pairs of keys and values."""
        self._fill(dict(entries))

    def __getitem__(self, key: K) -> V:
        return cast(V, self._entries[key])

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(self._in_order())

    def keys(self) -> KeysView[K]:
        """The keys, in ascending order."""
        return KeysView(self)

    def values(self) -> ValuesView[V]:
        """The values, in the order of their keys."""
        return ValuesView(self)

    def items(self) -> ItemsView[K, V]:
        """The entries, in the order of their keys."""
        return ItemsView(self)

    def set(self, key: K, value: V) -> Map[K, V]:  # type: ignore[misc]
        """The mapping with another value for a key."""
        return Map({**self._entries, key: value})

    def __or__(self, other: Mapping[K, V]) -> Map[K, V]:
        """The mapping with the entries of another, which take the place of its own."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return Map({**self._entries, **dict(other)})

    def without(self, key: K) -> Map[K, V]:
        """The mapping without a key; KeyError if it has none."""
        self._entries[key]
        return Map({known: value for known, value in self._entries.items() if known != key})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Map | dict):
            return NotImplemented
        return self._entries == (other._entries if isinstance(other, Map) else other)

    __hash__ = Entries.__hash__


class Bag(Entries, Iterable[T]):
    """A set that may have a member several times; a member is listed once, in ascending order."""

    __slots__ = ()

    def __init__(self, members: Iterable[T] = ()) -> None:
        """Take some members, each as often as it occurs; those of a bag with their numbers."""
        if isinstance(members, Bag):
            self._fill(members._entries)
            return
        counts: dict[T, int] = {}
        for member in members:
            counts[member] = counts.get(member, 0) + 1
        self._fill(counts)

    def count(self, member: T) -> int:
        """How often it has a member."""
        found: int = self._entries.get(member, 0)
        return found

    def __contains__(self, member: object) -> bool:
        return member in self._entries

    def __len__(self) -> int:
        """The number of members, each counted as often as the bag has it."""
        return sum(self._entries.values())

    def __iter__(self) -> Iterator[T]:
        return iter(self._in_order())

    def items(self) -> Iterator[tuple[T, int]]:
        """Each member once, with how often the bag has it."""
        return ((member, self._entries[member]) for member in self)

    def add(self, member: T) -> Bag[T]:
        """The bag with one more occurrence of a member."""
        return self + {member}

    def remove(self, member: T) -> Bag[T]:
        """The bag with one occurrence of a member fewer; KeyError if it has none."""
        self._entries[member]
        return self - {member}

    def __add__(self, others: Iterable[T]) -> Bag[T]:
        """The bag with some members once more."""
        counts = {**self._entries}
        for member, more in Bag(others)._entries.items():
            counts[member] = counts.get(member, 0) + more
        return self.of_pairs(counts.items())

    def __sub__(self, others: Iterable[T]) -> Bag[T]:
        """The bag with some members once less; those that it lacks do not count."""
        counts = {**self._entries}
        for member, less in Bag(others)._entries.items():
            counts[member] = counts.get(member, 0) - less
        return self.of_pairs(entry for entry in counts.items() if entry[1] > 0)

    def __eq__(self, other: object) -> bool:
        return self._entries == other._entries if isinstance(other, Bag) else NotImplemented

    __hash__ = Entries.__hash__
