"""The cache of learned answers: loads them before a run and saves them after it.

There is one file for each model, state class and bounds. It identifies rules and properties by
name and fingerprint (`keys`): after an edit of one rule, the answers of that rule are dropped and
all others are used. The classes of values have fingerprints too: after an edit of one, and thus of
a method that rules call on a value, the whole file is ignored.

A file holds arrays and JSON, and nothing executable. It has a digest of its content: a file that
is damaged or does not fit is ignored, and replaced after the run. A file that fits and gives wrong
answers is found by the checks of every run (`checking`), which then starts again without it.
"""

from __future__ import annotations

import gc
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import numpy as np

from kspec.checkers.engine.learned.decode import Decoder, check
from kspec.checkers.engine.learned.divided import Layout
from kspec.checkers.engine.learned.encode import Array, Encoder
from kspec.checkers.engine.learned.keys import Keys
from kspec.checkers.engine.learned.tables import Tables
from kspec.impl.compiled import cache_folder
from kspec.spec.core import System

LARGEST = 200 << 20
"""The largest size of a file, in bytes."""
ALL = 500 << 20
"""The largest size of all files together."""
LEAST_SECONDS = 0.3
"""Learning that took less time is not worth a file."""


class Keeping:
    """Loads and saves what is learned of one system."""

    def __init__(self, system: System[Any]) -> None:
        self.keys = Keys(system)
        folder = cache_folder("learned")
        self.path = folder / f"{self.keys.file}.npz" if folder and self.keys.file else None
        """The file, or None if nothing can be saved."""
        self.loaded = 0
        """The number of paths that came from the file."""

    # -- reading --------------------------------------------------------------------------------

    def load(self, layout: Layout) -> Tables | None:
        """Load the tables if they fit, and if their layout covers this one."""
        if self.path is None:
            return None
        collects = gc.isenabled()
        gc.disable()  # all objects made here stay alive
        try:
            if self.path.stat().st_size > LARGEST:
                return None
            with self.path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                check(sum(entry.file_size for entry in file.zip.infolist()) <= 2 * LARGEST)
                arrays = dict(file)
            check(arrays.pop("digest").tobytes() == digest_of(arrays))
            tables = Decoder(self.keys, arrays).tables(layout)
            self.loaded = tables.runs.count
            os.utime(self.path)
        except Exception:  # any damage only means that the file is not used
            return None
        finally:
            if collects:
                gc.enable()
        return tables

    def discard(self) -> None:
        """Delete a file that gives wrong answers."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()
        self.loaded = 0

    # -- writing --------------------------------------------------------------------------------

    def save(self, tables: Tables) -> None:
        """Save the tables if that is possible and worthwhile."""
        book = tables.book
        learned = sum(instance.runs for instance in book.instances)
        worth_it = learned and book.seconds >= LEAST_SECONDS
        if self.path is None or not worth_it or not tables.is_settled:
            return
        try:
            arrays = Encoder(self.keys, tables).arrays()
            arrays["digest"] = np.frombuffer(digest_of(arrays), np.uint8)
            if sum(array.nbytes for array in arrays.values()) <= LARGEST:
                self.write(self.path, arrays)
        except Exception:  # the verdict stands, and the next run learns again
            return

    def write(self, path: Path, arrays: dict[str, Array]) -> None:
        """Replace the file atomically, and delete the least recently used files."""
        with (path.parent / "lock").open("w") as lock:
            flock(lock, LOCK_EX)
            with new_file(path) as file:
                np.savez(file, **arrays)
            files = [(file.stat(), file) for file in path.parent.iterdir() if file.suffix != ""]
            total = 0
            for about, file in sorted(files, key=lambda one: -one[0].st_mtime):
                total += about.st_size
                if total > ALL or file.suffix != ".npz":
                    file.unlink()


def digest_of(arrays: Mapping[str, Array]) -> bytes:
    """A digest of all arrays."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.digest()


@contextmanager
def new_file(path: Path) -> Iterator[Any]:
    """A file that replaces the one at its path when it is complete."""
    with tempfile.NamedTemporaryFile(suffix=".tmp", dir=path.parent, delete=False) as file:
        place = Path(file.name)
        try:
            yield file
            file.flush()
            place.replace(path)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
