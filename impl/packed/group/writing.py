"""From words to the sheet, and from the sheet to successors.

The compiler makes a few wide instructions of a loop over a block, whose length it knows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    BEFORE,
    BLOCK,
    GENERATION,
    GENERATIONS,
    MASK,
    PACKED,
    SHIFT,
    WORD,
    WORDS,
)


class Out(NamedTuple):
    """Where successors are written: pointers."""

    states: Words
    """One row of words after the other."""
    room: int
    """How long a row is."""
    origins: Words


@compiled
def blocks_until(sheet: Words, w: int) -> int:
    """In which block the fields of a word begin; the ones before it are the words' before."""
    return sheet[WORD + w]  # type: ignore[no-any-return]


@compiled
def lay_down(words: Words, i: int, sheet: Words) -> None:
    """Lay a state on the sheet, twice: as it is, and to be worked on."""
    for w in range(sheet[WORDS]):
        sheet[PACKED + w] = words[w, i]
        bits = np.uint64(words[w, i])
        for block in range(blocks_until(sheet, w), blocks_until(sheet, w + 1)):
            for k in range(block * BLOCK, block * BLOCK + BLOCK):
                value = np.int64(bits >> np.uint64(sheet[SHIFT + k])) & sheet[MASK + k]
                sheet[k] = value
                sheet[BEFORE + k] = value


@compiled
def put(sheet: Words, origin: int, out: Out, n: int) -> int:
    """Note the state on the sheet as the n-th successor, and take up the one before again."""
    for w in range(sheet[WORDS]):
        bits = 0
        for block in range(blocks_until(sheet, w), blocks_until(sheet, w + 1)):
            for k in range(block * BLOCK, block * BLOCK + BLOCK):
                bits |= sheet[k] << sheet[SHIFT + k]
        out.states[w * out.room + n] = bits
    out.origins[n] = origin
    restore(sheet)
    return n + 1


@compiled
def restore(sheet: Words) -> None:
    """Take up the state before again."""
    for block in range(blocks_until(sheet, sheet[WORDS])):
        for k in range(block * BLOCK, block * BLOCK + BLOCK):
            sheet[k] = sheet[BEFORE + k]


@compiled
def put_same(sheet: Words, origin: int, out: Out, n: int) -> int:
    """Note that something happens, and changes nothing."""
    for w in range(sheet[WORDS]):
        out.states[w * out.room + n] = sheet[PACKED + w]
    out.origins[n] = origin
    return n + 1


@compiled
def put_fitting(sheet: Words, origin: int, out: Out, n: int) -> int:
    """Note the state on the sheet if the bounds have its generation; take up the one before."""
    if sheet[GENERATION] <= sheet[GENERATIONS]:
        return put(sheet, origin, out, n)
    restore(sheet)
    return n
