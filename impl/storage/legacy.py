"""Records of formats 0 and 1, with those that a wrapper has compressed in it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import attrs

from kspec.impl.storage.codecs import LZ4, CompressionError, Decompressor
from kspec.impl.storage.records import StoredRecord

START = struct.Struct(">qiIbb")


class LegacyError(Exception):
    """Bytes that are no intact record of format 0 or 1."""


@attrs.frozen
class LegacyBatch:
    """What stands between two positions of a segment in format 0 or 1."""

    crc: int
    """Its checksum."""
    attributes: int
    """Codec and kind of time."""
    timestamp: int
    """Its time."""
    records: tuple[StoredRecord, ...]
    """Its records; format 0 has no times, and neither has headers."""


def read_legacy(data: bytes, decompressor: Decompressor) -> LegacyBatch:
    """The record in these bytes, or those in a wrapper."""
    offset, _, crc, magic, attributes = START.unpack_from(data)
    if zlib.crc32(memoryview(data)[16:]) != crc:
        raise LegacyError("the checksum is wrong")
    outer = parse(data, magic)
    codec = attributes & 7
    if not codec:
        return LegacyBatch(crc, attributes, outer.timestamp, (outer,))
    if codec > LZ4:
        raise LegacyError(f"format {magic} has no codec {codec}")
    if outer.value is None:
        raise LegacyError("a wrapper has no value")
    try:
        inner = decompressor.decompress(codec, outer.value, magic).tobytes()
    except CompressionError as error:
        raise LegacyError(f"the records cannot be decompressed ({error})") from None
    records = list(inner_records(inner))
    if not records:
        raise LegacyError("a wrapper has no records")
    if magic == 1:
        last = records[-1].offset
        if offset and offset < last:
            raise LegacyError(f"a wrapper at offset {offset} has a record {last}")
        first = offset - last if offset else 0
        records = [record._replace(offset=first + record.offset) for record in records]
        if attributes & 8:
            records = [record._replace(timestamp=outer.timestamp) for record in records]
    return LegacyBatch(crc, attributes, outer.timestamp, tuple(records))


def inner_records(data: bytes) -> Iterator[StoredRecord]:
    """The records in a wrapper."""
    position = 0
    while position + 12 <= len(data):
        size = 12 + int.from_bytes(data[position + 8 : position + 12], signed=True)
        if size < 26:
            raise LegacyError(f"a record claims {size} bytes")
        if position + size > len(data):
            return
        record = data[position : position + size]
        if record[16] > 1 or record[17] & 7:
            raise LegacyError("a wrapper has something other than records in it")
        yield parse(record, record[16])
        position += size


def parse(data: bytes, magic: int) -> StoredRecord:
    """The record in these bytes, as it stands."""
    key_at = START.size + 8 * magic
    if len(data) < key_at + 8:
        raise LegacyError(f"a record of format {magic} has only {len(data)} bytes")
    timestamp = int.from_bytes(data[18:26], signed=True) if magic else -1
    key, value_at = field(data, key_at)
    value, _ = field(data, value_at)
    return StoredRecord(int.from_bytes(data[:8], signed=True), timestamp, key, value, ())


def field(data: bytes, position: int) -> tuple[bytes | None, int]:
    """A key or a value, and the position behind it."""
    start = position + 4
    if start > len(data):
        raise LegacyError("a record is cut off")
    size = int.from_bytes(data[position:start], signed=True)
    if size < 0:
        return None, start
    if start + size > len(data):
        raise LegacyError(f"a field claims {size} bytes of {len(data) - start}")
    return data[start : start + size], start + size
