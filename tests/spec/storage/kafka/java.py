"""Kafka's own classes of storage, driven by the programs in this folder."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.real_broker import classpath, require_compiler

FOLDER = Path(__file__).parent
SEGMENTS, LOGS = "Segments", "Logs"


@contextmanager
def compiled(version: str, program: str) -> Iterator[list[str]]:
    """The command that plays scenarios on one release; skips the test without Java or Kafka."""
    require_compiler()
    jars = classpath(version)
    with tempfile.TemporaryDirectory() as folder:
        sources = [str(FOLDER / f"{name}.java") for name in ("Batches", program)]
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", folder, *sources], check=True)
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Dfolder={folder}"]
        yield ["java", *options, "-cp", f"{folder}:{jars}", program]


def answers(command: Sequence[str], lines: Sequence[str]) -> list[str]:
    """What the program answers to each line."""
    text = "\n".join([*lines, ""])
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    found = ran.stdout.splitlines()
    if len(found) != len(lines):
        raise RuntimeError(f"{len(found)} answers to {len(lines)} lines: {ran.stderr[-2000:]}")
    return found
