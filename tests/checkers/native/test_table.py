"""Codes and tables: nothing is lost, and no two states are taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.native.codes import coding_of, decode, encode
from checkers.native.table import INSIDE, Table, insert
from impl.packed.compiled import Words
from impl.packed.layout import layout

WORD = st.integers(-(1 << 63), (1 << 63) - 1)


@settings(deadline=None)
@given(st.lists(st.integers(1, 63), min_size=1, max_size=2), st.data())
def test_decoding_gives_back_what_was_encoded(widths: list[int], data: st.DataObject) -> None:
    coding = coding_of(layout(*([(f"word {k}", 1 << w, 1)] for k, w in enumerate(widths))))
    states = st.tuples(*(st.integers(0, (1 << w) - 1) for w in widths))
    words = np.array(data.draw(st.lists(states, min_size=1)), np.int64).T.copy()
    count = words.shape[1]
    codes, highs = np.empty((2, count), np.int64)
    encode(words, count, coding, codes, highs)
    assert (highs >= 0).all()
    assert (highs < 1 << coding.high_bits).all()
    pieces = highs[:, None] >> 16 * np.arange(coding.pieces) & 0xFFFF
    back = np.empty_like(words)
    decode(codes, pieces.astype(np.uint16), 0, count, coding, back)
    assert (back == words).all()


def add(table: Table, codes: Words, highs: Words) -> list[tuple[int, int]]:
    """Insert, growing as needed; what the table calls new."""
    count, begin, new = len(codes), 0, 0
    new_codes, new_pieces = np.empty(count, np.int64), np.empty((count, 4), np.uint16)
    while begin < count:
        before = new
        begin, new = insert(
            table.slots, table.rest, table.buckets, table.inside, table.room,
            codes, highs, begin, count, new_codes, new_pieces, new,
        )  # fmt: skip
        table.count += new - before
        if begin < count:
            table.grow()
    new_highs = (new_pieces[:new].astype(np.int64) << 16 * np.arange(4)).sum(axis=1)
    return list(zip(new_codes[:new].tolist(), new_highs.tolist(), strict=True))


@pytest.mark.parametrize("high_bits", [0, 3, INSIDE, INSIDE + 1, 40])
@pytest.mark.parametrize("crowded", [False, True])
def test_a_state_is_new_once(high_bits: int, crowded: bool) -> None:
    """Also where many states are at home in few buckets, and differ in one bit only."""
    rng = np.random.default_rng(high_bits)
    count = 150 if crowded else 60_000
    codes = rng.integers(-(1 << 63), 1 << 63, count, dtype=np.int64, endpoint=False)
    if crowded:
        codes = codes & 0xFFFFF | (codes >> 60 & 3) << 52
    highs = rng.integers(0, 1 << high_bits, count)
    one_bit = codes ^ 1 << rng.integers(0, 63, count)
    other_high = highs ^ (1 << rng.integers(0, high_bits, count) if high_bits else 0)
    codes, highs = np.concatenate([codes, one_bit, codes]), np.tile(highs, 3)
    highs[2 * count :] = other_high
    states = list(zip(codes.tolist(), highs.tolist(), strict=True))
    table = Table(high_bits, 1 << 30)
    assert add(table, codes, highs) == list(dict.fromkeys(states))
    assert table.count == len(set(states))
    table.grow()
    assert add(table, codes, highs) == []


@settings(deadline=None)
@given(st.lists(st.tuples(WORD, st.integers(0, 7)), max_size=50))
def test_any_code_is_new_once(states: list[tuple[int, int]]) -> None:
    table = Table(3, 1 << 24)
    codes = np.array([code for code, _ in states], np.int64)
    highs = np.array([high for _, high in states], np.int64)
    assert add(table, codes, highs) == list(dict.fromkeys(states))
    table.grow()
    assert add(table, codes, highs) == []
