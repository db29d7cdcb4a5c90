"""How a search keeps its levels in a checkpoint, and takes them up again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from checkers.limits import INTERRUPTED, Keep
from checkers.native import checkpoint
from checkers.native.blocks import Part, assert_whole, read_part, write_part
from checkers.native.checkpoint import Level, Manifest, Way
from checkers.native.codes import Coding, coding_of, encoded
from checkers.native.worker import Chunk, Worker, shards_of
from impl.packed.kernel import Kernel
from impl.packed.kernels import KERNELS, fingerprint
from spec.core import SpecError, System

if TYPE_CHECKING:
    from checkers.native.search import Search

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


def ways(search: Search[Any], depth: int) -> list[Way]:
    """The violations that a search has found in so many levels."""
    pack = search.kernel.pack
    found = [v for v in search.violations if len(v.states) <= depth]
    return [Way(v.property, [pack(state) for state in v.states]) for v in found]


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
        self.failure: Exception | None = None
        """Why a level could not be written; then no later one is."""
        self.seconds = 0.0
        """For how long the search waited for the disk."""

    # -- keeping --------------------------------------------------------------------------------

    def keep_level(self, search: Search[Any]) -> None:
        """Have the level found last written; if it is empty, all was seen."""
        found = [[c for c in worker.levels[-1] if c.count] for worker in search.workers]
        states = sum(chunk.count for chunks in found for chunk in chunks)
        if states < MANY:
            found = [[chunk for chunks in found for chunk in chunks]]
        level = Level(
            states=states,
            generated=search.generated,
            rules={name: {"fired": count} for name, count in search.fired.items()},
        )
        self.write_later(partial(self.write_level, level, found, ways(search, len(search.levels))))

    def finish(self, search: Search[Any]) -> None:
        """Have what was found since then written, and wait until all is."""
        begun = time.perf_counter()
        self.write_later(partial(self.write_ways, search))
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
        self.write_manifest(known)

    def write_ways(self, search: Search[Any]) -> None:
        """Write the violations found after the last level was complete."""
        known = ways(search, sum(level.states > 0 for level in self.manifest.levels))
        if len(known) > len(self.manifest.violations):
            self.write_manifest(known)

    def write_manifest(self, known: list[Way]) -> None:
        """Replace the manifest; violations that another run found in these levels stay."""
        names = {way.name for way in known}
        others = [way for way in self.manifest.violations if way.name not in names]
        self.manifest.violations = [*known, *others]
        checkpoint.write_manifest(self.folder, self.manifest)

    # -- taking up again ------------------------------------------------------------------------

    def take_up(
        self, search: Search[Any], max_states: int, max_depth: int, keep_going: bool
    ) -> bool:
        """Take up what is kept, as far as this search would have come by itself.

        Levels are read only if something is to be found out from them. Answers whether there is
        something to expand, and no reason to stop.
        """
        seen_all = ended = False
        for index, level in enumerate(self.manifest.levels):
            search.take_counts({name: counts["fired"] for name, counts in level.rules.items()})
            seen_all = level.states == 0
            if seen_all:
                break
            search.levels.append(level.states)
            search.limit(max_states, max_depth)
            if search.stopped:
                break
            for way in self.manifest.violations:
                if way.level == index:
                    search.take_violation(way.name, way.states)
            ended = bool(search.violations) and not keep_going
            if ended:
                break
        if seen_all or ended:
            return False
        self.load(search)
        return not search.stopped

    def load(self, search: Search[Any]) -> None:
        """Read the levels that were taken up."""
        begun = time.perf_counter()
        wanted, search.levels = search.levels, []
        for level, states in zip(self.manifest.levels, wanted, strict=False):
            for worker in search.workers:
                worker.begin_level()
            search.take_counts({name: counts["fired"] for name, counts in level.rules.items()})
            search.of_all(partial(self.assert_whole, parts=level.parts, of=len(search.workers)))
            search.of_all(partial(self.load_into, parts=level.parts, of=len(search.workers)))
            found = search.count_level()
            if found != states:
                names = ", ".join(str(self.folder / part.name) for part in level.parts)
                raise SpecError(f"{names}: {found:,} states, and {states:,} in the manifest")
            search.tell_progress()
            if search.interrupted():
                search.stopped = INTERRUPTED
                break
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
    """The checkpoint that was asked for, to be used by nobody else meanwhile."""
    if keep.resume and not keep.folder.is_dir():
        raise SpecError(f"there is no checkpoint at {keep.folder}")
    if not keep.resume:
        checkpoint.make_folder(keep.folder)
    handle = checkpoint.lock(keep.folder)
    try:
        take = checkpoint.resume if keep.resume else checkpoint.begin
        manifest = take(keep.folder, run_of(system, kernel))
        with ThreadPoolExecutor(1) as writer:
            yield Keeper(keep.folder, manifest, coding, writer)
    finally:
        os.close(handle)
