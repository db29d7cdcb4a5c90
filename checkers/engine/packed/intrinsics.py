"""What compiled code does by instructions of LLVM: bare pointers, prefetching, and operations on
bytes, eight at a time.
"""

from __future__ import annotations

# mypy: ignore-errors
# Numba determines the types of intrinsics when it compiles them.
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from kspec.impl.compiled import Words, compiled

TO_WRITE, KEEP_NEAR, DATA = 1, 3, 1
SLACK = 8
"""The number of padding bytes that an array needs after its content to be copied to or from."""

Bytes = Any
"""An array of bytes."""

# -- pointers and prefetching ---------------------------------------------------------------------


@intrinsic
def pointer_to(context: Any, array: Any) -> Any:
    """A pointer to the first element of a contiguous array; used like the array.

    Compiled code counts references to an array at every call that receives it, and tests whether
    an index is negative. With a pointer to the elements it does neither, in functions that are
    called millions of times a second. The caller must keep the array alive meanwhile.
    """
    if not isinstance(array, types.Array) or array.layout != "C":
        raise TypingError("a pointer requires a contiguous array")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), generate


def address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """The address of an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


@intrinsic
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """The processor's prefetch instruction."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = address(context, builder, signature.args[0], *args)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        declare = cgutils.get_or_insert_function
        function = declare(builder.module, kind, "llvm.prefetch.p0")
        pointer = builder.bitcast(place, byte)
        builder.call(function, [pointer, number(TO_WRITE), number(KEEP_NEAR), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@compiled
def prefetch_element(array: Words, index: int) -> None:
    """Prefetch the cache line of an element without waiting for it."""
    prefetch(array, index)


# -- bytes ----------------------------------------------------------------------------------------


@intrinsic
def eight_at(context: Any, array: Any, index: Any) -> Any:
    """The eight bytes from an index on, at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = address(context, builder, signature.args[0], *args)
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.int64(array, index), generate


@intrinsic
def copy_eight(context: Any, to: Any, at: Any, source: Any, begin: Any) -> Any:
    """Copy eight bytes from one array to another."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = ir.IntType(64).as_pointer()
        source = address(context, builder, signature.args[2], args[2], args[3])
        to = address(context, builder, signature.args[0], args[0], args[1])
        value = builder.load(builder.bitcast(source, words), align=1)
        builder.store(value, builder.bitcast(to, words), align=1)
        return context.get_dummy_value()

    return types.void(to, at, source, begin), generate


@compiled
def copy(to: Bytes, at: int, source: Bytes, begin: int, end: int) -> int:
    """Copy bytes from one array to another, and up to seven more; returns the end of the copy."""
    for offset in range(0, end - begin, 8):
        copy_eight(to, at + offset, source, begin + offset)
    return at + end - begin


@compiled
def are_equal(one: Bytes, at: int, other: Bytes, begin: int, end: int) -> bool:
    """Whether a range of one array equals the bytes of another one from an index on."""
    length = end - begin
    if length < 8:
        for offset in range(length):  # noqa: SIM110 - Numba compiles no generators
            if one[at + offset] != other[begin + offset]:
                return False
        return True
    for offset in range(0, length - 7, 8):
        if eight_at(one, at + offset) != eight_at(other, begin + offset):
            return False
    return eight_at(one, at + length - 8) == eight_at(other, end - 8)


@compiled
def hash_of(some: Bytes, begin: int, end: int, code: int) -> int:
    """A hash of a range of bytes and a given number."""
    code = code * 0x9E3779B1 + end - begin
    if end - begin < 8:
        for at in range(begin, end):
            code = (code ^ int(some[at])) * 0x100000001B3
    else:
        for at in range(begin, end - 7, 8):
            code = (code ^ eight_at(some, at)) * 0x100000001B3
            code ^= code >> 29
        code = (code ^ eight_at(some, end - 8)) * 0x100000001B3
    code ^= code >> 32
    return code ^ code >> 15
