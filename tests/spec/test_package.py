"""`import spec` is enough: its modules are imported on first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spec

ON_DISK = {
    path.stem
    for path in Path(spec.__file__).parent.iterdir()
    if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").is_file()
}


def in_a_fresh_process(code: str) -> str:
    """The output of code in a new process."""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


@pytest.mark.slow
def test_every_module_is_an_attribute() -> None:
    assert set(spec.MODULES) == ON_DISK
    code = "import spec; print([getattr(spec, name).__name__ for name in spec.MODULES])"
    assert in_a_fresh_process(code) == str([f"kspec.spec.{name}" for name in spec.MODULES])
    assert set(dir(spec)) >= ON_DISK


def test_a_module_is_imported_on_first_use() -> None:
    code = "import spec, sys; before = set(sys.modules); spec.log.Log(); "
    code += "print(*(f'kspec.spec.{n}' in sys.modules.keys() - before for n in ('log', 'group')))"
    assert in_a_fresh_process(code) == "True False"


def test_each_module_is_described() -> None:
    assert all(f"`{name}`" in str(spec.__doc__) for name in spec.MODULES)


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'logs'"):
        spec.logs  # noqa: B018
