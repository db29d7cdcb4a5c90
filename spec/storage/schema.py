"""Kafka's messages, described by tables: which fields a version has, and how each is stored.

The same description serves requests, responses and the records of coordinators; here it is used for
records. In a *flexible* version (KIP-482), lengths are unsigned variable-length integers, one more
than the length so that 0 is null, and each structure ends with tagged fields: optional ones, with
their number and size, so that a reader skips those that it does not know.

A message is a dictionary, its fields named as in Kafka's schemas and in the JSON of its tools.

Kafka: the generated message classes, `MessageUtil`, `ByteBufferAccessor` [4.1.0].
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from kspec.spec.storage.varint import Malformed, read_unsigned, write_unsigned

Message: TypeAlias = dict[str, Any]
"""The fields of a message, by name."""

NUMBERS = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
}
"""The numbers, by the name of their type."""

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The UUID that stands for none."""

_REQUIRED = object()


@attrs.frozen
class Field:
    """A field of a message."""

    name: str
    """Its name."""
    kind: str | tuple[Field, ...]
    """`int32`, `string`, `bytes`, `uuid`…, or the fields of a structure."""
    since: int = 0
    """The first version that has it."""
    until: int = 2**15
    """The last version that has it."""
    is_array: bool = False
    """Whether it has any number of these."""
    nullable: bool = False
    """Whether it may be null."""
    tag: int | None = None
    """Its number, if it is a tagged field."""
    default: Any = _REQUIRED
    """The value where the version does not have it, or the tagged field is left out."""

    def exists(self, version: int) -> bool:
        """Whether a version has it."""
        return self.since <= version <= self.until

    def missing(self) -> Any:
        """The value where it is not stored."""
        if self.default is not _REQUIRED:
            return self.default
        if self.is_array:
            return []
        if isinstance(self.kind, tuple):
            return {field.name: field.missing() for field in self.kind}
        return {"string": "", "bytes": b"", "uuid": ZERO_UUID}.get(self.kind, 0)


@attrs.frozen
class Schema:
    """A message in all its versions."""

    name: str
    """Its name."""
    fields: tuple[Field, ...]
    """Its fields, in the order in which they are stored."""
    newest: int = 0
    """The newest version."""
    flexible: int = 0
    """The first flexible version."""


# -- reading --------------------------------------------------------------------------------------


def read_message(schema: Schema, version: int, data: bytes, position: int = 0) -> Message:
    """The message at this position. As in Kafka, what follows it is ignored."""
    if not 0 <= version <= schema.newest:
        raise Malformed(f"{schema.name} has no version {version}")
    return _Reader(data, position, version, version >= schema.flexible).fields(schema.fields)


@attrs.define
class _Reader:
    """Bytes that are read from a position on, as a version stores them."""

    data: bytes
    position: int
    version: int
    is_flexible: bool

    def fields(self, fields: tuple[Field, ...]) -> Message:
        """The fields of a structure."""
        message = {field.name: field.missing() for field in fields}
        for field in fields:
            if field.tag is None and field.exists(self.version):
                message[field.name] = self.value(field)
        if self.is_flexible:
            tagged = {f.tag: f for f in fields if f.tag is not None and f.exists(self.version)}
            self.tagged(message, tagged)
        return message

    def tagged(self, message: Message, tagged: Mapping[int, Field]) -> None:
        """The tagged fields; unknown ones are skipped."""
        for _ in range(self.unsigned()):
            tag, size = self.unsigned(), self.unsigned()
            end = self.position + size
            if end > len(self.data):
                left = len(self.data) - self.position
                raise Malformed(f"a tagged field claims {size} bytes of {left}")
            if field := tagged.get(tag):
                message[field.name] = self.value(field)
            self.position = end

    def value(self, field: Field) -> Any:
        """The value of a field."""
        if not field.is_array:
            return self.one(field)
        count = self.length("array")
        if count < 0:
            return _null(field)
        if count > len(self.data) - self.position:  # each element takes a byte at least
            raise Malformed(f"{field.name} claims {count} elements")
        element = attrs.evolve(field, is_array=False, nullable=False, tag=None)
        return [self.one(element) for _ in range(count)]

    def one(self, field: Field) -> Any:
        """A value that is no array."""
        kind = field.kind
        if isinstance(kind, tuple):
            if field.nullable:  # a marker precedes it: -1 or 1, in a tagged field 0 or 1
                marker = self.number("int8") if field.tag is None else self.unsigned() - 1
                if marker < 0:
                    return None
            return self.fields(kind)
        if kind in NUMBERS:
            return self.number(kind)
        if kind == "uuid":
            return uuid_text(self.take(16))
        size = self.length(kind)
        if size < 0:
            return _null(field)
        value = self.take(size)
        return value if kind == "bytes" else value.decode(errors="replace")

    def number(self, kind: str) -> int:
        """A number of fixed size."""
        form = NUMBERS[kind]
        value: int = form.unpack(self.take(form.size))[0]
        return value

    def length(self, kind: str) -> int:
        """The length of a string, of bytes or of an array; negative for null."""
        if self.is_flexible:
            return self.unsigned() - 1
        return self.number("int16" if kind == "string" else "int32")

    def unsigned(self) -> int:
        """An unsigned integer of variable length."""
        value, self.position = read_unsigned(self.data, self.position)
        return value

    def take(self, size: int) -> bytes:
        """So many bytes."""
        start, end = self.position, self.position + size
        if end > len(self.data):
            raise Malformed(f"a field claims {size} bytes of {len(self.data) - start}")
        self.position = end
        return self.data[start:end]


def _null(field: Field) -> None:
    if not field.nullable:
        raise Malformed(f"{field.name} is null")


def uuid_text(data: bytes) -> str:
    """A UUID as Kafka writes it: in base 64 for URLs, without padding. Kafka: `Uuid.toString`."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of a UUID."""
    return base64.urlsafe_b64decode(text + "==")


# -- writing --------------------------------------------------------------------------------------


def write_message(schema: Schema, version: int, message: Message) -> bytes:
    """The bytes of a message in a version that has each field that is set."""
    return _write_fields(schema.fields, version, version >= schema.flexible, message)


def _write_fields(
    fields: tuple[Field, ...], version: int, flexible: bool, message: Message
) -> bytes:
    data, tagged = b"", {}
    for field in fields:
        value = message.get(field.name, field.missing())
        if not field.exists(version):
            continue
        encoded = _write(field, version, flexible, value)
        if field.tag is None:
            data += encoded
        elif value != field.missing():
            tagged[field.tag] = write_unsigned(len(encoded)) + encoded
    if flexible:
        data += write_unsigned(len(tagged))
        data += b"".join(write_unsigned(tag) + tagged[tag] for tag in sorted(tagged))
    return data


def _write(field: Field, version: int, flexible: bool, value: Any) -> bytes:
    if not field.is_array:
        return _write_one(field, version, flexible, value)
    if value is None:
        return _write_length("array", flexible, -1)
    element = attrs.evolve(field, is_array=False, nullable=False, tag=None)
    elements = [_write_one(element, version, flexible, one) for one in value]
    return _write_length("array", flexible, len(value)) + b"".join(elements)


def _write_one(field: Field, version: int, flexible: bool, value: Any) -> bytes:
    kind = field.kind
    if isinstance(kind, tuple):
        marker = b""
        if field.nullable:
            null = b"\xff" if field.tag is None else b"\0"
            marker = null if value is None else b"\1"
        return marker if value is None else marker + _write_fields(kind, version, flexible, value)
    if kind in NUMBERS:
        return NUMBERS[kind].pack(value)
    if kind == "uuid":
        return uuid_bytes(value)
    if value is None:
        return _write_length(kind, flexible, -1)
    encoded: bytes = value.encode() if kind == "string" else value
    return _write_length(kind, flexible, len(encoded)) + encoded


def _write_length(kind: str, flexible: bool, length: int) -> bytes:
    if flexible:
        return write_unsigned(length + 1)
    return NUMBERS["int16" if kind == "string" else "int32"].pack(length)
