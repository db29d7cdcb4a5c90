"""What a worker says of itself."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version

import pyarrow as pa

MUST_AGREE = ("numpy", "pyarrow")
"""Packages whose versions are told beside Python's: a worker without one says so."""


def about_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The versions here, as one row."""
    for _ in batches:
        pass
    minor = ".".join(platform.python_version_tuple()[:2])
    versions = [f"Python {minor}", *(f"{name} {version(name)}" for name in MUST_AGREE)]
    yield pa.RecordBatch.from_pydict({"versions": [", ".join(versions)]})
