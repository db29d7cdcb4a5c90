"""CRC-32C in compiled code: the processor's instruction where there is one, else by table."""

from __future__ import annotations

# mypy: ignore-errors
# Numba determines the types of intrinsics when it compiles them.
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kspec.impl.compiled import compiled

Bytes = Any
"""An array of bytes."""

HAS_INSTRUCTION = get_host_cpu_features().get("sse4.2", False)
"""Whether the processor computes CRC-32C itself."""


def _table() -> np.ndarray:
    """For each byte, and each number of zero bytes behind it up to 7, the remainder."""
    remainders = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        remainders[0, byte] = crc
    for zeros in range(1, 8):
        before = remainders[zeros - 1]
        remainders[zeros] = before >> 8 ^ remainders[0, before & 0xFF]
    return remainders


TABLE = _table()


@intrinsic
def crc_of_eight(context: Any, crc: Any, array: Any, index: Any) -> Any:
    """The CRC-32C after the eight bytes from an index on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        crc, array, index = args
        data = context.make_array(signature.args[1])(context, builder, array).data
        word = ir.IntType(64)
        place = builder.bitcast(builder.gep(data, [index]), word.as_pointer())
        kind = ir.FunctionType(word, [word, word])
        declare = cgutils.get_or_insert_function
        function = declare(builder.module, kind, "llvm.x86.sse42.crc32.64.64")
        return builder.call(function, [crc, builder.load(place, align=1)])

    return types.uint64(types.uint64, array, types.int64), generate


@compiled
def crc_by_instruction(data: Bytes, start: int, end: int) -> int:
    """CRC-32C of a range of bytes, by the processor's instruction."""
    crc = np.uint64(0xFFFFFFFF)
    position = start
    while position + 8 <= end:
        crc = crc_of_eight(crc, data, position)
        position += 8
    rest = np.uint32(crc)
    while position < end:
        rest = rest >> np.uint32(8) ^ TABLE[0, (rest ^ data[position]) & 0xFF]
        position += 1
    return np.int64(rest ^ np.uint32(0xFFFFFFFF))


@compiled
def crc_by_table(data: Bytes, start: int, end: int) -> int:
    """CRC-32C of a range of bytes, eight bytes at a time."""
    crc = np.uint32(0xFFFFFFFF)
    position = start
    while position + 8 <= end:
        low = crc ^ (
            np.uint32(data[position])
            | np.uint32(data[position + 1]) << np.uint32(8)
            | np.uint32(data[position + 2]) << np.uint32(16)
            | np.uint32(data[position + 3]) << np.uint32(24)
        )
        crc = (
            TABLE[7, low & 0xFF]
            ^ TABLE[6, low >> np.uint32(8) & 0xFF]
            ^ TABLE[5, low >> np.uint32(16) & 0xFF]
            ^ TABLE[4, low >> np.uint32(24)]
            ^ TABLE[3, data[position + 4]]
            ^ TABLE[2, data[position + 5]]
            ^ TABLE[1, data[position + 6]]
            ^ TABLE[0, data[position + 7]]
        )
        position += 8
    while position < end:
        crc = crc >> np.uint32(8) ^ TABLE[0, (crc ^ data[position]) & 0xFF]
        position += 1
    return np.int64(crc ^ np.uint32(0xFFFFFFFF))


crc32c = crc_by_instruction if HAS_INSTRUCTION else crc_by_table
"""CRC-32C of a range of bytes."""
