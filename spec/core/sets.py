"""Sets with one iteration order, for states.

Two equal frozensets may iterate in different orders: the order depends on how each was built, and
for strings on the process. A rule that depends on it, such as one that takes `next(iter(members))`,
would lead from equal states to different ones. So every frozenset in a state is an `OrderedSet`,
which iterates in ascending order (`key_of`). `System.initial`, `Rule.attempt` and the engines
ensure this with `ordered`.

What `|`, `&`, `-`, `^` and the methods of an ordered set return is ordered as well. A set that a
rule builds in another way (`set(members)`, `{*members}`) keeps Python's order until it becomes
part of a state: use `sorted` to iterate over it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from copy import copy
from enum import Enum
from functools import cache
from itertools import chain
from operator import attrgetter, is_not
from typing import Any, Self, TypeVar, cast

import attrs

from kspec.spec.core.errors import SpecError

T = TypeVar("T")

KEPT = (
    "a rule, a property or a helper keeps part of one state and uses it in another, so it is not a "
    "function of the state"
)

SIMPLE = frozenset({int, str})
SCALARS = SIMPLE | {bool, type(None), float, bytes, complex}


class OrderedSet(frozenset[T]):
    """A frozenset that iterates in ascending order, whatever the types of its members."""

    __slots__ = ("_in_order", "_is_settled")
    _in_order: tuple[T, ...] | None
    _is_settled: bool
    """Whether equal sets also have the same internal order, which a copy inherits:
    `set(members).pop()` then gives the same member for equal sets."""

    def __new__(cls, members: Iterable[T] = ()) -> OrderedSet[T]:
        """Sort the members."""
        order = tuple(in_order(frozenset(members)))
        made = super().__new__(cls, order)
        made._in_order, made._is_settled = order, True
        return made

    def __iter__(self) -> Iterator[T]:
        if self._in_order is None:
            self._in_order = tuple(in_order(frozenset(self)))
        return iter(self._in_order)

    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(map(repr, self))}}})" if self else "frozenset()"

    def __reduce__(self) -> Any:
        return OrderedSet, (tuple(self),)


class Entries:
    """The base of `Map` and `Bag` (`maps.py`): values or counts by key, in one order."""

    __slots__ = ("_entries", "_hash", "_order")
    _entries: dict[Any, Any]
    _order: tuple[Any, ...] | None
    _hash: int | None

    def _fill(self, entries: dict[Any, Any]) -> None:
        """Take the entries, in a dict that nobody changes from now on."""
        put = object.__setattr__
        put(self, "_entries", entries)
        put(self, "_order", None)
        put(self, "_hash", None)

    @classmethod
    def of_pairs(cls, entries: Iterable[tuple[Any, Any]]) -> Self:
        """The same kind with these entries."""
        made = cls.__new__(cls)
        made._fill(dict(entries))
        return made

    def _in_order(self) -> tuple[Any, ...]:
        """The keys in ascending order."""
        if self._order is None:
            object.__setattr__(self, "_order", tuple(in_order(frozenset(self._entries))))
        return cast("tuple[Any, ...]", self._order)

    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """The entries, in the order of their keys."""
        return tuple([(key, self._entries[key]) for key in self._in_order()])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot change")

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(frozenset(self._entries.items())))
        return cast(int, self._hash)

    def __repr__(self) -> str:
        entries = ", ".join(f"{key!r}: {value!r}" for key, value in self.pairs())
        return f"{type(self).__name__}({{{entries}}})"

    def __reduce__(self) -> Any:
        return type(self).of_pairs, (self.pairs(),)


def subset(members: Iterable[Any], kept: list[Any]) -> OrderedSet[Any]:
    """The ordered set of some members of a collection, given in the collection's order."""
    if type(members) is not OrderedSet:
        return OrderedSet(kept)
    made: OrderedSet[Any] = frozenset.__new__(
        OrderedSet, kept
    )  # as OrderedSet(kept): kept is ordered
    made._in_order, made._is_settled = tuple(kept), True
    return made


def with_order(name: str) -> Callable[..., Any]:
    """A method of frozenset whose result is an ordered set that is sorted on first use."""
    plain, new = getattr(frozenset, name), frozenset.__new__

    def method(self: Any, *others: Any) -> Any:
        found = plain(self, *others)
        if found is NotImplemented:
            return found
        made: Any = new(OrderedSet, found)
        made._in_order, made._is_settled = None, False
        return made

    method.__name__, method.__doc__ = name, plain.__doc__
    return method


for operator in ("and", "or", "sub", "xor"):
    for reflected in ("", "r"):
        setattr(OrderedSet, f"__{reflected}{operator}__", with_order(f"__{reflected}{operator}__"))
for named in ("copy", "difference", "intersection", "symmetric_difference", "union"):
    setattr(OrderedSet, named, with_order(named))


# -- the order ------------------------------------------------------------------------------------


def in_order(members: frozenset[Any]) -> Iterable[Any]:
    """The members in ascending order."""
    if len(members) < 2:
        return members
    classes = set(map(type, members))
    if len(classes) == 1 and classes <= SIMPLE:
        return sorted(members)
    keyed = {cls: flat_key(cls) for cls in classes}
    if all(keyed.values()):
        keys = {id(member): keyed[type(member)](member) for member in members}
        if set(map(type, chain.from_iterable(keys.values()))) <= SIMPLE:
            # Comparing a number with a string raises TypeError, and any sort compares neighbours
            # of its result: so whether it raises does not depend on the order of the members.
            with suppress(TypeError):
                return sorted(members, key=lambda member: keys[id(member)])
    return sorted(members, key=key_of)


@cache
def flat_key(cls: Any) -> Any:
    """A function that returns the class and the fields of a record; None for other classes."""
    names = [field.name for field in attrs.fields(cls) if field.eq] if attrs.has(cls) else []
    if not names:
        return None
    fields, name = attrgetter(*names), cls.__qualname__
    if len(names) == 1:
        return lambda record: (name, fields(record))
    return lambda record: (name, *fields(record))


def key_of(value: Any) -> tuple[Any, ...]:
    """A sort key for any value; equal values have equal keys."""
    cls: Any = type(value)
    if isinstance(value, frozenset):
        return 6, len(value), tuple(sorted(map(key_of, value)))
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, str.__str__(value)
    if value is None:
        return (2,)
    if isinstance(value, bytes):
        return 3, value
    if isinstance(value, Enum):
        return 4, cls.__qualname__, places_of(cls).get(value.name, -1), repr(value)
    if isinstance(value, tuple):
        return 5, tuple(map(key_of, value))
    if isinstance(value, Entries):
        return 9, cls.__qualname__, len(value._entries), key_of(value.pairs())
    names = parts_of(cls)
    if names:
        return 7, cls.__qualname__, tuple([key_of(getattr(value, name)) for name in names])
    return 8, cls.__qualname__, repr(value)


@cache
def places_of(cls: Any) -> dict[str, int]:
    """The position of each member of an enumeration in its definition, by name."""
    return {name: place for place, name in enumerate(cls.__members__)}


# -- states ---------------------------------------------------------------------------------------


def ordered(value: T, known: Any = None) -> T:
    """An equal value whose frozensets, at any depth, are ordered.

    Parts that are identical to parts of `known` are skipped: they are ordered already.
    """
    made: T = value if value is known else ordered_value(value, known)
    return made


def ordered_value(value: Any, known: Any) -> Any:
    """The same for a value other than the known one."""
    cls: Any = type(value)
    if cls in SCALARS:
        return value
    if cls is frozenset or cls is OrderedSet:
        return ordered_members(value, known)
    if cls in TRANSIENT:
        raise SpecError(KEPT)
    if isinstance(value, tuple):
        return ordered_items(value, known)
    names = parts_of(cls)
    if names:
        if cls not in FROZEN:
            assert_frozen(value, names[0])
        is_like = type(known) is cls
        made = value
        for name in names:
            part = getattr(value, name)
            if type(part) in SCALARS:
                continue
            new = ordered(part, getattr(known, name) if is_like else None)
            if new is not part:
                if made is value:  # which may be a constant, or the result of a helper
                    made = copy(value)
                object.__setattr__(made, name, new)
        return made
    if isinstance(value, Entries):
        return ordered_entries(value, known)
    if is_unordered(cls):
        instead = "Map of spec.core" if isinstance(value, Mapping) else "frozenset"
        raise SpecError(
            f"a {cls.__name__} is part of a state, and equal ones may iterate in different orders: "
            f"use a {instead}"
        )
    return value


@cache
def is_unordered(cls: type) -> bool:
    """Whether a class is a mapping or a set that is not known here."""
    return issubclass(cls, Mapping | AbstractSet)


def ordered_entries(entries: Entries, known: Any) -> Entries:
    """A map or a bag with ordered keys and values."""
    pairs = entries.pairs()
    made = ordered(pairs, known.pairs() if type(known) is type(entries) else None)
    return entries if made is pairs else entries.of_pairs(made)


def ordered_members(members: frozenset[Any], known: Any) -> OrderedSet[Any]:
    """An ordered set with ordered members; those of the known set are ordered already."""
    ids = set(map(id, known)) if type(known) is OrderedSet else ()
    plain = tuple(frozenset.__iter__(members))
    made = [member if id(member) in ids else ordered(member) for member in plain]
    if any(map(is_not, made, plain)):
        return OrderedSet(made)
    is_settled = type(members) is OrderedSet and members._is_settled
    return members if is_settled else OrderedSet(members)  # type: ignore[return-value]


def domain(values: Iterable[T]) -> Iterable[T]:
    """The values that a function of choices lists, each with ordered frozensets."""
    kind = type(values)
    if kind is range or (kind is tuple and SCALARS.issuperset(map(type, values))):
        return values
    return map(ordered, values)


def ordered_items(items: tuple[Any, ...], known: Any) -> tuple[Any, ...]:
    """A tuple with ordered items."""
    if SCALARS.issuperset(map(type, items)):
        return items
    is_like = isinstance(known, tuple) and len(known) == len(items)
    before = known if is_like else (None,) * len(items)
    made = [ordered(item, old) for item, old in zip(items, before, strict=True)]
    if not any(map(is_not, made, items)):
        return items
    new = tuple.__new__(type(items), made)
    vars_of = getattr(items, "__dict__", None)
    if vars_of:
        new.__dict__.update(vars_of)
    return new


@cache
def parts_of(cls: Any) -> tuple[str, ...]:
    """The fields by which records of an attrs class or a dataclass are compared."""
    if attrs.has(cls):
        return tuple(field.name for field in attrs.fields(cls) if field.eq)
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls) if field.compare)
    return ()


TRANSIENT: set[type] = set()
"""Classes whose objects serve for one state, and become part of no other."""

FROZEN: set[type] = set()
"""The classes of records that are known to be frozen."""


def assert_frozen(record: Any, name: str) -> None:
    """Raise SpecError for a record with a field that can be assigned."""
    cls = type(record)
    try:
        setattr(record, name, getattr(record, name))
    except AttributeError:  # of attrs or dataclasses: the record is frozen
        FROZEN.add(cls)
        return
    except Exception:  # noqa: S110 - it has a setter, which refuses this
        pass
    raise SpecError(
        f"class {cls.__name__} is part of a state but is mutable, so a rule could modify an "
        "explored state: declare it with @attrs.frozen or @dataclass(frozen=True)"
    )
