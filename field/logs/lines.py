"""Lines of log files, in bounded memory: plain or compressed, CRLF, binary, of any length.

A line is decoded as UTF-8; bytes that are not become U+FFFD. Of a longer line than LONGEST, the
beginning is read and the rest is skipped.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import attrs

from kspec.spec.core import SpecError
from kspec.traces.source import bounded_lines

LONGEST = 1 << 20
"""The longest line that is read whole, in bytes. A request's line may list many partitions."""

OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
"""How a file is opened that begins with these bytes, whatever its name."""


@attrs.frozen(slots=True)
class Line:
    """A line of a file."""

    file: str
    number: int
    text: str
    """Without its end, and cut after LONGEST bytes."""
    is_cut: bool = False


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file; `-` is standard input. SpecError if it cannot be read."""
    name = str(path)
    try:
        with opened(path) as stream:
            yield from lines_of(stream, "standard input" if name == "-" else name)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise SpecError(f"{name} is damaged: {error}") from None
    except OSError as error:
        raise SpecError(f"cannot read {name}: {error.strerror or error}") from None


def opened(path: Path) -> IO[bytes]:
    """The file, decompressed."""
    if str(path) == "-":
        return sys.stdin.buffer
    with path.open("rb") as plain:
        head = plain.read(6)
    for magic, opener in OPENERS.items():
        if head.startswith(magic):
            stream: IO[bytes] = opener(path, "rb")
            return stream
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        raise SpecError(f"{path} is compressed by zstd: decompress it first, with `zstd -d`")
    return path.open("rb")


def lines_of(stream: IO[bytes], name: str) -> Iterator[Line]:
    """The lines of an open file."""
    for number, content in bounded_lines(stream.readline, LONGEST - 1):
        is_cut = not content.endswith(b"\n") and len(content) == LONGEST
        yield Line(name, number, content.rstrip(b"\r\n").decode("utf-8", "replace"), is_cut)
