"""The checkpoint of a learned run: states as bytes, which every process can read."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kspec.checkers.engine.learned.frames import Frames, Written
from kspec.checkers.engine.learned.keys import code_of
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.learned.source import Sources
from kspec.checkers.engine.learned.tables import Packing, rows_of
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.blocks import SCHEMA, as_column, content_of, read_rows
from kspec.checkers.engine.packed.checkpoint import AS_BYTES, Manifest
from kspec.checkers.engine.packed.codes import SHARDS, Coding, coding_for, decode, encoded
from kspec.checkers.engine.packed.keep import Form, Keeper, keeping, run_as_kept
from kspec.checkers.engine.packed.keep import opened as opened_manifest
from kspec.checkers.engine.packed.search import take_states
from kspec.checkers.engine.packed.worker import Chunk
from kspec.impl.compiled import Words
from kspec.spec.core import Always, Reachable, SpecError, System

MOST_BYTES = (1 << 32) - 1
"""The length of a state is a number of 32 bits."""
IN_A_FILE = 1 << 19
"""The number of states encoded together: each takes some hundred bytes."""


def rules_fingerprint(system: System[Any]) -> str:
    """A fingerprint of everything that states, steps and verdicts depend on; docstrings do not
    count.
    """
    asked = {p.name: p for p in system.properties if isinstance(p, Always | Reachable)}
    in_order = dict.fromkeys([*(p.name for p in system.model.all_properties), *asked])
    code = map(code_of, (*system.rules, *(asked[name] for name in in_order if name in asked)))
    parts = *code, system.model.initial, system.model.final
    return (Sources().fingerprint_of(parts) or text_of(system))[:16]


def text_of(system: System[Any]) -> str:
    """The text of the rules' modules, for code without a fingerprint."""
    modules = {rule.body.__module__ for rule in system.rules}
    try:
        texts = [inspect.getsource(sys.modules[name]) for name in sorted(modules)]
    except (OSError, TypeError, KeyError):
        raise SpecError("a checkpoint requires the rules' source code, which is missing") from None
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def run_of(system: System[Any]) -> dict[str, Any]:
    """What two runs must agree on, whichever engine runs them."""
    return run_as_kept(system, rules_fingerprint(system), AS_BYTES)


class StatesAsBytes(Form):
    """The states of a learned backend as bytes, which any process understands."""

    def __init__(self, learning: Learning) -> None:
        self.learning = learning
        self.frames = Frames(Codec(learning.system), learning.book)

    def pack(self, state: Any) -> tuple[int, ...]:
        return tuple(self.frames.codec.encode_state(state))

    def tables(self, found: list[list[Chunk]]) -> Iterator[tuple[pa.Table, int]]:
        packing = self.learning.tables.packing
        coding = coding_for(packing.widths)
        chunks = [chunk for some in found for chunk in some]
        return tables_of(chunks, coding, packing, self.frames.snapshot())

    def read(self, backend: Any, paths: Sequence[Path]) -> None:
        levels = len(backend.all[0].levels) - 1
        while not self.read_all(backend, paths):
            self.learning.tables.sync()
            backend.repack(levels)
            for worker in backend.all:
                worker.begin_level()
        self.learning.tables.sync()
        self.learning.refresh()

    def read_all(self, backend: Any, paths: Sequence[Path]) -> bool:
        """Read the files of a level; False if values need more bits than states have for them."""
        tables = self.learning.tables
        for path in paths:
            for rows in read_rows(path, range(SHARDS)):
                numbers = self.frames.rows_of(*bytes_in(rows))
                if (numbers.max(axis=0) >= tables.packing.room).any():
                    return False
                codes, highs = encoded(tables.columns_of(numbers), backend.coding)
                backend.of_all(partial(take_states, codes=codes, highs=highs, of=len(backend.all)))
        return True


class LearnedLevels:
    """The checkpoint of a learned run, which may take several attempts."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.trusted = len(manifest.levels)
        """The number of levels that an earlier process made."""

    @contextmanager
    def keeping(self, learning: Learning) -> Iterator[Keeper]:
        """The keeper for one attempt, which has the levels of the attempts before."""
        with keeping(self.folder, self.manifest, StatesAsBytes(learning)) as keeper:
            yield keeper

    def begin_anew(self) -> None:
        """Drop the levels that this process made from wrong answers."""
        del self.manifest.levels[self.trusted :]
        ways = self.manifest.violations
        self.manifest.violations = [v for v in ways if v.level < self.trusted]


@contextmanager
def opened(system: System[Any], options: Options) -> Iterator[LearnedLevels]:
    """The requested checkpoint."""
    assert options.checkpoint
    with opened_manifest(options, run_of(system)) as manifest:
        yield LearnedLevels(options.checkpoint, manifest)


def tables_of(
    chunks: Sequence[Chunk], coding: Coding, packing: Packing, written: Written
) -> Iterator[tuple[pa.Table, int]]:
    """States as tables, each with as many rows as fit a file."""
    for chunk in together(chunks):
        words: Words = np.empty((len(coding.widths), chunk.count), np.int64)
        decode(chunk.codes, chunk.pieces, 0, chunk.count, coding, words)
        yield as_blocks(*written.by_shard(rows_of(words, packing))), chunk.count


def together(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The same states in larger chunks."""
    some: list[Chunk] = []
    for chunk in [*chunks, None]:
        states = sum(one.count for one in some)
        if some and (chunk is None or states + chunk.count > IN_A_FILE):
            codes = np.concatenate([one.codes[: one.count] for one in some])
            yield Chunk(codes, np.concatenate([one.pieces[: one.count] for one in some]), states)
            some = []
        if chunk is not None:
            some.append(chunk)


def as_blocks(shards: Words, lengths: Words, content: Any) -> pa.Table:
    """States in the order of their shards as rows, one row per shard that is not empty."""
    if lengths.max(initial=0) > MOST_BYTES:
        raise SpecError(
            f"a state takes more than {MOST_BYTES:,} bytes in a checkpoint: omit --checkpoint"
        )
    first = np.flatnonzero(np.diff(shards, prepend=-1))
    places = np.append(first, len(shards))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return pa.table(
        [
            pa.array(shards[first].astype(np.int32)),
            as_column(content, ends[places]),
            as_column(lengths.astype("<u4"), places * 4),
        ],
        schema=SCHEMA,
    )


def bytes_in(rows: pa.RecordBatch) -> tuple[memoryview, Words]:
    """The bytes of the states in some rows, concatenated, and their lengths."""
    lengths = np.frombuffer(content_of(rows.column("highs")), "<u4").astype(np.int64)
    return content_of(rows.column("codes")), lengths
