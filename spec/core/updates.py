"""Updates: copies of values with some parts changed.

Rules may build their next state in any way. The learned engine understands these helpers,
`attrs.evolve`, slices and `+` of tuples, and `|` and `-` of frozensets: a part that they only copy
does not count as read. A rule that copies in another way, such as `(*items, item)` where the items
are scalars, is learned in more pieces, with the same results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import attrs

from kspec.spec.core.schema import names_of

T = TypeVar("T")


def evolve(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve`, with a shortcut for stand-ins."""
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
    """The fields or items in which two values of one class may differ, with both values.

    None where they have neither. Of stand-ins, only the changed parts are compared.
    """
    compare = getattr(type(after), "_kspec_differing", None)
    if compare is not None:
        found: Iterable[tuple[str | int, Any, Any]] | None = compare(before, after)
        return found
    names = names_of(type(after))
    if names is not None:
        return ((name, getattr(before, name), getattr(after, name)) for name in names)
    if isinstance(after, tuple) and len(before) == len(after):
        return zip(range(len(after)), before, after, strict=True)
    return None


def kind_of(value: Any) -> type:
    """The class of a value, or of the value that a stand-in represents."""
    kind: type = getattr(type(value), "_kspec_of", type(value))
    return kind
