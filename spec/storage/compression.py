"""Compression of a batch's records: the codecs, and the frames in which Kafka puts their output.

| codec | since | frame |
|---|---|---|
| gzip | 0.7 | RFC 1952; several members in sequence are one text |
| snappy | 0.7 | that of snappy-java: a header, then blocks with their lengths; or one bare block |
| lz4 | 0.8.2 | LZ4 frames with independent blocks; in format 0, with a wrong header checksum |
| zstd | 2.1 | RFC 8878 |

Blocks are decompressed by the package cramjam (extra `storage`); gzip is in Python's own library.
Whatever a batch claims, no more than `limit` bytes come out of it: a few kilobytes can decompress
to gigabytes.

Kafka: `GzipCompression`, `SnappyCompression`, `Lz4BlockInputStream`, `ZstdCompression` [4.0.0].
Simplification: the checksums inside an LZ4 frame are not verified; the checksum of the batch covers
them.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from types import ModuleType

from kspec.spec.storage.varint import Malformed, read_unsigned

MOST_BYTES = 2**27
"""The most bytes to which the records of a batch are decompressed, where nothing else is said.

Kafka has no limit of its own: `max.message.bytes` limits the compressed size."""


class Codec(IntEnum):
    """The compression type: the low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TooLong(Malformed):
    """Records that decompress to more than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the records decompress to more than {limit} bytes")


class MissingCodec(Exception):
    """The package that decompresses is not installed."""


def _cramjam() -> ModuleType:
    try:
        import cramjam
    except ImportError:
        raise MissingCodec("snappy, lz4 and zstd need cramjam: install the extra storage") from None
    return cramjam


def decompress(codec: Codec, data: bytes, limit: int = MOST_BYTES) -> bytes:
    """The records as they were before compression."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return _gunzip(data, limit)
        case Codec.SNAPPY:
            return _unsnap(data, limit)
        case Codec.LZ4:
            return _unlz4(data, limit)
        case Codec.ZSTD:
            return _unzstd(data, limit)


def compress(codec: Codec, data: bytes) -> bytes:
    """The records compressed, in a frame that Kafka reads.

    The output is not that of Kafka byte for byte, since encoders and their levels differ.
    """
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            encoder = zlib.compressobj(wbits=31)
            return encoder.compress(data) + encoder.flush()
        case Codec.SNAPPY:
            block = bytes(_cramjam().snappy.compress_raw(data))
            return SNAPPY_HEADER + len(block).to_bytes(4) + block
        case Codec.LZ4:
            return _lz4_frame(data)
        case Codec.ZSTD:
            return bytes(_cramjam().zstd.compress(data))


def _decoded(decode: object, data: bytes, room: int) -> bytes:
    """What a function of cramjam decodes, where it fits into `room` bytes."""
    output = bytearray(room)
    try:
        size: int = decode(data, output)  # type: ignore[operator]
    except Exception as error:  # cramjam has one class for all errors
        if "whole buffer" in str(error):
            raise TooLong(room) from None
        raise Malformed(f"the records cannot be decompressed ({error})") from None
    return bytes(memoryview(output)[:size])


def _unzstd(data: bytes, limit: int) -> bytes:
    """The size of the output need not be given: try with more and more room."""
    room = 2**14
    while room < limit:
        try:
            return _decoded(_cramjam().zstd.decompress_into, data, room)
        except TooLong:
            room *= 16
    return _decoded(_cramjam().zstd.decompress_into, data, limit)


# -- gzip -----------------------------------------------------------------------------------------


def _gunzip(data: bytes, limit: int) -> bytes:
    text = b""
    while data:
        decoder = zlib.decompressobj(wbits=31)
        try:
            text += decoder.decompress(data, limit + 1 - len(text))
        except zlib.error as error:
            raise Malformed(f"the records cannot be decompressed ({error})") from None
        if len(text) > limit:
            raise TooLong(limit)
        if not decoder.eof:
            raise Malformed("the compressed records are cut off")
        data = decoder.unused_data
    return text


# -- snappy ---------------------------------------------------------------------------------------

SNAPPY_HEADER = b"\x82SNAPPY\0" + (1).to_bytes(4) + (1).to_bytes(4)
"""What snappy-java begins with: a magic number, its version, and the lowest compatible one."""


def _unsnap(data: bytes, limit: int) -> bytes:
    if not data.startswith(SNAPPY_HEADER[:8]):
        return _snappy_block(data, limit)
    text, position = b"", len(SNAPPY_HEADER)
    while position < len(data):
        size = int.from_bytes(data[position : position + 4])
        position += 4
        if data[position - 4 :].startswith(SNAPPY_HEADER[:8]):  # streams may be concatenated
            position += len(SNAPPY_HEADER) - 4
            continue
        if position + size > len(data):
            raise Malformed("the compressed records are cut off")
        text += _snappy_block(data[position : position + size], limit - len(text))
        position += size
    return text


def _snappy_block(block: bytes, limit: int) -> bytes:
    """A block, which begins with its length after decompression."""
    size, _ = read_unsigned(block, 0)
    if size > limit:
        raise TooLong(limit)
    return _decoded(_cramjam().snappy.decompress_raw_into, block, size)


# -- lz4 ------------------------------------------------------------------------------------------

LZ4_MAGIC = (0x184D2204).to_bytes(4, "little")
"""The first bytes of an LZ4 frame."""


def _unlz4(data: bytes, limit: int) -> bytes:
    """The blocks of a frame: descriptor, then blocks with their sizes, then a size of 0."""
    if not data.startswith(LZ4_MAGIC) or len(data) < 7:
        raise Malformed("the compressed records are not an LZ4 frame")
    flags, largest = data[4], 2 ** (8 + 2 * (data[5] >> 4 & 7))
    if flags >> 6 != 1 or not flags & 0x20 or largest < 2**16:
        raise Malformed("the LZ4 frame is of an unknown version, or its blocks depend on others")
    position = 7 + (8 if flags & 0x08 else 0)  # the size of the content may be given
    text = b""
    while True:
        if position + 4 > len(data):
            raise Malformed("the compressed records are cut off")
        size = int.from_bytes(data[position : position + 4], "little")
        position += 4
        if size == 0:
            return text
        is_plain, size = size >> 31, size % 2**31
        if size > largest or position + size > len(data):
            raise Malformed("the compressed records are cut off")
        block = data[position : position + size]
        decode = _cramjam().lz4.decompress_block_into
        text += block if is_plain else _decoded(decode, block, largest)
        if len(text) > limit:
            raise TooLong(limit)
        position += size + (4 if flags & 0x10 else 0)  # a block may have a checksum


def _lz4_frame(data: bytes) -> bytes:
    """A frame of independent blocks of at most 64 KiB."""
    frame = LZ4_MAGIC + bytes((0x60, 0x40, 0x82))  # flags, size of blocks, their checksum
    for start in range(0, len(data), 2**16):
        part = data[start : start + 2**16]
        block = bytes(_cramjam().lz4.compress_block(part, store_size=False))
        if len(block) < len(part):
            frame += len(block).to_bytes(4, "little") + block
        else:
            frame += (len(part) | 2**31).to_bytes(4, "little") + part
    return frame + bytes(4)
