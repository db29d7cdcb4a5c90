"""Files and standard input, read once and within limits; every reader of kspec begins here.

Whatever is read is data. A file that is too large, nested too deeply, not UTF-8 or not JSON is
refused in one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from kspec.spec.core import SpecError
from kspec.spec.core.errors import located

T = TypeVar("T")

MOST_BYTES = 2**28
"""The largest file that is read: 256 MiB."""

MOST_LEVELS = 100
"""How deeply values may be nested. Python runs out of stack at ten times this."""

MOST_VALUES = 2**24
"""How many values a document may have. YAML's aliases can make a small file huge."""


def name_of(path: Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == "-" else str(path)


def read_text(path: Path) -> str:
    """The text of a file or, for `-`, of standard input; it has to be UTF-8."""
    name = name_of(path)
    raw = read_bytes(path)
    text = decoded(raw, f"{name}, ")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise SpecError(f"{name}, line {line}: not text; is it UTF-16, or binary?")
    return text


def decoded(raw: bytes, where: str = "") -> str:
    """Text in UTF-8; an error says the line, after `where`."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{where}line {line}: not UTF-8") from None


def read_with(path: Path, parse: Callable[[str], T]) -> T:
    """What a file's text says; an error names the file."""
    text = read_text(path)
    with located(name_of(path)):
        return parse(text)


def read_bytes(path: Path) -> bytes:
    """The bytes of a file or, for `-`, of standard input."""
    name = name_of(path)
    try:
        if str(path) != "-":
            with path.open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
        else:
            raw = standard_input().read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError(f"cannot read {name}: {error.strerror or error}") from None
    if len(raw) > MOST_BYTES:
        raise SpecError(f"{name} is larger than {MOST_BYTES >> 20} MiB")
    return raw


def numbered_lines(most: int) -> Iterator[tuple[int, bytes]]:
    """The lines of standard input that are not blank, each when it arrives.

    Of a line that is longer than `most`, the beginning: one byte more than that.
    """
    lines = bounded_lines(standard_input().readline, most)
    return ((number, line) for number, line in lines if line.strip())


def bounded_lines(readline: Callable[[int], bytes], most: int) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers; of one that is longer than `most`, one byte more than that."""
    number = 0
    while line := readline(most + 1):
        number += 1
        yield number, line
        while not line.endswith(b"\n") and (line := readline(most + 1)):
            pass


def standard_input() -> BinaryIO:
    """The bytes of standard input."""
    if sys.stdin is None:
        raise SpecError("cannot read standard input: it is closed")
    return sys.stdin.buffer


def parse_json(text: str) -> Any:
    """The value of a JSON text."""
    try:
        value = json.loads(text, object_pairs_hook=no_name_twice, parse_constant=not_json)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SpecError(f"{where}: not JSON, or cut short: {error.msg}") from None
    except ValueError:
        raise SpecError("a number has too many digits") from None
    except RecursionError:
        raise SpecError(f"nested deeper than {MOST_LEVELS} levels") from None
    assert_within_limits(value)
    return value


def no_name_twice(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields; of a name that is given twice, the first would silently be lost."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(f"{twice!r} is given twice")
    return fields


def not_json(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's reader would accept."""
    raise SpecError(f"{constant} is not JSON")


def assert_within_limits(value: Any) -> None:
    """SpecError for a value that is nested too deeply, or has too many values in it."""
    level, count = [value], 0
    for _ in range(MOST_LEVELS):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, Mapping):
                inner.extend(each.values())
            elif isinstance(each, list | tuple | set):
                inner.extend(each)
            if count + len(inner) > MOST_VALUES:
                raise SpecError(f"more than {MOST_VALUES:,} values")
        if not inner:
            return
        level, count = inner, count + len(inner)
    raise SpecError(f"nested deeper than {MOST_LEVELS} levels")
