"""Checkpoints, metadata, and the records of coordinators."""

from __future__ import annotations

import struct
import zlib
from random import Random

import pytest

from kspec.spec.leader_epochs import EpochEntry
from kspec.spec.storage.checkpoints import (
    MetaProperties,
    read_leader_epochs,
    read_meta_properties,
    read_offsets,
    read_topic_id,
    write_leader_epochs,
    write_offsets,
    write_topic_id,
)
from kspec.spec.storage.compression import Codec, compress
from kspec.spec.storage.coordinator_records import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    CoordinatorRecord,
    read_record,
    write_record,
)
from kspec.spec.storage.legacy_records import LegacyRecord, read_legacy
from kspec.spec.storage.varint import Malformed
from kspec.spec.vocabulary import TopicPartition
from tests.spec.storage.draws import draw_message


def test_checkpoints_are_read_as_they_were_written() -> None:
    epochs = (EpochEntry(0, 0), EpochEntry(4, 17))
    assert write_leader_epochs(epochs) == "0\n2\n0 0\n4 17\n"
    assert read_leader_epochs(write_leader_epochs(epochs)) == epochs
    offsets = {TopicPartition("a-b", 3): 7, TopicPartition("c", 0): 2**40}
    assert read_offsets(write_offsets(offsets)) == offsets
    assert read_offsets("") == read_offsets("0\n") == {}  # Kafka creates an empty file first


@pytest.mark.parametrize(
    "text",
    ["1\n0\n", "x", "0\nx\n", "0\n2\na 0 1\n", "0\n1\na 0\n", "0\n1\na 0 x\n", "0\n1\na  0 1 2"],
)
def test_a_damaged_checkpoint_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        read_offsets(text)


def test_metadata_is_read_as_kafka_reads_it() -> None:
    topic_id = "q1vK0FfQSoGVBcZ2VCxkyA"
    assert read_topic_id(write_topic_id(topic_id)) == topic_id
    for text in ("", "version: 0", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "a b\nc d"):
        with pytest.raises(Malformed):
            read_topic_id(text)
    for text in ("version: 0\ntopic_id: 1", "version: -1\ntopic_id: " + topic_id):
        with pytest.raises(Malformed):
            read_topic_id(text)
    kraft = "#\nnode.id=3\nversion=1\ncluster.id=abc\ndirectory.id=xyz\n"
    assert read_meta_properties(kraft) == MetaProperties(1, 3, "abc", "xyz")
    zookeeper = "version=0\nbroker.id=2\n"
    assert read_meta_properties(zookeeper) == MetaProperties(0, 2, None, None)
    for text in ("version=2", "version=1", "version=0\nbroker.id=x"):
        with pytest.raises(Malformed):
            read_meta_properties(text)


@pytest.mark.parametrize("types", [GROUP_RECORDS, TRANSACTION_RECORDS])
def test_every_version_of_a_record_is_read_as_it_was_written(types: object) -> None:
    chance = Random("records")
    assert isinstance(types, dict)
    for number, kind in types.items():
        for version in range(kind.value.newest + 1):
            key = draw_message(chance, kind.key, 0)
            value = draw_message(chance, kind.value, version)
            record = CoordinatorRecord(number, key, version, value)
            assert read_record(types, *write_record(types, record)) == record, kind.name
            tombstone = CoordinatorRecord(number, key)
            assert read_record(types, *write_record(types, tombstone)) == tombstone


def test_a_record_of_an_unknown_type_is_skipped() -> None:
    assert read_record(GROUP_RECORDS, b"\0\x7f...", b"") is None
    for key, value in ((None, b""), (b"\0", b""), (b"\0\2\0\1g", b""), (b"\0\2\0\1g", b"\0\x63")):
        with pytest.raises(Malformed):
            read_record(GROUP_RECORDS, key, value)


def test_lengths_in_a_message_are_compared_with_what_is_left() -> None:
    key = b"\0\2\0\1g"
    for value in (b"\0\3\x7f\xff", b"\0\4\xff\xff\xff\xff\x0f", b"\0\3" + b"\0" * 16 + b"\x7f" * 4):
        with pytest.raises(Malformed):
            read_record(GROUP_RECORDS, key, value)


# -- formats 0 and 1 ------------------------------------------------------------------------------


def legacy(offset: int, magic: int, value: bytes | None, attributes: int = 0) -> bytes:
    """A record of format 0 or 1, without a key."""
    rest = bytes((magic, attributes)) + (struct.pack(">q", 77) if magic else b"")
    rest += struct.pack(">ii", -1, -1 if value is None else len(value)) + (value or b"")
    return struct.pack(">qiI", offset, len(rest) + 4, zlib.crc32(rest)) + rest


def test_a_wrapper_has_the_offset_of_its_last_record() -> None:
    for magic, inner_offsets in ((0, (5, 6, 7)), (1, (0, 1, 2))):
        inner = b"".join(legacy(offset, magic, b"v") for offset in inner_offsets)
        wrapper = legacy(7, magic, compress(Codec.SNAPPY, inner), attributes=2)
        records = read_legacy(wrapper)
        assert [record.offset for record in records] == [5, 6, 7]
        assert {record.timestamp for record in records} == {77 if magic else -1}
    assert read_legacy(legacy(3, 1, None)) == (LegacyRecord(3, 1, None, None, 77),)


DAMAGED_LEGACY = (
    legacy(0, 0, b"v")[:-1] + b"w",
    legacy(0, 1, None, attributes=1),
    legacy(0, 1, b"v", attributes=4),
    legacy(0, 1, compress(Codec.GZIP, b""), attributes=1),
    legacy(0, 1, compress(Codec.GZIP, legacy(1, 1, b"v", attributes=1)), attributes=1),
    legacy(1, 1, compress(Codec.GZIP, legacy(2, 1, b"v")), attributes=1),
    legacy(1, 1, compress(Codec.GZIP, b"\0" * 30), attributes=1),
)
"""Records of formats 0 and 1 that have their length, and are malformed."""


@pytest.mark.parametrize(
    "data", [b"", legacy(0, 0, b"v")[:-1], legacy(0, 3, b"v"), *DAMAGED_LEGACY]
)
def test_a_damaged_record_of_an_old_format_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_legacy(data)
