"""Updates: copies of values with some parts changed.

Rules may build their next state in any way. The learned engine understands these helpers,
`attrs.evolve`, slices and `+` of tuples, and `|` and `-` of frozensets: a part that they only copy
does not count as read. A rule that copies in another way, such as `(*items, item)` where the items
are scalars, is learned in more pieces, with the same results.
"""

from __future__ import annotations

from typing import Any, TypeVar

import attrs

T = TypeVar("T")


def evolve(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `copy.replace` of Python 3.13, for any version."""
    replace = getattr(type(value), "__replace__", None)
    if replace is None:
        return attrs.evolve(value, **changes)  # type: ignore[misc]
    changed: T = replace(value, **changes)
    return changed


def replaced(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    """The tuple with another item at one index, which is not negative."""
    return items[:index] + (item,) + items[index + 1 :]  # noqa: RUF005 - learned as a copy


def appended(items: tuple[T, ...], *more: T) -> tuple[T, ...]:
    """The tuple with more items at its end."""
    return items + more
