"""A checkpoint: a folder with a run's levels, and a manifest that names the complete ones.

The engines that explore packed states, and Spark, read and write checkpoints by these functions
and those of `blocks`. This is the format, version 2. Numbers are little-endian.

## States

A state is bytes. A value is one byte for its kind, and then its content: `i`, `s`, `b` for an
integer, a text, bytes, after their length; `t`, `f` for a tuple or a frozenset, after the number of
items, with the items of a frozenset sorted; `c` for a record, with its class and its fields; `e`
for a member of an enumeration; `N`, `F`, `T` for None, False, True; `B` for the bounds. A state
that is a plain attrs class is `r`, its class, and the fields that are compared: `.` and the value
after its length, or, for a tuple, `(`, the number of items, and each item after its length. Lengths
and numbers of items have 4 bytes. Any other state is written as a value.

The shard of a state is the CRC-32 of its bytes modulo 4096. Of `n` owners, owner `shard * n >> 12`
has the shard: an owner has whole shards, whatever `n` is, up to 4096.

## Parquet files

A row is a block: states of one level and one shard. Rows are large, so that each is an array that
can be used in place, and one unit of a shuffle.

- `shard` (INT32): the shard of all states of the row.
- `codes` (BYTE_ARRAY): their bytes, one state after the other.
- `highs` (BYTE_ARRAY): their lengths in the same order, 4 bytes each.

The columns are required, or optional without a null, as Spark writes them. A file holds states of
one level, and a level each state once. The writer sorts rows by shard within a file, and writes
small row groups with statistics of `shard`, so that an owner of few shards skips the others; a
reader relies on neither. A shard may have several rows, in several files. A reader accepts any
compression; the writer uses none.

## The manifest

    {
     "format": "kspec checkpoint",
     "version": 2,
     "run": {"model": "replication", "variant": "kip-320", "bounds": {"brokers": 3, ...},
             "properties": ["LeaderInIsr", "StrongIsr", "WeakIsr"],
             "rules": "1cc34ac56e2d35b3", "layout": "states as bytes, 2"},
     "levels": [
      {"states": 1, "generated": 1, "rules": {"leader_appends": {"fired": 0}, ...},
       "edge_of_bounds": 0,
       "parts": [{"name": "level-00000-0.parquet", "states": 1, "rows": 1, "bytes": 394,
                  "sha256": "c917..."}]},
      ...
     ],
     "violations": [{"name": "StrongIsr", "states": [[114, 0, 0, ...], ...]}],
     "checksum": "1426..."
    }

- `run` identifies the run: a run that resumes must have the same. `properties` are sorted.
  `rules` is the fingerprint of the code of rules and properties. `layout` is how states are
  written.
- `levels` are the complete levels from the initial states on. `generated`, `rules` and
  `edge_of_bounds` count all levels before this one: `generated` is the number of enabled instances
  of rules plus initial states; `fired` is the same by rule, `blocked` by guard where counted;
  `edge_of_bounds` is the number of states in which limits alone block every rule. A last level
  without states and parts says that the run is complete, and has the counts of all levels.
- `parts` are the files of a level, by their path relative to the folder; Spark writes a folder for
  each level. `bytes` and `sha256` are those of the file.
- `violations` has, for each violated property and for `deadlock`, the states of its
  counterexample, as lists of bytes. If a level has a successor in `levels`, each property that is
  first violated in it is there.
- `checksum` is the SHA-256 of the manifest without it, as JSON with sorted names, no white space,
  and everything but ASCII escaped.

## Writing

Levels are only ever added. The manifest without levels is written when a run begins. For each
level: write each file under a name that ends in `.tmp`, flush it, rename it; flush the folder;
write the new manifest as `manifest.json.tmp`, flush it, rename it to `manifest.json`, and flush
the folder. So the manifest names only files that are complete, whenever a run is killed. A run
that resumes removes files that begin with `level-` and are not in the manifest. A writer holds an
exclusive `flock` on the folder if the file system supports it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from kspec.checkers.engine.options import NOT_WRITTEN, Options
from kspec.checkers.engine.search import Counts
from kspec.spec.core import SpecError, System

FORMAT, VERSION = "kspec checkpoint", 2
AS_BYTES = "states as bytes, 2"
"""The layout of states. Checkpoints of earlier versions may have another, and are refused."""
MANIFEST = "manifest.json"
BESIDE = f"{MANIFEST}.tmp"


class CheckpointError(SpecError):
    """The folder has no checkpoint, or that of another run, or a damaged one."""


@attrs.frozen
class Part:
    """One file of a level."""

    name: str
    """Path relative to the checkpoint's folder."""
    states: int
    rows: int
    bytes: int
    sha256: str


@attrs.frozen
class Level:
    """The states at one distance from the initial states."""

    states: int
    generated: int
    """Enabled rule instances in all earlier levels, plus initial states."""
    rules: Mapping[str, Mapping[str, Any]]
    """The same by rule: `fired`, and if counted, `blocked` by guard."""
    parts: tuple[Part, ...] = ()
    edge_of_bounds: int = 0
    """States of all earlier levels in which every rule is blocked by limits alone."""

    @classmethod
    def of(cls, system: System[Any], counts: Counts, first: int, states: int) -> Level:
        """A level of this many states, from the counts so far and the size of the first level."""
        rules = {
            rule.name: {"fired": counts.fired.get(rule.name, 0)}
            | (
                {"blocked": dict(counts.blocked[rule.name])}
                if counts.blocked.get(rule.name)
                else {}
            )
            for rule in system.rules
        }
        return cls(states, counts.generated + first, rules, (), counts.edge_of_bounds)

    @property
    def counts(self) -> Counts:
        """The counts of all earlier levels."""
        fired = {name: of["fired"] for name, of in self.rules.items()}
        blocked = {name: dict(of.get("blocked", {})) for name, of in self.rules.items()}
        return Counts(fired, blocked, self.edge_of_bounds)


@attrs.frozen
class Counterexample:
    """A shortest counterexample."""

    name: str
    """The name of the property."""
    states: Sequence[Sequence[int]]
    """States as words of the layout, beginning with an initial state."""

    @property
    def level(self) -> int:
        """The level of its last state."""
        return len(self.states) - 1


@attrs.define
class Manifest:
    """The content of a checkpoint's manifest."""

    run: Mapping[str, Any]
    """Model, variant, bounds and everything else that two runs must agree on."""
    levels: list[Level] = attrs.field(factory=list)
    """Every complete level; an empty last level means that exploration is complete."""
    violations: list[Counterexample] = attrs.field(factory=list)
    """The violations in these levels, with the shortest counterexample of each property."""

    def violations_in(self, level: int) -> dict[str, Counterexample]:
        """The violations in a level, by name."""
        return {v.name: v for v in self.violations if v.level == level}

    def marks_of(self, level: int) -> set[str] | None:
        """The properties that a level is the first to violate; None if not evaluated yet."""
        ways = self.violations_in(level)
        return set(ways) if ways or level + 1 < len(self.levels) else None

    def forget(self, level: int) -> None:
        """Drop the levels from this one on."""
        del self.levels[level:]
        self.violations = [v for v in self.violations if v.level < level]

    def add_violations(self, found: Sequence[Counterexample]) -> bool:
        """Add those in complete levels, each in place of one of its name; whether any is new."""
        depth = sum(level.states > 0 for level in self.levels)
        ways = {v.name: v for v in found if v.level < depth}
        before = self.violations
        self.violations = [*ways.values(), *(v for v in before if v.name not in ways)]
        return self.violations != before


# -- reading --------------------------------------------------------------------------------------


def run_kept(folder: Path) -> Mapping[str, Any] | None:
    """The run of a checkpoint; None if the run was killed before it wrote anything."""
    if is_empty(folder):
        return None
    run = read_whole(folder).run
    kinds = {"model": str, "variant": str, "bounds": dict, "properties": list}
    if not all(isinstance(run.get(name), kind) for name, kind in kinds.items()):
        raise CheckpointError(f"{folder / MANIFEST} is damaged")
    return run


def read_manifest(folder: Path, run: Mapping[str, Any]) -> Manifest:
    """The manifest of a checkpoint of this run; CheckpointError if there is none."""
    manifest = read_whole(folder)
    assert_same_run(folder, manifest.run, run)
    for level in manifest.levels:
        for part in level.parts:
            assert_there(folder, part)
    return manifest


def assert_there(folder: Path, part: Part) -> None:
    """Raise CheckpointError if a file is missing or has the wrong size."""
    path = folder / part.name
    if not path.is_file():
        raise CheckpointError(f"{path} is missing from the checkpoint")
    size = path.stat().st_size
    if size != part.bytes:
        raise CheckpointError(f"{path} is damaged: it has {size:,} bytes instead of {part.bytes:,}")


def read_whole(folder: Path) -> Manifest:
    """The manifest of any checkpoint; CheckpointError if it cannot be used."""
    path = folder / MANIFEST
    damaged = CheckpointError(f"{path} is damaged")
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: {folder} is not a checkpoint") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise damaged from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not the manifest of a checkpoint")
    if record.get("version") != VERSION:
        raise CheckpointError(
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
            Level(**level | {"parts": tuple(Part(**part) for part in level["parts"])})
            for level in record["levels"]
        ],
        [Counterexample(**one) for one in record["violations"]],
    )


def assert_same_run(folder: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raise CheckpointError for the first difference between a checkpoint's run and this one."""
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if theirs.get(name) != ours.get(name):
            raise CheckpointError(
                f"{folder / MANIFEST} belongs to another run: {name} is "
                f"{run_text(theirs.get(name))} there, and {run_text(ours.get(name))} here"
            )


def run_text(value: Any) -> str:
    """A value of a run, as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={run_text(of)}" for name, of in value.items()) or "empty"
    if isinstance(value, list | tuple):
        return ", ".join(run_text(one) for one in value) or "none"
    return "not said" if value is None else str(value)


# -- writing --------------------------------------------------------------------------------------


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest; all files that it names must be on the disk."""
    record = {"format": FORMAT, "version": VERSION, **attrs.asdict(manifest)}
    record["checksum"] = checksum_of(record)
    flush_folder(folder)
    beside = folder / BESIDE
    with naming(beside), beside.open("w", encoding="utf-8") as file:
        file.write(json.dumps(record))  # indenting would take many times as long
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / MANIFEST)
    flush_folder(folder)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in errors that do not: those of writing and flushing."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def cannot_keep(error: OSError) -> str:
    """The reason of a run that ends because its checkpoint cannot be written."""
    return f"{NOT_WRITTEN} ({error.filename}: {error.strerror or error})"


def checksum_of(record: Mapping[str, Any]) -> str:
    """The checksum of a manifest without its checksum, whatever its formatting."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise CheckpointError(f"cannot read {folder}: {error.strerror}") from None
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- the folder -----------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Make sure that a new checkpoint can begin in a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in folder.iterdir() if path.name != BESIDE]
    except OSError as error:
        raise CheckpointError(f"cannot save a checkpoint in {folder}: {error.strerror}") from None
    if MANIFEST in others:
        raise CheckpointError(f"{folder} has a checkpoint already: --resume continues it")
    if others:
        raise CheckpointError(
            f"{folder} is neither empty nor a checkpoint: it contains {min(others)}"
        )


def begin(folder: Path, run: Mapping[str, Any]) -> Manifest:
    """Begin a checkpoint in an empty folder."""
    make_folder(folder)
    manifest = Manifest(run)
    try:
        write_manifest(folder, manifest)
    except OSError as error:
        raise CheckpointError(f"cannot save a checkpoint in {folder}: {error.strerror}") from None
    return manifest


def is_empty(folder: Path) -> bool:
    """Whether a folder has no checkpoint yet; CheckpointError if there is no such folder."""
    if not folder.is_dir():
        raise CheckpointError(f"there is no checkpoint at {folder}")
    try:
        return all(path.name == BESIDE for path in folder.iterdir())
    except OSError as error:
        raise CheckpointError(f"cannot read {folder}: {error.strerror}") from None


def resume(folder: Path, run: Mapping[str, Any]) -> Manifest:
    """The manifest of a run to resume; empty if the run was killed before it wrote one."""
    if is_empty(folder):
        return begin(folder, run)
    manifest = read_manifest(folder, run)
    remove_leftovers(folder, manifest)
    return manifest


def remove_leftovers(folder: Path, manifest: Manifest) -> None:
    """Remove the files of a level that a killed run did not complete."""
    kept = {Path(part.name).parts[0] for level in manifest.levels for part in level.parts}
    for path in folder.glob("level-*"):
        if path.name not in kept:
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def lock(folder: Path) -> int:
    """A handle that locks the folder until it is closed; the lock of a killed run ends with it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise CheckpointError(f"cannot read {folder}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise CheckpointError(f"another run is using the checkpoint in {folder}") from None
    return handle


@contextmanager
def opened(options: Options, run: Mapping[str, Any]) -> Iterator[Manifest]:
    """The manifest of the requested checkpoint, which stays locked meanwhile."""
    folder = options.checkpoint
    assert folder, "a checkpoint was asked for"
    if not options.resume:
        make_folder(folder)
    elif not folder.is_dir():
        raise CheckpointError(f"there is no checkpoint at {folder}")
    handle = lock(folder)
    try:
        take = resume if options.resume else begin
        yield take(folder, run)
    finally:
        os.close(handle)
