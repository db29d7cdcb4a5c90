"""Write the levels of a search to a checkpoint, and read them back."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed import checkpoint
from kspec.checkers.engine.packed.behaviour import behaviour
from kspec.checkers.engine.packed.blocks import assert_whole, write_rows
from kspec.checkers.engine.packed.checkpoint import (
    CheckpointError,
    Counterexample,
    Level,
    Manifest,
    Part,
)
from kspec.checkers.engine.packed.worker import Chunk, Worker
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.spec.core import Reachable, System
from kspec.traces.trace import Trace

if TYPE_CHECKING:
    from kspec.checkers.engine.packed.search import PackedBackend

MANY = 1 << 16
"""A smaller level is written as one file, whichever workers own its states."""


def run_as_kept(system: System[Any], rules: str, layout: str) -> dict[str, Any]:
    """What two runs must agree on, so that they find the same states and write them alike."""
    return {
        "model": system.model.name,
        "variant": system.variant.name,
        "bounds": attrs.asdict(system.bounds),
        "properties": sorted(p.name for p in system.properties),
        "layout": layout,
        "rules": rules,
    }


class Form(ABC):
    """How the states of a run are written and read."""

    @abstractmethod
    def pack(self, state: Any) -> tuple[int, ...]:
        """A state of a counterexample, in words."""

    @abstractmethod
    def tables(self, found: list[list[Chunk]]) -> Iterator[tuple[pa.Table, int]]:
        """The rows of each file of a level, one after the other, and their number of states.

        Another thread may ask for them while the search continues.
        """

    @abstractmethod
    def read(self, backend: PackedBackend, paths: Sequence[Path]) -> None:
        """Load the states of a level from its files into a backend's workers."""


class Keeper:
    """The checkpoint of one search.

    Levels are written in the background, in order, while the search continues: it waits for the
    disk only at the end.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, form: Form, writer: ThreadPoolExecutor
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        """As on the disk, or about to be."""
        self.form = form
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

    def keep_level(self, backend: PackedBackend) -> None:
        """Write the last level unless the checkpoint has it; an empty level completes the run."""
        if self.taken or self.failure:
            self.taken = False
            self.assert_written()
            return
        found = [
            [c for level in worker.levels[self.depth :] for c in level if c.count]
            for worker in backend.all
        ]
        self.depth += 1
        states = sum(chunk.count for chunks in found for chunk in chunks)
        if states < MANY:
            found = [[chunk for chunks in found for chunk in chunks]]
        level = Level.of(backend.system, backend.counts, self.initial(states), states)
        tables = self.form.tables([chunks for chunks in found if chunks])
        self.write_later(partial(self.write_level, level, tables, self.ways(backend)))

    def ways(self, backend: PackedBackend) -> list[Counterexample]:
        """The counterexamples that a run has found."""
        shown = {p.name for p in backend.system.properties if isinstance(p, Reachable)}
        return [
            Counterexample(mark, [self.form.pack(state) for state in trace.states])
            for mark, trace in backend.traces
            if mark not in shown
        ]

    def initial(self, states: int) -> int:
        """The number of initial states: the size of the first level."""
        if self.depth == 1:
            self.first = states
        return self.first

    def finish(self, backend: PackedBackend) -> None:
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

    def take_level(self, backend: PackedBackend) -> set[str] | None:
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

    def read(self, backend: PackedBackend) -> None:
        """Read the states of the levels that were loaded."""
        begun = time.perf_counter()
        while self.unread:
            level = self.unread[0]
            for worker in backend.all:
                worker.begin_level()
            backend.of_all(partial(self.assert_whole, parts=level.parts, of=len(backend.all)))
            self.form.read(backend, [self.folder / part.name for part in level.parts])
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

    def trace(self, system: System[Any], example: Counterexample) -> Trace:
        """A counterexample of the checkpoint as a trace."""
        states, steps = behaviour(
            system, self.form.pack, [tuple(words) for words in example.states]
        )
        return Trace(system, tuple(states), tuple(steps), example.name)


@contextmanager
def keeping(folder: Path, manifest: Manifest, form: Form) -> Iterator[Keeper]:
    """The keeper of one search's checkpoint."""
    with ThreadPoolExecutor(1) as writer:
        yield Keeper(folder, manifest, form, writer)


@contextmanager
def opened(options: Options, run: Mapping[str, Any]) -> Iterator[Manifest]:
    """The manifest of the requested checkpoint, which stays locked meanwhile."""
    folder = options.checkpoint
    assert folder, "a checkpoint was asked for"
    if not options.resume:
        checkpoint.make_folder(folder)
    elif not folder.is_dir():
        raise CheckpointError(f"there is no checkpoint at {folder}")
    handle = checkpoint.lock(folder)
    try:
        take = checkpoint.resume if options.resume else checkpoint.begin
        yield take(folder, run)
    finally:
        os.close(handle)
