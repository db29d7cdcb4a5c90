"""From words to the desk, and from the desk to successors.

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
def blocks_until(desk: Words, w: int) -> int:
    """In which block the fields of a word begin; the ones before it are the words' before."""
    return desk[WORD + w]  # type: ignore[no-any-return]


@compiled
def lay_down(words: Words, i: int, desk: Words) -> None:
    """Lay a state on the desk, twice: as it is, and to be worked on."""
    for w in range(desk[WORDS]):
        desk[PACKED + w] = words[w, i]
        bits = np.uint64(words[w, i])
        for block in range(blocks_until(desk, w), blocks_until(desk, w + 1)):
            for k in range(block * BLOCK, block * BLOCK + BLOCK):
                value = np.int64(bits >> np.uint64(desk[SHIFT + k])) & desk[MASK + k]
                desk[k] = value
                desk[BEFORE + k] = value


@compiled
def put(desk: Words, origin: int, out: Out, n: int) -> int:
    """Note the state on the desk as the n-th successor, and take up the one before again."""
    for w in range(desk[WORDS]):
        bits = 0
        for block in range(blocks_until(desk, w), blocks_until(desk, w + 1)):
            for k in range(block * BLOCK, block * BLOCK + BLOCK):
                bits |= desk[k] << desk[SHIFT + k]
        out.states[w * out.room + n] = bits
    out.origins[n] = origin
    restore(desk)
    return n + 1


@compiled
def restore(desk: Words) -> None:
    """Take up the state before again."""
    for block in range(blocks_until(desk, desk[WORDS])):
        for k in range(block * BLOCK, block * BLOCK + BLOCK):
            desk[k] = desk[BEFORE + k]


@compiled
def put_same(desk: Words, origin: int, out: Out, n: int) -> int:
    """Note that something happens, and changes nothing."""
    for w in range(desk[WORDS]):
        out.states[w * out.room + n] = desk[PACKED + w]
    out.origins[n] = origin
    return n + 1


@compiled
def fits(desk: Words) -> bool:
    """Whether the generation is one that the bounds have."""
    return bool(desk[GENERATION] <= desk[GENERATIONS])
