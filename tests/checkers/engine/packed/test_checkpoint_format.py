"""The checkpoint format: owners find their states, and the documentation is complete."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow.parquet as pq
import pytest

from kspec.checkers.engine.learned import levels
from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed import blocks
from kspec.checkers.engine.packed.codes import SHARDS, shards_of
from kspec.spec.core import System
from kspec.spec.replication import REPLICATION
from tests.checkers.engine.packed.dials import DIALS

S = TypeVar("S")


@pytest.mark.parametrize("owners", [1, 2, 3, 7, 300, 4096])
def test_each_shard_has_one_owner(owners: int) -> None:
    owned = [shards_of(owner, owners) for owner in range(owners)]
    assert [shard for some in owned for shard in some] == list(range(SHARDS))
    for owner, some in enumerate(owned):
        assert {shard * owners >> 12 for shard in some} == {owner}


@pytest.mark.parametrize(
    "system",
    [
        REPLICATION.system("kip-101", {"brokers": 2}),
        REPLICATION.system(
            "kip-320", {"brokers": 2, "max_epoch": 7, "log_size": 4, "max_records": 4}
        ),
        DIALS.system(bounds={"alarm": 9}),
    ],
    ids=["replication", "larger bounds", "dials"],
)
def test_the_format_matches_its_documentation(system: System[Any], tmp_path: Path) -> None:
    """Read by the format's documentation alone, it has the states of the specification."""
    explore_by_learning(system, Options(max_depth=7, keep_going=True, checkpoint=tmp_path))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    claimed = manifest.pop("checksum")
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == claimed
    codec = Codec(system)
    kept = manifest["levels"]
    assert len(kept) == 7
    fired: Counter[str] = Counter()
    edge_of_bounds = 0
    for level, expected in zip(kept, spec_levels(system), strict=False):
        found = set()
        for part in level["parts"]:
            path = tmp_path / part["name"]
            assert hashlib.sha256(path.read_bytes()).hexdigest() == part["sha256"]
            rows = pq.read_table(path).to_pylist()
            assert (path.stat().st_size, len(rows)) == (part["bytes"], part["rows"])
            for row in rows:
                states = list(states_of_row(row))
                assert {zlib.crc32(state) % 4096 for state in states} == {row["shard"]}
                found.update(states)
        assert found == set(map(codec.encode_state, expected))
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
    *others, last = json.loads((tmp_path / "manifest.json").read_text())["levels"]
    assert all(level["states"] for level in others)
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


def states_of_row(row: Mapping[str, bytes]) -> Iterator[bytes]:
    """The states of a row of a file."""
    begin = 0
    for (length,) in struct.iter_unpack("<I", row["highs"]):
        yield row["codes"][begin : begin + length]
        begin += length
    assert begin == len(row["codes"])


def test_a_reader_of_some_shards_gets_only_their_states(tmp_path: Path) -> None:
    states = sorted((str(n).encode() for n in range(20_000)), key=shard_of)
    rows = levels.as_blocks(
        np.array(list(map(shard_of, states))),
        np.array(list(map(len, states))),
        np.frombuffer(b"".join(states), np.uint8),
    )
    part = blocks.write_rows(tmp_path, "part", rows, len(states))
    assert (part.states, part.rows) == (len(states), len(set(map(shard_of, states))))
    shards = range(300, 777)
    read = [
        state
        for rows in blocks.read_rows(tmp_path / "part", shards)
        for row in rows.to_pylist()
        for state in states_of_row(row)
    ]
    assert read == [state for state in states if shard_of(state) in shards]


def shard_of(state: bytes) -> int:
    """The shard of a state."""
    return zlib.crc32(state) % SHARDS
