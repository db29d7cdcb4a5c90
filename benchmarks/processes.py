"""Run a process to its end, and measure it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs


@attrs.frozen
class Ran:
    """A process that succeeded."""

    seconds: float
    cpu: float
    """Its processor seconds."""
    peak_bytes: int
    said: str


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
