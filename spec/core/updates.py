"""Updates: a new value that differs from an old one in the parts that are named.

Rules may build their next state in any way. The learned engine follows these helpers, and
`attrs.evolve`, slices and `+` of tuples, and `|` and `-` of frozensets, without counting the
parts that are only copied as read: a rule that copies in another way, such as `(*items, item)`
where the items are scalars, is learned in more pieces, and gives the same answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


def evolve(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve`, which stand-ins answer at once."""
    at_once = getattr(type(value), "_kspec_evolve", None)
    if at_once is not None:
        changed: T = at_once(value, changes)
        return changed
    return attrs.evolve(value, **changes)  # type: ignore[misc]


def replaced(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    """The tuple with another item at one index, which is not negative."""
    return items[:index] + (item,) + items[index + 1 :]  # noqa: RUF005 - learned as a copy


def appended(items: tuple[T, ...], *more: T) -> tuple[T, ...]:
    """The tuple with more items at its end."""
    return items + more


def differing(before: Any, after: Any) -> Iterable[tuple[str | int, Any, Any]] | None:
    """The fields or items in which two values of one kind may differ, with both values.

    None where they have neither. For stand-ins, only what has been changed is looked at.
    """
    compare = getattr(type(after), "_kspec_differing", None)
    if compare is not None:
        told: Iterable[tuple[str | int, Any, Any]] | None = compare(before, after)
        return told
    if attrs.has(type(after)):
        names = [field.name for field in attrs.fields(type(after)) if field.eq]
    elif hasattr(after, "_fields"):
        names = list(after._fields)
    elif isinstance(after, tuple) and len(before) == len(after):
        return zip(range(len(after)), before, after, strict=True)
    else:
        return None
    return ((name, getattr(before, name), getattr(after, name)) for name in names)


def kind_of(value: Any) -> type:
    """The class of a value, or of what a stand-in stands for."""
    told: type = getattr(type(value), "_kspec_of", type(value))
    return told
