"""The same tests make the same choices, whatever else has been imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from tests import conftest


def generated() -> list[int]:
    """The integers that a derandomized test is given."""
    numbers: list[int] = []

    @settings(derandomize=True, max_examples=300)
    @given(st.integers(0, 1_000_000))
    def note(number: int) -> None:
        numbers.append(number)

    note()
    return numbers


def module_of_constants(folder: Path) -> ModuleType:
    """A module with many constants."""
    file = folder / "many_constants.py"
    file.write_text("NUMBERS = [" + ", ".join(map(str, range(1_000, 2_000))) + "]\n")
    spec = importlib.util.spec_from_file_location("many_constants", file)
    assert spec is not None
    return importlib.util.module_from_spec(spec)


@pytest.mark.slow
@pytest.mark.parametrize("is_off", [True, False])
def test_imports_do_not_change_what_hypothesis_generates(
    is_off: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do in Hypothesis itself, which shows that the replaced function is still the one."""
    if not is_off:
        monkeypatch.setattr(providers, "_get_local_constants", conftest.LOCAL_CONSTANTS)
    before = generated()
    monkeypatch.setitem(sys.modules, "many_constants", module_of_constants(tmp_path))
    providers.CONSTANTS_CACHE.cache.clear()
    assert (generated() == before) == is_off
    providers.CONSTANTS_CACHE.cache.clear()
