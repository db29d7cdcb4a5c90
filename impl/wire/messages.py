"""Message types by API key and version, and how to create a message of any version."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any, TypeAlias, get_args, get_origin

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map

Message: TypeAlias = Any
"""A request or a response: an instance of one of kio's dataclasses, which differ by version."""

API_KEYS: Mapping[str, int] = {name: key for key, name in api_key_map.items()}
"""The API key of each API, by its name in kio, such as `join_group`."""

VERSIONS: Mapping[int, tuple[int, int]] = {
    key: (min(schema_name_map[name]), max(schema_name_map[name]))
    for key, name in api_key_map.items()
}
"""The lowest and the highest version of each API for which there are message types."""


def is_known(key: int, version: int) -> bool:
    """Whether there are message types for this version of this API."""
    lowest, highest = VERSIONS.get(key, (0, -1))
    return lowest <= version <= highest


@cache
def request_type(key: int, version: int) -> Any:
    """The type of this version's requests."""
    return load_request_schema(key, version)


@cache
def response_type(key: int, version: int) -> Any:
    """The type of this version's responses."""
    return load_response_schema(key, version)


def create(kind: Any, /, **values: Any) -> Message:
    """A message of this type from plain values; what its version does not have is left out.

    Durations are given in milliseconds, errors by their names in the protocol or their codes, and
    nested messages as dictionaries. A field that is not given has its default, or is zero, empty or
    null.
    """
    return kind(
        **{
            name: convert(values[name]) if name in values else default
            for name, convert, default in _plan(kind)
        }
    )


@cache
def _plan(kind: Any) -> tuple[tuple[str, Any, Any], ...]:
    """Each field of a message type, with how to convert its value, and its default."""
    return tuple((f.name, *_field(f)) for f in dataclasses.fields(kind))


def _field(field: Any) -> tuple[Any, Any]:
    kafka_type = field.metadata.get("kafka_type", "")
    convert, zero = _CONVERSIONS.get(kafka_type, (_same, None))
    of, optional = present_type(field)
    if get_origin(of) is tuple:
        element, zero = get_args(of)[0], ()
        convert = _elements(element) if dataclasses.is_dataclass(element) else _tuple
    elif dataclasses.is_dataclass(of):
        convert, zero = _nested(of), None
    default = zero if field.default is dataclasses.MISSING else field.default
    if optional and field.default is dataclasses.MISSING:
        default = None
    return convert, default


def present_type(field: Any) -> tuple[Any, bool]:
    """The type of a field's values, and whether null is one as well."""
    others = [kind for kind in get_args(field.type) if kind is not type(None)]
    optional = type(None) in get_args(field.type)
    return (others[0] if optional else field.type), optional


def _same(value: Any) -> Any:
    return value


def _tuple(values: Any) -> Any:
    return None if values is None else tuple(values)


def _elements(kind: Any) -> Any:
    one = _nested(kind)
    return lambda values: None if values is None else tuple(map(one, values))


def _nested(kind: Any) -> Any:
    return lambda value: create(kind, **value) if isinstance(value, dict) else value


def _duration(value: int | timedelta) -> timedelta:
    return value if isinstance(value, timedelta) else timedelta(milliseconds=value)


def milliseconds(duration: timedelta) -> int:
    """A duration of a message in milliseconds."""
    return round(duration / _MILLISECOND)


_MILLISECOND = timedelta(milliseconds=1)


def error_code(name: str) -> ErrorCode:
    """The error code with this name in the protocol, such as `UNKNOWN_MEMBER_ID`."""
    return ErrorCode[name.lower()]


def _error(value: str | int | ErrorCode) -> ErrorCode:
    return error_code(value) if isinstance(value, str) else ErrorCode(value)


_CONVERSIONS: Mapping[str, tuple[Any, Any]] = {
    **{f"{sign}int{bits}": (_same, 0) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float64": (_same, 0.0),
    "bool": (_same, False),
    "string": (_same, ""),
    "bytes": (_same, b""),
    "error_code": (_error, ErrorCode.none),
    "timedelta_i32": (_duration, timedelta(0)),
    "timedelta_i64": (_duration, timedelta(0)),
}
"""How a plain value of each type is converted, and the value of a field that is not given: of
other types, the value as it is, and null."""
