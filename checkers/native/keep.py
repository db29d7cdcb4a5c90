"""How a search keeps its levels in a checkpoint, and takes them up again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from checkers.limits import Keep
from checkers.native import checkpoint
from checkers.native.blocks import Part, assert_whole, read_part, write_part
from checkers.native.checkpoint import Level, Way
from checkers.native.codes import Coding, coding_of, encode
from checkers.native.worker import Worker, shards_of
from impl.packed.kernel import Kernel
from impl.packed.kernels import KERNELS, fingerprint
from spec.core import SpecError, System

if TYPE_CHECKING:
    from checkers.native.search import Search

MANY = 1 << 16
"""A level of at least so many states is written by all workers at once, each its own."""


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
    """What becomes of states: their fields' places, and the codes of the initial ones."""
    words = np.array([kernel.pack(s) for s in system.initial()], np.int64).T.copy()
    codes, highs = np.empty((2, words.shape[1]), np.int64)
    encode(words, words.shape[1], coding_of(kernel.layout), codes, highs)
    fields = [attrs.astuple(field) for field in kernel.layout.fields.values()]
    says = repr((fields, kernel.layout.widths, codes.tolist(), highs.tolist()))
    return hashlib.sha256(says.encode()).hexdigest()[:16]


class Keeper:
    """A checkpoint, for one search."""

    def __init__(self, folder: Path, manifest: checkpoint.Manifest, coding: Coding) -> None:
        self.folder = folder
        self.manifest = manifest
        self.coding = coding
        self.seconds = 0.0
        """Spent in writing and reading."""

    # -- keeping --------------------------------------------------------------------------------

    def keep_level(self, search: Search[Any]) -> None:
        """Add the level found last; if it is empty, all was seen."""
        begun = time.perf_counter()
        level = len(search.workers[0].levels) - 1
        states = sum(worker.found_last() for worker in search.workers)
        teams = [[w] for w in search.workers] if states >= MANY else [search.workers]
        with self.writing():
            write = partial(self.write_team, level=level)
            parts = list(search.pool.map(write, range(len(teams)), teams)) if states else []
            self.manifest.levels.append(
                Level(
                    states=states,
                    generated=search.generated,
                    rules={name: {"fired": count} for name, count in search.fired.items()},
                    parts=tuple(part for part in parts if part.states),
                )
            )
            self.write(search)
        self.seconds += time.perf_counter() - begun

    def write_team(self, index: int, team: list[Worker], level: int) -> Part:
        """Write what some workers found, as one file."""
        chunks = [chunk for worker in team for chunk in worker.levels[level]]
        codes = np.concatenate([chunk.codes[: chunk.count] for chunk in chunks])
        pieces = np.concatenate([chunk.pieces[: chunk.count] for chunk in chunks])
        return write_part(self.folder, f"level-{level:05}-{index}.parquet", codes, pieces)

    def keep_violations(self, search: Search[Any]) -> None:
        """Add what was found in these levels since the last was kept."""
        with self.writing():
            if len(self.ways(search)) > len(self.manifest.violations):
                self.write(search)

    def write(self, search: Search[Any]) -> None:
        """Replace the manifest."""
        self.manifest.violations = self.ways(search)
        checkpoint.write_manifest(self.folder, self.manifest)

    def ways(self, search: Search[Any]) -> list[Way]:
        """The violations found in the levels that are kept, and those known before."""
        pack = search.kernel.pack
        found = [
            Way(v.property, [pack(s) for s in v.states])
            for v in search.violations
            if len(v.states) <= sum(level.states > 0 for level in self.manifest.levels)
        ]
        names = {way.name for way in found}
        return [*found, *(way for way in self.manifest.violations if way.name not in names)]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """An error of the disk says what could not be written."""
        try:
            yield
        except OSError as error:
            error.filename = error.filename or str(self.folder)
            raise

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
                search.stopped = "interrupted"
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
        yield Keeper(keep.folder, take(keep.folder, run_of(system, kernel)), coding)
    finally:
        os.close(handle)
