"""Record batches of format 2: the header, the checksum, and the times of records.

A broker stores a batch as the producer sent it, and sets only the base offset and the leader epoch,
neither of which the checksum covers.

Kafka: `DefaultRecordBatch`. Simplification: batches that are compressed with snappy, lz4 or zstd
are not decompressed, so a search by time finds the batch, not the record in it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import attrs
from crc32c import crc32c

_HEADER = struct.Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_COVERED_FROM = 21
"""Where the bytes that the checksum covers begin: at the attributes."""

NO_PRODUCER = -1
"""The producer id of a producer that is not idempotent."""
ZSTD = 4
"""The compression type that needs version 7 of Produce."""
_GZIP = 1
_MOST_INFLATED = 16 * 2**20
"""The most bytes to which a batch is decompressed."""


class CorruptBatch(Exception):
    """Bytes that are not an intact record batch."""

    error = "CORRUPT_MESSAGE"


class InvalidBatch(Exception):
    """A record batch that a producer must not send."""

    error = "INVALID_RECORD"


@attrs.frozen
class Batch:
    """A record batch: its header, and its bytes as they are stored."""

    data: bytes
    """The bytes, with the base offset set."""
    base_offset: int
    """The offset of its first record."""
    last_offset: int
    """The offset of its last record."""
    attributes: int
    """Compression, kind of time, and whether it is transactional or a control batch."""
    base_timestamp: int
    """The time of its first record."""
    max_timestamp: int
    """The latest time of its records."""
    producer_id: int
    """The id of an idempotent producer, or -1."""
    producer_epoch: int
    """The epoch of that id."""
    base_sequence: int
    """The sequence number of its first record."""

    @property
    def compression(self) -> int:
        """The compression type: 0 for none, then gzip, snappy, lz4 and zstd."""
        return self.attributes & 7

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & 0x10)

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record; numbers wrap around."""
        return (self.base_sequence + self.last_offset - self.base_offset) & 0x7FFFFFFF

    def at(self, offset: int, leader_epoch: int) -> Batch:
        """The batch as the log stores it at this offset."""
        head = struct.pack(">qii", offset, len(self.data) - _OFFSET_AND_LENGTH.size, leader_epoch)
        return attrs.evolve(
            self,
            data=head + self.data[len(head) :],
            base_offset=offset,
            last_offset=offset + self.last_offset - self.base_offset,
        )

    def times(self) -> Iterator[tuple[int, int]]:
        """The offset and the time of each record, as far as the batch can be read."""
        records: bytes | None = self.data[_HEADER.size :]
        if self.compression == _GZIP:
            records = _inflate(self.data[_HEADER.size :])
        elif self.compression:
            records = None
        if records is None:
            yield self.base_offset, self.max_timestamp
            return
        position = 0
        for _ in range(self.last_offset - self.base_offset + 1):
            try:
                length, position = _varint(records, position)
                time_delta, after_time = _varint(records, position + 1)
                offset_delta, _ = _varint(records, after_time)
            except IndexError:
                return  # the producer sent records that are not well-formed
            offset, time = self.base_offset + offset_delta, self.base_timestamp + time_delta
            if length < 1 or not self.base_offset <= offset <= self.last_offset or time >= 2**63:
                return
            yield offset, time
            position += length


def check_one_batch(data: bytes) -> None:
    """Whether a producer sends one batch of the current format.

    Kafka: `ProduceRequest.validateRecords`, which precedes the checks of acks and of the log.
    """
    if len(data) < _HEADER.size:
        raise InvalidBatch("a Produce request has exactly one record batch")
    _, length, _, magic = _HEADER.unpack_from(data)[:4]
    if not 0 <= magic <= 2:
        raise CorruptBatch(f"there is no format {magic} of record batches")
    if magic != 2:
        raise InvalidBatch(f"a Produce request has record batches of format 2, not {magic}")
    if length + _OFFSET_AND_LENGTH.size < len(data):
        raise InvalidBatch("a Produce request has exactly one record batch")


def parse_batch(data: bytes) -> Batch:
    """The record batch that a producer sends for a partition, after `check_one_batch`.

    Kafka: `LogValidator.validateBatch`.
    """
    (base_offset, length, _, _, checksum, attributes, last_delta, base_time, max_time) = (
        _HEADER.unpack_from(data)[:9]
    )
    producer_id, producer_epoch, base_sequence, count = _HEADER.unpack_from(data)[9:]
    size = length + _OFFSET_AND_LENGTH.size
    if size > len(data) or crc32c(data[_COVERED_FROM:]) != checksum:
        raise CorruptBatch("the checksum of the record batch is wrong")
    if count <= 0 or last_delta != count - 1:
        raise InvalidBatch(f"a batch of {count} records ends at offset {last_delta}")
    if attributes & 0x20:
        raise InvalidBatch("a client must not write control records")
    if producer_id != NO_PRODUCER and (producer_epoch < 0 or base_sequence < 0):
        raise InvalidBatch("an idempotent producer has an epoch and a sequence number")
    return Batch(
        data,
        base_offset,
        base_offset + last_delta,
        attributes,
        base_time,
        max_time,
        producer_id,
        producer_epoch,
        base_sequence,
    )


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A signed integer in zigzag encoding; IndexError if it is not complete."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise IndexError("an integer has at most ten bytes")


def _inflate(data: bytes) -> bytes | None:
    """The records of a batch compressed with gzip; None if they cannot be read."""
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MOST_INFLATED)
    except zlib.error:
        return None
