"""Java and Kafka's own classes, where they are present."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.peers.kafka_java import HOW_TO_GET, REPOSITORY, find_jar
from tests.real_broker import require_compiler

FOLDER = Path(__file__).parent


def run_java(program: str, text: str, *arguments: str, class_path: str = "") -> list[str]:
    """The lines that a program in this folder prints."""
    require_compiler()
    options = ["-cp", class_path] if class_path else []
    ran = subprocess.run(
        ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", *options, FOLDER / program, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "release version" in ran.stderr or "UnsupportedClassVersion" in ran.stderr:
        pytest.skip("this java is too old")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def kafka_clients() -> tuple[str, str]:
    """The release of the newest kafka-clients jar, and a class path with it."""
    jar = find_jar()
    logging = sorted(REPOSITORY.glob("org/slf4j/slf4j-api/*/slf4j-api-*.jar"))
    if jar is None or not logging:
        pytest.skip(f"no kafka-clients jar: {HOW_TO_GET}")
    release = re.sub(r"\.\d+$", "", jar.parent.name)
    return release, f"{jar}:{logging[0]}"
