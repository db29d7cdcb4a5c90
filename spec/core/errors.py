"""Errors in models and in names, each in one line, and the line of a model that raised."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class SpecError(Exception):
    """A model is not well-formed, or lacks a name or value; the message is one line."""


def look_up(kind: str, name: str, table: Mapping[str, Any]) -> Any:
    """The entry of that name; SpecError suggests similar names."""
    if name in table:
        return table[name]
    folded = {known.casefold(): known for known in table}
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(folded[n] for n in near)}?"
    elif table:
        hint = f"there is {', '.join(table)}"
    else:
        hint = "there is none"
    raise SpecError(f"no {kind} named {name!r}: {hint}")


@contextmanager
def located(place: str) -> Iterator[None]:
    """Say in a SpecError where it was found."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from None


@contextmanager
def code_of(what: str, *functions: Callable[..., Any]) -> Iterator[None]:
    """Run code of the model: SpecError, in one line, if it raises an exception."""
    try:
        yield
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(raised(what, error, place_to_blame(error, functions))) from error


def raised(what: str, error: Exception, where: str) -> str:
    """That code of the model raised an exception, in one line."""
    is_unhashable = isinstance(error, TypeError) and "unhashable type" in str(error)
    hint = f": {HASHABLE}" if is_unhashable else ""
    return f"{what} raised {type(error).__name__}: {error}{hint} ({where})"


HASHABLE = "use tuples, frozensets and Map, not lists, sets and dicts"
"""What to do about a value in a state that cannot be hashed."""


def assert_hashable(state: Any, what: str) -> None:
    """SpecError if a state cannot be hashed; `what` begins the message, up to the verb."""
    try:
        hash(state)
    except TypeError as error:
        raise SpecError(f"{what} an unhashable state ({error}): {HASHABLE}") from None


def place_to_blame(error: BaseException, functions: Iterable[Callable[..., Any]]) -> str:
    """The file and line that raised, among the files beside those of these functions."""
    frame = line_to_blame(error, folders_of(functions))
    return f"{Path(frame.filename).name}, line {frame.lineno}"


def line_to_blame(error: BaseException, folders: Collection[Path]) -> traceback.FrameSummary:
    """The deepest line in these folders; the deepest of all if none is in them.

    Deeper lines belong to a library that the line in the folders called wrongly.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent in folders]
    return (own or frames)[-1]


def folders_of(functions: Iterable[Callable[..., Any]]) -> set[Path]:
    """The folders of the files that define these functions."""
    codes = (getattr(function, "__code__", None) for function in functions)
    return {Path(code.co_filename).parent for code in codes if code}
