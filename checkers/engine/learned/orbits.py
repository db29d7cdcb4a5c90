"""Symmetry of learned states: tables of the values of components, and of their renamings.

A state is a row of numbers, so renaming it is looking up each number in a table: for every
exchange of two neighbours, the number that a component's value becomes, and the component that it
moves to. Whenever components get new values, the tables are completed; so the values of each
component are closed under renaming, and compiled code never misses one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from kspec.checkers.engine.learned.book import Book
from kspec.checkers.engine.learned.representatives import Orbits
from kspec.checkers.engine.learned.values import is_plain
from kspec.checkers.engine.symmetry import NotSymmetric, Symmetry, options_of
from kspec.impl.compiled import Words
from kspec.spec.core import SpecError
from kspec.spec.core.schema import (
    Items,
    Mapped,
    Members,
    Product,
    Record,
    Scalar,
    Type,
    fields_of,
    names_of,
    type_of_class,
)

LARGEST = 1 << 64


class OrbitTables:
    """The tables of a symmetry, for the components of a book."""

    def __init__(self, symmetry: Symmetry, book: Book) -> None:
        self.symmetry = symmetry
        self.book = book
        self.places = sum(sort.size for sort in symmetry.sorts)
        self.types, indexes = [], []
        for component in book.components:
            of, sort, place = self.declared(component.field, component.index)
            self.types.append(of)
            indexes.append((sort, place))
        self.indexes = indexes
        """By component: the sort that its field is indexed by and its place in it, or -1."""
        self.to = [self.moves(k) for k in range(len(indexes))]
        self.marks: dict[tuple[Type, Any], tuple[int, ...]] = {}
        self.done = [0] * len(indexes)
        """By component: how many of its values are in the tables."""
        self.room: Words = np.zeros(len(indexes), np.int64)
        self.begin: Words = np.zeros(len(indexes), np.int64)
        self.keys: Words = np.zeros((0, self.places + 1), np.int64)
        self.swapped: Words = np.zeros((0, len(symmetry.exchanges)), np.int64)
        exchange, count = [], 0
        for sort_of in symmetry.sorts:
            exchange += [*range(count, count + sort_of.size - 1), -1]
            count += sort_of.size - 1
        self.exchange = np.array(exchange, np.int64)
        walks = [walk_of(tied, exchange) for tied in range(1 << count)]
        self.walk_at = np.cumsum([0, *map(len, walks)], dtype=np.int64)
        self.walks = np.array([step for walk in walks for step in walk], np.int64)
        self.close()

    # -- components -----------------------------------------------------------------------------

    def declared(self, field: str, index: int | None) -> tuple[Type | None, int, int]:
        """The type of a component, and its place in what its field is indexed by.

        A component that is a whole state has the type of that state: there may be several.
        """
        if not self.book.is_record:
            return None, -1, -1
        of = next(f.type for f in fields_of(self.book.cls) if f.name == field)
        if index is None:
            return of, -1, -1
        if not self.symmetry.is_mentioned(of):
            return of, -1, -1
        tuples = [t for t in options_of(of) if isinstance(t, Items | Product)]
        if len(tuples) != 1:
            raise SpecError(f"symmetry needs one type of tuple for {field}, and it has {of}")
        [of] = tuples
        if isinstance(of, Product):
            return of.parts[index], -1, -1
        assert isinstance(of, Items)
        sort = self.symmetry.kinds.get(of.by, -1)
        if sort < 0:
            return of.item, -1, -1
        size = self.symmetry.sorts[sort].size
        length = sum(component.field == field for component in self.book.components)
        if length < size:
            raise SpecError(f"{field} has {length} items, and is indexed by {size} values")
        return of.item, sort, index if index < size else -1

    def moves(self, k: int) -> list[int]:
        """By exchange: the component that the values of a component move to."""
        sort, place = self.indexes[k]
        moves = []
        for renaming in self.symmetry.exchanges:
            to = k
            if place >= 0:
                to = k + renaming[sort][place] - place  # the items of a field stand side by side
            moves.append(to)
        return moves

    def close(self) -> None:
        """Complete the tables for the values that are new, and for those that these become."""
        done, new = [*self.done], []
        while (k := self.next_incomplete(done)) is not None:
            n, done[k] = done[k], done[k] + 1
            new.append((k, n, *self.entry(k, n)))
        self.make_room(done)
        for k, n, swapped, keys in new:
            self.swapped[self.begin[k] + n] = swapped
            self.keys[self.begin[k] + n] = signed(keys)
        self.done = done

    def next_incomplete(self, done: Sequence[int]) -> int | None:
        """A component with a value that is not in the tables yet."""
        for k, component in enumerate(self.book.components):
            if done[k] < len(component.values):
                return k
        return None

    def entry(self, k: int, n: int) -> tuple[list[int], tuple[int, ...]]:
        """What a component's value becomes by each exchange, and what it adds to the keys."""
        book = self.book
        value = book.values.value(book.components[k].values[n])
        of = self.types[k] or type_of_class(type(value))
        swapped = []
        for renaming, to in zip(self.symmetry.exchanges, self.to[k], strict=True):
            new = self.symmetry.value_renamed(value, of, renaming)
            swapped.append(book.id_of(to, book.values.number(new)))
        return swapped, self.key_of(k, value, of)

    def make_room(self, counts: Sequence[int]) -> None:
        """Have room for so many values of each component."""
        if all(count <= room for count, room in zip(counts, self.room, strict=True)):
            return
        room = np.array([2 * count + 8 for count in counts], np.int64)
        begin = np.cumsum(room) - room
        keys = np.zeros((int(room.sum()), self.keys.shape[1]), np.int64)
        swapped = np.zeros((len(keys), self.swapped.shape[1]), np.int64)
        for old, new, count in zip(self.begin, begin, self.done, strict=True):
            keys[new : new + count] = self.keys[old : old + count]
            swapped[new : new + count] = self.swapped[old : old + count]
        self.room, self.begin, self.keys, self.swapped = room, begin, keys, swapped

    @property
    def bytes(self) -> int:
        """What the tables take."""
        return self.keys.nbytes + self.swapped.nbytes

    @property
    def arrays(self) -> Orbits:
        """The tables as compiled code reads them."""
        to = np.array(self.to, np.int64).reshape(len(self.to), -1)
        return Orbits(
            self.begin, self.keys, self.swapped, to, self.exchange, self.walk_at, self.walks,
            self.symmetry.order,
        )  # fmt: skip

    def row_of(self, state: Any) -> list[int]:
        """A state as a row; NotSymmetric if a component has a value that no renaming has."""
        before = [len(component.values) for component in self.book.components]
        row = self.book.row_of(state)
        if before != [len(component.values) for component in self.book.components]:
            raise NotSymmetric(
                f"{self.symmetry.system.model.name} is not symmetric as it declares: its rules "
                "lead from renamed states to others than the renamed ones"
            )
        return row

    # -- keys -----------------------------------------------------------------------------------

    def key_of(self, k: int, value: Any, of: Type) -> tuple[int, ...]:
        """What a component's value adds to the key of each place, and to the order of states."""
        component = self.book.components[k]
        sort, place = self.indexes[k]
        marks = self.marks_of(value, of)
        field = text_mark(component.field)
        known = text_mark(component.name)
        if place < 0:
            return tuple(mix(known, mark) for mark in marks)
        keys = []
        for at, mark in enumerate(marks[:-1]):
            own = at == self.symmetry.sorts[sort].first + place
            keys.append(mix(field + own, mark))
        return *keys, mix(known, marks[-1])

    def marks_of(self, value: Any, of: Type) -> tuple[int, ...]:
        """For each place, a hash of the value that does not depend on the names of other places.

        The last number is a hash of the value itself. Equal values have equal numbers.
        """
        symmetry = self.symmetry
        if not symmetry.is_mentioned(of):
            return (mark_of(value),) * (self.places + 1)
        key = of, value
        found = self.marks.get(key)
        if found is None:
            found = self.marks[key] = self.find_marks(value, symmetry.decided(value, of))
        return found

    def find_marks(self, value: Any, of: Type) -> tuple[int, ...]:
        """Compute the same."""
        symmetry = self.symmetry
        if isinstance(of, Scalar) and of.name in symmetry.kinds:
            sort = symmetry.sorts[symmetry.kinds[of.name]]
            place = sort.place(value)
            if place is not None:
                kind = text_mark(sort.kind.__name__)
                own = [int(at == sort.first + place) for at in range(self.places)]
                return *(mix(kind, mark) for mark in own), mix(kind, place + 2)
        if isinstance(of, Items):
            items = [self.marks_of(item, of.item) for item in value]
            number = symmetry.kinds.get(of.by)
            if number is None:
                return self.in_order(items)
            sort = symmetry.sorts[number]
            rest = self.in_order(items[sort.size :])
            marks = []
            for at in range(self.places):
                own_place = at - sort.first
                parts = (
                    mix(1 + int(place == own_place), item[at])
                    for place, item in enumerate(items[: sort.size])
                )
                marks.append(mix(sum(parts), rest[at]))
            return *marks, self.in_order(items)[-1]
        if isinstance(of, Product):
            pairs = zip(value, of.parts, strict=True)
            return self.in_order([self.marks_of(part, t) for part, t in pairs])
        if isinstance(of, Members):
            members = [self.marks_of(one, of.member) for one in value]
            return tuple(
                mix(len(members), sum(mix(3, one[at]) for one in members))
                for at in range(self.places + 1)
            )
        if isinstance(of, Mapped):
            entries = Members(Product((of.key, of.value)))
            return self.marks_of(frozenset(value.items()), entries)
        if isinstance(of, Record) and is_compared_by_fields(type(value)):
            cls: Any = type(value)
            fields = [f for f in fields_of(cls) if f.compared]
            return self.in_order([self.marks_of(getattr(value, f.name), f.type) for f in fields])
        return (mark_of(value),) * (self.places + 1)

    def in_order(self, parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The marks of what has parts in a fixed order."""
        marks = []
        for at in range(self.places + 1):
            mark = len(parts)
            for part in parts:
                mark = mix(mark, part[at])
            marks.append(mark)
        return tuple(marks)


def is_compared_by_fields(cls: type) -> bool:
    """Whether values of a class are equal where their compared fields are."""
    return is_plain(cls) or getattr(cls, "__eq__", None) is tuple.__eq__


def mark_of(value: Any) -> int:
    """A number for a value, the same for equal values and in every run."""
    kind: Any = type(value)
    if isinstance(value, str) and kind.__eq__ in (str.__eq__, object.__eq__):
        return text_mark(str.__str__(value))
    if kind in (int, bool, float):
        return mix(5, hash(value) % LARGEST)
    if isinstance(value, Enum):
        return text_mark(value.name) if kind.__eq__ is object.__eq__ else 0
    if isinstance(value, tuple) and kind.__eq__ is tuple.__eq__:
        mark = len(value)
        for part in value:
            mark = mix(mark, mark_of(part))
        return mark
    if isinstance(value, frozenset):
        return mix(len(value), sum(mix(3, mark_of(one)) for one in value))
    if is_plain(kind):
        mark = 0
        for name in names_of(kind) or ():
            mark = mix(mark, mark_of(getattr(value, name)))
        return mark
    return 0  # whatever it is equal to has the same mark


@cache
def text_mark(text: str) -> int:
    """A number for a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def mix(one: int, other: int) -> int:
    """One number of two, in their order, hardly ever the same for others."""
    mixed = (one * 0x9E3779B97F4A7C15 + other + 0x632BE59BD9B4E019) % LARGEST
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 % LARGEST
    return mixed ^ mixed >> 32


def signed(numbers: Sequence[int]) -> Words:
    """Numbers of 64 bits as compiled code adds them."""
    return np.array(numbers, np.uint64).view(np.int64)


# -- orders of values with equal keys -------------------------------------------------------------


def walk_of(tied: int, exchange: Sequence[int]) -> list[int]:
    """Exchanges that lead through all orders of the values that are tied, once through each.

    Bit n of `tied` says that the neighbours of exchange n are. Blocks of tied neighbours are
    independent of each other: for each order of one block, the walk of the others is gone
    forwards or backwards.
    """
    walk: list[int] = []
    for first, size in blocks_of(tied, exchange):
        forwards = walk
        walk = [*forwards]
        for step in plain_changes(size):
            forwards = forwards[::-1]
            walk += [first + step, *forwards]
    return walk


def blocks_of(tied: int, exchange: Sequence[int]) -> Iterator[tuple[int, int]]:
    """By block of tied neighbours: its first exchange, and how many values it has."""
    size = 1
    for number in exchange:
        if number >= 0 and tied >> number & 1:
            size += 1
            last = number
        elif size > 1:
            yield last - size + 2, size
            size = 1


def plain_changes(size: int) -> list[int]:
    """Exchanges of neighbours that lead through all orders of so many values.

    The last value is exchanged through all others, and back again after each exchange of those.
    """
    if size < 2:
        return []
    through = [*range(size - 2, -1, -1)]
    changes = [*through]
    for number, change in enumerate(plain_changes(size - 1)):
        is_first = number % 2 == 0  # whether the last value stands before all others
        through.reverse()
        changes += [change + is_first, *through]
    return changes
