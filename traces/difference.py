"""The difference of two values at their leaves: `voted -1→1` in a tuple of records, not the tuple.

A value is cut into pieces of its text. A piece that changed has its text before, and its place in
the value, such as `[1].voted`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import attrs

from kspec.traces.itf import NONE, text


@attrs.frozen
class Piece:
    """A part of a value's text."""

    text: str
    """The text now; empty for what was removed."""
    before: str | None = None
    """The text before, if it was another; empty for what was added."""
    at: str = ""
    """The place of a changed piece in the value; empty if the value changed as a whole."""


def pieces(before: Any, after: Any) -> list[Piece]:
    """The pieces of an ITF value, compared with an earlier one; their texts are the value's."""
    joined: list[Piece] = []
    for piece in compared(before, after, ""):
        if piece.before is None and joined and joined[-1].before is None:
            joined[-1] = Piece(joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


def changed(before: Any, after: Any) -> list[Piece]:
    """Only the pieces that changed."""
    return [piece for piece in pieces(before, after) if piece.before is not None]


def compared(before: Any, after: Any, at: str) -> Iterator[Piece]:
    """The same, piece by piece, where unchanged ones may follow each other."""
    if before == after:
        yield Piece(text(after))
    elif is_record(before) and is_record(after) and before.keys() == after.keys():
        parts = ([Piece(f"{n} "), *compared(before[n], after[n], f"{at}.{n}")] for n in after)
        yield from bracketed("{}", parts)
    elif is_variant(before) and is_variant(after) and before["tag"] == after["tag"]:
        yield Piece(f"{after['tag']} ")
        yield from compared(before["value"], after["value"], at)
    elif isinstance(before, list) and isinstance(after, list):
        yield from bracketed("[]", compared_items(before, after, at))
    elif both(before, after, "#tup") and NONE not in (before, after):
        yield from bracketed("()", compared_items(before["#tup"], after["#tup"], at))
    elif both(before, after, "#set"):
        yield from bracketed("{}", compared_members(before["#set"], after["#set"], at))
    elif both(before, after, "#map"):
        yield from bracketed("{}", compared_entries(before["#map"], after["#map"], at))
    else:
        yield Piece(text(after), text(before), at)


def bracketed(brackets: str, parts: Iterator[list[Piece]]) -> Iterator[Piece]:
    """Parts in brackets, with commas between those that are there now."""
    yield Piece(brackets[0])
    follows = False
    for part in parts:
        is_there = any(piece.text for piece in part)
        if is_there and follows:
            yield Piece(", ")
        follows = follows or is_there
        yield from part
    yield Piece(brackets[1])


def compared_items(before: Sequence[Any], after: Sequence[Any], at: str) -> Iterator[list[Piece]]:
    """The items of two sequences, paired from both ends; what is left over was added or removed."""
    most = min(len(before), len(after))
    start = next((i for i in range(most) if before[i] != after[i]), most)
    end = next((i for i in range(most - start) if before[-1 - i] != after[-1 - i]), most - start)
    nothing = object()
    middle = zip_longest(
        before[start : len(before) - end], after[start : len(after) - end], fillvalue=nothing
    )
    for item in after[:start]:
        yield [Piece(text(item))]
    for index, (old, new) in enumerate(middle, start):
        place = f"{at}[{index}]"
        if old is nothing:
            yield [Piece(text(new), "", place)]
        elif new is nothing:
            yield [Piece("", text(old), place)]
        else:
            yield list(compared(old, new, place))
    for item in after[len(after) - end :]:
        yield [Piece(text(item))]


def compared_members(before: Sequence[Any], after: Sequence[Any], at: str) -> Iterator[list[Piece]]:
    """The members of two sets; those that were removed come last."""
    for member in after:
        yield [Piece(text(member)) if member in before else Piece(text(member), "", at)]
    for member in before:
        if member not in after:
            yield [Piece("", text(member), at)]


def compared_entries(
    before: Sequence[Sequence[Any]], after: Sequence[Sequence[Any]], at: str
) -> Iterator[list[Piece]]:
    """The entries of two maps, by key; those that were removed come last."""
    for key, value in after:
        name = f"{text(key)}: "
        old = [was for known, was in before if known == key]
        if old:
            yield [Piece(name), *compared(old[0], value, f"{at}[{text(key)}]")]
        else:
            yield [Piece(name + text(value), "", at)]
    for key, value in before:
        if all(known != key for known, _ in after):
            yield [Piece("", f"{text(key)}: {text(value)}", at)]


def is_record(value: Any) -> bool:
    """Whether an ITF value is a record, with names that are the same in each state."""
    return (
        isinstance(value, dict)
        and not any(name.startswith("#") for name in value)
        and value.keys() != {"tag", "value"}
    )


def is_variant(value: Any) -> bool:
    """Whether an ITF value is a record with fields and a tag."""
    return (
        isinstance(value, dict)
        and value.keys() == {"tag", "value"}
        and value["value"] != {}
        and is_record(value["value"])
    )


def both(before: Any, after: Any, mark: str) -> bool:
    """Whether two ITF values are both marked as sets, maps or tuples."""
    return all(isinstance(v, dict) and isinstance(v.get(mark), list) for v in (before, after))
