"""A run that can go on later: a folder with the levels found so far, and a manifest.

A level's files are written first, each under its name only when all of it is on the disk; the
manifest, which says what counts, is replaced last. So whenever a run is killed, the folder
holds the last level that was complete. The format is told in docs/checkpoints.md; every engine
that explores packed states reads and writes it by the functions here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from spec.core import SpecError

FORMAT, VERSION = "kspec checkpoint", 2
MANIFEST = "manifest.json"
BESIDE = f"{MANIFEST}.tmp"


@attrs.frozen
class Part:
    """One file of a level."""

    name: str
    """Relative to the checkpoint's folder."""
    states: int
    rows: int
    bytes: int
    sha256: str


@attrs.frozen
class Level:
    """The states at one distance from the initial ones."""

    states: int
    generated: int
    """Enabled rule instances in all levels before this one, and initial states."""
    rules: Mapping[str, Mapping[str, int]]
    """The same by rule: `fired`, and whatever else is counted."""
    parts: tuple[Part, ...] = ()
    edge_of_bounds: int = 0
    """In all levels before this one, the states in which limits alone block every rule."""


@attrs.frozen
class Way:
    """A shortest way to a violation."""

    name: str
    """The property's."""
    states: Sequence[Sequence[int]]
    """As words of the layout, from an initial state on."""

    @property
    def level(self) -> int:
        """The level in which it ends."""
        return len(self.states) - 1


@attrs.define
class Manifest:
    """What a checkpoint says of itself."""

    run: Mapping[str, Any]
    """What is explored: model, variant, bounds and all else that two runs must agree in."""
    levels: list[Level] = attrs.field(factory=list)
    """Every complete level; one without states ends a run that has seen all."""
    violations: list[Way] = attrs.field(factory=list)
    """Those found in these levels: the shortest way for each property."""


# -- reading --------------------------------------------------------------------------------------


def run_kept(folder: Path) -> Mapping[str, Any] | None:
    """What is explored in a checkpoint; None where a run was killed before anything was kept."""
    if is_empty(folder):
        return None
    run = read_whole(folder).run
    kinds = {"model": str, "variant": str, "bounds": dict, "properties": list}
    if not all(isinstance(run.get(name), kind) for name, kind in kinds.items()):
        raise SpecError(f"{folder / MANIFEST} is damaged")
    return run


def read_manifest(folder: Path, run: Mapping[str, Any]) -> Manifest:
    """The manifest of a checkpoint of this run, or SpecError, which says what is wrong."""
    manifest = read_whole(folder)
    assert_same_run(folder, manifest.run, run)
    for level in manifest.levels:
        for part in level.parts:
            assert_there(folder, part)
    return manifest


def assert_there(folder: Path, part: Part) -> None:
    """SpecError if a file is missing, or as long as it cannot be."""
    path = folder / part.name
    if not path.is_file():
        raise SpecError(f"{path} is missing from the checkpoint")
    size = path.stat().st_size
    if size != part.bytes:
        raise SpecError(f"{path} is damaged: it has {size:,} bytes, and should have {part.bytes:,}")


def read_whole(folder: Path) -> Manifest:
    """The manifest of a checkpoint, whatever it is of; SpecError says what is wrong with it."""
    path = folder / MANIFEST
    damaged = SpecError(f"{path} is damaged")
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SpecError(f"{path} is missing: {folder} is no checkpoint") from None
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise damaged from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise SpecError(f"{path} is not the manifest of a checkpoint")
    if record.get("version") != VERSION:
        raise SpecError(
            f"{path} has version {record.get('version')} of the format; this kspec reads {VERSION}"
        )
    checksum = record.pop("checksum", None)
    if checksum != checksum_of(record):
        raise damaged
    try:
        return as_manifest(record)
    except (KeyError, TypeError, ValueError):
        raise damaged from None


def as_manifest(record: Mapping[str, Any]) -> Manifest:
    """A manifest from its JSON."""
    return Manifest(
        dict(record["run"]),
        [
            Level(
                states=level["states"],
                generated=level["generated"],
                rules=level["rules"],
                parts=tuple(Part(**part) for part in level["parts"]),
                edge_of_bounds=level["edge_of_bounds"],
            )
            for level in record["levels"]
        ],
        [Way(**way) for way in record["violations"]],
    )


def assert_same_run(folder: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """SpecError names the first thing in which a checkpoint is of another run."""
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if theirs.get(name) != ours.get(name):
            raise SpecError(
                f"{folder / MANIFEST} is of another run: {name} is {told(theirs.get(name))} there, "
                f"and {told(ours.get(name))} here"
            )


def told(value: Any) -> str:
    """A value of a run, as it is read."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={told(of)}" for name, of in value.items()) or "empty"
    if isinstance(value, list | tuple):
        return ", ".join(told(one) for one in value) or "none"
    return "not said" if value is None else str(value)


# -- writing --------------------------------------------------------------------------------------


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, when everything that it speaks of is on the disk."""
    record = {"format": FORMAT, "version": VERSION, **attrs.asdict(manifest)}
    record["checksum"] = checksum_of(record)
    flush_folder(folder)
    beside = folder / BESIDE
    with beside.open("w", encoding="utf-8") as file:
        file.write(json.dumps(record))  # in lines it would take many times as long
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / MANIFEST)
    flush_folder(folder)


def checksum_of(record: Mapping[str, Any]) -> str:
    """The checksum of a manifest without its checksum, however it is laid out."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def flush_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise SpecError(f"cannot read {folder}: {error.strerror}") from None
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- the folder -----------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Make sure that there is a folder in which a checkpoint can begin."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in folder.iterdir() if path.name != BESIDE]
    except OSError as error:
        raise SpecError(f"cannot keep a checkpoint in {folder}: {error.strerror}") from None
    if MANIFEST in others:
        raise SpecError(f"there is a checkpoint in {folder}: --resume goes on with it")
    if others:
        raise SpecError(f"{folder} is not empty, and no checkpoint: it has {sorted(others)[0]}")


def begin(folder: Path, run: Mapping[str, Any]) -> Manifest:
    """Begin a checkpoint in an empty folder."""
    make_folder(folder)
    manifest = Manifest(run)
    try:
        write_manifest(folder, manifest)
    except OSError as error:
        raise SpecError(f"cannot keep a checkpoint in {folder}: {error.strerror}") from None
    return manifest


def is_empty(folder: Path) -> bool:
    """Whether nothing is kept in a folder yet; SpecError if there is no such folder."""
    if not folder.is_dir():
        raise SpecError(f"there is no checkpoint at {folder}")
    try:
        return all(path.name == BESIDE for path in folder.iterdir())
    except OSError as error:
        raise SpecError(f"cannot read {folder}: {error.strerror}") from None


def resume(folder: Path, run: Mapping[str, Any]) -> Manifest:
    """What a folder has of a run; of one that was killed before anything was kept, nothing."""
    if is_empty(folder):
        return begin(folder, run)
    manifest = read_manifest(folder, run)
    remove_leftovers(folder, manifest)
    return manifest


def remove_leftovers(folder: Path, manifest: Manifest) -> None:
    """Remove what a killed run wrote of a level that it did not complete."""
    kept = {Path(part.name).parts[0] for level in manifest.levels for part in level.parts}
    for path in folder.glob("level-*"):
        if path.name not in kept:
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def lock(folder: Path) -> int:
    """A handle that keeps other runs out while it is open; a killed run leaves no lock."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise SpecError(f"cannot read {folder}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise SpecError(f"another run is at work on the checkpoint in {folder}") from None
    return handle
