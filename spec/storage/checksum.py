"""CRC-32C, the checksum of record batches of format 2. Formats 0 and 1 have the CRC-32 of zlib.

A cyclic redundancy check finds each change of a single bit, and each run of changed bits that is
not longer than 32. The two differ in their polynomials; processors compute CRC-32C.

Kafka: `Crc32C` [4.0.0].
"""

from __future__ import annotations

POLYNOMIAL = 0x82F63B78
"""Castagnoli's polynomial, with the least significant bit first."""


def _remainder(byte: int) -> int:
    """The remainder that one byte leaves."""
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


_REMAINDERS = [_remainder(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """The CRC-32C of these bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _REMAINDERS[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
