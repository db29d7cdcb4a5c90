"""What a worker says of itself."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from checkers.bundle import code_version

MUST_AGREE = ("numpy", "pyarrow")
"""Packages whose versions are told beside Python's: a worker without one says so."""


def about_worker(
    folder: Path | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The versions here, and whether a folder is seen, as one row."""
    for _ in batches:
        pass
    minor = ".".join(platform.python_version_tuple()[:2])
    versions = [f"Python {minor}", *(f"{name} {version(name)}" for name in MUST_AGREE)]
    versions.append(f"kspec {code_version()}")
    yield pa.RecordBatch.from_pydict(
        {"versions": [", ".join(versions)], "sees": [folder is None or folder.is_dir()]}
    )
