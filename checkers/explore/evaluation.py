"""The value of an expression in a state. Nothing fails: what is missing is none."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from kspec.checkers.explore.parser import Tree
from kspec.spec.core import Always, Property
from kspec.spec.core.schema import names_of

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(tree: Tree, scope: Mapping[str, Any], properties: Mapping[str, Property[Any]]) -> Any:
    """The value of an expression; the scope has the state under the empty name."""
    kind, *parts = tree
    if kind == "constant":
        return parts[0]
    if kind == "name":
        return value_of_name(parts[0], scope, properties)
    if kind in ("any", "all"):
        variable, among, body = parts
        items = evaluate(among, scope, properties)
        results = (
            evaluate(body, {**scope, variable: item}, properties) is True
            for item in (() if items is None else items)
        )
        return any(results) if kind == "any" else all(results)
    if kind in ("and", "or"):
        first = evaluate(parts[0], scope, properties) is True
        if first == (kind == "or"):
            return first
        return evaluate(parts[1], scope, properties) is True
    if kind == "field":
        return field_of(evaluate(parts[0], scope, properties), parts[1])
    values = [evaluate(part, scope, properties) for part in parts]
    return COMPUTED[kind](*values)


def value_of_name(
    name: str, scope: Mapping[str, Any], properties: Mapping[str, Property[Any]]
) -> Any:
    """The value of a variable, whether a property holds, or a field of the state."""
    state = scope[""]
    if name in scope:
        return scope[name]
    if name in properties:
        prop = properties[name]
        return prop.failure(state) is None if isinstance(prop, Always) else bool(prop.body(state))
    if name == "state" and names_of(type(state)) is None:
        return state
    return field_of(state, name)


def field_of(value: Any, name: str) -> Any:
    """A field by which a record is compared; None if the value has none of this name."""
    return getattr(value, name) if name in (names_of(type(value)) or ()) else None


def item_of(value: Any, index: Any) -> Any:
    """An item of a tuple, or a value of a map; None if there is none."""
    try:
        return value[index]
    except (IndexError, KeyError, TypeError):
        return None


def equals(one: Any, other: Any) -> bool:
    """Whether two values are equal; a member of an enumeration equals its name and its value."""
    for member, text in ((one, other), (other, one)):
        if isinstance(member, Enum) and isinstance(text, str) and not isinstance(text, Enum):
            return text in (member.name, member.value)
    return bool(one == other)


def is_among(one: Any, many: Any) -> bool:
    """Whether a value is an item of a tuple, a member of a set, or a key of a map."""
    if many is None:
        return False
    try:
        return any(equals(one, item) for item in many)
    except TypeError:
        return False


def ordered(sign: str) -> Callable[[Any, Any], bool]:
    """An order of two numbers or two texts."""

    def compare(one: Any, other: Any) -> bool:
        same = isinstance(one, int) and isinstance(other, int)
        same = same or (isinstance(one, str) and isinstance(other, str))
        return bool(same and ORDERS[sign](one, other))

    return compare


def added(sign: int) -> Callable[[Any, Any], Any]:
    """The sum or the difference of two numbers."""

    def add(one: Any, other: Any) -> Any:
        numbers = isinstance(one, int) and isinstance(other, int)
        return one + sign * other if numbers else None

    return add


def size_of(value: Any) -> int:
    """The number of items; of none, 0."""
    try:
        return len(value)
    except TypeError:
        return 0


def as_set(*items: Any) -> Any:
    """A set of values; None if one of them cannot be a member."""
    try:
        return frozenset(items)
    except TypeError:
        return None


COMPUTED: Mapping[str, Callable[..., Any]] = {
    "==": equals,
    "in": is_among,
    "not": lambda value: value is not True,
    "len": size_of,
    "item": item_of,
    "set": as_set,
    "list": lambda *items: items,
    "+": added(1),
    "-": added(-1),
    **{sign: ordered(sign) for sign in ORDERS},
}
