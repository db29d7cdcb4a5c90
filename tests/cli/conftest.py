"""Run commands as at the prompt, in this process where possible."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest

from kspec.checkers.cli.main import run


@attrs.frozen
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def wait_until_it_has_worked(pid: int, seconds: float) -> None:
    """Wait until a process has used so much processor time, however loaded the machine is."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= seconds:
            return
        time.sleep(0.05)
    raise TimeoutError(f"process {pid} has not worked for {seconds} s")


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
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m kspec "$@"\n')
    wrapper.chmod(0o755)

    def run_it(line: str) -> subprocess.CompletedProcess[str]:
        path = f"PATH={tmp_path}:$PATH"
        return subprocess.run(
            ["bash", "-c", f"{path}; {line}"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=1800,
            check=False,
        )

    return run_it
