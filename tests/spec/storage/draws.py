"""Random batches, damaged batches and messages."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import attrs

from kspec.spec.storage.checksum import crc32c
from kspec.spec.storage.compression import Codec, compress
from kspec.spec.storage.record_batch import (
    COVERED_FROM,
    HEADER,
    LOG_OVERHEAD,
    Header,
    Record,
    RecordBatch,
    write_batch,
    write_record,
)
from kspec.spec.storage.schema import Field, Message, Schema, uuid_text


def draw_bytes(chance: Random, most: int) -> bytes | None:
    """Bytes, or none."""
    if chance.random() < 0.2:
        return None
    alphabet = chance.choice((b"ab", bytes(range(256))))
    return bytes(
        chance.choices(alphabet, k=chance.choice((0, 1, most // 4, chance.randint(0, most))))
    )


def draw_batch(chance: Random, codec: Codec | None = None) -> RecordBatch:
    """A batch that a broker may store."""
    count = chance.choice((0, 1, 1, 2, 5, chance.randint(1, 30)))
    is_transactional = chance.random() < 0.3
    has_producer = is_transactional or chance.random() < 0.4
    is_log_append_time = chance.random() < 0.2
    has_horizon = chance.random() < 0.1
    base = chance.choice((0, 10**12)) + chance.randrange(1000)
    deltas = (
        sorted(chance.sample(range(2 * count + 1), count))
        if chance.random() < 0.3
        else range(count)
    )
    records = tuple(
        Record(
            delta,
            draw_bytes(chance, 20),
            draw_bytes(chance, chance.choice((20, 400))),
            chance.choice((0, 1, -1, 63, 64, 2**20)) if number or has_horizon else 0,
            tuple(
                Header(chance.choice((b"a", b"", "ä".encode())), draw_bytes(chance, 9))
                for _ in range(chance.choice((0, 0, 0, 1, 3)))
            ),
        )
        for number, delta in enumerate(deltas)
    )
    latest = max((base + record.timestamp_delta for record in records), default=base)
    return RecordBatch(
        base_offset=chance.choice((0, 5, 2**40)),
        last_offset_delta=max([*deltas, 0]) + chance.choice((0, 0, 3)),
        records=records,
        leader_epoch=chance.choice((-1, 0, 7)),
        codec=chance.choice(list(Codec)) if codec is None else codec,
        is_log_append_time=is_log_append_time,
        is_transactional=is_transactional,
        has_delete_horizon=has_horizon,
        base_timestamp=base,
        max_timestamp=base + 5 if is_log_append_time else latest,
        producer_id=chance.randrange(2**40) if has_producer else -1,
        producer_epoch=chance.randrange(2**15) if has_producer else -1,
        base_sequence=chance.choice((0, 5, 2**31 - 2)) if has_producer else -1,
    )


def changed(chance: Random, data: bytes, most: int = 3) -> bytes:
    """The bytes with some of them changed, added or removed."""
    array = bytearray(data)
    for _ in range(chance.randint(1, most)):
        at = chance.randrange(len(array) + 1)
        match chance.randrange(4):
            case 0:
                array[at:at] = bytes((chance.randrange(256),))
            case 1 if at < len(array):
                del array[at]
            case _ if at < len(array):
                array[at] = chance.choice(
                    (0, 1, 0x7F, 0x80, 0xFF, array[at] ^ 1 << chance.randrange(8))
                )
    return bytes(array)


def with_checksum(data: bytes) -> bytes:
    """A batch with the right length and checksum."""
    length = len(data) - LOG_OVERHEAD
    data = data[:8] + struct.pack(">i", length) + data[12:]
    return data[:17] + struct.pack(">I", crc32c(data[COVERED_FROM:])) + data[COVERED_FROM:]


def damage(chance: Random) -> bytes:
    """A batch whose header or records were changed before the checksum was computed.

    Records are changed before they are compressed, since libraries differ in which damaged streams
    they accept.
    """
    batch = draw_batch(chance)
    batch = attrs.evolve(batch, records=batch.records or (Record(0),))
    body = b"".join(map(write_record, batch.records))
    head = bytearray(write_batch(batch)[: HEADER.size])
    if chance.random() < 0.7:
        body = changed(chance, body)
    if chance.random() < 0.4:
        at = chance.choice((*range(23, 27), *range(57, 61), *range(27, 61)))
        head[at] ^= 1 << chance.randrange(8)
    return with_checksum(bytes(head) + compress(batch.codec, body))


# -- messages -------------------------------------------------------------------------------------


def draw_message(chance: Random, schema: Schema, version: int) -> Message:
    """A message with values for each field of its version."""
    return draw_fields(chance, schema.fields, version)


def draw_fields(chance: Random, fields: tuple[Field, ...], version: int) -> Message:
    return {
        field.name: draw_value(chance, field, version)
        if field.exists(version) and (field.tag is None or chance.random() < 0.5)
        else field.missing()
        for field in fields
    }


def draw_value(chance: Random, field: Field, version: int) -> Any:
    if field.nullable and chance.random() < 0.3:
        return None
    if field.is_array:
        one = attrs.evolve(field, is_array=False, nullable=False)
        return [draw_value(chance, one, version) for _ in range(chance.choice((0, 1, 3)))]
    if isinstance(field.kind, tuple):
        return draw_fields(chance, field.kind, version)
    match field.kind:
        case "string":
            return "".join(chance.choices("aäb c€", k=chance.choice((0, 1, 5, 150))))
        case "bytes":
            return draw_bytes(chance, 200) or b""
        case "uuid":
            return uuid_text(chance.randbytes(16))
        case "uint16":
            return chance.randrange(2**16)
    bits = int(field.kind.removeprefix("int"))
    return chance.choice((0, 1, -1, chance.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))))
