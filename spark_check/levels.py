"""A level as Spark has committed it, made part of the checkpoint."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from checkers.native.blocks import Part
from spec.core import SpecError

PART = re.compile(r"part-(\d+)-")


def folder_of(level: int, run: str) -> str:
    """The name of a level's folder; no other run writes there, be it late."""
    return f"level-{level:05}-{run}"


def parts_of(
    folder: Path, name: str, states: Mapping[int, int], rows: Mapping[int, int]
) -> tuple[Part, ...]:
    """The files of a level, given how many states and rows each task has written.

    They are on the disk then. Whoever reads them later compares their checksums.
    """
    parts = []
    for path in sorted((folder / name).glob("part-*.parquet")):
        match = PART.match(path.name)
        owner = int(match[1]) if match else -1
        if states.get(owner):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = os.fstat(file.fileno()).st_size
            parts.append(Part(f"{name}/{path.name}", states[owner], rows[owner], size, digest))
    if sum(part.states for part in parts) != sum(states.values()):
        raise SpecError(
            f"{folder} is no folder that the workers share with the driver: what they wrote is "
            "not there; name one with --checkpoint"
        )
    return tuple(parts)
