"""The file of a snapshot of the producer state: `OFFSET.snapshot` in a partition's folder.

    version     int16    1
    crc         uint32   CRC-32C of what follows
    producers   int32    how many entries follow, 46 bytes each:
        producer id int64, epoch int16, last sequence int32, last offset int64, offset delta int32,
        timestamp int64, coordinator epoch int32, first offset of the open transaction int64

All numbers are big-endian; -1 stands for what is missing. Kafka:
`ProducerStateManager.writeSnapshot`, `ProducerSnapshot.json` [4.2.0]. The order of
the entries is that of a Java HashMap, which nothing depends on; here it is the order given.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kspec.spec.core import SpecError
from kspec.spec.producer.entries import NO_SEQUENCE, BatchMetadata, ProducerEntry
from kspec.spec.storage.checksum import crc32c

VERSION = 1
"""The only version of the file."""
HEAD = struct.Struct(">hIi")
ENTRY = struct.Struct(">qhiqiqiq")
CHECKED_FROM = 6
"""Where the checksummed part begins."""


def encode(entries: Iterable[ProducerEntry]) -> bytes:
    """The file of some entries; of each, only the last batch is written."""
    rows = []
    for entry in entries:
        last = entry.batches[-1] if entry.batches else BatchMetadata(NO_SEQUENCE, -1, 0, -1)
        start = entry.transaction_start
        rows.append(
            ENTRY.pack(
                entry.producer,
                entry.epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if start is None else start,
            )
        )
    body = struct.pack(">i", len(rows)) + b"".join(rows)
    return struct.pack(">hI", VERSION, crc32c(body)) + body


def decode(data: bytes) -> tuple[ProducerEntry, ...]:
    """The entries of a file; SpecError where it is corrupt, as Kafka rejects it.

    A remembered batch has the entry's timestamp. A corrupt snapshot is deleted, and the one before
    it is loaded.
    """
    if len(data) < HEAD.size:
        raise SpecError(f"the snapshot is cut off: it has {len(data)} bytes")
    version, crc, count = HEAD.unpack_from(data)
    if version != VERSION:
        raise SpecError(f"the snapshot has version {version}, which is unknown")
    if count < 0 or len(data) < HEAD.size + count * ENTRY.size:
        raise SpecError(f"the snapshot is cut off: {count} entries do not fit")
    if crc32c(data[CHECKED_FROM:]) != crc:
        raise SpecError("the snapshot's checksum is wrong")
    body = data[HEAD.size : HEAD.size + count * ENTRY.size]
    return tuple(entry_of(*row) for row in ENTRY.iter_unpack(body))


def entry_of(
    producer: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    transaction_start: int,
) -> ProducerEntry:
    """The entry of a row."""
    last = BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)
    return ProducerEntry(
        producer,
        epoch,
        (last,) if last_offset >= 0 else (),
        coordinator_epoch,
        timestamp,
        transaction_start if transaction_start >= 0 else None,
    )
