"""Write segments with their indexes, as the leader of a partition does."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kspec.impl.compiled import compiled
from kspec.impl.storage.crc import Bytes, crc32c
from kspec.impl.storage.scan import HEADER_SIZE

_HEADER = struct.Struct(">qiibIhiqqqhii")
_ASSIGNED = struct.Struct(">qii")
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_MOST_OVERHEAD = 36
"""The most bytes that a record takes beside its key and value."""


@compiled
def put_unsigned(data: Bytes, position: int, value: int) -> int:
    """Write an integer of variable length; the position behind it."""
    while value >= 128:
        data[position] = value & 127 | 128
        value >>= 7
        position += 1
    data[position] = value
    return position + 1


@compiled
def put_signed(data: Bytes, position: int, value: int) -> int:
    """Write a zigzag integer; the position behind it."""
    return put_unsigned(data, position, value << 1 ^ value >> 63)


@compiled
def size_of_signed(value: int) -> int:
    """How many bytes a zigzag integer takes."""
    value = value << 1 ^ value >> 63
    size = 1
    while value >= 128:
        value >>= 7
        size += 1
    return size


@compiled
def put_records(
    data: Bytes, position: int, keys: Bytes, values: Bytes, lengths: Bytes, times: Bytes
) -> int:
    """Write records without headers; the position behind them.

    `lengths` has the length of each key and value, -1 for null; keys and values follow each other.
    """
    key_at = value_at = 0
    for number in range(len(times)):
        key_size, value_size = lengths[number, 0], lengths[number, 1]
        size = 2 + size_of_signed(times[number] - times[0]) + size_of_signed(number)
        size += size_of_signed(key_size) + max(0, key_size)
        size += size_of_signed(value_size) + max(0, value_size)
        position = put_signed(data, position, size)
        data[position] = 0
        position = put_signed(data, position + 1, times[number] - times[0])
        position = put_signed(data, position, number)
        position = put_signed(data, position, key_size)
        for _ in range(key_size):
            data[position] = keys[key_at]
            position += 1
            key_at += 1
        position = put_signed(data, position, value_size)
        for _ in range(value_size):
            data[position] = values[value_at]
            position += 1
            value_at += 1
        data[position] = 0
        position += 1
    return position


def encode_batch(
    records: list[tuple[int, bytes | None, bytes | None]],
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytes:
    """A batch of records, each a time, a key and a value, uncompressed and at offset 0."""
    times = np.array([time for time, _, _ in records], np.int64)
    lengths = np.array(
        [[-1 if part is None else len(part) for part in parts] for _, *parts in records], np.int64
    )
    keys = b"".join(key or b"" for _, key, _ in records)
    values = b"".join(value or b"" for _, _, value in records)
    data = np.zeros(HEADER_SIZE + len(keys) + len(values) + _MOST_OVERHEAD * len(records), np.uint8)
    end = put_records(
        data,
        HEADER_SIZE,
        np.frombuffer(keys, np.uint8),
        np.frombuffer(values, np.uint8),
        lengths,
        times,
    )
    batch = data[:end]
    fields = (len(records) - 1, int(times[0]), int(times.max()), producer_id, producer_epoch)
    head = (attributes, *fields, base_sequence, len(records))
    _HEADER.pack_into(batch.data, 0, 0, end - 12, -1, 2, 0, *head)
    crc = crc32c(batch, 21, end)
    _HEADER.pack_into(batch.data, 0, 0, end - 12, -1, 2, crc, *head)
    return batch.tobytes()


class SegmentWriter:
    """Writes a segment, its offset index and its time index.

    An entry is added to both indexes for the first batch after more than `index_interval` bytes.
    """

    def __init__(self, folder: Path, base_offset: int, index_interval: int = 4096) -> None:
        name = folder / f"{base_offset:020}"
        self.base_offset = base_offset
        self.next_offset = base_offset
        """The offset of the next record."""
        self._index_interval = index_interval
        self._log: BinaryIO = name.with_suffix(".log").open("wb")
        self._offsets: BinaryIO = name.with_suffix(".index").open("wb")
        self._times: BinaryIO = name.with_suffix(".timeindex").open("wb")
        self._size = self._since_entry = 0
        self._latest = self._indexed = (-1, base_offset)

    def append(self, batch: bytes, leader_epoch: int = 0) -> int:
        """Append a batch at the next offset; returns its base offset."""
        base = self.next_offset
        last_delta = int.from_bytes(batch[23:27])
        last, time = base + last_delta, int.from_bytes(batch[35:43], signed=True)
        self._log.write(_ASSIGNED.pack(base, len(batch) - 12, leader_epoch))
        self._log.write(memoryview(batch)[_ASSIGNED.size :])
        if time > self._latest[0]:
            self._latest = time, last
        if self._since_entry > self._index_interval:
            self._offsets.write(_OFFSET_ENTRY.pack(last - self.base_offset, self._size))
            self._add_time()
            self._since_entry = 0
        self._since_entry += len(batch)
        self._size += len(batch)
        self.next_offset = last + 1
        return base

    def _add_time(self) -> None:
        if self._latest[0] > self._indexed[0]:
            self._indexed = self._latest
            time, offset = self._latest
            self._times.write(_TIME_ENTRY.pack(time, offset - self.base_offset))

    def close(self) -> None:
        """Write the last entry of the time index, and close the files."""
        self._add_time()
        for file in (self._log, self._offsets, self._times):
            file.close()
