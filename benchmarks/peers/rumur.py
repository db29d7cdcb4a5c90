"""rumur: a model checker that compiles a Murphi model to C; the models are the `.m` files here."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

KIP_320 = Path(__file__).with_name("replication_kip320.m")
TWO_PHASE_COMMIT = Path(__file__).with_name("two_phase_commit.m")
BOUNDS = {"brokers": "R", "log_size": "L", "max_records": "M", "max_epoch": "E", "managers": "N"}
"""The short names of bounds in some Murphi models; in the others a bound keeps its name."""
HOW_TO_GET = "apt-get install rumur gcc"


def is_here() -> bool:
    """Whether rumur and a C compiler are installed."""
    return bool(shutil.which("rumur") and shutil.which("cc"))


def model(bounds: Mapping[str, int], file: Path = KIP_320) -> str:
    """The model with these bounds."""
    text = file.read_text("utf-8")
    for name, value in bounds.items():
        constant = rf"\b({name}|{BOUNDS.get(name, name)}): -?\d+;"
        text, found = re.subn(constant, rf"\g<1>: {value};", text, count=1)
        assert found, f"the model has no bound {name}"
    return text


def build(
    bounds: Mapping[str, int], threads: int, folder: Path, file: Path = KIP_320
) -> tuple[Path, float]:
    """Build the verifier of a model for these bounds; return the seconds that this took."""
    folder.mkdir(parents=True, exist_ok=True)
    murphi, source, verifier = (folder / name for name in ("model.m", "verifier.c", "verifier"))
    murphi.write_text(model(bounds, file), "utf-8")
    begun = time.perf_counter()
    to_c = ["rumur", "--deadlock-detection", "off", "--threads", str(threads)]
    subprocess.run([*to_c, "--output", source, murphi], check=True)
    to_binary = ["cc", "-std=c11", "-O3", "-march=native", "-o", str(verifier), str(source)]
    subprocess.run([*to_binary, "-lpthread", "-latomic"], check=True)
    return verifier, time.perf_counter() - begun


def states(said: str) -> int:
    """The number of states that a verifier reports."""
    return counts(said)[0]


def counts(said: str) -> tuple[int, int]:
    """The numbers of states and of steps that a verifier reports."""
    found = re.search(r"(\d+) states, (\d+) rules fired", said)
    if found is None or "No error found" not in said:
        raise SystemExit(f"rumur did not explore the model:\n{said[-2000:]}")
    return int(found[1]), int(found[2])
