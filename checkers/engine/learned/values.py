"""Interning: every value that occurs in a state has a number.

A value is a **record** (an instance of a plain attrs class), a tuple, a frozenset, or, if it is
anything else, a **scalar**, which has no parts. The parts of the others are numbers again, so a
part is found, and a value with one part changed is made, without building objects.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs

from kspec.checkers.engine.learned.plainly import asks_for_types
from kspec.checkers.engine.learned.source import is_generated
from kspec.spec.core import OrderedSet, SpecError, ordered
from kspec.spec.core.sets import Entries


class Unable(SpecError):
    """The learned engine cannot explore a system that the reference engine can."""


class Uncompared(Unable):
    """Two equal records of a run differ in a field that is not compared."""

    def __init__(self, cls: type, field: str) -> None:
        """Name the class and the field."""
        super().__init__(
            f"two equal values of {cls.__name__} differ in {field}, which is not compared "
            "(eq=False), so the learned engine cannot tell them apart: compare the field, or use "
            "--engine reference"
        )


SCALAR, RECORD, TUPLE, SET = range(4)

UNBUILT = object()
"""In place of an object that was not built yet."""

COMMON = frozenset({int, str, bool, type(None)})
"""Scalars of these classes are looked up by value first."""


def is_plain(cls: Any) -> bool:
    """Whether instances consist of their fields alone: the class is an attrs class without its own
    code for creation, comparison or attribute access, and without a call of `type`.
    """
    return is_plain_class(cls)


@cache
def is_plain_class(cls: Any) -> bool:
    """The same, computed once for each class."""
    if not attrs.has(cls) or issubclass(cls, BaseException | tuple):
        return False
    own_code = ("__attrs_post_init__", "__attrs_pre_init__", "__getattr__", "__getattribute__")
    if any(hasattr(cls, name) and not hasattr(object, name) for name in own_code[:3]):
        return False
    if cls.__getattribute__ is not object.__getattribute__ or cls.__new__ is not object.__new__:
        return False
    if cls.__setattr__ is object.__setattr__ or cls.__hash__ is None:
        return False
    made = (cls.__init__, cls.__eq__, cls.__hash__)
    if not all(map(is_generated, made)) or asks_for_types([cls]):
        return False
    return all(
        f.init and f.converter is None and f.validator is None and f.eq_key is None
        for f in attrs.fields(cls)
    )


@attrs.frozen(eq=False)
class Shape:
    """The fields of a plain attrs class."""

    cls: type
    names: tuple[str, ...]
    """The fields that are compared: the parts of a record."""
    aliases: tuple[str, ...]
    index: dict[str, int]
    """By name: the index of the part."""
    apart: tuple[str, ...]
    """The fields that are not compared; they are equal in equal records."""
    apart_aliases: tuple[str, ...]
    alias_names: dict[str, str]


class Values:
    """All values so far."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.parts: list[tuple[int, ...]] = []
        self.shapes: list[int] = []
        """The shape of a value: of a scalar, its number; of others a negative number for the class
        and, of a tuple, its length."""
        self.same: list[int] = []
        """The least number of a value that is equal (1 and True are two values, and equal)."""
        self.apart: list[tuple[Any, ...]] = []
        self.has_sets: list[bool] = []
        """Whether a value is or contains a frozenset, and is built with ordered ones."""
        self.objects: list[Any] = []
        """The objects, or UNBUILT."""
        self.by_identity: dict[int, int] = {}
        self.numbers: dict[Any, int] = {}
        self.equals: dict[Any, int] = {}
        self.classes: dict[type, Shape] = {}
        self.shape_numbers: dict[Any, int] = {}
        self.records: dict[int, Shape] = {}
        """By shape number: the class of records."""
        self.field_numbers: dict[str, int] = {}

    # -- numbers --------------------------------------------------------------------------------

    def number(self, value: Any) -> int:
        """The number of a value; TypeError if a part of it has no hash."""
        cls = type(value)
        if cls in COMMON:
            found = self.numbers.get((cls, value))
            if found is not None:
                return found
        else:
            found = self.by_identity.get(id(value))
            if found is not None:
                return found
        if cls is tuple:
            return self.tuple_of(tuple([self.number(part) for part in value]), value)
        if cls is OrderedSet or cls is frozenset:
            return self.set_of(tuple(sorted([self.number(part) for part in value])), value)
        if is_plain(cls):
            shape = self.shape(cls)
            parts = tuple([self.number(getattr(value, name)) for name in shape.names])
            apart = tuple([getattr(value, name) for name in shape.apart])
            return self.record_of(shape, parts, apart, value)
        key = cls, value
        found = self.numbers.get(key)
        if found is None:
            for pair in value.pairs() if isinstance(value, Entries) else ():
                self.number(pair)  # its parts have numbers before it, so that a file can name them
            equal: Any = "scalar", value
            if isinstance(value, tuple) and getattr(cls, "__eq__", None) is tuple.__eq__:
                # a named tuple equals a tuple of the same parts
                equal = TUPLE, tuple([self.same[self.number(part)] for part in value])
            found = self.add(key, SCALAR, (), len(self.kinds), equal, (), ordered(value))
        return found

    def tuple_of(self, parts: tuple[int, ...], value: Any = UNBUILT) -> int:
        """The number of a tuple with these parts."""
        key = TUPLE, parts
        found = self.numbers.get(key)
        if found is None:
            shape = self.shape_number(("tuple", len(parts)))
            equal = TUPLE, tuple([self.same[part] for part in parts])
            found = self.add(key, TUPLE, parts, shape, equal, (), value)
        return found

    def set_of(self, parts: tuple[int, ...], value: Any = UNBUILT) -> int:
        """The number of a frozenset with these parts, in ascending order."""
        key = SET, parts
        found = self.numbers.get(key)
        if found is None:
            equal = SET, frozenset([self.same[part] for part in parts])
            shape = self.shape_number("set")
            found = self.add(key, SET, parts, shape, equal, (), value)
        return found

    def record_of(
        self, shape: Shape, parts: tuple[int, ...], apart: tuple[Any, ...], value: Any = UNBUILT
    ) -> int:
        """The number of a record with these parts."""
        key = shape.cls, parts
        found = self.numbers.get(key)
        if found is None:
            equal = shape.cls, tuple([self.same[part] for part in parts])
            number = self.shape_number(shape.cls)
            found = self.add(key, RECORD, parts, number, equal, apart, value)
        elif apart != self.apart[found]:
            raise uncompared(shape, apart, self.apart[found])
        return found

    def add(
        self,
        key: Any,
        kind: int,
        parts: tuple[int, ...],
        shape: int,
        equal: Any,
        apart: tuple[Any, ...],
        value: Any,
    ) -> int:
        """Give the next number."""
        number = len(self.kinds)
        same = self.equals.setdefault(equal, number)
        self.numbers[key] = number
        self.kinds.append(kind)
        self.parts.append(parts)
        self.shapes.append(shape)
        self.same.append(same)
        self.apart.append(apart)
        has_sets = kind == SET or any(self.has_sets[part] for part in parts)
        self.has_sets.append(has_sets)
        if has_sets and not is_settled(value):
            value = UNBUILT
        self.objects.append(value)
        if value is not UNBUILT:
            self.by_identity[id(value)] = number
        return number

    def shape_number(self, shape: Any) -> int:
        """A negative number for a class, or for tuples of one length."""
        found = self.shape_numbers.get(shape)
        if found is None:
            found = self.shape_numbers[shape] = -2 - len(self.shape_numbers)
            if isinstance(shape, type):
                self.records[found] = self.shape(shape)
        return found

    def shape(self, cls: type) -> Shape:
        """The fields of a plain attrs class."""
        found = self.classes.get(cls)
        if found is None:
            fields = attrs.fields(cls)
            names = tuple(f.name for f in fields if f.eq)
            found = self.classes[cls] = Shape(
                cls,
                names,
                tuple(f.alias for f in fields if f.eq),
                {name: index for index, name in enumerate(names)},
                tuple(f.name for f in fields if not f.eq),
                tuple(f.alias for f in fields if not f.eq),
                {f.alias: f.name for f in fields},
            )
            for name in names:
                self.field_numbers.setdefault(name, len(self.field_numbers))
        return found

    # -- values ---------------------------------------------------------------------------------

    def value(self, number: int) -> Any:
        """The value of a number, always the same object; its sets are ordered."""
        value = self.objects[number]
        if value is UNBUILT:
            kind, parts = self.kinds[number], [self.value(part) for part in self.parts[number]]
            if kind == TUPLE:
                value = tuple(parts)
            elif kind == SET:
                value = OrderedSet(parts)
            else:
                shape = self.shape_of(number)
                fields = dict(zip(shape.aliases, parts, strict=True))
                fields.update(zip(shape.apart_aliases, self.apart[number], strict=True))
                value = shape.cls(**fields)
            self.objects[number] = value
            self.by_identity[id(value)] = number
        return value

    def shape_of(self, number: int) -> Shape:
        """The class of a record."""
        return self.records[self.shapes[number]]

    def at(self, number: int, path: tuple[int | str, ...]) -> int:
        """The part at the end of a path."""
        for step in path:
            if type(step) is str:
                number = self.parts[number][self.shape_of(number).index[step]]
            else:
                number = self.parts[number][step]  # type: ignore[index]
        return number


def uncompared(shape: Shape, one: tuple[Any, ...], other: tuple[Any, ...]) -> Uncompared:
    """The error for two records that are equal although these fields of theirs are not."""
    pairs = zip(shape.apart, one, other, strict=True)
    return Uncompared(shape.cls, next(name for name, a, b in pairs if a != b))


def is_settled(value: Any) -> bool:
    """Whether a value is a frozenset that equals every other one in its order as well."""
    return type(value) is OrderedSet and value._is_settled
