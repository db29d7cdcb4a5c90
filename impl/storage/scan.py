"""Scan the bytes of a segment in compiled code: each batch's header, checksum and structure.

Whatever the bytes are, nothing outside of them is read: each length is compared with the bytes that
are left before it is used.
"""

from __future__ import annotations

# mypy: ignore-errors
# Numba determines the types of compiled code.
from enum import IntEnum
from typing import Any

import numpy as np

from kspec.impl.compiled import compiled
from kspec.impl.storage.crc import Bytes, crc32c

BATCH = np.dtype(
    [
        ("position", "i8"),
        ("base_offset", "i8"),
        ("base_timestamp", "i8"),
        ("max_timestamp", "i8"),
        ("producer_id", "i8"),
        ("fault_at", "i8"),
        ("crc", "u4"),
        ("size", "i4"),
        ("leader_epoch", "i4"),
        ("last_delta", "i4"),
        ("base_sequence", "i4"),
        ("count", "i4"),
        ("attributes", "i2"),
        ("producer_epoch", "i2"),
        ("magic", "i1"),
        ("fault", "u1"),
    ],
    align=True,
)
"""A batch of a segment: the fields of its header, and the first fault that was found."""

Rows = np.ndarray[Any, Any]
"""An array of batches."""

HEADER_SIZE = 61
OVERHEAD = 12
UP_TO_MAGIC = 17
COVERED_FROM = 21
LEAST_LENGTH = 14
CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40


class Fault(IntEnum):
    """What is wrong with a batch. From `OFFSETS` on, it can be read and contradicts itself."""

    NONE = 0
    CUT_OFF = 1
    LENGTH = 2
    FORMAT = 3
    CHECKSUM = 4
    CODEC = 5
    COUNT = 6
    INTEGER = 7
    RECORD = 8
    FIELD = 9
    HEADERS = 10
    REST = 11
    COMPRESSION = 12
    TOO_LONG = 13
    LEGACY = 14
    OFFSETS = 20
    TIMES = 21


# Compiled code takes plain numbers.
NONE, CUT_OFF, LENGTH, FORMAT, CHECKSUM, BAD_CODEC = (int(fault) for fault in list(Fault)[:6])
COUNT, INTEGER, RECORD, FIELD, HEADERS, REST = (int(fault) for fault in list(Fault)[6:12])
OFFSETS, TIMES = int(Fault.OFFSETS), int(Fault.TIMES)


@compiled
def number_at(data: Bytes, position: int, size: int) -> int:
    """The big-endian signed integer of so many bytes."""
    value = np.int64(np.int8(data[position]))
    for index in range(position + 1, position + size):
        value = value << np.int64(8) | np.int64(data[index])
    return value


@compiled
def signed_at(data: Bytes, position: int, end: int, most: int) -> tuple[int, int]:
    """The zigzag integer of at most `most` bytes, and the position behind it, or -1."""
    value = np.uint64(0)
    for index in range(most):
        if position + index >= end:
            return 0, -1
        byte = np.uint64(data[position + index])
        value |= (byte & np.uint64(0x7F)) << np.uint64(7 * index)
        if byte < 0x80:
            if most == 5:
                value &= np.uint64(0xFFFFFFFF)
            return (
                np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)),
                position + index + 1,
            )
    return 0, -1


@compiled
def skip_bytes(data: Bytes, position: int, end: int) -> tuple[int, int]:
    """The length of a field, and the position behind the field; -1, or -2 if it does not fit."""
    size, position = signed_at(data, position, end, 5)
    if position < 0:
        return 0, -1
    if size < 0:
        return size, position
    if size > end - position:
        return 0, -2
    return size, position + size


@compiled
def skip_headers(data: Bytes, position: int, end: int) -> int:
    """The position behind the headers of a record; negative if they are malformed."""
    count, position = signed_at(data, position, end, 5)
    if position < 0:
        return -INTEGER
    if count < 0 or count > end - position:
        return -HEADERS
    for _ in range(count):
        size, position = skip_bytes(data, position, end)
        if position >= 0:
            if size < 0:
                return -HEADERS
            size, position = skip_bytes(data, position, end)
        if position < 0:
            return -INTEGER if position == -1 else -FIELD
    return position


@compiled
def check_records(data: Bytes, start: int, end: int, row: Any) -> tuple[int, int]:
    """The first fault of the records between two positions, and where it is; NONE if none.

    Records that cannot be read precede records that contradict the header.
    """
    position = start
    latest = np.int64(-(2**63))
    last = np.int64(-1)
    unordered = np.int64(-1)
    for _ in range(row.count):
        size, body = signed_at(data, position, end, 5)
        if body < 0:
            return INTEGER, position
        if size < 1 or size > end - body:
            return RECORD, position
        behind = body + size
        time, next_field = signed_at(data, body + 1, behind, 10)
        if next_field < 0:
            return INTEGER, position
        delta, next_field = signed_at(data, next_field, behind, 5)
        if next_field < 0:
            return INTEGER, position
        for _ in range(2):  # key and value
            _, next_field = skip_bytes(data, next_field, behind)
            if next_field < 0:
                return (INTEGER if next_field == -1 else FIELD), position
        if next_field < behind and data[next_field] == 0:
            next_field += 1
        else:
            next_field = skip_headers(data, next_field, behind)
            if next_field < 0:
                return -next_field, position
        if next_field != behind:
            return RECORD, position
        if unordered < 0 and (delta <= last or delta > row.last_delta):
            unordered = position
        last = delta
        latest = max(latest, time)
        position = behind
    if position != end:
        return REST, position
    if unordered >= 0:
        return OFFSETS, unordered
    if not row.attributes & APPEND_TIME and row.base_timestamp + latest != row.max_timestamp:
        return TIMES, start
    return NONE, 0


@compiled
def check_header(data: Bytes, position: int, row: Any) -> int:
    """The fault in the header of a batch of format 2, whose size fits."""
    if row.size < HEADER_SIZE:
        return LENGTH
    row.crc = np.uint32(number_at(data, position + 17, 4))
    row.attributes = number_at(data, position + 21, 2)
    row.last_delta = number_at(data, position + 23, 4)
    row.base_timestamp = number_at(data, position + 27, 8)
    row.max_timestamp = number_at(data, position + 35, 8)
    row.producer_id = number_at(data, position + 43, 8)
    row.producer_epoch = number_at(data, position + 51, 2)
    row.base_sequence = number_at(data, position + 53, 4)
    row.count = number_at(data, position + 57, 4)
    if crc32c(data, position + COVERED_FROM, position + row.size) != np.int64(row.crc):
        return CHECKSUM
    if row.count < 0:
        return COUNT
    if row.attributes & CODEC > 4:
        return BAD_CODEC
    return NONE


@compiled
def scan(data: Bytes, position: int, rows: Rows) -> tuple[int, int, int]:
    """Read batches from a position on, until the rows are full or the data ends.

    Returns how many rows were read, the position behind them, and the fault that ended the scan.
    Records of compressed batches, and formats 0 and 1, are left to the caller.
    """
    end = len(data)
    for number in range(len(rows)):
        if position == end:
            return number, position, NONE
        if position + UP_TO_MAGIC > end:
            return number, position, CUT_OFF
        length = number_at(data, position + 8, 4)
        if length < LEAST_LENGTH:
            return number, position, LENGTH
        size = OVERHEAD + length
        if size > end - position:
            return number, position, CUT_OFF
        row = rows[number]
        row.position = position
        row.size = size
        row.base_offset = number_at(data, position, 8)
        row.magic = data[position + 16]
        row.leader_epoch = -1
        row.fault = NONE
        row.fault_at = position
        row.count = 0
        row.attributes = 0
        row.last_delta = 0
        row.producer_id = -1
        row.producer_epoch = -1
        row.base_sequence = -1
        row.base_timestamp = -1
        row.max_timestamp = -1
        row.crc = 0
        if row.magic < 0 or row.magic > 2:
            row.fault = FORMAT
        elif row.magic == 2:
            row.leader_epoch = number_at(data, position + 12, 4)
            row.fault = check_header(data, position, row)
            if row.fault == NONE:
                if row.count == 0 and row.last_delta < 0:
                    row.fault = OFFSETS
                elif row.count and not row.attributes & CODEC:
                    row.fault, row.fault_at = check_records(
                        data, position + HEADER_SIZE, position + size, row
                    )
        position += size
    return len(rows), position, NONE
