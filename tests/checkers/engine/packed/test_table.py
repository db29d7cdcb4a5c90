"""Codes and tables: nothing is lost, and no two states are confused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.engine.learned.worker import nothing_recent, send
from kspec.checkers.engine.packed.codes import (
    Pieces,
    coding_for,
    decode,
    encoded,
    high_rows,
)
from kspec.checkers.engine.packed.table import INSIDE, Table, insert
from kspec.impl.compiled import Words


def widths_of(words: int) -> st.SearchStrategy[list[int]]:
    """Widths of so many words."""
    return st.lists(st.integers(1, 63), min_size=words, max_size=words)


WORD = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.sampled_from([1, 4]).flatmap(widths_of), st.data())
def test_decoding_inverts_encoding(widths: list[int], data: st.DataObject) -> None:
    coding = coding_for(widths)
    states = st.tuples(*(st.integers(0, (1 << w) - 1) for w in widths))
    words = np.array(data.draw(st.lists(states, min_size=1)), np.int64).T.copy()
    codes, highs = encoded(words, coding)
    pieces = pieces_of(highs)
    assert not pieces[:, coding.pieces :].any(), "nothing is where no bits are"
    back = np.empty_like(words)
    decode(codes, pieces[:, : coding.pieces].copy(), 0, words.shape[1], coding, back)
    assert (back == words).all()


def test_every_bit_moves_states_to_other_buckets_and_shards() -> None:
    """About half the bits that decide where a state is change with any of its bits."""
    coding = coding_for([50] * 4)
    words = np.random.default_rng(0).integers(0, 1 << 50, (4, 500))
    codes, _ = encoded(words, coding)
    for bit in range(200):
        other = words.copy()
        other[bit // 50] ^= 1 << bit % 50
        changed = encoded(other, coding)[0] ^ codes
        for at, size in [(32, 32), (12, 12)]:
            assert 0.3 < (changed[:, None] >> at + np.arange(size) & 1).mean() < 0.7, (bit, at)


def pieces_of(highs: Words) -> Pieces:
    """High bits as they are stored; all pieces of every word."""
    return highs.T.copy().view(np.uint16)


def add(table: Table, codes: Words, highs: Words) -> list[tuple[int, ...]]:
    """Insert, growing as needed; what the table calls new."""
    count, begin, new = len(codes), 0, 0
    new_codes = np.empty(count, np.int64)
    new_pieces = np.empty((count, 4 * len(highs)), np.uint16)
    while begin < count:
        before = new
        begin, new = insert(
            table.slots, table.rest, table.buckets, table.inside, table.room,
            codes, highs, begin, count, new_codes, new_pieces, new,
        )  # fmt: skip
        table.count += new - before
        if begin < count:
            table.grow()
    return as_states(new_codes[:new], new_pieces[:new].view(np.int64).T)


def as_states(codes: Words, highs: Words) -> list[tuple[int, ...]]:
    """Code and high bits of each state."""
    return list(zip(codes.tolist(), *highs.tolist(), strict=True))


def any_highs(rng: np.random.Generator, high_bits: int, count: int) -> Words:
    """High bits in as many rows as they take."""
    rows = high_rows(-(-high_bits // 16))
    bits = [min(64, high_bits - 64 * row) for row in range(rows)]
    highs = [
        rng.integers(0, 1 << n, count, dtype=np.uint64, endpoint=False)
        if n < 64
        else rng.integers(0, (1 << 64) - 1, count, dtype=np.uint64, endpoint=True)
        for n in bits
    ]
    return np.array(highs).view(np.int64)


@pytest.mark.parametrize("high_bits", [0, 3, INSIDE, INSIDE + 1, 40, 64, 65, 136, 192])
@pytest.mark.parametrize("crowded", [False, True])
def test_a_state_is_new_once(high_bits: int, crowded: bool) -> None:
    """Also where many states are at home in few buckets, and differ in one bit only."""
    rng = np.random.default_rng(high_bits)
    count = 150 if crowded else 20_000
    codes = rng.integers(-(1 << 63), 1 << 63, count, dtype=np.int64, endpoint=False)
    if crowded:
        codes = codes & 0xFFFFF | (codes >> 60 & 3) << 52
    highs = any_highs(rng, high_bits, count)
    one_bit = codes ^ 1 << rng.integers(0, 63, count)
    other_high = highs.copy()
    if high_bits:
        bit = rng.integers(0, high_bits, count)
        other_high[bit // 64, np.arange(count)] ^= 1 << bit % 64
    codes = np.concatenate([codes, one_bit, codes])
    highs = np.concatenate([highs, highs, other_high], axis=1)
    states = as_states(codes, highs)
    table = Table(high_bits, 1 << 30)
    assert add(table, codes, highs) == list(dict.fromkeys(states))
    assert table.count == len(set(states))
    table.grow()
    assert add(table, codes, highs) == []


@pytest.mark.parametrize("row", [0, 1, 2])
def test_states_with_equal_codes_differ_in_any_high_word(row: int) -> None:
    """However unlucky mixing is. They move on together when the table grows."""
    codes = np.full(400, -0x123456789)
    highs = np.full((3, 400), 7)
    highs[row] = np.arange(400) << 40
    table = Table(192, 1 << 26)
    assert add(table, codes, highs) == as_states(codes, highs)
    for _ in range(4):
        table.grow()
        assert add(table, codes, highs) == []


@given(st.lists(st.tuples(WORD, st.integers(0, 7)), max_size=50))
def test_any_code_is_new_once(states: list[tuple[int, int]]) -> None:
    table = Table(3, 1 << 24)
    codes = np.array([code for code, _ in states], np.int64)
    highs = np.array([[high for _, high in states]], np.int64)
    assert add(table, codes, highs) == list(dict.fromkeys(states))
    table.grow()
    assert add(table, codes, highs) == []


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_only_recently_sent_states_are_filtered(rows: int) -> None:
    """Even those that are all zeros or all ones, at the beginning."""
    recent, recent_highs = nothing_recent(1 << 5, rows)
    codes = np.array([0, 0, -1, -1, 0, *[5] * rows, 5])
    highs = np.zeros((rows, len(codes)), np.int64)
    highs[:, [1, 3]] = -1
    highs[:, 5 : 5 + rows] = np.eye(rows)
    sent, sent_highs = np.empty((1, 99), np.int64), np.empty((1, rows, 99), np.int64)
    for times in (1, 2):
        counts = np.zeros(1, np.int64)
        end = send(codes, highs, 0, len(codes), recent, recent_highs, sent, sent_highs, counts)
        assert end == len(codes)
        found = as_states(sent[0, : counts[0]], sent_highs[0, :, : counts[0]])
        assert found == as_states(codes, highs), f"each displaces the one before, time {times}"
    same, zero = np.full(3, 9), np.zeros((rows, 3), np.int64)
    counts[:] = 0
    send(same, zero, 0, 3, recent, recent_highs, sent, sent_highs, counts)
    assert counts[0] == 1
