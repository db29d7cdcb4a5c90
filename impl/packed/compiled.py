"""Compiling functions, and keeping what was compiled where the user may write.

Compiled code lies in the user's cache directory (`$XDG_CACHE_HOME`, by default `~/.cache`),
in a folder named after the source of all compiled code. So nothing is written where kspec is
installed, a change of the source never meets old machine code, and processes that compile at
the same time only do the work twice: each file is put in place as a whole.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

F = TypeVar("F", bound=Callable[..., Any])

Words: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""An array of words, or of what counts or points at them."""

SOURCES = ("impl/packed", "checkers/native")
"""The folders that hold compiled functions."""

READY = "ready"
"""The file in the cache that says that everything was compiled once."""


def fingerprint() -> str:
    """What all compiled code depends on, as a name."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256(f"numba {numba.__version__}".encode())
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path | None:
    """Where compiled code is kept, or None if there is no place to write."""
    home = os.environ.get("XDG_CACHE_HOME")
    caches = Path(home) if home else Path.home() / ".cache"
    for base in (caches, Path(tempfile.gettempdir()) / f"kspec-{os.getuid()}"):
        folder = base / "kspec" / f"compiled-{fingerprint()}"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    return None


CACHE = cache_folder()
if CACHE is not None:
    numba.config.CACHE_DIR = str(CACHE)  # type: ignore[attr-defined]


def compiled(function: F) -> F:
    """Compile a function at its first call; it runs without holding up other threads."""
    return cast(F, njit(nogil=True, cache=CACHE is not None)(function))


def is_ready() -> bool:
    """Whether everything lies compiled in the cache."""
    return CACHE is not None and (CACHE / READY).exists()


def now_ready() -> None:
    """Note that everything was compiled."""
    if CACHE is not None:
        (CACHE / READY).touch()


@compiled
def look(array: Words, index: int) -> int:
    """An element; unlike a signed index, an unsigned one is not tested for being negative."""
    return array[np.uint64(index)]  # type: ignore[no-any-return]


@compiled
def lowest(mask: int) -> int:
    """The number of the lowest bit of a mask that is not empty."""
    return trailing_zeros(mask)  # type: ignore[call-arg]
