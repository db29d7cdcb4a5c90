"""How a search keeps its levels in a checkpoint, and takes them up again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from checkers.limits import Keep
from checkers.native import checkpoint
from checkers.native.blocks import assert_whole, read_part, write_part
from checkers.native.checkpoint import Level, Manifest, Part, Way
from checkers.native.codes import Coding, coding_of, encoded
from checkers.native.worker import Chunk, Worker, shards_of
from checkers.search import Counts
from checkers.verdict import DEADLOCK
from impl.packed.kernel import Kernel
from impl.packed.kernels import KERNELS, fingerprint
from spec.core import Reachable, SpecError, System

if TYPE_CHECKING:
    from checkers.native.search import Packed

MANY = 1 << 16
"""A level of fewer states is written as one file, whoever found them."""


def run_of(system: System[Any], kernel: Kernel[Any]) -> dict[str, Any]:
    """What is explored: two runs that agree in this find the same states in the same words."""
    return {
        "model": system.model.name,
        "variant": system.variant.name,
        "bounds": attrs.asdict(system.bounds),
        "properties": sorted(p.name for p in system.properties),
        "rules": fingerprint(KERNELS[system.model.name].files),
        "layout": layout_version(system, kernel),
    }


def layout_version(system: System[Any], kernel: Kernel[Any]) -> str:
    """What becomes of states: their fields' places, and the codes of some.

    These are the initial states, those a step away, and one of every other bit. So a change of
    how states are packed or codes are made is noticed without a number that somebody counts up.
    """
    first = system.initial()
    states = [*first, *(after for state in first for _, _, after in system.steps(state))]
    widths = kernel.layout.widths
    packed = [*(kernel.pack(state) for state in states), [(1 << width) // 3 for width in widths]]
    words = np.array(packed, np.int64).T.copy()
    codes, highs = encoded(words, coding_of(kernel.layout))
    fields = [attrs.astuple(field) for field in kernel.layout.fields.values()]
    says = repr((fields, widths, codes.tolist(), *highs.tolist()))
    return hashlib.sha256(says.encode()).hexdigest()[:16]


def ways(backend: Packed) -> list[Way]:
    """The violations that a run has found."""
    shown = {p.name for p in backend.system.properties if isinstance(p, Reachable)}
    return [Way(mark, way) for mark, _, _, way in backend.ways if mark not in shown]


class Keeper:
    """A checkpoint, for one search.

    Levels are written in the background, one after the other, while the search goes on: the
    disk is waited for in the end only.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, coding: Coding, writer: ThreadPoolExecutor
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        """As it is on the disk, or will be in a moment."""
        self.coding = coding
        self.writer = writer
        self.depth = 0
        """How many levels were kept, or taken up."""
        self.first = 0
        """How many initial states there are."""
        self.taken = False
        """Whether the last level was taken up, and need not be written."""
        self.unread: list[Level] = []
        """The levels that were taken up and whose states are not read yet."""
        self.writer_done = False
        self.failure: Exception | None = None
        """Why a level could not be written; then no later one is."""
        self.seconds = 0.0
        """For how long the search waited for the disk."""

    # -- keeping --------------------------------------------------------------------------------

    def keep_level(self, backend: Packed) -> None:
        """Have the level found last written, if it is not there; if it is empty, all was seen."""
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
        counts = backend.counts
        fired = {rule.name: counts.fired.get(rule.name, 0) for rule in backend.system.rules}
        level = Level(
            states=states,
            generated=counts.generated + self.initial(states),
            rules={name: {"fired": times} for name, times in fired.items()},
            edge_of_bounds=counts.edge_of_bounds,
        )
        self.write_later(partial(self.write_level, level, found, ways(backend)))

    def initial(self, states: int) -> int:
        """How many initial states there are: as many as the first level has."""
        if self.depth == 1:
            self.first = states
        return self.first

    def finish(self, backend: Packed) -> None:
        """Have the violations written that were found, and wait until all is."""
        begun = time.perf_counter()
        if not self.writer_done:
            self.write_later(partial(self.write_ways, ways(backend)))
            self.writer_done = True
            self.writer.shutdown()
        self.seconds += time.perf_counter() - begun
        self.assert_written()

    def write_later(self, write: Callable[[], None]) -> None:
        """Write when everything before is written, unless that fails."""

        def attempt() -> None:
            if self.failure is None:
                try:
                    write()
                except Exception as error:
                    self.failure = error

        self.assert_written()
        self.writer.submit(attempt)

    def assert_written(self) -> None:
        """Raise what went wrong in the background."""
        if isinstance(self.failure, OSError):
            self.failure.filename = self.failure.filename or str(self.folder)
        if self.failure:
            raise self.failure

    def write_level(self, level: Level, found: list[list[Chunk]], known: list[Way]) -> None:
        """Write a level's files, a file for each list of chunks, and then the manifest."""
        depth = len(self.manifest.levels)
        parts = [
            write_part(
                self.folder,
                f"level-{depth:05}-{index}.parquet",
                np.concatenate([chunk.codes[: chunk.count] for chunk in chunks]),
                np.concatenate([chunk.pieces[: chunk.count] for chunk in chunks]),
            )
            for index, chunks in enumerate(found)
            if chunks
        ]
        self.manifest.levels.append(attrs.evolve(level, parts=tuple(parts)))
        self.add_ways(known)
        checkpoint.write_manifest(self.folder, self.manifest)

    def write_ways(self, known: list[Way]) -> None:
        """Write the violations found after the last level was complete."""
        if self.add_ways(known):
            checkpoint.write_manifest(self.folder, self.manifest)

    def add_ways(self, known: list[Way]) -> bool:
        """Note violations; those that another run found in these levels stay."""
        depth = sum(level.states > 0 for level in self.manifest.levels)
        known = [way for way in known if way.level < depth]
        names = {way.name for way in known}
        others = [way for way in self.manifest.violations if way.name not in names]
        changed = [*known, *others] != self.manifest.violations
        self.manifest.violations = [*known, *others]
        return changed

    # -- taking up again ------------------------------------------------------------------------

    def take_level(self, backend: Packed) -> set[str] | None:
        """Have the next level of the manifest instead of finding it, if it is there.

        Answers what expanding the level before has shown. The states of a run that has ended are
        read only if something is to be found out from them.
        """
        if self.depth >= len(self.manifest.levels):
            return None
        level = self.manifest.levels[self.depth]
        self.depth += 1
        self.initial(level.states)
        self.taken = True
        backend.counts = Counts()
        backend.counts.fired = {name: of["fired"] for name, of in level.rules.items()}
        backend.counts.edge_of_bounds = level.edge_of_bounds
        self.unread.append(level)
        if not self.has_ended:
            self.read(backend)
        return {DEADLOCK} & self.ways_of(self.depth - 2).keys()

    @property
    def has_ended(self) -> bool:
        """Whether the run that is kept has seen all, or has ended with a violation."""
        last = len(self.manifest.levels) - 1
        return not self.manifest.levels[last].states or bool(self.ways_of(last))

    def ways_of(self, level: int) -> dict[str, Way]:
        """The violations that a level is known to show, by name."""
        return {way.name: way for way in self.manifest.violations if way.level == level}

    def marks_of(self, level: int) -> set[str] | None:
        """What a level violates for the first time; None where that was not asked yet."""
        ways = self.ways_of(level)
        return set(ways) if ways or level + 1 < len(self.manifest.levels) else None

    def read(self, backend: Packed) -> None:
        """Read the states of the levels that were taken up."""
        begun = time.perf_counter()
        while self.unread:
            level = self.unread[0]
            for worker in backend.all:
                worker.begin_level()
            backend.of_all(partial(self.assert_whole, parts=level.parts, of=len(backend.all)))
            backend.of_all(partial(self.load_into, parts=level.parts, of=len(backend.all)))
            found = sum(worker.found_last() for worker in backend.all)
            if found != level.states:
                names = ", ".join(str(self.folder / part.name) for part in level.parts)
                raise SpecError(f"{names}: {found:,} states, and {level.states:,} in the manifest")
            del self.unread[0]
        self.seconds += time.perf_counter() - begun

    def assert_whole(self, worker: Worker, parts: tuple[Part, ...], of: int) -> None:
        """Have a worker check its share of a level's files."""
        for part in parts[worker.index :: of]:
            assert_whole(self.folder, part)

    def load_into(self, worker: Worker, parts: tuple[Part, ...], of: int) -> None:
        """Give a worker the states of its shards."""
        shards = shards_of(worker.index, of)
        for part in parts:
            for codes, highs in read_part(self.folder / part.name, shards, self.coding.pieces):
                worker.take_in(codes, highs, len(codes))


@contextmanager
def kept(keep: Keep, system: System[Any], kernel: Kernel[Any], coding: Coding) -> Iterator[Keeper]:
    """The checkpoint that was asked for, for a search that packs its states."""
    with opened(keep, run_of(system, kernel)) as manifest, ThreadPoolExecutor(1) as writer:
        yield Keeper(keep.folder, manifest, coding, writer)


@contextmanager
def opened(keep: Keep, run: Mapping[str, Any]) -> Iterator[Manifest]:
    """The manifest of the checkpoint that was asked for, to be used by nobody else meanwhile."""
    if keep.resume and not keep.folder.is_dir():
        raise SpecError(f"there is no checkpoint at {keep.folder}")
    if not keep.resume:
        checkpoint.make_folder(keep.folder)
    handle = checkpoint.lock(keep.folder)
    try:
        take = checkpoint.resume if keep.resume else checkpoint.begin
        yield take(keep.folder, run)
    finally:
        os.close(handle)
