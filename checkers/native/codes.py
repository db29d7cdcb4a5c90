"""The code of a state: its bits side by side, mixed so that codes are spread evenly.

A code has 64 bits, and `high` those that a longer state has above. Mixing loses nothing:
`decode` gives the words back. So codes stand for states everywhere outside the kernel, and to
compare codes is to compare states.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from impl.packed.compiled import Words, compiled
from impl.packed.layout import Layout

CODE_BITS = 64
PIECE_BITS = 16
"""The high bits of states are stored in pieces of this many."""
SHARD_BITS = 12
SHARDS = 1 << SHARD_BITS
"""States are shared out among owners in whole shards."""

Pieces: TypeAlias = np.ndarray[Any, np.dtype[np.uint16]]
"""The high bits of states, a row for each state."""


class Coding(NamedTuple):
    """Where the words of a state stand among its bits."""

    at: tuple[int, ...]
    widths: tuple[int, ...]
    high_bits: int

    @property
    def pieces(self) -> int:
        """How many pieces the high bits take."""
        return -(-self.high_bits // PIECE_BITS)


def coding_of(layout: Layout) -> Coding:
    """The coding for a layout."""
    at = tuple(sum(layout.widths[:k]) for k in range(len(layout.widths)))
    return Coding(at, layout.widths, max(0, layout.bits - CODE_BITS))


def signed(bits: int) -> int:
    """64 bits as a signed number."""
    return bits - (1 << 64) if bits >> 63 else bits


def inverse(factor: int) -> int:
    """The factor that undoes a multiplication modulo 2**64."""
    return signed(pow(factor % (1 << 64), -1, 1 << 64))


# Odd numbers without a pattern: the golden ratio, and two of those that splitmix and wyhash use.
FIRST, SECOND = signed(0x9E3779B97F4A7C15), signed(0xBF58476D1CE4E5B9)
FOR_HIGH = signed(0xA0761D6478BD642F)
UNDO_FIRST, UNDO_SECOND = inverse(FIRST), inverse(SECOND)


@compiled
def shifted(bits: int, by: int) -> int:
    """64 bits shifted down, with zeros from above."""
    return bits >> by & (1 << (64 - by)) - 1


@compiled
def mixed(low: int, high: int) -> int:
    """Spread the bits: the upper half of the code depends on all of them."""
    x = low ^ high * FOR_HIGH
    x ^= shifted(x, 32)
    x *= FIRST
    x ^= shifted(x, 29)
    return x * SECOND


@compiled
def unmixed(code: int, high: int) -> int:
    """The lower bits of a state, given its code and its high bits."""
    x = code * UNDO_SECOND
    x ^= shifted(x, 29) ^ shifted(x, 58)
    x *= UNDO_FIRST
    x ^= shifted(x, 32)
    return x ^ high * FOR_HIGH


@compiled
def shard_of(code: int) -> int:
    """The shard of a state; from other bits than those that decide where it is at home."""
    return code >> SHARD_BITS & SHARDS - 1


@compiled
def encode(words: Words, count: int, coding: Coding, codes: Words, highs: Words) -> None:
    """The codes and high bits of the first `count` states."""
    for i in range(count):
        codes[i] = words[0, i]
        highs[i] = 0
    for k in range(1, words.shape[0]):
        at = coding.at[k]
        if at >= 64:
            for i in range(count):
                highs[i] |= words[k, i] << (at - 64)
        else:
            for i in range(count):
                codes[i] |= words[k, i] << at
            if at + coding.widths[k] > 64:
                for i in range(count):
                    highs[i] |= words[k, i] >> (64 - at)
    for i in range(count):
        codes[i] = mixed(codes[i], highs[i])


@compiled
def decode(
    codes: Words, pieces: Words, begin: int, count: int, coding: Coding, words: Words
) -> None:
    """The words of `count` stored states, from `begin` on."""
    for j in range(count):
        high = 0
        for p in range(pieces.shape[1]):
            high |= int(pieces[begin + j, p]) << (PIECE_BITS * p)
        low = unmixed(codes[begin + j], high)
        for k in range(words.shape[0]):
            at = coding.at[k]
            if at == 0:
                bits = low
            elif at < 64:
                bits = shifted(low, at) | high << (64 - at)
            else:
                bits = high >> (at - 64)
            words[k, j] = bits & (1 << coding.widths[k]) - 1
