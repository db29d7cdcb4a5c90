"""The bytes of record batches and what is in them."""

from __future__ import annotations

import gzip
import zlib
from itertools import chain
from random import Random
from typing import Any

import attrs
import cramjam
import pytest

from kspec.spec.storage import compression
from kspec.spec.storage.checksum import crc32c
from kspec.spec.storage.compression import SNAPPY_HEADER, Codec, MissingCodec, TooLong, decompress
from kspec.spec.storage.control_records import TransactionMarker, read_marker, write_marker
from kspec.spec.storage.record_batch import (
    HEADER,
    NOT_COVERED,
    Header,
    Record,
    RecordBatch,
    contradictions,
    read_batch,
    size_of_batch,
    write_batch,
)
from kspec.spec.storage.varint import (
    Malformed,
    read_unsigned,
    read_varint,
    read_varlong,
    write_unsigned,
    write_varint,
)
from tests.spec.storage.draws import draw_batch

BATCH = RecordBatch(
    base_offset=5,
    last_offset_delta=2,
    records=(
        Record(0, b"k", b"v"),
        Record(1, None, None, 1, (Header(b"h", None),)),
        Record(2, b"", b"x" * 70, -1),
    ),
    leader_epoch=3,
    base_timestamp=1000,
    max_timestamp=1001,
    producer_id=9,
    producer_epoch=1,
    base_sequence=2**31 - 2,
)
"""A small batch."""


# -- integers and checksums -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (2**31 - 1, "feffffff0f"),
    ],
)
def test_small_numbers_take_few_bytes(value: int, encoded: str) -> None:
    assert write_varint(value) == bytes.fromhex(encoded)
    assert read_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


def test_integers_of_64_bits_take_ten_bytes() -> None:
    for value in (-(2**63), 2**63 - 1, 2**35):
        data = b"x" + write_varint(value)
        assert read_varlong(data, 1) == (value, len(data))


@pytest.mark.parametrize("data", ["", "80", "8080", "ffffffffff01"])
def test_an_integer_that_is_cut_off_or_too_long_is_malformed(data: str) -> None:
    with pytest.raises(Malformed):
        read_unsigned(bytes.fromhex(data), 0)


def test_a_longer_encoding_than_necessary_is_read() -> None:
    assert read_unsigned(bytes.fromhex("8000"), 0) == (0, 2)
    assert write_unsigned(300) == bytes.fromhex("ac02")


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


# -- batches --------------------------------------------------------------------------------------


def test_a_batch_is_read_as_it_was_written() -> None:
    chance = Random("batches")
    for codec in Codec:
        for _ in range(8):
            batch = draw_batch(chance, codec)
            data = write_batch(batch)
            assert read_batch(data) == batch
            assert size_of_batch(b"..." + data, 3) == len(data)
            assert not list(contradictions(batch))


def test_the_header_has_61_bytes_at_kafkas_positions() -> None:
    data = write_batch(BATCH)
    assert HEADER.size == 61
    assert data[:8] == (5).to_bytes(8)
    assert data[12:17] == (3).to_bytes(4) + b"\2"
    assert data[57:61] == (3).to_bytes(4)
    assert BATCH.last_sequence == 0  # 0 follows the greatest number
    assert attrs.evolve(BATCH, base_sequence=-1).last_sequence == -1


def test_each_bit_that_the_checksum_covers_is_found() -> None:
    """Only the base offset, the leader epoch and the magic byte are not covered."""
    data = write_batch(BATCH)
    unnoticed = set()
    for at in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            try:
                read_batch(bytes(flipped))
                unnoticed.add(at)
            except Malformed:
                pass
    assert unnoticed == {*NOT_COVERED["base offset"], *NOT_COVERED["leader epoch"]}
    assert set(chain(*NOT_COVERED.values())) - unnoticed == {16}  # another format is no format 2


def test_a_batch_without_records_is_not_read_behind_its_header() -> None:
    empty = attrs.evolve(BATCH, records=(), codec=Codec.ZSTD)
    assert read_batch(write_batch(empty)) == empty


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"last_offset_delta": -1}, "the last offset delta is -1"),
        ({"last_offset_delta": 1}, "the offset deltas of the records do not increase to 1"),
        ({"records": BATCH.records[::-1]}, "do not increase to 2"),
        ({"max_timestamp": 1000}, "the maximum timestamp is 1000, that of the records 1001"),
    ],
)
def test_a_batch_that_no_broker_stores_contradicts_itself(change: dict[str, Any], why: str) -> None:
    batch = attrs.evolve(BATCH, **change)
    assert read_batch(write_batch(batch)) == batch
    assert any(why in one for one in contradictions(batch))


def test_the_brokers_time_replaces_that_of_each_record() -> None:
    batch = attrs.evolve(BATCH, is_log_append_time=True, max_timestamp=5)
    assert {batch.timestamp(record) for record in batch.records} == {5}
    assert not list(contradictions(batch))


def test_a_transaction_marker_is_read_as_it_was_written() -> None:
    for marker in (TransactionMarker(True, 7), TransactionMarker(False, 2**31 - 1)):
        assert read_marker(write_marker(marker)) == marker
    assert read_marker(Record(0, key=b"\0\0\0\x02", value=b"")) is None  # KRaft's
    for key, value in ((None, b""), (b"\0", b""), (b"\xff\xff\0\0", b""), (b"\0\0\0\0", b"\0")):
        with pytest.raises(Malformed):
            read_marker(Record(0, key=key, value=value))


# -- compression ----------------------------------------------------------------------------------

BOMB = b"\0" * 2**21
"""Text that compresses well."""


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_no_more_is_decompressed_than_allowed(codec: Codec) -> None:
    data = compression.compress(codec, BOMB)
    assert len(data) < len(BOMB) / 10
    assert decompress(codec, data, len(BOMB)) == BOMB
    with pytest.raises(TooLong):
        decompress(codec, data, 2**20)


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_a_damaged_stream_is_malformed(codec: Codec) -> None:
    data = compression.compress(codec, bytes(range(256)) * 9)
    for damaged in (data[:-1], data[: len(data) // 2], b"", b"\0" * 9, data[:5] + b"\xff" * 9):
        if codec is Codec.GZIP and damaged == b"":
            continue
        with pytest.raises(Malformed):
            assert len(decompress(codec, damaged)) == 256 * 9


def test_streams_of_other_writers_are_read() -> None:
    two = gzip.compress(b"one ") + gzip.compress(b"two")
    assert decompress(Codec.GZIP, two) == b"one two"
    bare = bytes(cramjam.snappy.compress_raw(b"text"))
    assert decompress(Codec.SNAPPY, bare) == b"text"
    framed = SNAPPY_HEADER + len(bare).to_bytes(4) + bare
    assert decompress(Codec.SNAPPY, framed * 2) == b"texttext"
    with pytest.raises(Malformed, match="depend on others"):
        decompress(Codec.LZ4, bytes(cramjam.lz4.compress(b"text")))
    assert zlib.decompress(compression.compress(Codec.GZIP, b"text"), 31) == b"text"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cramjam", None)
    with pytest.raises(MissingCodec, match=r"install the extra storage"):
        decompress(Codec.ZSTD, b"")
