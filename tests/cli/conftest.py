"""Running commands as at the prompt, in this process where that is enough."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest

from checkers.cli.main import run


@attrs.frozen
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Kspec: TypeAlias = Callable[..., Ran]


@pytest.fixture
def kspec(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kspec:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str) -> Ran:
        code = run(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_it


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a line in a real shell, with `kspec` standing for this interpreter's."""
    wrapper = tmp_path / "kspec"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m checkers.cli "$@"\n')
    wrapper.chmod(0o755)

    def run_it(line: str) -> subprocess.CompletedProcess[str]:
        path = f"PATH={tmp_path}:$PATH"
        return subprocess.run(
            ["bash", "-c", f"{path}; {line}"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )

    return run_it
