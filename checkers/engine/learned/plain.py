"""States as bytes with the same meaning in every process: equal states have equal bytes.

A value is a letter for its kind, followed by its content. A state that is a record consists of its
fields, each in a **frame** with its length, and so does each item of a field that is a tuple. So
states are taken apart and assembled without parsing their parts.

Reading a state executes nothing but the classes of the model's own states, which are looked up by
name in modules that are already imported.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import Enum
from typing import Any

import attrs

from kspec.checkers.engine.learned.source import resolved
from kspec.checkers.engine.learned.values import is_plain
from kspec.spec.core import Bag, Map, OrderedSet, SpecError, System
from kspec.spec.core.schema import names_of

COUNT = struct.Struct("<I")
SHORT = struct.Struct("<H")
INLINE = 0xFFFF
"""Marks a class that no initial state has; its name follows."""


def class_name(kind: type) -> str:
    """The module and name of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def class_of(name: str) -> type:
    """The class of this name in an imported module, if states can contain it."""
    module, _, path = name.partition(":")
    found = resolved(module, path)
    if isinstance(found, type) and (
        attrs.has(found) or issubclass(found, Enum) or hasattr(found, "_fields")
    ):
        return found
    raise SpecError(f"a state names {name}, which is not a class of its model")


LETTERS: dict[type, bytes] = {frozenset: b"f", OrderedSet: b"f", Map: b"m", Bag: b"g"}


def gathered(kind: type, members: Iterable[bytes]) -> bytes:
    """A set, a mapping or a bag, given the bytes of its members or entries in any order."""
    parts = sorted(members)
    return LETTERS[kind] + COUNT.pack(len(parts)) + b"".join(parts)


def sized(content: bytes) -> bytes:
    """Some bytes, after their length."""
    return COUNT.pack(len(content)) + content


class Codec:
    """Writes and reads the states of one system as bytes."""

    def __init__(self, system: System[Any]) -> None:
        self.bounds = system.bounds
        self.classes: list[type] = []
        """The classes in initial states, which are written as numbers."""
        self.numbers: dict[type, int] = {}
        self.learning = True
        first = system.initial()
        for state in first:
            self.encode(state)
        self.learning = False
        self.head = b""
        """The first bytes of states of this class, if they are written as frames."""
        self.names: tuple[str, ...] = ()
        """The fields of the class that are compared."""
        self.apart: dict[str, Any] = {}
        """The other fields, which are the same in all states."""
        cls: Any = type(first[0]) if first else object
        if is_plain(cls):
            self.head = b"r" + self.encode_class(cls)
            self.names = names_of(cls) or ()
            self.aliases = [f.alias for f in attrs.fields(cls) if f.eq]
            self.apart = {f.alias: getattr(first[0], f.name) for f in attrs.fields(cls) if not f.eq}
            self.cls = cls

    # -- writing --------------------------------------------------------------------------------

    def encode(self, value: Any) -> bytes:
        """A value as bytes."""
        kind: Any = type(value)
        if value is None or kind is bool:
            return {None: b"N", False: b"F", True: b"T"}[value]
        if kind is int:
            size = value.bit_length() // 8 + 1
            digits: bytes = value.to_bytes(size, "little", signed=True)
            return b"i" + COUNT.pack(size) + digits
        if kind is str or kind is bytes:
            content: bytes = value.encode() if kind is str else value
            return (b"s" if kind is str else b"b") + COUNT.pack(len(content)) + content
        if kind is tuple:
            return b"t" + COUNT.pack(len(value)) + b"".join(map(self.encode, value))
        if kind is frozenset or kind is OrderedSet:
            return gathered(kind, map(self.encode, value))
        if kind is Map or kind is Bag:
            return gathered(kind, (self.encode(k) + self.encode(v) for k, v in value.items()))
        if kind is type(self.bounds) and value == self.bounds:
            return b"B"
        if isinstance(value, Enum):
            return b"e" + self.encode_class(kind) + self.encode(value.name)
        if attrs.has(kind):
            fields = [getattr(value, field.name) for field in attrs.fields(kind)]
        elif isinstance(value, tuple) and hasattr(kind, "_fields"):
            fields = list(value)
        else:
            raise SpecError(
                f"a state has a {kind.__qualname__}, which cannot be written as bytes: {value!r}"
            )
        return b"c" + self.encode_class(kind) + b"".join(map(self.encode, fields))

    def encode_class(self, kind: type) -> bytes:
        """A class as a number, or by name."""
        number = self.numbers.get(kind)
        if number is None and self.learning:
            number = self.numbers[kind] = len(self.classes)
            self.classes.append(kind)
        if number is not None:
            return SHORT.pack(number)
        return SHORT.pack(INLINE) + self.encode(class_name(kind))

    def encode_state(self, state: Any) -> bytes:
        """A state as bytes."""
        if not self.head or type(state) is not self.cls:
            return self.encode(state)
        return self.head + b"".join(self.frame(getattr(state, name)) for name in self.names)

    def frame(self, value: Any) -> bytes:
        """A field of a state as a frame."""
        if type(value) is tuple:
            return b"(" + COUNT.pack(len(value)) + b"".join(map(self.item, value))
        return b"." + self.item(value)

    def item(self, value: Any) -> bytes:
        """A value, after its length."""
        return sized(self.encode(value))

    # -- reading --------------------------------------------------------------------------------

    def decode_state(self, content: bytes) -> Any:
        """The state that some bytes encode."""
        if not self.head or not content.startswith(self.head):
            return self.decode(content)
        at, fields = len(self.head), dict(self.apart)
        for alias in self.aliases:
            end = end_of_frame(content, at)
            fields[alias] = self.unframe(content[at:end])
            at = end
        if at != len(content):
            raise SpecError("these bytes are not a state: their length is wrong")
        return self.cls(**fields)

    def unframe(self, frame: bytes) -> Any:
        """The field in a frame."""
        if frame[:1] == b".":
            return self.decode(frame[1 + COUNT.size :])
        at, items = 1 + COUNT.size, []
        while at < len(frame):
            end = end_of_item(frame, at)
            items.append(self.decode(frame[at + COUNT.size : end]))
            at = end
        return tuple(items)

    def decode(self, content: bytes) -> Any:
        """The value that some bytes encode."""
        try:
            value, end = self.decode_at(content, 0)
        except (IndexError, KeyError, ValueError, TypeError, struct.error) as error:
            raise SpecError(f"these bytes are not a state: {error}") from None
        if end != len(content):
            raise SpecError("these bytes are not a state: it ends before they do")
        return value

    def decode_at(self, content: bytes, at: int) -> tuple[Any, int]:
        """The value that begins at an index, and its end."""
        kind, at = content[at : at + 1], at + 1
        if kind in b"NFTB" and kind:
            return {b"N": None, b"F": False, b"T": True, b"B": self.bounds}[kind], at
        if kind == b"c" or kind == b"e":
            what, at = self.decode_class(content, at)
            if kind == b"e":
                name, at = self.decode_at(content, at)
                member: Any = what
                return member[name], at
            fields, at = self.decode_many(content, at, len(fields_of(what)))
            if not attrs.has(what):
                return what(*fields), at
            return made(what, fields), at
        (count,) = COUNT.unpack_from(content, at)
        at += COUNT.size
        if kind in (b"t", b"f"):
            items, at = self.decode_many(content, at, count)
            return (tuple(items) if kind == b"t" else OrderedSet(items)), at
        if kind in (b"m", b"g"):
            items, at = self.decode_many(content, at, 2 * count)
            collection = Map if kind == b"m" else Bag
            return collection.of_pairs(zip(items[::2], items[1::2], strict=True)), at
        inside, at = content[at : at + count], at + count
        if len(inside) != count:
            raise ValueError("they are truncated")
        if kind == b"i":
            return int.from_bytes(inside, "little", signed=True), at
        if kind in (b"s", b"b"):
            return (inside.decode() if kind == b"s" else inside), at
        raise ValueError(f"{kind!r} is not a kind of value")

    def decode_many(self, content: bytes, at: int, count: int) -> tuple[list[Any], int]:
        """A number of consecutive values."""
        values = []
        for _ in range(count):
            value, at = self.decode_at(content, at)
            values.append(value)
        return values, at

    def decode_class(self, content: bytes, at: int) -> tuple[type, int]:
        """A class, and the end of its name."""
        (number,) = SHORT.unpack_from(content, at)
        at += SHORT.size
        if number != INLINE:
            return self.classes[number], at
        name, at = self.decode_at(content, at)
        return class_of(name), at


def end_of_item(content: bytes, at: int) -> int:
    """The end of a value whose length is at an index."""
    try:
        size: int = COUNT.unpack_from(content, at)[0]
    except struct.error:
        raise SpecError("these bytes are not a state: they are truncated") from None
    return at + COUNT.size + size


def end_of_frame(content: bytes, at: int) -> int:
    """The end of the frame that begins at an index."""
    end = end_of_item(content, at + 1)
    if content[at] != ord("("):
        return end
    at += 1 + COUNT.size
    items = end - at  # the number of items stands in place of the length
    for _ in range(items):
        at = end_of_item(content, at)
    return at


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of the fields of a class."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return names


def made(kind: type, fields: list[Any]) -> Any:
    """An instance with these fields, whatever its `__init__` would compute."""
    known: Any = kind
    taken = {
        field.alias: value
        for field, value in zip(attrs.fields(known), fields, strict=True)
        if field.init
    }
    return kind(**taken)
