"""One archive with everything that a Spark worker needs beside Python."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from checkers.start import PACKAGES, ROOT
from spec.core import SpecError

NEEDED = ("attrs", "click", "networkx", "numba", "numpy", "pandas", "pyarrow", "rich")
"""What workers import, directly or not; they have pyspark already."""
FOR_LOGS = ("cramjam", "crc32c")
"""What workers import to read logs; left out if it is not installed here."""


def our_files() -> Iterator[Path]:
    """The files of kspec's packages, relative to the folder that they are in."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def code_version() -> str:
    """A digest of all code, which must be equal on machines that work together."""
    digest = hashlib.sha256()
    for path in our_files():
        if path.suffix == ".py":
            digest.update(str(path).encode() + b"\0" + (ROOT / path).read_bytes())
    return digest.hexdigest()[:12]


def write_bundle(path: Path, with_dependencies: bool = False) -> int:
    """Write the archive; the number of files in it."""
    files = {str(file): ROOT / file for file in our_files()}
    if with_dependencies:
        for name in needed():
            for file in distribution(name).files or ():
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    files[str(file)] = Path(str(file.locate()))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, place in sorted(files.items()):
                archive.write(place, name)
        beside.replace(path)
    except OSError as error:
        raise SpecError(f"cannot write {path}: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
    return len(files)


def needed() -> list[str]:
    """The packages that workers import, with their requirements, as installed here."""
    found: dict[str, None] = {}
    open_ones = [*NEEDED, *FOR_LOGS]
    while open_ones:
        name = open_ones.pop()
        if name in found:
            continue
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            if name in NEEDED:
                raise SpecError(
                    f"{name} is not installed here: pip install 'kspec[spark]'"
                ) from None
            continue  # wanted only for logs, or on other systems
        found[name] = None
        for line in requires:
            match = re.match(r"[\w.-]+", line)
            if match and "extra ==" not in line:
                open_ones.append(match[0].lower())
    return sorted(found)
