"""The schema of a state: its fields and their types, read from the annotations of its classes.

A field is declared once, in its class. From there come the variables of a trace, the columns of a
table, the JSON Schema that `kspec models MODEL --schema` prints, and what symmetry renames.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, NewType, TypeAlias

import attrs

from kspec.spec.core.errors import SpecError
from kspec.spec.core.maps import Bag, Map
from kspec.spec.core.sets import OrderedSet


@attrs.frozen(cache_hash=True)
class Scalar:
    """A value without parts, such as a number, a text, or a member of an enumeration."""

    cls: type
    name: NewType | None = None
    """The NewType that it was declared with: `Broker` of `Broker = NewType("Broker", int)`."""


@attrs.frozen(cache_hash=True)
class Items:
    """A tuple of any length: `tuple[T, ...]`."""

    item: Type
    by: NewType | None = None
    """The NewType that it is indexed by: `Broker` of `Annotated[tuple[Log, ...], Broker]`."""


@attrs.frozen(cache_hash=True)
class Product:
    """A tuple of a fixed length: `tuple[A, B]`."""

    parts: tuple[Type, ...]


@attrs.frozen(cache_hash=True)
class Members:
    """A frozenset."""

    member: Type


@attrs.frozen(cache_hash=True)
class Mapped:
    """A `Map`; or a `Bag`, which maps its members to numbers."""

    cls: type
    key: Type
    value: Type


@attrs.frozen(cache_hash=True)
class Record:
    """An instance of an attrs class or of a NamedTuple."""

    cls: type


@attrs.frozen(cache_hash=True)
class OneOf:
    """A value of one of several types: `A | B | None`."""

    options: tuple[Type, ...]


@attrs.frozen
class Anything:
    """A value whose annotation has no meaning to a schema."""


Type: TypeAlias = Scalar | Items | Product | Members | Mapped | Record | OneOf | Anything


@attrs.frozen
class Field:
    """One field of a record."""

    name: str
    type: Type
    doc: str
    """The sentence under the field; empty if there is none."""
    compared: bool
    """Whether records are compared by it; not by a `constant()`."""


def type_of(annotation: Any) -> Type:
    """The type that an annotation declares."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return indexed(type_of(arguments[0]), annotation.__metadata__)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return Items(type_of(arguments[0]))
        return Product(tuple(map(type_of, arguments)))
    if origin is frozenset:
        return Members(type_of(arguments[0]))
    if origin is Map:
        return Mapped(Map, *map(type_of, arguments))
    if origin is Bag:
        return Mapped(Bag, type_of(arguments[0]), Scalar(int))
    if origin in (typing.Union, types.UnionType):
        return OneOf(tuple(map(type_of, arguments)))
    if isinstance(annotation, NewType):
        base = type_of(annotation.__supertype__)
        return Scalar(base.cls, base.name or annotation) if isinstance(base, Scalar) else base
    if isinstance(annotation, type):
        return type_of_class(annotation)
    return Anything()


def type_of_class(cls: type) -> Type:
    """The type of the instances of a class."""
    if names_of(cls) is not None:
        return Record(cls)
    if issubclass(cls, bool | int | float | str | bytes | Enum | types.NoneType):
        return Scalar(cls)
    return Anything()


def indexed(of: Type, metadata: tuple[Any, ...]) -> Type:
    """A tuple that is indexed by a NewType, where an annotation says so."""
    by = next((mark for mark in metadata if isinstance(mark, NewType)), None)
    if by is None:
        return of
    if not isinstance(of, Items):
        raise SpecError(f"only a tuple[T, ...] is indexed by {by.__name__}")
    return attrs.evolve(of, by=by)


def names_of(cls: Any) -> tuple[str, ...] | None:
    """The names of the fields by which records are compared; None for another class."""
    return names_of_class(cls)


@cache
def names_of_class(cls: Any) -> tuple[str, ...] | None:
    """The same for a class; cached."""
    if attrs.has(cls):
        return tuple(field.name for field in attrs.fields(cls) if field.eq)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple(cls._fields)
    return None


@cache
def fields_of(cls: Any) -> tuple[Field, ...]:
    """The fields of a record, in their order; SpecError where an annotation has no meaning."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception as error:
        raise SpecError(f"the annotations of {cls.__name__} cannot be read: {error}") from None
    docs = {name: text for base in reversed(cls.__mro__) for name, text in docs_of(base)}
    compared = names_of(cls)
    assert compared is not None, "only records have fields"
    names = [field.name for field in attrs.fields(cls)] if attrs.has(cls) else compared
    return tuple(
        Field(
            name,
            type_of(hints[name]) if name in hints else Anything(),
            docs.get(name, ""),
            name in compared,
        )
        for name in names
    )


def docs_of(cls: type) -> Iterator[tuple[str, str]]:
    """The fields of a class that have a sentence under them, and the sentence."""
    try:
        [node] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, SyntaxError, TypeError, ValueError):
        return
    body = node.body if isinstance(node, ast.ClassDef) else []
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            value = below.value if isinstance(below, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield field.target.id, inspect.cleandoc(value.value)


def parts_of(of: Type) -> tuple[Type, ...]:
    """The types that a type consists of, one level down."""
    if isinstance(of, Items):
        return (of.item,)
    if isinstance(of, Product):
        return of.parts
    if isinstance(of, Members):
        return (of.member,)
    if isinstance(of, Mapped):
        return of.key, of.value
    if isinstance(of, OneOf):
        return of.options
    if isinstance(of, Record):
        return tuple(field.type for field in fields_of(of.cls) if field.compared)
    return ()


def all_types(of: Type) -> frozenset[Type]:
    """A type and all types that it consists of."""
    found: set[Type] = set()
    todo = [of]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += parts_of(one)
    return frozenset(found)


def evident_classes(state: Any) -> frozenset[Any]:
    """The classes of records that are evident from where a record stands in a state.

    They are declared there, and never as one of several (`Ask | Vote`).
    """
    cls: Any = type(state)
    return evident_classes_in(cls)


@cache
def evident_classes_in(cls: Any) -> frozenset[Any]:
    """The same for states of a class; cached."""
    try:
        types = all_types(type_of_class(cls))
    except SpecError:
        return frozenset()
    several = {
        option
        for one in types
        if isinstance(one, OneOf) and sum(isinstance(option, Record) for option in one.options) > 1
        for option in one.options
    }
    return frozenset(of.cls for of in types - several if isinstance(of, Record))


def is_instance(value: Any, of: Type) -> bool:
    """Whether a value has a type, judging by its class and the length of a tuple."""
    if isinstance(of, OneOf):
        return any(is_instance(value, option) for option in of.options)
    if isinstance(of, Items):
        return type(value) is tuple
    if isinstance(of, Product):
        return type(value) is tuple and len(value) == len(of.parts)
    if isinstance(of, Members):
        return type(value) in (frozenset, OrderedSet)
    if isinstance(of, Mapped):
        return type(value) is of.cls
    if isinstance(of, Record):
        return isinstance(value, of.cls)
    if isinstance(of, Scalar):
        return isinstance(value, of.cls) and (of.cls is bool or type(value) is not bool)
    return True
