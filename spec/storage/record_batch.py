"""Record batches of format 2: the unit that producers send, brokers store and followers fetch.

A batch is a header of 61 bytes and its records, which may be compressed together. All numbers of
the header are big-endian. Offsets and times of records are stored as differences from those of the
header, so that a broker that assigns offsets rewrites the header alone:

| at | bytes | field | |
|---:|---:|---|---|
| 0 | 8 | base offset | assigned by the leader |
| 8 | 4 | length | of everything behind this field |
| 12 | 4 | leader epoch | assigned by the leader |
| 16 | 1 | magic | the format: 2 |
| 17 | 4 | checksum | CRC-32C of everything behind this field |
| 21 | 2 | attributes | bits 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 horizon |
| 23 | 4 | last offset delta | |
| 27 | 8 | base timestamp | or the delete horizon of its tombstones (KIP-534) |
| 35 | 8 | maximum timestamp | |
| 43 | 8 | producer id | -1 without idempotence |
| 51 | 2 | producer epoch | |
| 53 | 4 | base sequence | |
| 57 | 4 | number of records | |

The checksum does not cover the base offset, the leader epoch and the magic byte: a change of one of
their bits is not found in the batch, only by its neighbours. Each other change of a bit is found.

Kafka: `DefaultRecordBatch`, `DefaultRecord` [4.0.0] (KIP-98, since 0.11).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

import attrs

from kspec.spec.storage.batches import NO_PRODUCER, NO_TIMESTAMP
from kspec.spec.storage.checksum import crc32c
from kspec.spec.storage.compression import MOST_BYTES, Codec, compress, decompress
from kspec.spec.storage.varint import Malformed, read_varint, read_varlong, write_varint

HEADER = struct.Struct(">qiibIhiqqqhii")
"""The 61 bytes in front of the records."""
LOG_OVERHEAD = 12
"""The bytes of base offset and length, which every format begins with."""
COVERED_FROM = 21
"""The position from which the checksum covers the batch: that of the attributes."""
NOT_COVERED = {"base offset": range(8), "leader epoch": range(12, 16), "magic": range(16, 17)}
"""Bytes whose changes the batch alone cannot reveal."""

NO_SEQUENCE = -1
"""The base sequence without idempotence, and of transaction markers."""

LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40


@attrs.frozen
class Header:
    """A record header, which Kafka passes on without reading it (KIP-82)."""

    key: bytes
    """Its name, in UTF-8, which no broker checks."""
    value: bytes | None
    """Its value."""


@attrs.frozen
class Record:
    """A record as it is stored: offset and time are relative to those of its batch."""

    offset_delta: int
    """Its offset, less the batch's base offset."""
    key: bytes | None = None
    """Its key; None if it has none."""
    value: bytes | None = None
    """Its value; None marks a tombstone."""
    timestamp_delta: int = 0
    """Its time, less the batch's base timestamp."""
    headers: tuple[Header, ...] = ()
    """Its headers, in order; names may repeat."""
    attributes: int = 0
    """A byte that is not used so far."""


@attrs.frozen
class RecordBatch:
    """A record batch of format 2."""

    base_offset: int
    """The offset of its first record when it was appended; compaction does not change it."""
    last_offset_delta: int
    """The offset of its last record when it was appended, less the base offset."""
    records: tuple[Record, ...] = ()
    """Its records; compaction may leave some of them, or none."""
    leader_epoch: int = -1
    """The epoch of the leader that appended it."""
    codec: Codec = Codec.NONE
    """How the records are compressed."""
    is_log_append_time: bool = False
    """Whether the maximum timestamp, set by the broker, is the time of each record."""
    is_transactional: bool = False
    """Whether it belongs to a transaction."""
    is_control: bool = False
    """Whether it has a control record, which consumers do not see."""
    has_delete_horizon: bool = False
    """Whether the base timestamp is the time at which tombstones may be removed (KIP-534)."""
    base_timestamp: int = NO_TIMESTAMP
    """The time of its first record, or its delete horizon."""
    max_timestamp: int = NO_TIMESTAMP
    """The latest time of its records, or the time at which the broker appended it."""
    producer_id: int = NO_PRODUCER
    """The id of an idempotent producer."""
    producer_epoch: int = -1
    """The epoch of the producer."""
    base_sequence: int = NO_SEQUENCE
    """The sequence number of its first record."""

    @property
    def last_offset(self) -> int:
        """The offset of its last record when it was appended."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record: 0 follows 2,147,483,647."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % 2**31

    @property
    def attributes(self) -> int:
        """Codec and flags, as they are stored."""
        flags = (
            (LOG_APPEND_TIME, self.is_log_append_time),
            (TRANSACTIONAL, self.is_transactional),
            (CONTROL, self.is_control),
            (DELETE_HORIZON, self.has_delete_horizon),
        )
        return self.codec | sum(bit for bit, is_set in flags if is_set)

    def offset(self, record: Record) -> int:
        """The offset of a record."""
        return self.base_offset + record.offset_delta

    def timestamp(self, record: Record) -> int:
        """The time of a record."""
        if self.is_log_append_time:
            return self.max_timestamp
        return self.base_timestamp + record.timestamp_delta


# -- bytes to a batch -----------------------------------------------------------------------------


def size_of_batch(data: bytes, position: int = 0) -> int:
    """The size that the batch at this position claims to have, in any format."""
    return LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + 12], signed=True)


def read_batch(data: bytes, limit: int = MOST_BYTES) -> RecordBatch:
    """The batch that these bytes are; `Malformed` if they are not an intact one.

    As in Kafka, a batch without records is not read behind its header: compaction leaves the
    header for the sake of the producer's sequence numbers.
    """
    if len(data) < HEADER.size:
        raise Malformed(f"a batch of {len(data)} bytes is shorter than its header")
    (base_offset, length, epoch, magic, checksum, attributes, last_delta, base_time, max_time) = (
        HEADER.unpack_from(data)[:9]
    )
    producer_id, producer_epoch, base_sequence, count = HEADER.unpack_from(data)[9:]
    if LOG_OVERHEAD + length != len(data):
        raise Malformed(f"a batch of {len(data)} bytes claims {LOG_OVERHEAD + length}")
    if magic != 2:
        raise Malformed(f"format {magic} is not format 2")
    if crc32c(data[COVERED_FROM:]) != checksum:
        raise Malformed("the checksum is wrong")
    if count < 0:
        raise Malformed(f"the number of records is {count}")
    codec = attributes & 7
    if codec not in Codec.__members__.values():
        raise Malformed(f"there is no codec {codec}")
    records: tuple[Record, ...] = ()
    if count:
        records = read_records(decompress(Codec(codec), data[HEADER.size :], limit), count)
    return RecordBatch(
        base_offset=base_offset,
        last_offset_delta=last_delta,
        records=records,
        leader_epoch=epoch,
        codec=Codec(codec),
        is_log_append_time=bool(attributes & LOG_APPEND_TIME),
        is_transactional=bool(attributes & TRANSACTIONAL),
        is_control=bool(attributes & CONTROL),
        has_delete_horizon=bool(attributes & DELETE_HORIZON),
        base_timestamp=base_time,
        max_timestamp=max_time,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def read_records(data: bytes, count: int) -> tuple[Record, ...]:
    """The records in these bytes, which they fill."""
    records, position = [], 0
    for _ in range(count):
        record, position = read_record(data, position)
        records.append(record)
    if position != len(data):
        raise Malformed(f"{len(data) - position} bytes follow the last record")
    return tuple(records)


def read_record(data: bytes, position: int) -> tuple[Record, int]:
    """The record at this position, and the position behind it."""
    size, start = read_varint(data, position)
    end = start + size
    if size < 1 or end > len(data):
        raise Malformed(f"a record claims {size} bytes of {len(data) - start}")
    record = data[:end]
    timestamp_delta, position = read_varlong(record, start + 1)
    offset_delta, position = read_varint(record, position)
    key, position = _read_bytes(record, position)
    value, position = _read_bytes(record, position)
    headers, position = _read_headers(record, position)
    if position != end:
        raise Malformed(f"a record of {size} bytes ends after {position - start}")
    return Record(offset_delta, key, value, timestamp_delta, headers, data[start]), end


def _read_headers(data: bytes, position: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(data, position)
    if not 0 <= count <= len(data) - position:
        raise Malformed(f"a record claims {count} headers")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(data, position)
        if key is None:
            raise Malformed("a record header has no key")
        value, position = _read_bytes(data, position)
        headers.append(Header(key, value))
    return tuple(headers), position


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    """Bytes behind their length; any negative length stands for null."""
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    if size > len(data) - position:
        raise Malformed(f"a field claims {size} bytes of {len(data) - position}")
    return data[position : position + size], position + size


# -- a batch to bytes -----------------------------------------------------------------------------


def write_batch(batch: RecordBatch) -> bytes:
    """The bytes of a batch. Without compression they are exactly those that Kafka writes."""
    body = compress(batch.codec, b"".join(map(write_record, batch.records)))
    fields = (
        batch.last_offset_delta,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        len(batch.records),
    )
    covered = struct.pack(">hiqqqhii", batch.attributes, *fields) + body
    length = len(covered) + COVERED_FROM - LOG_OVERHEAD
    start = struct.pack(">qiibI", batch.base_offset, length, batch.leader_epoch, 2, crc32c(covered))
    return start + covered


def write_record(record: Record) -> bytes:
    """The bytes of a record, with their length in front."""
    body = bytes((record.attributes,))
    body += write_varint(record.timestamp_delta) + write_varint(record.offset_delta)
    body += _write_bytes(record.key) + _write_bytes(record.value)
    body += write_varint(len(record.headers))
    for header in record.headers:
        body += _write_bytes(header.key) + _write_bytes(header.value)
    return write_varint(len(body)) + body


def _write_bytes(value: bytes | None) -> bytes:
    return write_varint(-1) if value is None else write_varint(len(value)) + value


# -- what a broker stores -------------------------------------------------------------------------


def contradictions(batch: RecordBatch) -> Iterator[str]:
    """In what a batch that can be read contradicts itself: no broker stores such a batch.

    Kafka: `LogValidator` validates what producers send, and sets offsets and the maximum timestamp;
    `MemoryRecords.filterTo` keeps both up to date in compaction. A delete horizon replaces the base
    timestamp without a change of the times.
    """
    deltas = [-1, *(r.offset_delta for r in batch.records), batch.last_offset_delta + 1]
    if batch.last_offset_delta < 0:
        yield f"the last offset delta is {batch.last_offset_delta}"
    elif any(after <= before for before, after in pairwise(deltas)):
        yield f"the offset deltas of the records do not increase to {batch.last_offset_delta}"
    if batch.records and not batch.is_log_append_time:
        latest = max(map(batch.timestamp, batch.records))
        if latest != batch.max_timestamp:
            yield f"the maximum timestamp is {batch.max_timestamp}, that of the records {latest}"
    if batch.is_control and len(batch.records) > 1 and batch.producer_id != NO_PRODUCER:
        yield f"a batch of a transaction marker has {len(batch.records)} records"
