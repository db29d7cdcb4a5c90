"""Kafka's files of the producer state, such as `00000000000000000042.snapshot`."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, MutableMapping
from pathlib import Path
from typing import NamedTuple

from crc32c import crc32c

_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ROW = struct.Struct(">qhiqiqiq")
_VERSION = 1
_SUFFIX = ".snapshot"


class CorruptSnapshot(Exception):
    """A file that is not a snapshot, or not the one that was written."""


class Row(NamedTuple):
    """What a snapshot says of a producer; -1 stands for what is missing."""

    producer: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_start: int


def encode(rows: Iterable[Row]) -> bytes:
    """The file with these rows, in this order."""
    data = bytearray(_HEAD.size + _COUNT.size)
    pack, count = _ROW.pack, 0
    for row in rows:
        data += pack(*row)
        count += 1
    _COUNT.pack_into(data, _HEAD.size, count)
    _HEAD.pack_into(data, 0, _VERSION, crc32c(memoryview(data)[_HEAD.size :]))
    return bytes(data)


def decode(data: bytes) -> Iterator[Row]:
    """The rows of a file, after it was checked."""
    start = _HEAD.size + _COUNT.size
    if len(data) < start:
        raise CorruptSnapshot(f"it has {len(data)} bytes")
    version, checksum = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version} is unknown")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    if count < 0 or len(data) < start + count * _ROW.size:
        raise CorruptSnapshot(f"{count} producers do not fit into {len(data)} bytes")
    if crc32c(memoryview(data)[_HEAD.size :]) != checksum:
        raise CorruptSnapshot("its checksum is wrong")
    rows = memoryview(data)[start : start + count * _ROW.size]
    return map(Row._make, _ROW.iter_unpack(rows))


class SnapshotFiles(MutableMapping[int, bytes]):
    """The snapshots in a partition's folder, by their offset."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, offset: int) -> Path:
        """The file of an offset."""
        return self._folder / f"{offset:020d}{_SUFFIX}"

    def __getitem__(self, offset: int) -> bytes:
        try:
            return self.path(offset).read_bytes()
        except FileNotFoundError:
            raise KeyError(offset) from None

    def __setitem__(self, offset: int, data: bytes) -> None:
        """Write a file so that it is there whole or not at all."""
        unfinished = self._folder / f"{offset:020d}{_SUFFIX}.tmp"
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path(offset))

    def __delitem__(self, offset: int) -> None:
        try:
            self.path(offset).unlink()
        except FileNotFoundError:
            raise KeyError(offset) from None

    def __iter__(self) -> Iterator[int]:
        """The offsets, smallest first."""
        names = (path.name.removesuffix(_SUFFIX) for path in self._folder.glob(f"*{_SUFFIX}"))
        return iter(sorted(int(name) for name in names if name.isdecimal()))

    def __len__(self) -> int:
        return sum(1 for _ in self)
