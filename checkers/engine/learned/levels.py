"""The checkpoint of a learned run: states as bytes, which every process can read."""

from __future__ import annotations

import hashlib
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from kspec.checkers.engine.learned.backend import LearnedBackend, take_states
from kspec.checkers.engine.learned.frames import Frames, Written
from kspec.checkers.engine.learned.keys import code_of
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.packing import Packing, rows_of
from kspec.checkers.engine.learned.plain import Codec
from kspec.checkers.engine.learned.source import Sources
from kspec.checkers.engine.learned.worker import Chunk, Worker
from kspec.checkers.engine.packed import checkpoint
from kspec.checkers.engine.packed.behaviour import behaviour
from kspec.checkers.engine.packed.blocks import (
    SCHEMA,
    as_column,
    assert_whole,
    content_of,
    read_rows,
    write_rows,
)
from kspec.checkers.engine.packed.checkpoint import (
    AS_BYTES,
    CheckpointError,
    Counterexample,
    Level,
    Manifest,
    Part,
)
from kspec.checkers.engine.packed.codes import SHARDS, coding_for, decode, encoded
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.impl.compiled import Words
from kspec.spec.core import Always, Reachable, SpecError, System
from kspec.traces.trace import Trace

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
    return {
        "model": system.model.name,
        "variant": system.variant.name,
        "bounds": attrs.asdict(system.bounds),
        "properties": sorted(p.name for p in system.properties),
        "layout": AS_BYTES,
        "rules": rules_fingerprint(system),
    }


class Keeper:
    """The checkpoint of one search.

    Levels are written in the background, in order, while the search continues: it waits for the
    disk only at the end.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, learning: Learning, writer: ThreadPoolExecutor
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        """As on the disk, or about to be."""
        self.learning = learning
        self.frames = Frames(Codec(learning.system), learning.book)
        self.writer = writer
        self.depth = 0
        """The number of levels written or loaded."""
        self.first = 0
        """The number of initial states."""
        self.taken = False
        """Whether the last level was loaded, and need not be written."""
        self.unread: list[Level] = []
        """The loaded levels whose states are not read yet."""
        self.writer_done = False
        self.failure: Exception | None = None
        """The error that stopped writing, if there was one."""
        self.seconds = 0.0
        """Seconds that the search waited for the disk."""

    # -- keeping --------------------------------------------------------------------------------

    def keep_level(self, backend: LearnedBackend) -> None:
        """Write the last level unless the checkpoint has it; an empty level completes the run."""
        if self.taken or self.failure:
            self.taken = False
            self.assert_written()
            return
        chunks = [
            chunk
            for worker in backend.all
            for level in worker.levels[self.depth :]
            for chunk in level
            if chunk.count
        ]
        self.depth += 1
        states = sum(chunk.count for chunk in chunks)
        level = Level.of(backend.system, backend.counts, self.initial(states), states)
        packing = self.learning.tables.packing
        rows: Iterable[tuple[Words, int]]
        rows = ((rows_in(chunk, packing), chunk.count) for chunk in together(chunks))
        if self.learning.book.divisions:  # their values get numbers, which is not for the writer
            rows = [(self.frames.narrowed(some), count) for some, count in rows]
        tables = tables_of(rows, self.frames.snapshot())
        self.write_later(partial(self.write_level, level, tables, self.ways(backend)))

    def ways(self, backend: LearnedBackend) -> list[Counterexample]:
        """The counterexamples that a run has found."""
        shown = {p.name for p in backend.system.properties if isinstance(p, Reachable)}
        return [
            Counterexample(mark, [self.pack(state) for state in trace.states])
            for mark, trace in backend.traces
            if mark not in shown
        ]

    def initial(self, states: int) -> int:
        """The number of initial states: the size of the first level."""
        if self.depth == 1:
            self.first = states
        return self.first

    def finish(self, backend: LearnedBackend) -> None:
        """Write the violations, and wait until everything is on the disk."""
        begun = time.perf_counter()
        if not self.writer_done:
            self.write_later(partial(self.write_violations, self.ways(backend)))
            self.writer_done = True
            self.writer.shutdown()
        self.seconds += time.perf_counter() - begun
        self.assert_written()

    def write_later(self, write: Callable[[], None]) -> None:
        """Write after everything queued before, unless that fails."""

        def attempt() -> None:
            if self.failure is None:
                try:
                    write()
                except Exception as error:
                    self.failure = error

        self.assert_written()
        self.writer.submit(attempt)

    def assert_written(self) -> None:
        """Raise the error of the background thread, if there is one."""
        if isinstance(self.failure, OSError):
            self.failure.filename = self.failure.filename or str(self.folder)
        if self.failure:
            raise self.failure

    def write_level(
        self, level: Level, tables: Iterator[tuple[pa.Table, int]], known: list[Counterexample]
    ) -> None:
        """Write a level's files, and then the manifest."""
        depth = len(self.manifest.levels)
        parts = [
            write_rows(self.folder, f"level-{depth:05}-{index}.parquet", rows, states)
            for index, (rows, states) in enumerate(tables)
        ]
        self.manifest.levels.append(attrs.evolve(level, parts=tuple(parts)))
        self.manifest.add_violations(known)
        checkpoint.write_manifest(self.folder, self.manifest)

    def write_violations(self, known: list[Counterexample]) -> None:
        """Write the violations found after the last complete level."""
        if self.manifest.add_violations(known):
            checkpoint.write_manifest(self.folder, self.manifest)

    # -- taking up again ------------------------------------------------------------------------

    def take_level(self, backend: LearnedBackend) -> set[str] | None:
        """Load the next level from the manifest instead of expanding, if it is there.

        Returns the marks of the level before. The states of a finished run are read only if they
        are needed.
        """
        if self.depth >= len(self.manifest.levels):
            return None
        level = self.manifest.levels[self.depth]
        self.depth += 1
        self.initial(level.states)
        self.taken = True
        backend.counts = level.counts
        self.unread.append(level)
        if not self.has_ended:
            self.read(backend)
        return {DEADLOCK} & self.manifest.violations_in(self.depth - 2).keys()

    @property
    def has_ended(self) -> bool:
        """Whether the run in the checkpoint is complete, or has ended with a violation."""
        last = len(self.manifest.levels) - 1
        return not self.manifest.levels[last].states or bool(self.manifest.violations_in(last))

    def read(self, backend: LearnedBackend) -> None:
        """Read the states of the levels that were loaded."""
        begun = time.perf_counter()
        while self.unread:
            level = self.unread[0]
            for worker in backend.all:
                worker.begin_level()
            backend.of_all(partial(self.assert_whole, parts=level.parts, of=len(backend.all)))
            self.read_states(backend, [self.folder / part.name for part in level.parts])
            found = sum(worker.found_last() for worker in backend.all)
            if found != level.states:
                names = ", ".join(str(self.folder / part.name) for part in level.parts)
                raise CheckpointError(
                    f"{names}: {found:,} states instead of the {level.states:,} in the manifest"
                )
            del self.unread[0]
        self.seconds += time.perf_counter() - begun

    def assert_whole(self, worker: Worker, parts: tuple[Part, ...], of: int) -> None:
        """Have a worker verify its share of a level's files."""
        for part in parts[worker.index :: of]:
            assert_whole(self.folder, part)

    def read_states(self, backend: LearnedBackend, paths: Sequence[Path]) -> None:
        """Load the states of a level from its files into a backend's workers."""
        levels = len(backend.all[0].levels) - 1
        while not self.read_all(backend, paths):
            self.learning.tables.sync()
            backend.repack(levels)
            for worker in backend.all:
                worker.begin_level()
        self.learning.tables.sync()
        self.learning.refresh()

    def read_all(self, backend: LearnedBackend, paths: Sequence[Path]) -> bool:
        """Read the files of a level; False if values need more bits than states have for them."""
        tables = self.learning.tables
        for path in paths:
            for rows in read_rows(path, range(SHARDS)):
                numbers = self.frames.rows_of(*bytes_in(rows))
                room = tables.packing.room
                if numbers.shape[1] > len(room) or (numbers.max(axis=0) >= room).any():
                    return False
                codes, highs = encoded(tables.columns_of(numbers), backend.coding)
                backend.of_all(partial(take_states, codes=codes, highs=highs, of=len(backend.all)))
        return True

    def pack(self, state: Any) -> tuple[int, ...]:
        """A state of a counterexample, in words."""
        return tuple(self.frames.codec.encode_state(state))

    def trace(self, system: System[Any], example: Counterexample) -> Trace:
        """A counterexample of the checkpoint as a trace."""
        way = [tuple(words) for words in example.states]
        return behaviour(system, self.pack, way, example.name)


# -- states as bytes -------------------------------------------------------------------------------


def tables_of(
    rows: Iterable[tuple[Words, int]], written: Written
) -> Iterator[tuple[pa.Table, int]]:
    """States as tables, each with as many rows as fit a file, and their number."""
    for some, count in rows:
        yield as_blocks(*written.by_shard(some)), count


def rows_in(chunk: Chunk, packing: Packing) -> Words:
    """The states of a chunk as rows."""
    coding = coding_for(packing.widths)
    words: Words = np.empty((len(coding.widths), chunk.count), np.int64)
    decode(chunk.codes, chunk.pieces, 0, chunk.count, coding, words)
    return rows_of(words, packing)


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
