"""The indexes beside a segment: offset index, time index, aborted transactions.

An active segment's indexes are allocated in advance: the entries are followed by zeros.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
ABORTED_ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("stable_offset", ">i8"),
    ]
)


class DamagedFile(Exception):
    """A file that cannot be read, and the byte from which on."""

    def __init__(self, reason: str, position: int = 0) -> None:
        super().__init__(reason)
        self.position = position


class Entries(NamedTuple):
    """The entries of an index: two columns."""

    offsets: np.ndarray[Any, Any]
    """The offset of each entry."""
    others: np.ndarray[Any, Any]
    """The position of each entry in the segment, or its timestamp."""
    size: int
    """The bytes of an entry."""


def read_offset_index(data: bytes, base_offset: int) -> Entries:
    """The entries of a `.index`: offsets, and positions in the segment."""
    found = entries(data, OFFSET_ENTRY)
    return Entries(
        found["offset"].astype(np.int64) + base_offset, found["position"].astype(np.int64), 8
    )


def read_time_index(data: bytes, base_offset: int) -> Entries:
    """The entries of a `.timeindex`: offsets, and the greatest time up to each."""
    found = entries(data, TIME_ENTRY)
    return Entries(
        found["offset"].astype(np.int64) + base_offset, found["timestamp"].astype(np.int64), 12
    )


def read_aborted(data: bytes) -> np.ndarray[Any, Any]:
    """The entries of a `.txnindex`: transactions whose abort marker is in the segment."""
    return whole_entries(data, ABORTED_ENTRY)


def entries(data: bytes, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The entries of an index, without the zeros that follow them."""
    used = len(data.rstrip(b"\0"))
    return whole_entries(data, kind)[: -(-used // kind.itemsize)]


def whole_entries(data: bytes, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The entries of a file that ends with an entry."""
    rest = len(data) % kind.itemsize
    if rest:
        raise DamagedFile(f"the last entry is cut off after {rest} bytes", len(data) - rest)
    return np.frombuffer(data, kind)
