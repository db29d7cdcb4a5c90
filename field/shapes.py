"""Shapes: how the values of a type are written in JSON, derived from its annotation.

A record is an object, a tuple or a set an array, an enumeration its value. A `Notation` has what
is particular to a kind of document: the names of fields, and values that are written otherwise.
"""

from __future__ import annotations

import base64
import binascii
import collections.abc
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, NewType

import attrs

from kspec.spec.core import SpecError
from kspec.spec.core.schema import docs_of, names_of
from kspec.spec.core.text import first_paragraph

Schema = dict[str, Any]

LEAST, GREATEST = -(2**63), 2**63 - 1
"""The range of a whole number: a Java `long`."""

REQUIRED = object()
"""The default of a field that has none."""


@attrs.frozen
class Shape:
    """How the values of a type are written in JSON."""

    schema: Schema
    """Its JSON Schema."""
    decode: Callable[[Any], Any]
    """The value of a JSON value; SpecError where it does not have this shape."""
    encode: Callable[[Any], Any]
    """The JSON value of a value."""
    definitions: Mapping[str, Schema] = attrs.field(factory=dict)
    """The definitions that the schema refers to."""


def same(value: Any) -> Any:
    """A value that is written as it is."""
    return value


def refuse(expected: str, value: Any) -> SpecError:
    """The error for a value of another shape."""
    return SpecError(f"expected {expected}, not {value!r:.60}")


def inside(place: str, error: SpecError) -> SpecError:
    """The error with the place in which it was found."""
    text = str(error)
    separator = "" if text.startswith(("[", ".")) else ": "
    return SpecError(f"{place}{separator}{text}")


def decode_at(place: str, shape: Shape, value: Any) -> Any:
    """The value at a place of a document, which an error names."""
    try:
        return shape.decode(value)
    except SpecError as error:
        raise inside(place, error) from None


def some_fields(value: Any, *names: str) -> dict[str, Any]:
    """Some fields of a record, for an object that has others besides them."""
    return {name: getattr(value, name) for name in names}


# -- scalars --------------------------------------------------------------------------------------


def decode_text(value: Any) -> str:
    """A string."""
    if type(value) is not str:
        raise refuse("a string", value)
    return value


def decode_bool(value: Any) -> bool:
    """A truth value."""
    if type(value) is not bool:
        raise refuse("true or false", value)
    return value


def decode_none(value: Any) -> None:
    """The absence of a value."""
    if value is not None:
        raise refuse("null", value)


def decode_id(value: Any) -> int | str:
    """The id of a request."""
    if type(value) is not int and type(value) is not str:
        raise refuse("a whole number or a string", value)
    return value


def decode_bytes(value: Any) -> bytes:
    """Bytes in base64."""
    try:
        return base64.b64decode(decode_text(value), validate=True)
    except (binascii.Error, ValueError):
        raise refuse("bytes in base64", value) from None


def encode_opaque(value: Any) -> str:
    """A value that only members interpret; an absent one is empty."""
    return value if type(value) is str else ""


def number(least: int, greatest: int, expected: str = "") -> Shape:
    """A whole number of this range, both ends included."""
    expected = expected or f"a whole number from {least} to {greatest}"

    def decode(value: Any) -> int:
        if type(value) is not int or not least <= value <= greatest:
            raise refuse(expected, value)
        return value

    return Shape({"type": "integer", "minimum": least, "maximum": greatest}, decode, same)


INT64 = number(LEAST, GREATEST, "a whole number of 64 bits")
TEXT = Shape({"type": "string"}, decode_text, same)

SCALARS: Mapping[Any, Shape] = {
    int: INT64,
    str: TEXT,
    bool: Shape({"type": "boolean"}, decode_bool, same),
    int | str: Shape({"type": ["integer", "string"]}, decode_id, same),
    types.NoneType: Shape({"type": "null"}, decode_none, same),
    bytes: Shape(
        {"type": "string", "contentEncoding": "base64"},
        decode_bytes,
        lambda value: base64.b64encode(value).decode(),
    ),
    collections.abc.Hashable: Shape(
        {"type": "string", "description": "Opaque: any encoding of the bytes will do."},
        decode_text,
        encode_opaque,
    ),
}


def choice(known: Mapping[str, Any]) -> Shape:
    """One of some values, by its name."""
    names = {value: name for name, value in known.items()}

    def decode(value: Any) -> Any:
        if type(value) is not str or value not in known:
            raise refuse(" or ".join(known), value)
        return known[value]

    return Shape({"enum": list(known)}, decode, names.__getitem__)


def those(shape: Shape, holds: Callable[[Any], Any], expected: str) -> Shape:
    """The values of a shape for which a condition holds."""

    def decode(value: Any) -> Any:
        decoded = shape.decode(value)
        if not holds(decoded):
            raise refuse(expected, value)
        return decoded

    return attrs.evolve(shape, decode=decode)


# -- compounds ------------------------------------------------------------------------------------

KINDS: Mapping[Any, Callable[..., Any]] = {
    tuple: tuple,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
    collections.abc.Collection: tuple,
    collections.abc.Iterable: tuple,
}
"""The type of the values that an array decodes to, by its annotation."""


def array(item: Shape, kind: Callable[..., Any]) -> Shape:
    """A tuple of any length, or a set."""

    def decode(value: Any) -> Any:
        if type(value) is not list:
            raise refuse("a list", value)
        return kind(decode_at(f"[{place}]", item, each) for place, each in enumerate(value))

    def encode(values: Any) -> Any:
        encoded = [item.encode(value) for value in values]
        return sorted(encoded) if kind is frozenset else encoded

    schema = {"type": "array", "items": item.schema}
    return Shape(schema, decode, encode, item.definitions)


def row(parts: Sequence[Shape]) -> Shape:
    """A tuple of a fixed length."""

    def decode(value: Any) -> Any:
        if type(value) is not list or len(value) != len(parts):
            raise refuse(f"a list of {len(parts)}", value)
        pairs = zip(parts, value, strict=True)
        return tuple(decode_at(f"[{n}]", part, each) for n, (part, each) in enumerate(pairs))

    def encode(values: Any) -> Any:
        return [part.encode(value) for part, value in zip(parts, values, strict=True)]

    size = len(parts)
    schema = {"type": "array", "prefixItems": [p.schema for p in parts]}
    definitions = {n: d for part in parts for n, d in part.definitions.items()}
    return Shape({**schema, "minItems": size, "maxItems": size}, decode, encode, definitions)


def as_row(cls: Callable[..., Any], **parts: Shape) -> Shape:
    """A record as a list of some of its fields."""
    shape = row(list(parts.values()))

    def decode(value: Any) -> Any:
        return cls(**dict(zip(parts, shape.decode(value), strict=True)))

    def encode(value: Any) -> Any:
        return shape.encode([getattr(value, name) for name in parts])

    return attrs.evolve(shape, decode=decode, encode=encode)


def table(value_shape: Shape) -> Shape:
    """A mapping from names."""

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise refuse("an object", value)
        return {name: decode_at(f".{name}", value_shape, each) for name, each in value.items()}

    def encode(values: Any) -> Any:
        return {name: value_shape.encode(value) for name, value in values.items()}

    schema = {"type": "object", "additionalProperties": value_shape.schema}
    return Shape(schema, decode, encode, value_shape.definitions)


def optional(shape: Shape) -> Shape:
    """A value or null."""

    def decode(value: Any) -> Any:
        return None if value is None else shape.decode(value)

    def encode(value: Any) -> Any:
        return None if value is None else shape.encode(value)

    return Shape({"anyOf": [shape.schema, {"type": "null"}]}, decode, encode, shape.definitions)


def one_of(shapes: Mapping[type, Shape]) -> Shape:
    """A record of one of several classes, which is only written."""

    def decode(value: Any) -> Any:
        raise refuse("no value", value)

    def encode(value: Any) -> Any:
        return shapes[type(value)].encode(value)

    definitions = {n: d for shape in shapes.values() for n, d in shape.definitions.items()}
    return Shape({"anyOf": [s.schema for s in shapes.values()]}, decode, encode, definitions)


# -- records --------------------------------------------------------------------------------------


@attrs.frozen
class Field:
    """A field of an object."""

    name: str
    """Its name in Python."""
    key: str
    """Its name in JSON; empty for a record whose fields stand in this object."""
    shape: Shape
    default: Any = REQUIRED
    """Its value where it is absent."""
    doc: str = ""


@attrs.frozen
class RecordShape(Shape):
    """The shape of a record."""

    fields: tuple[Field, ...] = attrs.field(kw_only=True)


def record(
    fields: Sequence[Field],
    make: Callable[[dict[str, Any]], Any],
    part: Callable[[Any, str], Any] = getattr,
    doc: str = "",
    *,
    others: bool = False,
) -> RecordShape:
    """An object: what its fields are, how it is made of them, and how they are read from it.

    With `others` it may have more fields, which are not read.
    """
    flat = [(f, keys_of(f)) for f in fields]
    known = [key for _, keys in flat for key in keys]
    assert len(set(known)) == len(known), f"names are given twice in {known}"

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise refuse("an object", value)
        for key in value:
            if key not in known and not others:
                raise SpecError(f"unknown field {key!r:.60}: known are {', '.join(known)}")
        found = {}
        for field, keys in flat:
            if not field.key:
                given = {key: value[key] for key in keys if key in value}
                found[field.name] = field.shape.decode(given)
            elif field.key in value:
                found[field.name] = decode_at(f".{field.key}", field.shape, value[field.key])
            elif field.default is REQUIRED:
                raise SpecError(f"{field.key} is missing")
            else:
                found[field.name] = field.default
        return make(found)

    def encode(value: Any) -> Any:
        found: dict[str, Any] = {}
        for field in fields:
            encoded = field.shape.encode(part(value, field.name))
            if field.key:
                found[field.key] = encoded
            else:
                found.update(encoded)
        return found

    definitions = {n: d for field in fields for n, d in field.shape.definitions.items()}
    return RecordShape(schema_of(fields, doc), decode, encode, definitions, fields=tuple(fields))


def keys_of(field: Field) -> tuple[str, ...]:
    """The names in JSON of a field, or of the fields that stand in its place."""
    if field.key:
        return (field.key,)
    return tuple(key for inner in fields_within(field) for key in keys_of(inner))


def fields_within(field: Field) -> tuple[Field, ...]:
    """The fields of a record that is a field itself."""
    assert isinstance(field.shape, RecordShape), f"{field.name} is not a record"
    return field.shape.fields


def schema_of(fields: Sequence[Field], doc: str) -> Schema:
    """The schema of an object."""
    described: Schema = {"description": doc} if doc else {}
    properties: Schema = {}
    required: list[str] = []

    def add(field: Field) -> None:
        if not field.key:
            for inner in fields_within(field):
                add(inner)
            return
        properties[field.key] = {**({"description": field.doc} if field.doc else {})}
        properties[field.key].update(field.shape.schema)
        if field.default is REQUIRED:
            required.append(field.key)
        else:
            properties[field.key]["default"] = field.shape.encode(field.default)

    for field in fields:
        add(field)
    return {
        **described,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


@attrs.frozen(eq=False)
class Notation:
    """How the values of types are written in one kind of document."""

    key: Callable[[str], str]
    """The name of a field in JSON, by its name in Python."""
    names: Mapping[str, Mapping[str, str | bool]] = attrs.field(factory=dict)
    """By class, other names of its fields: empty for a record whose fields stand in its place,
    False for a field that is left out."""
    rows: Mapping[str, Mapping[str, Sequence[str]]] = attrs.field(factory=dict)
    """By class and field, the names of the parts of each tuple."""
    shapes: Mapping[Any, Shape] = attrs.field(factory=dict)
    """By annotation, or by class and field, what is written otherwise."""


@cache
def shape_of_class(cls: Any, notation: Notation) -> RecordShape:
    """The shape of a record's class; the schema refers to its definition."""
    hints = typing.get_type_hints(cls)
    docs = dict(docs_of(cls))
    fields = []
    names = notation.names.get(cls.__name__, {})
    all_rows = notation.rows.get(cls.__name__, {})
    for name, default in defaults_of(cls):
        key = names.get(name, notation.key(name))
        if isinstance(key, bool):
            continue
        rows = all_rows.get(name)
        if (cls, name) in notation.shapes:
            shape = notation.shapes[cls, name]
        elif rows is not None:
            shape = rows_of(hints[name], rows, notation)
        else:
            shape = shape_of(hints[name], notation)
        if default is not REQUIRED:
            default = shape.decode(shape.encode(default))
        fields.append(Field(name, key, shape, default, docs.get(name, "")))
    inline = record(fields, lambda found: cls(**found), doc=first_paragraph(cls))
    assert not isinstance(inline.definitions.get(cls.__name__), dict), "names are unique"
    return attrs.evolve(
        inline,
        schema={"$ref": f"#/$defs/{cls.__name__}"},
        definitions={**inline.definitions, cls.__name__: inline.schema},
    )


def defaults_of(cls: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a class with their defaults."""
    if attrs.has(cls):
        for field in attrs.fields(cls):
            yield field.name, REQUIRED if field.default is attrs.NOTHING else field.default
    else:
        for name in cls._fields:
            yield name, cls._field_defaults.get(name, REQUIRED)


def rows_of(annotation: Any, names: Sequence[str], notation: Notation) -> Shape:
    """A tuple of tuples as a list of objects, given the names of the parts of each."""
    [row, *_] = typing.get_args(annotation)
    parts = typing.get_args(row)
    fields = [
        Field(str(place), name, shape_of(part, notation))
        for place, (name, part) in enumerate(zip(names, parts, strict=True))
    ]
    item = record(
        fields,
        lambda found: tuple(found.values()),
        lambda value, place: value[int(place)],
    )
    return array(item, tuple)


def shape_of(annotation: Any, notation: Notation) -> Shape:
    """The shape of the values that an annotation declares."""
    if annotation in notation.shapes:
        return notation.shapes[annotation]
    if annotation in SCALARS:
        return SCALARS[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        others = [each for each in arguments if each is not types.NoneType]
        if len(others) == 1:
            only = shape_of(others[0], notation)
        else:
            only = one_of({cls: shape_of_class(cls, notation) for cls in others})
        return optional(only) if types.NoneType in arguments else only
    if origin in (dict, collections.abc.Mapping):
        return table(shape_of(arguments[1], notation))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return row([shape_of(part, notation) for part in arguments])
    if origin in KINDS:
        return array(shape_of(arguments[0], notation), KINDS[origin])
    if isinstance(annotation, NewType):
        return shape_of(annotation.__supertype__, notation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return choice({member.value: member for member in annotation})
    assert names_of(annotation) is not None, f"no shape for {annotation}"
    return shape_of_class(annotation, notation)
