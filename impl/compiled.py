"""Compile functions, and cache the compiled code in the user's cache folder.

Compiled code is kept in `$XDG_CACHE_HOME` (by default `~/.cache`), in a folder named after the
source of all compiled code. So nothing is written to the installation, changed source never meets
old machine code, and of several processes that need the same code one compiles it while the others
wait. If that folder cannot be used, the code is kept in the system's folder for temporary files.
If that fails too, or the disk is full, kspec compiles in each run.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba import njit
from numba.core.caching import FunctionCache
from numba.cpython.unsafe.numbers import trailing_zeros

F = TypeVar("F", bound=Callable[..., Any])

Words: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""An array of words, or of counts or indexes of words."""

SOURCES = (
    "impl/compiled.py",
    "impl/storage",
    "checkers/engine/packed",
    "checkers/engine/learned/frames.py",
    "checkers/engine/learned/representatives.py",
    "checkers/engine/learned/walk.py",
    "checkers/engine/learned/worker.py",
    "checkers/engine/liveness/passes.py",
)
"""The folders and files with compiled functions."""


def fingerprint() -> str:
    """A digest of everything that affects compiled code."""
    root = Path(__file__).parents[1]
    made_by = numba.__version__, sys.implementation.cache_tag, get_host_cpu_name()
    digest = hashlib.sha256(f"{root} {made_by}".encode())
    for source in SOURCES:
        folder = root / source
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folders() -> Iterator[Path]:
    """The folders in which kspec may keep files, best first."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if home.is_absolute():  # the XDG specification says to ignore relative paths
        yield home / "kspec"
    with suppress(RuntimeError):  # this user has no home
        yield Path.home() / ".cache" / "kspec"
    yield Path(tempfile.gettempdir()) / f"kspec-{os.getuid()}"


def cache_folder(name: str | None = None) -> Path | None:
    """The cache folder with a name; by default, that of compiled code.

    None if there is no folder to which this user, and nobody else, can write.
    """
    name = name or f"compiled-{fingerprint()}"
    for base in cache_folders():
        folder = base / name
        try:
            base.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            if all(map(is_ours_alone, (base, folder))) and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


def is_ours_alone(folder: Path) -> bool:
    """Whether nobody else can write to the folder, whose content is executed."""
    about = folder.stat()
    return about.st_uid == os.getuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


CACHE = cache_folder()
"""The folder of compiled code; None if there is none."""
if CACHE is not None:
    numba.config.CACHE_DIR = str(CACHE)  # type: ignore[attr-defined]


NUMBAS_CACHE: Any = FunctionCache  # Numba declares no types


class Kept(NUMBAS_CACHE):  # type: ignore[misc]
    """Numba's cache of one function, which survives a full disk or a damaged file."""

    failed = False
    """Whether a function could not be saved, so that the next run compiles it again."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, if it is in the cache."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file can raise almost anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function, if possible."""
        try:
            super().save_overload(sig, data)
        except OSError:
            Kept.failed = True
        except RuntimeError as error:
            # LLVM discards the exception of Ctrl-C while it compiles; Numba then misses the code.
            raise KeyboardInterrupt from error


def compiled(function: F) -> F:
    """Compile a function at its first call; it runs without the global interpreter lock."""
    made: Any = njit(nogil=True)(function)
    if CACHE is not None:
        with suppress(RuntimeError):  # Numba finds no writable folder
            made._cache = Kept(function)
    return cast(F, made)


@contextmanager
def made_ready(part: str, compiling: Callable[[], None] | None) -> Iterator[None]:
    """Compile a part of the code in this block; call `compiling` if it is not in the cache.

    Other processes that need the same part wait, and then read it from the cache.
    """
    if CACHE is None:
        if compiling:
            compiling()
        yield
        return
    ready = CACHE / f"{part}.ready"
    if ready.exists():
        yield
        return
    with ExitStack() as held:
        with suppress(OSError):  # without the lock, several processes may compile the same
            flock(held.enter_context((CACHE / "lock").open("w")), LOCK_EX)
        if compiling and not ready.exists():
            compiling()
        yield
        if not Kept.failed:
            with suppress(OSError):
                ready.touch()


@compiled
def look(array: Words, index: int) -> int:
    """An element; unlike a signed index, an unsigned one is not tested for being negative."""
    return array[np.uint64(index)]  # type: ignore[no-any-return]


@compiled
def lowest(mask: int) -> int:
    """The number of the lowest bit of a nonzero mask."""
    return trailing_zeros(mask)  # type: ignore[call-arg]
