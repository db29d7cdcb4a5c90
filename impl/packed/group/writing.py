"""From words to the desk, and from the desk to successors."""

from __future__ import annotations

import numpy as np

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    BEFORE,
    GENERATION,
    GENERATIONS,
    MASK,
    SHIFT,
    WORD,
    WORDS,
)


@compiled
def place_of_word(desk: Words, w: int) -> int:
    """Where the fields of a word begin; masked, so that the compiler sees it is not negative."""
    return desk[WORD + w] & 255  # type: ignore[no-any-return]


@compiled
def unpack(words: Words, i: int, desk: Words) -> None:
    """Lay a state on the desk, twice: as it is, and to be worked on."""
    for w in range(desk[WORDS]):
        bits = np.uint64(words[w, i])
        for k in range(place_of_word(desk, w), place_of_word(desk, w + 1)):
            value = np.int64(bits >> np.uint64(desk[SHIFT + k])) & desk[MASK + k]
            desk[k] = value
            desk[BEFORE + k] = value


@compiled
def put(desk: Words, origin: int, succ: Words, origins: Words, n: int) -> int:
    """Note the state on the desk as the n-th successor, and take up the one before again."""
    for w in range(desk[WORDS]):
        bits = 0
        for k in range(place_of_word(desk, w), place_of_word(desk, w + 1)):
            bits |= desk[k] << desk[SHIFT + k]
        succ[w, n] = bits
    origins[n] = origin
    restore(desk)
    return n + 1


@compiled
def restore(desk: Words) -> None:
    """Take up the state before again."""
    for k in range(place_of_word(desk, desk[WORDS])):
        desk[k] = desk[BEFORE + k]


@compiled
def put_same(words: Words, origin: int, succ: Words, origins: Words, n: int) -> int:
    """Note that something happens, and changes nothing."""
    for w in range(words.shape[0]):
        succ[w, n] = words[w, origin >> 16]
    origins[n] = origin
    return n + 1


@compiled
def fits(desk: Words) -> bool:
    """Whether the generation is one that the bounds have."""
    return bool(desk[GENERATION] <= desk[GENERATIONS])
