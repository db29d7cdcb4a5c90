"""The logs that real brokers and consumers wrote, for tests: recording/record.py made them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kspec.field.logs.adapter import Reading, read_logs
from kspec.field.logs.files import find_files

FOLDER = Path(__file__).parents[2] / "cases" / "kafka_logs"
VERSIONS = ("2.8.2", "3.9.1", "4.0.0")


def brokers(version: str) -> list[Path]:
    """The folders of the three brokers."""
    return sorted((FOLDER / version).glob("broker-*"))


def clients(version: str) -> list[Path]:
    """The logs of the consumers."""
    return sorted((FOLDER / version / "clients").glob("*.gz"))


def read_brokers(version: str) -> Reading:
    """What the brokers' logs tell."""
    return read(*brokers(version))


@cache
def read(*paths: Path) -> Reading:
    """What logs tell; nobody changes it, so it is read once."""
    return read_logs(find_files(paths, []))
