"""Messages as the JSON that Kafka's tools print, and records of coordinators in it.

Numbers and strings are those of JSON, bytes are in base 64, a UUID is a string as Kafka writes it.
Tagged fields are omitted if they have their default.

Kafka: the generated classes `…JsonConverter`; `ApiMessageFormatter` [3.9, 4.0], where the key has
its type under `version` or `type`; `CoordinatorRecordMessageFormatter` [4.1].
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from kspec.spec.storage.coordinator_records import CoordinatorRecord, RecordType
from kspec.spec.storage.schema import NUMBERS, Field, Message, Schema
from kspec.spec.storage.varint import Malformed

RANGES = {
    name: (0 if name.startswith("u") else -(2 ** (form.size * 8 - 1)), 2 ** (form.size * 8) - 1)
    for name, form in NUMBERS.items()
}
"""The least number of each type, and the distance from it to the greatest."""


def record_of_json(types: Mapping[int, RecordType], json: Any) -> CoordinatorRecord | None:
    """The record that a formatter printed; None for one that it did not know."""
    key, value = _object(json, "a record").get("key"), json.get("value")
    key = _object(key, "a key")
    kind = key.get("type", key.get("version"))
    if not isinstance(kind, int) or isinstance(kind, bool) or "value" not in json:
        raise Malformed("a record has no type, or no value")
    if kind not in types or key.get("data") == "unknown":
        return None
    fields = message_of_json(types[kind].key, 0, key.get("data"))
    if value is None:
        return CoordinatorRecord(kind, fields)
    version, data = _object(value, "a value").get("version"), value.get("data")
    if not isinstance(version, int) or isinstance(version, bool) or data == "unknown":
        raise Malformed("the formatter did not know the version of a value")
    return CoordinatorRecord(
        kind, fields, version, message_of_json(types[kind].value, version, data)
    )


def message_of_json(schema: Schema, version: int, json: Any) -> Message:
    """The message in a version, each of its fields checked."""
    if not 0 <= version <= schema.newest:
        raise Malformed(f"{schema.name} has no version {version}")
    return _structure(schema.fields, version, json, schema.name)


def _structure(fields: tuple[Field, ...], version: int, json: Any, name: str) -> Message:
    given, message = _object(json, name), {}
    for field in fields:
        if field.exists(version) and field.name in given:
            message[field.name] = _value(field, version, given[field.name])
        elif field.exists(version) and field.tag is None:
            raise Malformed(f"{name} has no {field.name}")
        else:
            message[field.name] = field.missing()
    return message


def _value(field: Field, version: int, json: Any) -> Any:
    if json is None and field.nullable:
        return None
    if not field.is_array:
        return _one(field, version, json)
    if not isinstance(json, list):
        raise Malformed(f"{field.name} is not a list")
    return [_one(field, version, each) for each in json]


def _one(field: Field, version: int, json: Any) -> Any:
    kind = field.kind
    if isinstance(kind, tuple):
        return _structure(kind, version, json, field.name)
    if kind in NUMBERS:
        least, bits = RANGES[kind]
        if not isinstance(json, int) or isinstance(json, bool) or not least <= json <= least + bits:
            raise Malformed(f"{field.name} is not of type {kind}")
        return json
    if not isinstance(json, str):
        raise Malformed(f"{field.name} is not a string")
    if kind != "bytes":
        return json
    try:
        return base64.b64decode(json, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed(f"{field.name} is not in base 64") from None


def _object(json: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(json, Mapping):
        raise Malformed(f"{name} is not a JSON object")
    return json
