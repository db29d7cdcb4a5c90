"""The files of a checkpoint: owners find their states, and the documentation tells all of it."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.limits import Keep
from checkers.native import blocks
from checkers.native.codes import SHARDS
from checkers.native.search import explore
from checkers.native.worker import owner_of, shards_of
from impl.packed.kernels import kernel_for
from spec.core import System
from spec.replication import REPLICATION
from spec.replication.state import Cluster


@settings(max_examples=30)
@given(st.integers(0, 2), st.integers(0, 300), st.integers(1, 300), st.integers(0, 2**32))
def test_every_owner_reads_its_own_states(pieces: int, count: int, owners: int, seed: int) -> None:
    """However many owners wrote the rows, and however many read them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-(1 << 63), (1 << 63) - 1, count)
    highs = rng.integers(0, 1 << 16, (count, pieces)).astype(np.uint16)
    rows = blocks.as_rows(codes, highs)
    assert rows.column("shard").to_pylist() == sorted({code >> 12 & 4095 for code in codes})
    back: list[tuple[int, int]] = []
    for batch in rows.to_batches():
        found, high = blocks.as_states(batch, pieces)
        back += zip(found.tolist(), high.tolist(), strict=True)
    wide = [sum(int(piece) << 16 * p for p, piece in enumerate(row)) for row in highs]
    assert sorted(back) == sorted(zip(codes.tolist(), wide, strict=True))
    for code in codes[:20]:
        owner = owner_of(int(code), owners)
        assert 0 <= owner < owners
        assert int(code) >> 12 & 4095 in shards_of(owner, owners)
    assert [s for owner in range(owners) for s in shards_of(owner, owners)] == list(range(SHARDS))


def test_the_format_is_what_its_documentation_says(tmp_path: Path) -> None:
    """Read by nothing but docs/checkpoints.md, a checkpoint has the states of the specification."""
    system = REPLICATION.system("kip-101", {"brokers": 2})
    explore(system, keep=Keep(tmp_path, resume=False))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    claimed = manifest.pop("checksum")
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == claimed
    kernel = kernel_for(system)
    *levels, last = manifest["levels"]
    assert (last["states"], last["parts"]) == (0, [])
    fired: Counter[str] = Counter()
    for level, expected in zip(levels, spec_levels(system), strict=True):
        found = set()
        for part in level["parts"]:
            path = tmp_path / part["name"]
            assert hashlib.sha256(path.read_bytes()).hexdigest() == part["sha256"]
            rows = pq.read_table(path).to_pylist()
            assert (path.stat().st_size, len(rows)) == (part["bytes"], part["rows"])
            for row in rows:
                codes = [c for (c,) in struct.iter_unpack("<Q", row["codes"])]
                assert {code >> 12 & 4095 for code in codes} == {row["shard"]}
                assert row["highs"] == b""
                found.update(codes)
        packed = [kernel.pack(state) for state in expected]
        assert found == {code_by_the_book(words, kernel.layout.widths) for words in packed}
        assert level["states"] == len(expected)
        counts = {name: count["fired"] for name, count in level["rules"].items()}
        assert Counter(counts) == fired
        assert level["generated"] == len(system.initial()) + fired.total()
        fired.update(rule.name for state in expected for rule, _, _ in system.steps(state))


def spec_levels(system: System[Cluster]) -> Iterator[list[Cluster]]:
    """The states at each distance, by the rules of the specification."""
    level = system.initial()
    seen = set(level)
    while level:
        yield level
        after = dict.fromkeys(s for state in level for _, _, s in system.steps(state))
        level = [state for state in after if state not in seen]
        seen.update(level)


def code_by_the_book(words: Sequence[int], widths: Sequence[int]) -> int:
    """The code of a state of at most 64 bits."""
    x, at = 0, 0
    for word, width in zip(words, widths, strict=True):
        x |= word << at
        at += width
    assert at <= 64
    x ^= x >> 32
    x = x * 0x9E3779B97F4A7C15 % (1 << 64)
    x ^= x >> 29
    return x * 0xBF58476D1CE4E5B9 % (1 << 64)


def test_a_reader_of_some_shards_gets_their_states_only(tmp_path: Path) -> None:
    codes = np.random.default_rng(0).integers(-(1 << 63), (1 << 63) - 1, 20_000)
    part = blocks.write_part(tmp_path, "part", codes, np.zeros((len(codes), 0), np.uint16))
    assert part.states == len(codes)
    shards = range(300, 777)
    read = [c for found, _ in blocks.read_part(tmp_path / "part", shards, 0) for c in found]
    assert sorted(read) == sorted(code for code in codes if code >> 12 & 4095 in shards)
