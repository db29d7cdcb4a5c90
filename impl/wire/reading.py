"""Bytes to messages, within bounds.

kio has a reader too, in Rust, which trusts the lengths of arrays: a request of ten bytes that
announces two billion elements aborts the process. Here, a length is compared with the bytes that
are left before anything is allocated for it.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeAlias, get_args, get_origin
from uuid import UUID

from kio.schema.errors import ErrorCode

from kspec.impl.wire.messages import present_type


class WireError(Exception):
    """Bytes that are no message of the expected type."""


Read: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
"""Reads one value at a position; returns it with the position behind it."""


def read_message(kind: Any, data: bytes, position: int = 0) -> Any:
    """The message of this type that fills the data from this position on."""
    message, end = reader_of(kind)(data, position)
    if end != len(data):
        raise WireError(f"{len(data) - end} bytes follow the {kind.__name__}")
    return message


@cache
def reader_of(kind: Any) -> Read:
    """The reader of a message type, or of a type nested in one."""
    flexible = bool(kind.__flexible__)
    plain: list[tuple[str, Read]] = []
    tagged: dict[int, tuple[str, Read]] = {}
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        tag = field.metadata.get("tag")
        # Kafka keeps the client id of a request header in the old form, for the sake of brokers
        # that do not know the version of a request.
        is_client_id = kind.__name__ == "RequestHeader" and field.name == "client_id"
        reader = _field_reader(field, flexible and not is_client_id, nullable=tag is None)
        if tag is None:
            plain.append((field.name, reader))
        else:
            tagged[tag] = field.name, reader
            defaults[field.name] = _implicit_default(field)

    def read(data: bytes, position: int) -> tuple[Any, int]:
        values = {}
        for name, reader in plain:
            values[name], position = reader(data, position)
        if flexible:
            if defaults:
                values.update(defaults)
            position = _read_tagged(data, position, tagged, values)
        return kind(**values), position

    return read


def _read_tagged(
    data: bytes, position: int, tagged: Mapping[int, tuple[str, Read]], values: dict[str, Any]
) -> int:
    """Read the tagged fields; unknown ones are skipped (KIP-482)."""
    count, position = read_varint(data, position)
    if count > len(data) - position:
        raise WireError(f"{count} tagged fields do not fit")
    for _ in range(count):
        tag, position = read_varint(data, position)
        size, position = read_varint(data, position)
        end = _end(data, position, size)
        if tag in tagged:
            name, reader = tagged[tag]
            values[name], position = reader(data, position)
            if position != end:
                raise WireError(f"tagged field {name} has another length")
        position = end
    return position


def _implicit_default(field: Any) -> Any:
    """The value of a tagged field that is left out."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if dataclasses.is_dataclass(field.type):
        nested: Any = field.type
        return nested(**{f.name: _implicit_default(f) for f in dataclasses.fields(nested)})
    kafka_type = field.metadata["kafka_type"]
    zero = b"\0" * 16
    return _FIXED[kafka_type](zero, 0)[0] if kafka_type in _FIXED else _EMPTY[kafka_type]


def _field_reader(field: Any, flexible: bool, *, nullable: bool) -> Read:
    of, optional = present_type(field)
    is_nullable = nullable and optional
    if get_origin(of) is tuple:
        element: Any = get_args(of)[0]
        if hasattr(element, "__flexible__"):
            one = reader_of(element)
        else:
            one = _value_reader(field.metadata["kafka_type"], flexible, nullable=False)
        return _array_reader(one, flexible, is_nullable)
    if hasattr(of, "__flexible__"):
        nested = reader_of(of)
        return _nullable_reader(nested) if is_nullable else nested
    return _value_reader(field.metadata["kafka_type"], flexible, nullable=is_nullable)


def _value_reader(kafka_type: str, flexible: bool, *, nullable: bool) -> Read:
    if kafka_type == "datetime_i64":
        return _read_time
    if kafka_type in _FIXED:
        return _FIXED[kafka_type]
    read_length = _read_compact_length if flexible else _LENGTHS[kafka_type]
    decode = _decode if kafka_type == "string" else _same
    most = _LONGEST_STRING if kafka_type == "string" else 2**32

    def read(data: bytes, position: int) -> tuple[Any, int]:
        length, position = read_length(data, position)
        if length < 0:
            if not nullable:
                raise WireError(f"a {kafka_type} is null")
            return None, position
        if length > most:
            raise WireError(f"a string of {length} bytes is too long")
        end = _end(data, position, length)
        return decode(data[position:end]), end

    return read


_LONGEST_STRING = 2**15 - 1
"""Kafka allows no longer strings, also where their length has more than 16 bits."""


def _array_reader(one: Read, flexible: bool, nullable: bool) -> Read:
    read_length = _read_compact_length if flexible else _read_int32

    def read(data: bytes, position: int) -> tuple[Any, int]:
        count, position = read_length(data, position)
        if count < 0:
            if not nullable:
                raise WireError("an array is null")
            return None, position
        if count > len(data) - position:  # an element takes at least one byte
            raise WireError(f"an array of {count} elements does not fit")
        elements = []
        for _ in range(count):
            element, position = one(data, position)
            elements.append(element)
        return tuple(elements), position

    return read


def _nullable_reader(one: Read) -> Read:
    """A nested message that may be null (KIP-893)."""

    def read(data: bytes, position: int) -> tuple[Any, int]:
        marker, position = _FIXED["int8"](data, position)
        return (None, position) if marker < 0 else one(data, position)

    return read


# -- values -----------------------------------------------------------------------------------


def _end(data: bytes, position: int, length: int) -> int:
    """The position behind a value of this length, if the data has so much."""
    end = position + length
    if end > len(data):
        raise WireError(f"{end - len(data)} bytes are missing")
    return end


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned integer of at most 32 bits, seven bits a byte."""
    value = 0
    for shift in (0, 7, 14, 21, 28):
        if position >= len(data):
            raise WireError("a length is missing")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 2**32:
                break
            return value, position
    raise WireError("a length exceeds 32 bits")


def _read_compact_length(data: bytes, position: int) -> tuple[int, int]:
    length, position = read_varint(data, position)
    return length - 1, position


def _fixed(form: str) -> Read:
    """The reader of a number of fixed size."""
    unpack, size = struct.Struct(form).unpack_from, struct.calcsize(form)

    def read(data: bytes, position: int) -> tuple[Any, int]:
        end = _end(data, position, size)
        return unpack(data, position)[0], end

    return read


def _converted(read: Read, convert: Callable[[Any], Any]) -> Read:
    def converted(data: bytes, position: int) -> tuple[Any, int]:
        value, position = read(data, position)
        return convert(value), position

    return converted


def _same(value: Any) -> Any:
    return value


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise WireError("a string is not UTF-8") from None


_ERRORS: Mapping[int, ErrorCode] = {int(code.value): code for code in ErrorCode}


def _error(code: int) -> ErrorCode:
    try:
        return _ERRORS[code]
    except KeyError:
        raise WireError(f"{code} is not the code of an error") from None


def _duration(value: int) -> timedelta:
    try:
        return timedelta(milliseconds=value)
    except OverflowError:
        raise WireError(f"{value} ms is too long") from None


def _uuid(value: bytes) -> UUID | None:
    return UUID(bytes=value) if any(value) else None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _read_time(data: bytes, position: int) -> tuple[datetime | None, int]:
    value, position = _FIXED["int64"](data, position)
    if value == -1:
        return None, position
    try:
        return _EPOCH + _duration(value), position
    except OverflowError:
        raise WireError(f"{value} ms is not a valid time") from None


_read_int16, _read_int32 = _fixed(">h"), _fixed(">i")

_FIXED: Mapping[str, Read] = {
    "int8": _fixed(">b"),
    "int16": _read_int16,
    "int32": _read_int32,
    "int64": _fixed(">q"),
    "uint8": _fixed(">B"),
    "uint16": _fixed(">H"),
    "uint32": _fixed(">I"),
    "uint64": _fixed(">Q"),
    "float64": _fixed(">d"),
    "bool": _fixed(">?"),
    "uuid": _converted(_fixed(">16s"), _uuid),
    "error_code": _converted(_read_int16, _error),
    "timedelta_i32": _converted(_read_int32, _duration),
    "timedelta_i64": _converted(_fixed(">q"), _duration),
}
"""The readers of types of fixed size."""

_LENGTHS: Mapping[str, Read] = {
    "string": _read_int16,
    "bytes": _read_int32,
    "records": _read_int32,
}
"""The readers of a length in an inflexible version."""

_EMPTY: Mapping[str, Any] = {"string": "", "bytes": b""}
