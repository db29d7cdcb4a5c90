"""One archive with everything that a Spark worker needs beside Python."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from kspec import HOME
from kspec.checkers.needs import missing
from kspec.spec.core import SpecError

NEEDED = ("attrs", "click", "numba", "numpy", "pandas", "pyarrow", "rich")
"""What workers import, directly or not; they have pyspark already."""
FOR_LOGS = ("cramjam", "crc32c")
"""What workers import to read logs; left out if it is not installed here."""


def our_files() -> Iterator[Path]:
    """The files of kspec, relative to the folder that it is in."""
    for part in sorted(HOME.iterdir()):
        # Each part by itself: a clone has links to them, and `rglob` follows none.
        for path in sorted(part.rglob("*")) if part.is_dir() else [part]:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(HOME.parent)


def code_version() -> str:
    """A digest of all code and tables, which must be equal on machines that work together."""
    digest = hashlib.sha256()
    for path in our_files():
        if path.suffix in (".json", ".py", ".toml"):
            digest.update(str(path).encode() + b"\0" + (HOME.parent / path).read_bytes())
    return digest.hexdigest()[:12]


def write_bundle(path: Path, with_dependencies: bool = False) -> int:
    """Write the archive; the number of files in it."""
    files = {str(file): HOME.parent / file for file in our_files()}
    files["spec/__init__.py"] = HOME / "spec" / "__init__.py"  # `import spec`
    files |= entry_points_files()
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


def entry_points_files() -> dict[str, Path]:
    """What says which commands and models kspec has (`kspec.checkers.registered`)."""
    return {
        f"kspec.dist-info/{file.name}": Path(str(file.locate()))
        for file in distribution("kspec").files or ()
        if file.name in ("METADATA", "entry_points.txt")
    }


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
                raise missing("Spark", "spark", name) from None
            continue  # wanted only for logs, or on other systems
        found[name] = None
        for line in requires:
            match = re.match(r"[\w.-]+", line)
            if match and "extra ==" not in line:
                open_ones.append(match[0].lower())
    return sorted(found)
