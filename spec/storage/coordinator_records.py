"""The records of coordinators: keys and values of `__consumer_offsets` and `__transaction_state`.

A key begins with its type, 16 bits that Kafka also calls the key's version; a value begins with its
own version. A record without value is a tombstone. A reader skips a type that it does not know, so
that a broker can be downgraded (KIP-915).

Version 1 of an offset commit has the time at which it expires, which the client chose; since
KIP-211 (2.1) the broker decides. Version 3 added the leader epoch (KIP-320). Versions of a group
added the rebalance timeout (1), the time of the last transition (2, KIP-211) and the instance id
(3, KIP-345). The groups of KIP-848 have types of their own, those of shares (KIP-932) and of
streams (KIP-1071) too.

The types are described in `coordinator_records.json`, by the names of `schema.Field`. The default
of `classicMemberMetadata` is an empty structure; for other members than classic ones, null is
stored.

Kafka: `CoordinatorRecordType` and the schemas beside it in `group-coordinator` and
`transaction-coordinator` [4.1.0]. The records of share and streams groups are those of 4.1; earlier
previews stored others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import attrs

from kspec.spec.storage.schema import NUMBERS, Field, Message, Schema, read_message
from kspec.spec.storage.schema import write_message as write_fields
from kspec.spec.storage.varint import Malformed


@attrs.frozen
class RecordType:
    """A type of records: what its key and its value contain."""

    key: Schema
    """The key, which has one version."""
    value: Schema
    """The value."""

    @property
    def name(self) -> str:
        """The name of the type, as in Kafka's `CoordinatorRecordType`."""
        return self.value.name.removesuffix("Value")


@attrs.frozen
class CoordinatorRecord:
    """A record of a coordinator."""

    type: int
    """The number of its type."""
    key: Message
    """Its key."""
    version: int | None = None
    """The version of its value."""
    value: Message | None = None
    """Its value; None for a tombstone."""


# -- types ----------------------------------------------------------------------------------------


def _field(given: Mapping[str, Any]) -> Field:
    """A field; the fields of a structure are in place of its kind."""
    kind = given["kind"]
    return Field(**{**given, "kind": kind if isinstance(kind, str) else _fields(kind)})


def _fields(given: Iterable[Mapping[str, Any]]) -> tuple[Field, ...]:
    return tuple(map(_field, given))


def _record_type(given: Mapping[str, Any]) -> RecordType:
    """A type whose key is not flexible, as all keys."""
    name, newest, flexible = given["name"], given.get("newest", 0), given.get("flexible", 0)
    return RecordType(
        Schema(f"{name}Key", _fields(given["key"]), flexible=1),
        Schema(f"{name}Value", _fields(given["value"]), newest, flexible),
    )


def _record_types(topic: str) -> Mapping[int, RecordType]:
    """The types of the records of a topic, from `coordinator_records.json` beside this module."""
    text = files(__package__).joinpath("coordinator_records.json").read_text(encoding="utf-8")
    return {given["type"]: _record_type(given) for given in json.loads(text)[topic]}


GROUP_RECORDS: Mapping[int, RecordType] = _record_types("__consumer_offsets")
"""The records of `__consumer_offsets`, by the number of their type."""

TRANSACTION_RECORDS: Mapping[int, RecordType] = _record_types("__transaction_state")
"""The records of `__transaction_state`."""

# -- records of either topic ----------------------------------------------------------------------

_TYPE = NUMBERS["int16"]


def read_record(
    types: Mapping[int, RecordType], key: bytes | None, value: bytes | None
) -> CoordinatorRecord | None:
    """The record with this key and value; None if its type is not known."""
    kind = _read_type(key, "key")
    if kind not in types:
        return None
    # Key and type have one number; the schema of a key does not depend on it.
    fields = read_message(types[kind].key, 0, key or b"", _TYPE.size)
    if value is None:
        return CoordinatorRecord(kind, fields)
    version = _read_type(value, "value")
    message = read_message(types[kind].value, version, value, _TYPE.size)
    return CoordinatorRecord(kind, fields, version, message)


def write_record(
    types: Mapping[int, RecordType], record: CoordinatorRecord
) -> tuple[bytes, bytes | None]:
    """The key and the value of a record."""
    kind = types[record.type]
    key = _TYPE.pack(record.type) + write_fields(kind.key, 0, record.key)
    if record.value is None or record.version is None:
        return key, None
    value = write_fields(kind.value, record.version, record.value)
    return key, _TYPE.pack(record.version) + value


def _read_type(data: bytes | None, what: str) -> int:
    if data is None or len(data) < _TYPE.size:
        raise Malformed(f"the {what} of a coordinator's record has no version")
    number: int = _TYPE.unpack_from(data)[0]
    return number
