"""Run a process to its end, and measure it; `kspec check` as at the prompt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
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
    ran, code = ended(command, None, **environment)
    if ran is None or code != 0:
        said = ran.said[-2000:] if ran else ""
        raise SystemExit(f"{command[0]} ended with {code}:\n{said}")
    return ran


def ended(
    command: Sequence[str | Path], limit: float | None, **environment: str
) -> tuple[Ran | None, int]:
    """What a command cost, or None if it exceeded a limit in seconds; and its exit code."""
    with tempfile.TemporaryFile("w+") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=output, env=os.environ | environment, start_new_session=True
        )
        timer = threading.Timer(limit or 0, end_group, [process.pid])
        if limit:
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    if process.returncode == -signal.SIGKILL:
        return None, process.returncode
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return Ran(seconds, usage.ru_utime + usage.ru_stime, peak, said), process.returncode


def end_group(process: int) -> None:
    """End a process that leads a group, and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


@contextmanager
def nothing_learned() -> Iterator[Mapping[str, str]]:
    """An environment in which compiled code is present, and nothing is learned yet."""
    compiled = compiled_code()
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(empty) / "kspec"
        folder.mkdir(mode=0o700)
        if compiled.name:
            (folder / compiled.name).symlink_to(compiled)
        yield {"XDG_CACHE_HOME": empty}


@cache
def compiled_code() -> Path:
    """The folder of compiled code; an empty path if there is none.

    Asked of another process: the peak of a process that is measured here is at least the memory of
    this one, which should be small, and so should not import Numba.
    """
    asks = "from kspec.impl.compiled import cache_folder; print(cache_folder() or '')"
    found = subprocess.run(
        [sys.executable, "-c", asks], stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(found.stdout.strip())
