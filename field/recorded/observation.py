"""Partial observations: any part of a state, as JSON or as ITF writes it.

A record may lack fields; a list is whole, or an object of the items that were observed, by index
(`{"0": …}`); a set is a list. Integers, sets and maps may have ITF's marks (`#bigint`, `#set`,
`#map`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from kspec.field.recorded.mapping import Difference
from kspec.spec.core import Bag
from kspec.spec.core.schema import names_of
from kspec.traces.itf import NONE

ABSENT = "(absent)"


def matches(value: Any, observed: Any) -> bool:
    """Whether a value of a state agrees with what was observed of it."""
    kind = type(value)
    if kind is int or kind is bool or kind is str:
        if type(observed) is kind:
            return bool(value == observed)
        return kind is int and type(observed) is dict and observed.get("#bigint") == str(value)
    if value is None:
        return observed is None or observed == NONE
    if isinstance(value, Enum):
        return bool(observed == value.name)
    names = names_of(kind)
    if names is not None:
        if type(observed) is not dict:
            return False
        for name, part in observed.items():
            if name not in names or not matches(getattr(value, name), part):
                return False
        return True
    if isinstance(value, frozenset | set):
        members = items_of(observed, "#set")
        return (
            members is not None
            and len(members) == len(value)
            and all(any(matches(v, m) for v in value) for m in members)
            and all(any(matches(v, m) for m in members) for v in value)
        )
    if isinstance(value, tuple | list | range):
        if type(observed) is list:
            return len(observed) == len(value) and all(map(matches, value, observed))
        if type(observed) is not dict:
            return False
        return all(
            (at := index_of(key, len(value))) is not None and matches(value[at], part)
            for key, part in observed.items()
        )
    if isinstance(value, Mapping | Bag):
        pairs = pairs_of(observed)
        return pairs is not None and all(
            any(matches(k, key) and matches(v, part) for k, v in value.items())
            for key, part in pairs
        )
    return bool(value == observed)


def matches_since(value: Any, observed: Any, old: Any, old_observed: Any) -> bool:
    """The same as `matches`, given an older pair that matches.

    A step copies most parts of a state: such a part is not compared again if it was observed to
    be the same.
    """
    if value is old and observed == old_observed:
        return True
    kind = type(value)
    if kind is type(old) and type(observed) is type(old_observed):
        names = names_of(kind)
        if names is not None and type(observed) is dict:
            for name, part in observed.items():
                if name not in names:
                    return False
                now = getattr(value, name)
                if name in old_observed:
                    same = matches_since(now, part, getattr(old, name), old_observed[name])
                else:
                    same = matches(now, part)
                if not same:
                    return False
            return True
        if (
            kind is tuple
            and type(observed) is list
            and len(value) == len(observed) == len(old) == len(old_observed)
        ):
            return all(map(matches_since, value, observed, old, old_observed))
    return matches(value, observed)


def items_of(observed: Any, mark: str) -> list[Any] | None:
    """The items of a list, with or without ITF's mark."""
    if type(observed) is dict:
        observed = observed.get(mark)
    return observed if type(observed) is list else None


def pairs_of(observed: Any) -> list[tuple[Any, Any]] | None:
    """The pairs of a map: an object, or a list of pairs with ITF's mark."""
    if type(observed) is not dict:
        return None
    marked = observed.get("#map")
    if marked is None:
        return list(observed.items())
    if type(marked) is not list or not all(type(p) is list and len(p) == 2 for p in marked):
        return None
    return [(key, value) for key, value in marked]


def index_of(key: str, length: int) -> int | None:
    """An index below the length, from the name of an item."""
    is_number = re.fullmatch("[0-9]{1,9}", key)
    return int(key) if is_number and int(key) < length else None


def differences(value: Any, observed: Any, path: str = "") -> Iterator[Difference]:
    """The innermost parts of a value in which it differs from what was observed."""
    if matches(value, observed):
        return
    names = names_of(type(value))
    if names is not None and type(observed) is dict:
        for name, part in observed.items():
            inner = f"{path}.{name}" if path else name
            if name in names:
                yield from differences(getattr(value, name), part, inner)
            else:
                yield Difference(inner, ABSENT, plain_observed(part))
    elif isinstance(value, tuple | list) and type(observed) is list:
        if len(value) != len(observed):
            yield Difference(path, plain(value), plain_observed(observed))
            return
        for index, (item, part) in enumerate(zip(value, observed, strict=True)):
            yield from differences(item, part, f"{path}[{index}]")
    elif isinstance(value, tuple | list) and type(observed) is dict:
        for key, part in observed.items():
            at = index_of(key, len(value))
            if at is None:
                yield Difference(f"{path}[{key}]", ABSENT, plain_observed(part))
            else:
                yield from differences(value[at], part, f"{path}[{at}]")
    else:
        yield Difference(path, plain(value), plain_observed(observed))


def plain(value: Any) -> Any:
    """A value of a state as JSON that a person would write."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | int | str | float):
        return value
    names = names_of(type(value))
    if names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, frozenset | set):
        return sorted(map(plain, value), key=repr)
    if isinstance(value, tuple | list | range):
        return [plain(item) for item in value]
    if isinstance(value, Mapping | Bag):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    return repr(value)


def plain_observed(observed: Any) -> Any:
    """An observed value without ITF's marks."""
    if type(observed) is list:
        return [plain_observed(item) for item in observed]
    if type(observed) is not dict:
        return observed
    if observed == NONE:
        return None
    if isinstance(observed.get("#bigint"), str):
        digits = observed["#bigint"]
        return int(digits) if re.fullmatch("-?[0-9]{1,30}", digits) else digits
    if isinstance(observed.get("#set"), list):
        return [plain_observed(item) for item in observed["#set"]]
    return {name: plain_observed(part) for name, part in observed.items()}
