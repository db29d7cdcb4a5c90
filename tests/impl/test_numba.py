"""The private parts of Numba and llvmlite that kspec uses: one test for each.

A release of Numba that changes one of them fails here, before anything else becomes hard to
explain. Then the upper bound in pyproject.toml can be raised.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_name
from numba import njit
from numba.core.errors import TypingError

from kspec.checkers.engine.packed.intrinsics import pointer_to, prefetch
from kspec.impl import compiled


@njit
def first_by_pointer(array):  # type: ignore[no-untyped-def]
    return pointer_to(array)[0]  # type: ignore[call-arg]


@njit
def fetched_ahead(array):  # type: ignore[no-untyped-def]
    prefetch(array, 1)  # type: ignore[call-arg]


def test_trailing_zeros_counts_the_zeros_below_the_lowest_bit() -> None:
    assert [compiled.lowest(1 << n) for n in (0, 5, 62)] == [0, 5, 62]


def test_an_intrinsic_takes_the_data_pointer_of_an_array() -> None:
    assert first_by_pointer(np.array([7, 8])) == 7


def test_an_intrinsic_rejects_arrays_that_are_not_contiguous() -> None:
    with pytest.raises(TypingError, match="contiguous"):
        first_by_pointer(np.arange(10)[::2])


def test_cgutils_declares_the_prefetch_of_llvm() -> None:
    fetched_ahead(np.array([7, 8]))
    (text,) = fetched_ahead.inspect_llvm().values()
    assert "llvm.prefetch" in text


def test_llvmlite_names_the_processor() -> None:
    assert get_host_cpu_name()


@pytest.mark.slow
def test_the_cache_folder_of_numba_can_be_set_after_its_import(tmp_path: Path) -> None:
    program = (
        "import numba; numba.config.CACHE_DIR = 'kept'\n"
        "@numba.njit(cache=True)\n"
        "def one(): return 1\n"
        "one()\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True)
    assert list((tmp_path / "kept").rglob("*.nbi"))
    assert not list((tmp_path / "__pycache__").glob("*.nbi"))
    assert compiled.CACHE is None or str(compiled.CACHE) == numba.config.CACHE_DIR  # type: ignore[attr-defined]
