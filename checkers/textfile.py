"""Text from files and standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from spec.core import SpecError


def name_of(path: Path) -> str:
    """What a file is called in a message."""
    return "standard input" if str(path) == "-" else str(path)


def read_text(path: Path) -> str:
    """The text of a file or, for `-`, of standard input; it has to be UTF-8."""
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise SpecError(f"cannot read {name_of(path)}: {error.strerror}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{name_of(path)}, line {line}: this is not UTF-8") from None
