"""The latest record of each key in a run of batches, in compiled code.

For compacted topics, where most records are replaced soon: only the last record of a key becomes a
Python object. Whole keys are compared, not their hashes.
"""

from __future__ import annotations

# mypy: ignore-errors
# Numba determines the types of compiled code.
import numpy as np

from kspec.impl.compiled import compiled
from kspec.impl.storage.crc import Bytes
from kspec.impl.storage.scan import CODEC, CONTROL, HEADER_SIZE, Rows, signed_at

LATEST = np.dtype(
    [
        ("key", "i8"),
        ("value", "i8"),
        ("offset", "i8"),
        ("size", "i8"),
        ("dead", "i8"),
        ("hash", "u8"),
        ("key_size", "i4"),
        ("value_size", "i4"),
        ("is_deleted", "?"),
    ],
    align=True,
)
"""The latest record of a key: where its key and its value are (size -1: a tombstone), its offset,
its share of the batch's bytes, the bytes of its predecessors in the run since the last tombstone,
and whether the run has a tombstone of the key."""


def is_plain(rows: Rows) -> Rows:
    """Which batches may be in a run: format 2, data, not compressed, without a producer."""
    special = rows["attributes"] & (CODEC | CONTROL) != 0
    return (rows["magic"] == 2) & (rows["producer_id"] < 0) & ~special


@compiled
def latest_in_run(data: Bytes, rows: Rows, found: Rows, slots: Bytes) -> tuple[int, int]:
    """Fill `found` with the latest record of each key; how many there are, and the tombstones.

    The batches must have been found to be sound. `found` has room for each record, and `slots`,
    twice as many as a power of two and filled with -1, for each key. A record without a key ends
    the run: -1.
    """
    mask = len(slots) - 1
    count = 0
    tombstones = 0
    for number in range(len(rows)):
        row = rows[number]
        rest = np.int64(row.size)
        total = np.int64(0)
        for is_second in range(2):  # first the weights, then the records
            position = row.position + HEADER_SIZE
            end = row.position + row.size
            for _ in range(row.count):
                size, body = signed_at(data, position, end, 5)
                behind = body + size
                _, at = signed_at(data, body + 1, behind, 10)
                delta, at = signed_at(data, at, behind, 5)
                key_size, key = signed_at(data, at, behind, 5)
                if key_size < 0:
                    return -1, 0
                value_size, value = signed_at(data, key + key_size, behind, 5)
                weight = key_size + max(value_size, 0) + 1
                position = behind
                if not is_second:
                    total += weight
                    continue
                share = rest * weight // total
                rest -= share
                total -= weight
                hashed = np.uint64(14695981039346656037)
                for index in range(key, key + key_size):
                    hashed = (hashed ^ np.uint64(data[index])) * np.uint64(1099511628211)
                slot = np.int64((hashed ^ (hashed >> np.uint64(32))) & np.uint64(mask))
                while slots[slot] >= 0:
                    other = found[slots[slot]]
                    if other.hash == hashed and other.key_size == key_size:
                        same = True
                        for index in range(key_size):
                            if data[other.key + index] != data[key + index]:
                                same = False
                                break
                        if same:
                            break
                    slot = (slot + 1) & mask
                is_new = slots[slot] < 0
                if is_new:
                    slots[slot] = count
                    count += 1
                entry = found[slots[slot]]
                if is_new:
                    entry.dead = 0
                    entry.is_deleted = False
                elif entry.value_size >= 0:
                    entry.dead += entry.size
                if value_size < 0:
                    tombstones += 1
                    entry.dead = 0
                    entry.is_deleted = True
                entry.key = key
                entry.key_size = key_size
                entry.value = value
                entry.value_size = value_size
                entry.offset = row.base_offset + delta
                entry.size = share
                entry.hash = hashed
    return count, tombstones
