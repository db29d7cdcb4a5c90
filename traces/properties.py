"""A properties file, read as `java.util.Properties.load` reads it from a stream of bytes.

Kafka reads its files with `Utils.loadProps`, which does this. So a file is ISO-8859-1, `:` and
spaces separate like `=`, a backslash at the end of a line continues it, a comment cannot be
continued, and spaces at the end of a value belong to it (`ConfigDef.parseType` trims them later).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from kspec.spec.core import SpecError

BLANK = " \t\f"
"""What Java skips before a key and around a separator; unlike Python, only these."""

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@attrs.frozen
class Entry:
    """A key with its value."""

    key: str
    value: str
    line: int
    """The line on which it begins, counted from 1."""


def parse_properties(raw: bytes) -> list[Entry]:
    """All entries, in order. Of a key that is given twice, Kafka uses the last entry."""
    return [entry(line, number) for line, number in logical_lines(raw.decode("iso-8859-1"))]


def logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """The lines with a key, continued lines joined, each with the number of its first line."""
    line, begun = "", 0
    for number, found in enumerate(LINE.finditer(text), 1):
        content = found[1].lstrip(BLANK)
        if not line:
            begun = number
            if not content or content[0] in "#!":
                continue
        line += content
        if is_continued(content):
            line = line[:-1]
            if line or found.end() < len(text) or found[2] == "\r\n":
                continue
        yield line, begun  # a lone backslash that ends the file is an entry without key and value
        line = ""
    if line:
        yield line, begun


def is_continued(line: str) -> bool:
    """Whether a line ends with a backslash that is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def entry(line: str, number: int) -> Entry:
    """The entry on a logical line."""
    key = KEY.match(line)
    assert key is not None
    separator = SEPARATOR.match(line, key.end())
    assert separator is not None
    try:
        return Entry(unescaped(key[0]), unescaped(line[separator.end() :]), number)
    except ValueError as error:
        raise SpecError(f"line {number}: {error}") from None


def unescaped(text: str) -> str:
    r"""The text with its escapes replaced; `\q` is `q`, and two surrogates are one character."""
    if "\\" not in text:
        return text

    def replacement(found: re.Match[str]) -> str:
        escape = found[1]
        if escape == "u":
            raise ValueError(r"a \u escape needs four hexadecimal digits")
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        return NAMED.get(escape, escape)

    units = ESCAPE.sub(replacement, text).encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "surrogatepass")
