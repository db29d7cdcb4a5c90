"""Run a process to its end, and measure it; `kspec check` as at the prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs

R = TypeVar("R")


@attrs.frozen
class Ran:
    """A process that succeeded."""

    seconds: float
    cpu: float
    """Its processor seconds."""
    peak_bytes: int
    said: str

    @property
    def cost(self) -> dict[str, Any]:
        """What it took from the prompt to its return."""
        return {"shell": self.seconds, "cpu": self.cpu, "peak_bytes": self.peak_bytes}


def least(runs: Sequence[R], *figures: str) -> R:
    """The least of each of these figures; the others are those of the first run."""
    first: Any = runs[0]
    found: R = attrs.evolve(first, **{f: min(getattr(r, f) for r in runs) for f in figures})
    return found


def check(
    model: str, bounds: Mapping[str, int], workers: int, *options: str, **environment: str
) -> tuple[Ran, Any]:
    """Run `kspec check` as at the prompt, and return its JSON."""
    given = [f"--set={name}={value}" for name, value in bounds.items()]
    command = [sys.executable, "-m", "kspec", "check", model, *given, *options]
    run = measured([*command, f"--workers={workers}", "--json"], **environment)
    return run, json.loads(run.said)


def measured(command: Sequence[str | Path], **environment: str) -> Ran:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env=os.environ | environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode}:\n{said[-2000:]}")
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return Ran(seconds, usage.ru_utime + usage.ru_stime, peak, said)
