"""A segment file, read in memory of fixed size: its batches, chunk by chunk, and their records."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from kspec.impl.storage.codecs import CompressionError, Decompressor, TooLong
from kspec.impl.storage.legacy import LegacyBatch, LegacyError, read_legacy
from kspec.impl.storage.records import StoredRecord, decode_records
from kspec.impl.storage.scan import (
    APPEND_TIME,
    BATCH,
    CODEC,
    HEADER_SIZE,
    NONE,
    Fault,
    Rows,
    check_records,
    scan,
)

CHUNK = 2**15
"""How many batches are read at a time."""


def mapped(path: Path) -> mmap.mmap | bytes:
    """The content of a file, mapped into memory until nothing refers to it."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Segment:
    """A segment file, mapped into memory.

    A file must not be truncated while it is read: the process would be killed. Appending to it and
    deleting it are harmless.
    """

    def __init__(
        self, data: bytes | Path, decompressor: Decompressor | None = None, chunk: int = CHUNK
    ) -> None:
        self.decompressor = decompressor or Decompressor()
        self.end = 0
        """The position behind the last batch that was read."""
        self.ended_by = Fault.NONE
        """What stands behind that position, if it is not the end of the file."""
        self.reasons: dict[int, str] = {}
        """More about faults in compressed and legacy batches, by position."""
        self._chunk = chunk
        self.data: np.ndarray[Any, Any] = np.frombuffer(
            mapped(data) if isinstance(data, Path) else data, np.uint8
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.data = np.empty(0, np.uint8)

    def batches(self) -> Iterator[Rows]:
        """Every batch, checked; each array is valid until the next one."""
        rows = np.zeros(self._chunk, BATCH)
        while self.end < len(self.data) and not self.ended_by:
            number, self.end, fault = scan(self.data, self.end, rows)
            self.ended_by = Fault(fault)
            found = rows[:number]
            for index in np.flatnonzero(found["magic"] < 2):
                if found[index]["fault"] == NONE:
                    self._check_legacy(found[index])
            compressed = (found["attributes"] & CODEC != 0) & (found["count"] > 0)
            compressed &= (found["magic"] == 2) & (found["fault"] == NONE)
            for index in np.flatnonzero(compressed):
                self._check_compressed(found[index])
            if number:
                yield found

    def bytes_of(self, row: Any) -> bytes:
        """The bytes of a batch."""
        position = int(row["position"])
        return self.data[position : position + int(row["size"])].tobytes()

    def _body(self, row: Any) -> np.ndarray[Any, Any]:
        """The bytes of a batch behind its header."""
        position = int(row["position"])
        return self.data[position + HEADER_SIZE : position + int(row["size"])]

    def records(self, row: Any) -> list[StoredRecord]:
        """The records of a batch without fault."""
        if row["magic"] < 2:
            return list(self.legacy(row).records)
        if not row["count"]:
            return []
        body = self._body(row)
        if codec := int(row["attributes"]) & CODEC:
            body = self.decompressor.decompress(codec, body.tobytes())
        append_time = int(row["max_timestamp"]) if row["attributes"] & APPEND_TIME else None
        return list(
            decode_records(
                body.tobytes(),
                int(row["count"]),
                int(row["base_offset"]),
                int(row["base_timestamp"]),
                append_time,
            )
        )

    def legacy(self, row: Any) -> LegacyBatch:
        """A batch of format 0 or 1; `LegacyError` if it is damaged."""
        return read_legacy(self.bytes_of(row), self.decompressor)

    def _check_legacy(self, row: Any) -> None:
        try:
            batch = self.legacy(row)
        except LegacyError as error:
            row["fault"] = Fault.LEGACY
            self.reasons[int(row["position"])] = str(error)
            return
        last, first = int(row["base_offset"]), batch.records[0].offset
        row["base_offset"], row["last_delta"] = first, min(last - first, 2**31 - 1)
        row["count"], row["crc"] = len(batch.records), batch.crc
        row["attributes"], row["base_timestamp"] = batch.attributes, batch.records[0].timestamp
        row["max_timestamp"] = batch.timestamp

    def _check_compressed(self, row: Any) -> None:
        codec = int(row["attributes"]) & CODEC
        try:
            text = self.decompressor.decompress(codec, self._body(row).tobytes())
        except CompressionError as error:
            row["fault"] = Fault.TOO_LONG if isinstance(error, TooLong) else Fault.COMPRESSION
            self.reasons[int(row["position"])] = str(error)
            return
        row["fault"], _ = check_records(text, 0, len(text), row)
