"""The records of a batch of format 2 as Python objects, where each is needed on its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class StoredRecord(NamedTuple):
    """A record with its offset and time."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


def decode_records(
    data: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> Iterator[StoredRecord]:
    """The records in bytes that a scan has found to be well-formed.

    `append_time` is the time of all records, where the broker's clock gives it.
    """
    position = 0
    for _ in range(count):
        _, position = integer(data, position)
        delta, position = integer(data, position + 1, bits=64)
        time = base_timestamp + delta if append_time is None else append_time
        delta, position = integer(data, position)
        key, position = field(data, position)
        value, position = field(data, position)
        number, position = integer(data, position)
        headers = []
        for _ in range(number):
            name, position = field(data, position)
            content, position = field(data, position)
            headers.append((name or b"", content))
        yield StoredRecord(base_offset + delta, time, key, value, tuple(headers))


def integer(data: bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """A zigzag integer of so many bits, and the position behind it."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= (1 << bits) - 1
            return value >> 1 ^ -(value & 1), position
        shift += 7


def field(data: bytes, position: int) -> tuple[bytes | None, int]:
    """Bytes behind their length, and the position behind them."""
    size, position = integer(data, position)
    if size < 0:
        return None, position
    return data[position : position + size], position + size
