"""Prefetch memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kspec.impl.compiled import Words, compiled

TO_WRITE, KEEP_NEAR, DATA = 1, 3, 1


@intrinsic
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """The processor's prefetch instruction."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        elements = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        declare: Any = cgutils.get_or_insert_function
        function = declare(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(elements, [args[1]]), byte)
        builder.call(function, [address, number(TO_WRITE), number(KEEP_NEAR), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@compiled
def prefetch_element(array: Words, index: int) -> None:
    """Prefetch the cache line of an element without waiting for it."""
    prefetch(array, index)  # type: ignore[call-arg]
