"""`impl.storage` reads and writes as `spec.storage` states; damaged bytes are found or harmless."""

from __future__ import annotations

import struct
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pytest

from kspec.impl.storage.codecs import CompressionError, Decompressor, TooLong
from kspec.impl.storage.crc import HAS_INSTRUCTION, crc_by_instruction, crc_by_table
from kspec.impl.storage.records import StoredRecord
from kspec.impl.storage.scan import Fault
from kspec.impl.storage.segment import Segment
from kspec.impl.storage.writer import encode_batch
from kspec.spec.storage.checksum import crc32c
from kspec.spec.storage.compression import Codec, compress
from kspec.spec.storage.legacy_records import read_legacy
from kspec.spec.storage.record_batch import (
    NOT_COVERED,
    Record,
    RecordBatch,
    contradictions,
    read_batch,
    write_batch,
)
from kspec.spec.storage.varint import Malformed
from tests.spec.storage.draws import damage, draw_batch, draw_bytes, with_checksum
from tests.spec.storage.test_files import DAMAGED_LEGACY
from tests.spec.storage.test_kafka_bytes import RECORDED

DECOMPRESSOR = Decompressor()


def stored(batch: RecordBatch) -> list[StoredRecord]:
    """The records of a batch as `impl` has them."""
    return [
        StoredRecord(
            batch.offset(record),
            batch.timestamp(record),
            record.key,
            record.value,
            tuple((header.key, header.value) for header in record.headers),
        )
        for record in batch.records
    ]


def fields(batch: RecordBatch) -> tuple[int, ...]:
    """The header of a batch as `impl` has it."""
    return (
        batch.base_offset,
        batch.last_offset_delta,
        batch.leader_epoch,
        batch.attributes,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        len(batch.records),
    )


NAMES = (
    "base_offset",
    "last_delta",
    "leader_epoch",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "count",
)


def check_same(data: bytes) -> Fault | None:
    """Read one batch by `impl` and by `spec`; the fault that both find, if there is one."""
    with Segment(data, DECOMPRESSOR, chunk=1) as segment:
        rows = next(segment.batches(), None)
        try:
            batch = read_batch(data)
        except Malformed:
            fault = Fault(segment.ended_by if rows is None else rows[0]["fault"])
            assert Fault.NONE < fault < Fault.OFFSETS
            return fault
        assert rows is not None
        (row,) = rows
        assert tuple(int(row[name]) for name in NAMES) == fields(batch)
        assert bool(list(contradictions(batch))) == (row["fault"] >= Fault.OFFSETS)
        if row["fault"] < Fault.OFFSETS:
            assert row["fault"] == Fault.NONE
        assert segment.records(row) == stored(batch)
        return Fault(row["fault"]) or None


def test_batches_are_read_as_the_specification_reads_them() -> None:
    chance = Random("valid batches")
    for _ in range(150):
        assert check_same(write_batch(draw_batch(chance))) is None


@pytest.mark.slow
def test_damaged_batches_are_refused_as_the_specification_refuses_them() -> None:
    chance = Random("damaged batches")
    found = {check_same(damage(chance)) for _ in range(1500)}
    assert found >= {
        None,
        Fault.COUNT,
        Fault.RECORD,
        Fault.FIELD,
        Fault.HEADERS,
        Fault.REST,
        Fault.OFFSETS,
        Fault.TIMES,
    }


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    data = bytearray(write_batch(RecordBatch(0, 0, (Record(0),))))
    data[22] |= codec
    assert check_same(with_checksum(bytes(data))) is Fault.CODEC


def test_a_negative_number_of_records_is_refused() -> None:
    data = bytearray(write_batch(RecordBatch(0, 0)))
    data[57:61] = b"\xff" * 4
    assert check_same(with_checksum(bytes(data))) is Fault.COUNT


def test_bits_of_an_integer_beyond_32_are_ignored() -> None:
    record = b"\0\0\0" + b"\x82\x80\x80\x80\x70" + b"k" + b"\1\0"  # a key of one byte
    head = write_batch(RecordBatch(0, 0, (Record(0),), base_timestamp=5, max_timestamp=5))[:61]
    data = with_checksum(head + bytes((2 * len(record),)) + record)
    assert read_batch(data).records == (Record(0, b"k"),)
    assert check_same(data) is None


def test_old_formats_are_read_as_the_specification_reads_them() -> None:
    for call, data in RECORDED["write"]:
        if call.split()[1] == "2":
            assert check_same(bytes.fromhex(data)) is None
            continue
        records = read_legacy(bytes.fromhex(data))
        with Segment(bytes.fromhex(data)) as segment:
            (rows,) = segment.batches()
            found = segment.records(rows[0])
        wanted = [StoredRecord(r.offset, r.timestamp, r.key, r.value, ()) for r in records]
        assert found == wanted
        assert rows[0]["base_offset"] == records[0].offset


@pytest.mark.parametrize("data", DAMAGED_LEGACY)
def test_damaged_records_of_old_formats_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_legacy(data)
    with Segment(data) as segment:
        (rows,) = segment.batches()
    assert rows[0]["fault"] == Fault.LEGACY
    assert segment.reasons[0]


def test_both_checksums_are_that_of_the_specification() -> None:
    chance = Random("checksums")
    for size in (0, 1, 7, 8, 9, 63, 64, 1000):
        data = chance.randbytes(size)
        array = np.frombuffer(data, np.uint8)
        assert crc_by_table(array, 0, size) == crc32c(data)
        if HAS_INSTRUCTION:
            assert crc_by_instruction(array, 0, size) == crc32c(data)


def test_batches_are_written_as_the_specification_writes_them() -> None:
    chance = Random("written batches")
    for _ in range(30):
        records = [
            (10**12 + chance.randrange(-9, 99), draw_bytes(chance, 20), draw_bytes(chance, 300))
            for _ in range(chance.randint(1, 40))
        ]
        first = records[0][0]
        batch = RecordBatch(
            base_offset=0,
            last_offset_delta=len(records) - 1,
            records=tuple(
                Record(number, key, value, time - first)
                for number, (time, key, value) in enumerate(records)
            ),
            base_timestamp=first,
            max_timestamp=max(time for time, _, _ in records),
            producer_id=7,
            producer_epoch=1,
            base_sequence=3,
        )
        data = encode_batch(records, producer_id=7, producer_epoch=1, base_sequence=3)
        assert data == write_batch(batch)


# -- flipped bits ---------------------------------------------------------------------------------


def segment_of_every_codec() -> tuple[bytes, list[tuple[int, int]]]:
    """Batches one after the other, and where each begins and ends."""
    chance = Random("a segment")
    data, places, offset = b"", [], 0
    for number in range(20):
        batch = draw_batch(chance, Codec(number % 5))
        records = write_batch(batch)
        batch_data = struct.pack(">q", offset) + records[8:]
        places.append((len(data), len(data) + len(batch_data)))
        data += batch_data
        offset += batch.last_offset_delta + 1
    return data, places


def faults(data: bytes) -> list[Any]:
    """Every fault of a segment, and what ended it."""
    with Segment(data, DECOMPRESSOR) as segment:
        found = [fault for rows in segment.batches() for fault in rows["fault"].tolist()]
    return [*found, segment.ended_by]


def flip(count: int) -> None:
    """Flip random bits: each is found, or in bytes that the checksum does not cover."""
    data, places = segment_of_every_codec()
    assert not any(faults(data))
    chance = Random("flipped bits")
    harmless = set(chain(NOT_COVERED["base offset"], NOT_COVERED["leader epoch"]))
    starts = {start + at for start, _ in places for at in harmless}
    array = bytearray(data)
    for _ in range(count):
        at, bit = chance.randrange(len(array)), 1 << chance.randrange(8)
        array[at] ^= bit
        assert any(faults(bytes(array))) == (at not in starts), (at, bit)
        array[at] ^= bit


def test_a_flipped_bit_is_found_or_not_covered() -> None:
    flip(400)


@pytest.mark.slow
def test_each_of_ten_thousand_flipped_bits_is_found_or_not_covered() -> None:
    flip(10_000)


# -- hostile bytes --------------------------------------------------------------------------------


def test_random_bytes_are_read_to_an_end() -> None:
    chance = Random("random bytes")
    good, _ = segment_of_every_codec()
    for _ in range(400):
        data = bytearray(good[: chance.randrange(200, 3000)])
        for _ in range(chance.randint(1, 30)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        assert any(faults(bytes(data)))
        faults(chance.randbytes(chance.randrange(300)))


@pytest.mark.parametrize("length", [0, -1, 13, -(2**31), 2**31 - 1, 2**31 - 13])
def test_a_length_that_no_batch_has_ends_the_segment(length: int) -> None:
    data = write_batch(RecordBatch(0, 0, (Record(0),)))
    with Segment(data + data[:8] + struct.pack(">i", length) + data[12:]) as segment:
        assert sum(len(rows) for rows in segment.batches()) == 1
        assert segment.end == len(data)
        assert segment.ended_by in (Fault.LENGTH, Fault.CUT_OFF)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_is_refused_in_bounded_memory(codec: Codec) -> None:
    decompressor = Decompressor(most=2**20)
    bomb = compress(codec, b"\0" * 2**22)
    with pytest.raises(TooLong):
        decompressor.decompress(codec, bomb)
    assert len(decompressor._room) <= 2**20
    for damaged in (bomb[: len(bomb) // 2], b"\0" * 20):
        with pytest.raises(CompressionError):
            decompressor.decompress(codec, damaged)
    batch = RecordBatch(0, 0, (Record(0, value=b"\0" * 2**21),), codec=codec)
    with Segment(write_batch(batch), decompressor) as segment:
        (rows,) = segment.batches()
    assert rows[0]["fault"] == Fault.TOO_LONG
