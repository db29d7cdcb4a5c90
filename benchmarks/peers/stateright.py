"""Stateright: a model checker for models written in Rust, here those in the folder `stateright`.

Two releases are compared. Since 0.31 every state that waits to be explored carries the whole path
to it; 0.30 does not, and takes about half the time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import attrs

from benchmarks.processes import Ran, measured

PROJECT = Path(__file__).with_name("stateright")
RELEASES = ("0.31", "0.30")
TWO_PHASE_COMMIT = "two-phase-commit"
KIP_320 = "kip-320"
PAXOS = "paxos"
RAFT = "raft"
SNAPSHOT = "snapshot"
HOW_TO_GET = "https://rustup.rs"


def is_here() -> bool:
    """Whether cargo is installed."""
    return shutil.which("cargo") is not None


def target() -> Path:
    """The folder in which cargo builds."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "kspec-benchmarks" / "stateright"


def build() -> float:
    """Build what is not built yet, for every release; return the seconds that this took."""
    begun = time.perf_counter()
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir"]
    ended = subprocess.run([*command, target()], cwd=PROJECT, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"cargo could not build {PROJECT}")
    return time.perf_counter() - begun


@attrs.frozen
class Explored:
    """The result of one run, and its cost."""

    states: int
    seconds: float
    """Seconds of the exploration alone, as the program reports them."""
    process: Ran


def run(model: str, bounds: Mapping[str, int], threads: int, release: str) -> Explored:
    """Explore a model to the end; call `build` first."""
    binary = target() / "release" / f"stateright-{release.replace('.', '-')}"
    given = [f"{name}={value}" for name, value in bounds.items()]
    process = measured([binary, model, *given, "--threads", str(threads)])
    states, seconds = figures(process.said)
    return Explored(states, seconds, process)


def figures(said: str) -> tuple[int, float]:
    """The distinct states and the seconds that the program reports."""
    found = re.fullmatch(r"(\d+) states, (\d+\.\d+) seconds\n", said)
    if found is None:
        raise SystemExit(f"Stateright did not explore the model:\n{said[-2000:]}")
    return int(found[1]), float(found[2])
