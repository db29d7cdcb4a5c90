"""Records of formats 0 and 1, which logs from before 0.11 may still contain: read, not written.

There is no batch: each record stands alone, or the value of one *wrapper* has others compressed
in it. Format 1 added the timestamp (KIP-32), and offsets inside a wrapper that count from the first
inner record, so that a broker need not recompress (KIP-31); the wrapper has the last offset.

| at | bytes | field | |
|---:|---:|---|---|
| 0 | 8 | offset | of a wrapper: that of its last record |
| 8 | 4 | length | of everything behind this field |
| 12 | 4 | checksum | CRC-32 of everything behind this field |
| 16 | 1 | magic | 0 or 1 |
| 17 | 1 | attributes | bits 0-2 codec, bit 3 log append time |
| 18 | 8 | timestamp | in format 1 only |
| 18, 26 | 4 | length of the key | -1 for null; then the key |
| | 4 | length of the value | -1 for null; then the value |

Kafka: `LegacyRecord`, `AbstractLegacyRecordBatch` [3.9.0]. Kafka 4.0 still reads both formats from
disk, and no longer converts to them (KIP-724).
"""

from __future__ import annotations

import struct
import zlib

import attrs

from kspec.spec.storage.batches import NO_TIMESTAMP
from kspec.spec.storage.compression import MOST_BYTES, Codec, decompress
from kspec.spec.storage.record_batch import LOG_APPEND_TIME, LOG_OVERHEAD
from kspec.spec.storage.varint import Malformed

_START = struct.Struct(">qiIbb")
_LONG = struct.Struct(">q")
_LENGTH = struct.Struct(">i")

LEAST_SIZE = (14, 22)
"""The least length of a record of each format, which has neither key nor value."""


@attrs.frozen
class LegacyRecord:
    """A record of format 0 or 1."""

    offset: int
    """Its offset in the log."""
    magic: int
    """Its format."""
    key: bytes | None
    """Its key; None if it has none."""
    value: bytes | None
    """Its value; None marks a tombstone."""
    timestamp: int = NO_TIMESTAMP
    """Its time; -1 in format 0."""


def read_legacy(data: bytes, limit: int = MOST_BYTES) -> tuple[LegacyRecord, ...]:
    """The record in these bytes, or those in a wrapper."""
    outer, attributes = _read_one(data)
    codec = attributes & 7
    if codec == Codec.NONE:
        return (outer,)
    if codec > Codec.LZ4:
        raise Malformed(f"format {outer.magic} has no codec {codec}")
    if outer.value is None:
        raise Malformed("a wrapper has no value")
    inner = decompress(Codec(codec), outer.value, limit)
    records, position = [], 0
    while position + LOG_OVERHEAD <= len(inner):
        size = LOG_OVERHEAD + _LENGTH.unpack_from(inner, position + 8)[0]
        if size < LOG_OVERHEAD + LEAST_SIZE[0]:
            raise Malformed(f"a record claims {size} bytes")
        if position + size > len(inner):
            break  # Kafka reads up to here, too
        record, inner_attributes = _read_one(inner[position : position + size], inner=True)
        if inner_attributes & 7:
            raise Malformed("a wrapper is in a wrapper")
        if attributes & LOG_APPEND_TIME and record.magic == 1:
            record = attrs.evolve(record, timestamp=outer.timestamp)
        records.append(record)
        position += size
    if not records:
        raise Malformed("a wrapper has no records")
    if outer.magic == 0:
        return tuple(records)
    first = _first_offset(outer.offset, records[-1].offset)
    return tuple(attrs.evolve(record, offset=first + record.offset) for record in records)


def _first_offset(outer: int, last_inner: int) -> int:
    """The offset from which those inside a wrapper of format 1 count.

    Some versions of librdkafka sent wrappers with offset 0.
    """
    if outer == 0:
        return 0
    if outer < last_inner:
        raise Malformed(f"a wrapper at offset {outer} has a record {last_inner}")
    return outer - last_inner


def _read_one(data: bytes, *, inner: bool = False) -> tuple[LegacyRecord, int]:
    """The record in these bytes as it stands, and its attributes.

    As in Kafka, the checksum of a record inside a wrapper is not verified.
    """
    if len(data) < _START.size:
        raise Malformed("a record is shorter than its header")
    offset, length, checksum, magic, attributes = _START.unpack_from(data)
    if LOG_OVERHEAD + length != len(data):
        raise Malformed(f"a record of {len(data)} bytes claims {LOG_OVERHEAD + length}")
    if magic not in (0, 1):
        raise Malformed(f"format {magic} is neither 0 nor 1")
    if length < LEAST_SIZE[magic]:
        raise Malformed(f"a record of format {magic} has only {length} bytes")
    if not inner and zlib.crc32(data[LOG_OVERHEAD + 4 :]) != checksum:
        raise Malformed("the checksum is wrong")
    position, timestamp = _START.size, NO_TIMESTAMP
    if magic == 1:
        timestamp = _LONG.unpack_from(data, position)[0]
        position += _LONG.size
    key, position = _read_bytes(data, position)
    value, position = _read_bytes(data, position)
    return LegacyRecord(offset, magic, key, value, timestamp), attributes


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    if position + 4 > len(data):
        raise Malformed("a record is cut off")
    size = _LENGTH.unpack_from(data, position)[0]
    position += 4
    if size < 0:
        return None, position
    if size > len(data) - position:
        raise Malformed(f"a field claims {size} bytes of {len(data) - position}")
    return data[position : position + size], position + size
