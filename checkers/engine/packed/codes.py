"""The code of a state: its bits side by side, mixed so that codes are evenly distributed.

A code has 64 bits; a longer state has its other bits as high bits, 64 to a word. Mixing is a
bijection: `decode` returns the words. So codes with high bits represent states wherever they are
stored, and comparing them compares states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kspec.impl.compiled import Words, compiled

WORD_BITS = 63
"""The bits of a word that states use, so that words are never negative."""
CODE_BITS = 64
PIECE_BITS = 16
"""High bits are stored in pieces of this many bits."""
PIECES = CODE_BITS // PIECE_BITS
"""The number of pieces in a word of high bits."""
SHARD_BITS = 12
SHARDS = 1 << SHARD_BITS
"""Owners own whole shards."""

Pieces: TypeAlias = np.ndarray[Any, np.dtype[np.uint16]]
"""The high bits of states, one row per state."""


def high_rows(pieces: int) -> int:
    """The number of rows of words for high bits; without high bits, one row of zeros."""
    return max(1, -(-pieces // PIECES))


class Coding(NamedTuple):
    """The positions of a state's words among its bits."""

    at: Words
    widths: Words
    high_bits: int

    @property
    def pieces(self) -> int:
        """The number of pieces that the high bits take."""
        return -(-self.high_bits // PIECE_BITS)

    @property
    def rows(self) -> int:
        """The number of rows that they take in working form."""
        return high_rows(self.pieces)


def coding_for(widths: Sequence[int]) -> Coding:
    """The coding for words of these widths."""
    at = np.cumsum([0, *widths], dtype=np.int64)
    return Coding(at[:-1], np.array(widths, np.int64), max(0, int(at[-1]) - CODE_BITS))


def signed(bits: int) -> int:
    """64 bits as a signed number."""
    return bits - (1 << 64) if bits >> 63 else bits


def inverse(factor: int) -> int:
    """The factor that inverts a multiplication modulo 2**64."""
    return signed(pow(factor % (1 << 64), -1, 1 << 64))


# Odd numbers without a pattern: the golden ratio, and two that splitmix and wyhash use.
FIRST, SECOND = signed(0x9E3779B97F4A7C15), signed(0xBF58476D1CE4E5B9)
FOR_HIGH = signed(0xA0761D6478BD642F)
UNDO_FIRST, UNDO_SECOND = inverse(FIRST), inverse(SECOND)


@compiled
def shifted(bits: int, by: int) -> int:
    """64 bits shifted right, with zeros shifted in."""
    return bits >> by & (1 << (64 - by)) - 1


@compiled
def salts_of(highs: Words, count: int) -> Words:
    """The contribution of the high bits of states to their codes."""
    salts = np.zeros(count, np.int64)
    for row in range(highs.shape[0] - 1, -1, -1):
        for i in range(count):
            salts[i] = (salts[i] ^ shifted(salts[i], 32) ^ highs[row, i]) * FOR_HIGH
    return salts


@compiled
def mixed(low: int, salt: int) -> int:
    """Spread the bits: the upper half of the code depends on all of them."""
    x = low ^ salt
    x ^= shifted(x, 32)
    x *= FIRST
    x ^= shifted(x, 29)
    return x * SECOND


@compiled
def unmixed(code: int, salt: int) -> int:
    """The lower bits of a state, from its code and the salt of its high bits."""
    x = code * UNDO_SECOND
    x ^= shifted(x, 29) ^ shifted(x, 58)
    x *= UNDO_FIRST
    x ^= shifted(x, 32)
    return x ^ salt


@compiled
def shard_of(code: int) -> int:
    """The shard of a state; uses other bits than those that determine its bucket."""
    return code >> SHARD_BITS & SHARDS - 1


@compiled
def owner_of(code: int, workers: int) -> int:
    """The owner of a state. Owners have whole shards, about equally many each."""
    return shard_of(code) * workers >> SHARD_BITS


def shards_of(owner: int, workers: int) -> range:
    """The shards of an owner."""
    first, behind = (-(-(n << SHARD_BITS) // workers) for n in (owner, owner + 1))
    return range(first, behind)


@compiled
def encode(words: Words, count: int, coding: Coding, codes: Words, highs: Words) -> None:
    """The codes and high bits of the first `count` states."""
    codes[:count] = 0
    highs[:, :count] = 0
    for k in range(words.shape[0]):
        row, at = coding.at[k] // 64 - 1, coding.at[k] % 64
        into = codes if row < 0 else highs[row]
        for i in range(count):
            into[i] |= words[k, i] << at
        if at + coding.widths[k] > 64:
            above = highs[row + 1]
            for i in range(count):
                above[i] |= words[k, i] >> (64 - at)
    salts = salts_of(highs, count)
    for i in range(count):
        codes[i] = mixed(codes[i], salts[i])


def encoded(words: Words, coding: Coding) -> tuple[Words, Words]:
    """The codes and high bits of states: a number and a column for each state."""
    count = words.shape[1]
    codes: Words = np.empty(count, np.int64)
    highs: Words = np.empty((coding.rows, count), np.int64)
    encode(words, count, coding, codes, highs)
    return codes, highs


@compiled
def decode(
    codes: Words, pieces: Pieces, begin: int, count: int, coding: Coding, words: Words
) -> None:
    """The words of `count` stored states, from index `begin` on."""
    highs = np.zeros(((pieces.shape[1] + PIECES - 1) // PIECES, count), np.int64)
    for p in range(pieces.shape[1]):
        into, at = highs[p // PIECES], p % PIECES * PIECE_BITS
        for j in range(count):
            into[j] |= int(pieces[begin + j, p]) << at
    lows = salts_of(highs, count)
    for j in range(count):
        lows[j] = unmixed(codes[begin + j], lows[j])
    for k in range(words.shape[0]):
        row, at = coding.at[k] // 64 - 1, coding.at[k] % 64
        mask = (1 << coding.widths[k]) - 1
        bits = lows if row < 0 else highs[row]
        if at + coding.widths[k] > 64:
            above = highs[row + 1]
            for j in range(count):
                words[k, j] = (shifted(bits[j], at) | above[j] << (64 - at)) & mask
        else:
            for j in range(count):
                words[k, j] = bits[j] >> at & mask
