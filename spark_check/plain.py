"""States as bytes, for models without a kernel: equal states are equal bytes.

A value is a letter for its kind, and then what it is made of. A state that is a record is its
fields, each in a **frame** that says how long it is, and so is each item of a field that is a
tuple. So a state is taken apart, and put together, without looking into its parts.

Nothing is executed to read a state but the classes of the model's own states, which are found
by their names in modules that are imported already.
"""

from __future__ import annotations

import struct
import sys
from enum import Enum
from typing import Any

import attrs

from checkers.learned.values import is_plain
from spec.core import SpecError, System

COUNT = struct.Struct("<I")
SHORT = struct.Struct("<H")
INLINE = 0xFFFF
"""Stands for a class that no initial state has: its name follows."""


def name_of(kind: type) -> str:
    """Where a class is found."""
    return f"{kind.__module__}:{kind.__qualname__}"


def class_of(name: str) -> type:
    """The class of that name: one that a state can be made of, in a module that is imported."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for step in path.split("."):
        found = getattr(found, step, None)
    if isinstance(found, type) and (
        attrs.has(found) or issubclass(found, Enum) or hasattr(found, "_fields")
    ):
        return found
    raise SpecError(f"a state is said to be made of {name}, which is no class of its model")


class Codec:
    """How the states of one system are written as bytes, and read."""

    def __init__(self, system: System[Any]) -> None:
        self.bounds = system.bounds
        self.classes: list[type] = []
        """Those of the initial states, which are written as numbers."""
        self.numbers: dict[type, int] = {}
        self.learning = True
        first = system.initial()
        for state in first:
            self.encode(state)
        self.learning = False
        self.head = b""
        """How states of this class begin, if they are written as frames."""
        self.names: tuple[str, ...] = ()
        """The fields of these that are compared."""
        self.apart: dict[str, Any] = {}
        """The other ones, which are the same in all states."""
        cls: Any = type(first[0]) if first else object
        if is_plain(cls):
            self.head = b"r" + self.encode_class(cls)
            self.names = tuple(f.name for f in attrs.fields(cls) if f.eq)
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
        if kind is frozenset:
            return b"f" + COUNT.pack(len(value)) + b"".join(sorted(map(self.encode, value)))
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
                f"a state has a {kind.__qualname__}, which Spark cannot send: {value!r}"
            )
        return b"c" + self.encode_class(kind) + b"".join(map(self.encode, fields))

    def encode_class(self, kind: type) -> bytes:
        """A class as a number, or by its name."""
        number = self.numbers.get(kind)
        if number is None and self.learning:
            number = self.numbers[kind] = len(self.classes)
            self.classes.append(kind)
        if number is not None:
            return SHORT.pack(number)
        return SHORT.pack(INLINE) + self.encode(name_of(kind))

    def encode_state(self, state: Any) -> bytes:
        """A state as bytes."""
        if not self.head or type(state) is not self.cls:
            return self.encode(state)
        return self.head + b"".join(self.frame(getattr(state, name)) for name in self.names)

    def frame(self, value: Any) -> bytes:
        """A field of a state."""
        if type(value) is tuple:
            return b"(" + COUNT.pack(len(value)) + b"".join(map(self.item, value))
        return b"." + self.item(value)

    def item(self, value: Any) -> bytes:
        """A value, and before it its length."""
        content = self.encode(value)
        return COUNT.pack(len(content)) + content

    # -- reading --------------------------------------------------------------------------------

    def decode_state(self, content: bytes) -> Any:
        """The state that these bytes stand for."""
        if not self.head or not content.startswith(self.head):
            return self.decode(content)
        at, fields = len(self.head), dict(self.apart)
        for alias in self.aliases:
            end = end_of_frame(content, at)
            fields[alias] = self.unframe(content[at:end])
            at = end
        if at != len(content):
            raise SpecError("these bytes are no state: their length is another one")
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
        """The value that these bytes stand for."""
        try:
            value, end = self.decode_at(content, 0)
        except (IndexError, KeyError, ValueError, TypeError, struct.error) as error:
            raise SpecError(f"these bytes are no state: {error}") from None
        if end != len(content):
            raise SpecError("these bytes are no state: there are more than it has")
        return value

    def decode_at(self, content: bytes, at: int) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends."""
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
            return (tuple(items) if kind == b"t" else frozenset(items)), at
        inside, at = content[at : at + count], at + count
        if len(inside) != count:
            raise ValueError("they are cut short")
        if kind == b"i":
            return int.from_bytes(inside, "little", signed=True), at
        if kind in (b"s", b"b"):
            return (inside.decode() if kind == b"s" else inside), at
        raise ValueError(f"there is no kind {kind!r}")

    def decode_many(self, content: bytes, at: int, count: int) -> tuple[list[Any], int]:
        """So many values, one after the other."""
        values = []
        for _ in range(count):
            value, at = self.decode_at(content, at)
            values.append(value)
        return values, at

    def decode_class(self, content: bytes, at: int) -> tuple[type, int]:
        """A class, and where its name ends."""
        (number,) = SHORT.unpack_from(content, at)
        at += SHORT.size
        if number != INLINE:
            return self.classes[number], at
        name, at = self.decode_at(content, at)
        return class_of(name), at


def end_of_item(content: bytes, at: int) -> int:
    """Where a value ends whose length stands at a place."""
    try:
        size: int = COUNT.unpack_from(content, at)[0]
    except struct.error:
        raise SpecError("these bytes are no state: they are cut short") from None
    return at + COUNT.size + size


def end_of_frame(content: bytes, at: int) -> int:
    """Where the frame ends that begins at a place."""
    end = end_of_item(content, at + 1)
    if content[at] != ord("("):
        return end
    at += 1 + COUNT.size
    items = end - at  # their number stands where a length would
    for _ in range(items):
        at = end_of_item(content, at)
    return at


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of what a class's instances are made of."""
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return names


def made(kind: type, fields: list[Any]) -> Any:
    """An instance with these fields, whatever its `__init__` computes."""
    known: Any = kind
    taken = {
        field.alias: value
        for field, value in zip(attrs.fields(known), fields, strict=True)
        if field.init
    }
    return kind(**taken)
