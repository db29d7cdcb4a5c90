"""Control records: what brokers write into a log for each other; consumers do not see them.

The key of a control record has a version and a type. The value of a transaction marker has a
version and the epoch of the transaction coordinator that wrote it. Both may grow in later versions:
a reader ignores what follows.

Kafka: `ControlRecordType`, `EndTransactionMarker` [4.0.0] (KIP-98; types 2 to 6 are KRaft's).
"""

from __future__ import annotations

import struct
from enum import IntEnum

import attrs

from kspec.spec.storage.record_batch import Record
from kspec.spec.storage.varint import Malformed


class ControlType(IntEnum):
    """What a control record says."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@attrs.frozen
class TransactionMarker:
    """The end of a producer's transaction in this partition."""

    is_commit: bool
    """Whether the transaction was committed."""
    coordinator_epoch: int
    """The epoch of the coordinator, by which an outdated one is fenced."""


_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")


def read_control_type(record: Record) -> ControlType | None:
    """The type of a control record; None if it is not known, and therefore ignored."""
    version, kind = _fields(_KEY, record.key, "key")
    if version < 0:
        raise Malformed(f"the version of a control record is {version}")
    return ControlType(kind) if kind in ControlType.__members__.values() else None


def read_marker(record: Record) -> TransactionMarker | None:
    """The transaction marker in a control record; None if it is another control record."""
    kind = read_control_type(record)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    version, epoch = _fields(_MARKER, record.value, "value")
    if version < 0:
        raise Malformed(f"the version of a transaction marker is {version}")
    return TransactionMarker(kind is ControlType.COMMIT, epoch)


def write_marker(marker: TransactionMarker) -> Record:
    """The control record of a transaction marker."""
    kind = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    return Record(0, key=_KEY.pack(0, kind), value=_MARKER.pack(0, marker.coordinator_epoch))


def _fields(form: struct.Struct, data: bytes | None, what: str) -> tuple[int, int]:
    if data is None or len(data) < form.size:
        raise Malformed(f"the {what} of a control record is shorter than {form.size} bytes")
    first, second = form.unpack_from(data)
    return first, second
