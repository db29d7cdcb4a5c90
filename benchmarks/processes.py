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
from typing import Any, Self, TypeVar

import attrs

from benchmarks.peers import rumur

R = TypeVar("R", bound="Measured")


@attrs.frozen
class Ran:
    """A process that succeeded."""

    seconds: float
    cpu: float
    """Its processor seconds."""
    peak_bytes: int
    said: str


@attrs.frozen(kw_only=True)
class Measured:
    """One run of one checker, or the best of several."""

    who: str
    states: int
    explore: float
    """Seconds of the exploration alone; of rumur, of its verifier."""
    shell: float
    """Seconds from the prompt to its return."""
    cpu: float
    """Processor seconds, from the prompt to its return."""
    peak_bytes: int

    @classmethod
    def of(cls, who: str, states: int, explore: float, ran: Ran, **more: Any) -> Self:
        """What a process measured, and its cost."""
        cost: dict[str, Any] = {"shell": ran.seconds, "cpu": ran.cpu, "peak_bytes": ran.peak_bytes}
        return cls(who=who, states=states, explore=explore, **cost, **more)

    @classmethod
    def of_rumur(cls, verifier: Path, **more: Any) -> Self:
        """One run of rumur's verifier, which is already compiled."""
        ran = measured([verifier])
        return cls.of("rumur", rumur.states(ran.said), ran.seconds, ran, **more)


def least(runs: Sequence[R], *figures: str) -> R:
    """The least of each figure, these included; all else is as in the first run."""
    names = ("explore", "shell", "cpu", "peak_bytes", *figures)
    return attrs.evolve(runs[0], **{f: min(getattr(r, f) for r in runs) for f in names})


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
