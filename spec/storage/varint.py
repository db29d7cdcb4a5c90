"""Integers of variable length: seven bits a byte, least significant first, and zigzag.

The high bit of a byte says that another byte follows. Zigzag maps small negative numbers to small
unsigned ones (0, -1, 1, -2, … to 0, 1, 2, 3, …), so that -1, which stands for null, takes one byte.

Kafka: `ByteUtils.readVarint`, `readVarlong`, `readUnsignedVarint` and their writers [4.0.0]. Like
Kafka, a reader accepts encodings that are longer than necessary, and ignores bits of the last byte
beyond the size of the type.
"""

from __future__ import annotations


class Malformed(Exception):
    """Bytes that are not what they should be, and why."""


INT_BYTES = 5
"""The most bytes of an integer of 32 bits."""
LONG_BYTES = 10
"""The most bytes of an integer of 64 bits."""


def read_unsigned(data: bytes, position: int, *, most: int = INT_BYTES) -> tuple[int, int]:
    """An unsigned integer of at most `most` bytes, and the position behind it."""
    value = 0
    for index in range(most):
        if position + index >= len(data):
            raise Malformed("a variable-length integer is cut off")
        byte = data[position + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            bits = 32 if most == INT_BYTES else 64
            return value % 2**bits, position + index + 1
    raise Malformed(f"a variable-length integer has more than {most} bytes")


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A signed integer of 32 bits, and the position behind it."""
    value, position = read_unsigned(data, position)
    return from_zigzag(value), position


def read_varlong(data: bytes, position: int) -> tuple[int, int]:
    """A signed integer of 64 bits, and the position behind it."""
    value, position = read_unsigned(data, position, most=LONG_BYTES)
    return from_zigzag(value), position


def write_unsigned(value: int) -> bytes:
    """The shortest encoding of an unsigned integer."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def write_varint(value: int) -> bytes:
    """The shortest encoding of a signed integer, of 32 or 64 bits."""
    return write_unsigned(to_zigzag(value))


def to_zigzag(value: int) -> int:
    """The unsigned number that stands for a signed one."""
    return 2 * value if value >= 0 else -2 * value - 1


def from_zigzag(value: int) -> int:
    """The signed number that an unsigned one stands for."""
    return value // 2 if value % 2 == 0 else -(value // 2) - 1
