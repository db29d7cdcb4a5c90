"""Updates: a new value that differs from an old one in the parts that are named.

Rules may build their next state in any way. The learned engine follows these helpers, and
`attrs.evolve`, slices and `+` of tuples, and `|` and `-` of frozensets, without counting the
parts that are only copied as read: a rule that copies in another way, such as `(*items, item)`,
is learned in more pieces, and gives the same answers.
"""

from __future__ import annotations

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
