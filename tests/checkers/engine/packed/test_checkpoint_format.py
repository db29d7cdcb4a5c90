"""The checkpoint format: owners find their states, and the documentation is complete."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checkers.engine.packed.wide import DIALS, wide_kernels

from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed import blocks, by_kernel
from kspec.checkers.engine.packed.codes import SHARDS
from kspec.checkers.engine.packed.worker import owner_of, shards_of
from kspec.spec.core import System
from kspec.spec.replication import REPLICATION

assert wide_kernels, "a fixture"

S = TypeVar("S")


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 12), st.integers(0, 300), st.integers(1, 300), st.integers(0, 2**32))
def test_every_owner_reads_its_own_states(pieces: int, count: int, owners: int, seed: int) -> None:
    """However many owners wrote the rows, and however many read them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-(1 << 63), (1 << 63) - 1, count)
    highs = rng.integers(0, 1 << 16, (count, pieces)).astype(np.uint16)
    rows = blocks.as_rows(codes, highs)
    assert rows.column("shard").to_pylist() == sorted({code >> 12 & 4095 for code in codes})
    back: list[tuple[int, ...]] = []
    for batch in rows.to_batches():
        found, words = blocks.as_states(batch, pieces)
        back += zip(found.tolist(), *words.view(np.uint64).tolist(), strict=True)
    whole = [sum(int(piece) << 16 * p for p, piece in enumerate(row)) for row in highs]
    words_of = [
        [n >> 64 * r & (1 << 64) - 1 for n in whole] for r in range(max(1, -(-pieces // 4)))
    ]
    assert sorted(back) == sorted(zip(codes.tolist(), *words_of, strict=True))
    for code in codes[:20]:
        owner = owner_of(int(code), owners)
        assert 0 <= owner < owners
        assert int(code) >> 12 & 4095 in shards_of(owner, owners)
    assert [s for owner in range(owners) for s in shards_of(owner, owners)] == list(range(SHARDS))


@pytest.mark.parametrize(
    "system",
    [
        REPLICATION.system("kip-101", {"brokers": 2}),
        REPLICATION.system(
            "kip-320", {"brokers": 2, "max_epoch": 7, "log_size": 4, "max_records": 4}
        ),
        DIALS.system(bounds={"first": 7, "apart": 8}),
    ],
    ids=["no high bits", "a word of them", "three words of them"],
)
def test_the_format_matches_its_documentation(
    system: System[Any], tmp_path: Path, wide_kernels: None
) -> None:
    """Read by the format's documentation alone, it has the states of the specification."""
    explore_by_learning(system, Options(max_depth=7, checkpoint=tmp_path))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    claimed = manifest.pop("checksum")
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == claimed
    kernel = by_kernel.kernel_for(system)  # type: ignore[attr-defined]
    high_bits = max(0, kernel.layout.bits - 64)
    levels = manifest["levels"]
    assert len(levels) == 7
    fired: Counter[str] = Counter()
    edge_of_bounds = 0
    for level, expected in zip(levels, spec_levels(system), strict=False):
        found = set()
        for part in level["parts"]:
            path = tmp_path / part["name"]
            assert hashlib.sha256(path.read_bytes()).hexdigest() == part["sha256"]
            rows = pq.read_table(path).to_pylist()
            assert (path.stat().st_size, len(rows)) == (part["bytes"], part["rows"])
            for row in rows:
                states = list(states_of_row(row, high_bits))
                assert {code >> 12 & 4095 for code, _ in states} == {row["shard"]}
                found.update(states)
        packed = [kernel.pack(state) for state in expected]
        assert found == {state_by_the_book(words, kernel.layout.widths) for words in packed}
        assert level["states"] == len(expected)
        counts = {name: count["fired"] for name, count in level["rules"].items()}
        assert Counter(counts) == fired
        assert level["generated"] == len(system.initial()) + fired.total()
        assert level["edge_of_bounds"] == edge_of_bounds
        fired.update(rule.name for state in expected for rule, _, _ in system.steps(state))
        edge_of_bounds += sum(is_cut_off(system, state) for state in expected)


def test_an_empty_level_completes_a_run(tmp_path: Path) -> None:
    system = REPLICATION.system("kip-320", {"brokers": 1})
    explore_by_learning(system, Options(checkpoint=tmp_path))
    *levels, last = json.loads((tmp_path / "manifest.json").read_text())["levels"]
    assert all(level["states"] for level in levels)
    assert (last["states"], last["parts"]) == (0, [])


def spec_levels(system: System[S]) -> Iterator[list[S]]:
    """The states at each distance, by the rules of the specification."""
    level = system.initial()
    seen = set(level)
    while level:
        yield level
        after = dict.fromkeys(s for state in level for _, _, s in system.steps(state))
        level = [state for state in after if state not in seen]
        seen.update(level)


def is_cut_off(system: System[S], state: S) -> bool:
    """Whether a behaviour would go on from here but for the bounds."""
    if any(True for _ in system.steps(state)):
        return False
    return not system.is_final(state) and not system.is_deadlock(state)


def state_by_the_book(words: Sequence[int], widths: Sequence[int]) -> tuple[int, int]:
    """The code of a state, and its high bits as one number."""
    bits, at = 0, 0
    for word, width in zip(words, widths, strict=True):
        bits |= word << at
        at += width
    low, high = bits % (1 << 64), bits >> 64
    salt = 0
    for word in reversed([high >> shift & (1 << 64) - 1 for shift in range(0, 192, 64)]):
        salt = (salt ^ salt >> 32 ^ word) * 0xA0761D6478BD642F % (1 << 64)
    x = low ^ salt
    x ^= x >> 32
    x = x * 0x9E3779B97F4A7C15 % (1 << 64)
    x ^= x >> 29
    return x * 0xBF58476D1CE4E5B9 % (1 << 64), high


def states_of_row(row: Mapping[str, bytes], high_bits: int) -> Iterator[tuple[int, int]]:
    """The codes and high bits of a row of a file."""
    size = -(-high_bits // 16) * 2
    codes = [code for (code,) in struct.iter_unpack("<Q", row["codes"])]
    assert len(row["highs"]) == len(codes) * size
    for n, code in enumerate(codes):
        yield code, int.from_bytes(row["highs"][n * size : (n + 1) * size], "little")


@pytest.mark.slow
def test_a_reader_of_some_shards_gets_only_their_states(tmp_path: Path) -> None:
    codes = np.random.default_rng(0).integers(-(1 << 63), (1 << 63) - 1, 20_000)
    rows = blocks.as_rows(codes, np.zeros((len(codes), 0), np.uint16))
    part = blocks.write_rows(tmp_path, "part", rows, len(codes))
    assert part.states == len(codes)
    shards = range(300, 777)
    read = [c for found, _ in blocks.read_part(tmp_path / "part", shards, 0) for c in found]
    assert sorted(read) == sorted(code for code in codes if code >> 12 & 4095 in shards)
