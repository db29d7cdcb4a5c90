"""Compiling functions, and keeping what was compiled where the user may write.

Compiled code lies in the user's cache directory (`$XDG_CACHE_HOME`, by default `~/.cache`),
in a folder named after the source of all compiled code. So nothing is written where kspec is
installed, a change of the source never meets old machine code, and of processes that want to
compile at the same time one does while the others wait. Without such a directory it lies in the
system's folder for temporary files, and if nothing can be written there, nowhere.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

F = TypeVar("F", bound=Callable[..., Any])

Words: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""An array of words, or of what counts or points at them."""

SOURCES = ("impl/packed", "checkers/native", "checkers/learned/walk.py")
"""The folders and files that hold compiled functions."""


def fingerprint() -> str:
    """What all compiled code depends on, as a name."""
    root = Path(__file__).parents[2]
    made_by = numba.__version__, sys.implementation.cache_tag, get_host_cpu_name()
    digest = hashlib.sha256(f"{root} {made_by}".encode())
    for source in SOURCES:
        folder = root / source
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folders() -> Iterator[Path]:
    """Where compiled code may be kept, best first."""
    home = os.environ.get("XDG_CACHE_HOME")
    if home:
        yield Path(home) / "kspec"
    with suppress(RuntimeError):  # nobody has a home here
        yield Path.home() / ".cache" / "kspec"
    yield Path(tempfile.gettempdir()) / f"kspec-{os.getuid()}"


def cache_folder(name: str | None = None) -> Path | None:
    """A folder to keep something in, by default compiled code, by its name.

    None if there is no place where only we can write.
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
    """Whether nobody else can write there: what lies there is executed."""
    about = folder.stat()
    return about.st_uid == os.getuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


CACHE = cache_folder()
"""Where compiled code is kept."""
if CACHE is not None:
    numba.config.CACHE_DIR = str(CACHE)  # type: ignore[attr-defined]


def compiled(function: F) -> F:
    """Compile a function at its first call; it runs without holding up other threads."""
    return cast(F, njit(nogil=True, cache=CACHE is not None)(function))


def compiled_generator(function: F) -> F:
    """Compile what compiled functions go through, each time that one of them is compiled.

    It is not kept: Numba cannot compile a function whose generator came from the cache.
    """
    return cast(F, njit(nogil=True)(function))


@contextmanager
def made_ready(part: str, compiling: Callable[[], None] | None) -> Iterator[None]:
    """Compile a part of the code here; say so, if it does not lie in the cache.

    Whoever wants the same at the same time waits, and then reads it from the cache.
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
    with (CACHE / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if compiling and not ready.exists():
            compiling()
        yield
        ready.touch()


@compiled
def look(array: Words, index: int) -> int:
    """An element; unlike a signed index, an unsigned one is not tested for being negative."""
    return array[np.uint64(index)]  # type: ignore[no-any-return]


@compiled
def lowest(mask: int) -> int:
    """The number of the lowest bit of a mask that is not empty."""
    return trailing_zeros(mask)  # type: ignore[call-arg]
