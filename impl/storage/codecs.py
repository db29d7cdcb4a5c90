"""Decompression within bounds: the codecs of batches, through cramjam and zlib."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

MOST_BYTES = 2**27
"""The most bytes to which a batch is decompressed."""

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs, by the low bits of a batch's attributes."""


class CompressionError(Exception):
    """Compressed records that cannot be decompressed."""


class TooLong(CompressionError):
    """Records that decompress to more than the limit."""


class MissingCodec(Exception):
    """The package that decompresses is not installed."""


def cramjam() -> ModuleType:
    """The package that decompresses snappy, lz4 and zstd."""
    try:
        import cramjam as package
    except ImportError:
        raise MissingCodec("snappy, lz4 and zstd need cramjam: install the extra storage") from None
    return package


class Decompressor:
    """Decompresses batches, one after the other, into the same memory."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self._room = np.empty(0, np.uint8)

    def decompress(self, codec: int, data: bytes, magic: int = 2) -> np.ndarray[Any, Any]:
        """The records before compression; the array is valid until the next call."""
        if codec == GZIP:
            return np.frombuffer(self._gunzip(data), np.uint8)
        if codec == SNAPPY:
            return self._unsnap(data)
        if codec == LZ4:
            return self._into(cramjam().lz4.decompress_into, lz4_frame(data, magic))
        return self._into(cramjam().zstd.decompress_into, data)

    def _into(self, decode: Callable[..., int], data: bytes) -> np.ndarray[Any, Any]:
        """Decompress into enough room: what a batch usually needs, else the most that it may."""
        for room in (min(2**22, self.most), self.most):
            self._have(room)
            try:
                return self._room[: decode(data, self._room[:room])]
            except Exception as error:  # cramjam has one class for all errors
                if "whole buffer" not in str(error):
                    raise CompressionError(str(error)) from None
        raise TooLong(f"the records decompress to more than {self.most} bytes")

    def _have(self, room: int) -> None:
        if len(self._room) < room:
            self._room = np.empty(room, np.uint8)

    def _gunzip(self, data: bytes) -> bytes:
        text = bytearray()
        while data:
            decoder = zlib.decompressobj(wbits=31)
            try:
                text += decoder.decompress(data, self.most + 1 - len(text))
            except zlib.error as error:
                raise CompressionError(str(error)) from None
            if len(text) > self.most:
                raise TooLong(f"the records decompress to more than {self.most} bytes")
            if not decoder.eof:
                raise CompressionError("the stream is cut off")
            data = decoder.unused_data
        return bytes(text)

    def _unsnap(self, data: bytes) -> np.ndarray[Any, Any]:
        """snappy-java's stream of blocks with lengths, or one block."""
        snappy = cramjam().snappy
        blocks = list(snappy_blocks(data))
        try:
            sizes = [snappy.decompress_raw_len(block) for block in blocks]
        except Exception as error:
            raise CompressionError(str(error)) from None
        if sum(sizes) > self.most:
            raise TooLong(f"the records decompress to more than {self.most} bytes")
        self._have(sum(sizes))
        position = 0
        for block, size in zip(blocks, sizes, strict=True):
            try:
                snappy.decompress_raw_into(block, self._room[position : position + size])
            except Exception as error:
                raise CompressionError(str(error)) from None
            position += size
        return self._room[:position]


SNAPPY_MAGIC = b"\x82SNAPPY\0"


def snappy_blocks(data: bytes) -> list[bytes]:
    """The blocks of snappy-java's stream; all of the data, if it is no such stream."""
    if not data.startswith(SNAPPY_MAGIC):
        return [data]
    blocks, position = [], 16
    while position < len(data):
        if data.startswith(SNAPPY_MAGIC, position):
            position += 16
            continue
        size = int.from_bytes(data[position : position + 4])
        if position + 4 + size > len(data):
            raise CompressionError("the stream is cut off")
        blocks.append(data[position + 4 : position + 4 + size])
        position += 4 + size
    return blocks


def lz4_frame(data: bytes, magic: int) -> bytes:
    """A frame that a decoder accepts: of independent blocks, and with the right header checksum.

    In format 0, Kafka computes that checksum over the frame's magic number, too (KAFKA-3160).
    """
    if len(data) < 7 or not data[4] & 0x20:
        raise CompressionError("not an LZ4 frame of independent blocks")
    if magic:
        return data
    descriptor = 4 + (10 if data[4] & 0x08 else 2)
    right = bytes((xxh32_of_few(data[4:descriptor]) >> 8 & 0xFF,))
    return data[:descriptor] + right + data[descriptor + 1 :]


def xxh32_of_few(data: bytes) -> int:
    """The 32-bit xxHash of fewer than 16 bytes, with seed 0."""
    two, three, four, five = 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    one, mask = 0x9E3779B1, 0xFFFFFFFF

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> 32 - by) & mask

    value = five + len(data)
    while len(data) >= 4:
        value = rotated(value + int.from_bytes(data[:4], "little") * three & mask, 17) * four & mask
        data = data[4:]
    for byte in data:
        value = rotated(value + byte * five & mask, 11) * one & mask
    value = (value ^ value >> 15) * two & mask
    value = (value ^ value >> 13) * three & mask
    return value ^ value >> 16
