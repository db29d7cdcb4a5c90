"""Arrays as bare pointers, for functions that are called millions of times a second.

Compiled code counts references to an array at every call that receives it, and tests whether an
index is negative. With a pointer to the elements it does neither. The caller must keep the array
alive while the pointer is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from kspec.impl.compiled import Words


@intrinsic
def _pointer_to(context: Any, array: Any) -> Any:
    if not isinstance(array, types.Array) or array.layout != "C":
        raise TypingError("a pointer requires a contiguous array")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    pointer = types.CPointer(array.dtype)  # type: ignore[no-untyped-call]
    return pointer(array), generate


pointer_to = cast(Callable[[Words], Words], _pointer_to)
"""A pointer to the first element of a contiguous array; used like the array."""
