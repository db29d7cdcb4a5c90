"""Text from outside, made safe to show: on a terminal, on a page, in an error message.

A name in a file may hold an escape sequence that a terminal obeys, or a character that reverses
the direction of what follows. Everything that is drawn or printed passes through `printable`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


def printable(text: str) -> str:
    """The text with each control character written as an escape, such as `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if is_harmless(c) else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: "1 log", "2 logs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def is_harmless(character: str) -> bool:
    """Whether a character is printable or a space."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def all_printable(value: T) -> T:
    """A value with every string in it made printable: in records, mappings and sequences."""
    found: Any = value
    if isinstance(found, str):
        found = printable(found)
    elif attrs.has(type(found)):
        fields = attrs.fields(type(found))
        found = attrs.evolve(
            found, **{field.alias: all_printable(getattr(found, field.name)) for field in fields}
        )
    elif isinstance(found, Mapping):
        found = {all_printable(name): all_printable(each) for name, each in found.items()}
    elif isinstance(found, list | tuple):
        found = [all_printable(each) for each in found]
    return found  # type: ignore[no-any-return]
