"""One order of states for every engine: that of texts, which are the same in every run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kspec.checkers.engine.learned.values import is_plain
from kspec.spec.core import OrderedSet


def text_of(value: Any) -> str:
    """A text for a value; states are compared by it where one of several is reported."""
    cls = type(value)
    if cls is tuple:
        return text_of_parts(map(text_of, value))
    if cls is OrderedSet or cls is frozenset:
        return text_of_set(map(text_of, value))
    if is_plain(cls):
        names = (field.name for field in cls.__attrs_attrs__ if field.eq)
        return text_of_parts((text_of(getattr(value, name)) for name in names), cls.__name__)
    return text_of_scalar(value)


def text_of_scalar(value: Any) -> str:
    """The text of a value without parts."""
    return f"{type(value).__name__}:{value!r}"


def text_of_parts(texts: Iterable[str], name: str = "") -> str:
    """The text of a tuple, or of a record of the named class, from those of its parts."""
    return f"{name}({','.join(texts)})"


def text_of_set(texts: Iterable[str]) -> str:
    """The text of a set, from those of its members."""
    return "{" + ",".join(sorted(texts)) + "}"
