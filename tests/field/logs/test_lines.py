"""Lines are read in bounded memory from plain, compressed, damaged and binary files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from kspec.field.logs.lines import LONGEST, lines_of, read_lines
from kspec.spec.core import SpecError

TEXT = b"first\r\nsecond\n\xff\xfe\x00 binary\nlast"


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_plain_and_compressed_files_have_the_same_lines(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "server.log"  # the content decides, not the name
    file.write_bytes(compress(TEXT))
    found = [(line.number, line.text) for line in read_lines(file)]
    assert found == [(1, "first"), (2, "second"), (3, "\ufffd\ufffd\x00 binary"), (4, "last")]


class Endless(io.RawIOBase):
    """A file of one line: it gives what is asked for, so that nobody has to hold it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.left, self.asked = size, 0

    def readline(self, size: int | None = -1) -> bytes:  # type: ignore[override]
        assert size is not None
        assert 0 < size <= LONGEST
        self.asked += 1
        given, self.left = min(size, self.left), max(self.left - size, 0)
        return b"x" * given


def test_a_gigabyte_without_a_newline_is_cut() -> None:
    stream = Endless(1 << 30)
    lines = list(lines_of(stream, "server.log"))  # type: ignore[arg-type]
    assert [(line.number, len(line.text), line.is_cut) for line in lines] == [(1, LONGEST, True)]
    assert stream.asked <= (1 << 30) // LONGEST + 2


def test_what_follows_a_long_line_is_read() -> None:
    stream = io.BytesIO(b"a" * (3 * LONGEST) + b"\nafter\n")
    lines = list(lines_of(stream, "server.log"))
    assert [(line.number, line.text[:5], line.is_cut) for line in lines] == [
        (1, "aaaaa", True),
        (2, "after", False),
    ]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "server.log.gz"
    file.write_bytes(gzip.compress(b"line\n" * 1000)[:-20])
    with pytest.raises(SpecError, match=r"server\.log\.gz is damaged"):
        list(read_lines(file))


def test_zstandard_is_named(tmp_path: Path) -> None:
    file = tmp_path / "server.log.zst"
    file.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(SpecError, match="compressed by zstd"):
        list(read_lines(file))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"cannot read .*none\.log"):
        list(read_lines(tmp_path / "none.log"))
