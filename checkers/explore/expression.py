"""Conditions on a state, as they are typed: a small language of comparisons.

    quorum.leader == 1 and not StrongIsr
    any v in views: v.hw > 0 and v.leader != quorum.leader
    len(logs[2].records) < 2 or 0 in quorum.isr

A name is a field of the state, a property of the model (true where it holds), or the variable of an
`any` or `all`. The text may come from a browser: it is parsed here, and nothing of it is executed.
Only fields by which states are compared can be read, and no method.

Nothing fails in a state where a part is missing: a field of none, or an item beyond the end, is
`none`, and an order of anything but two numbers or two texts is false. A name that no state can
have is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from kspec.checkers.engine.symmetry import options_of
from kspec.checkers.explore.evaluation import evaluate
from kspec.checkers.explore.parser import BadExpression, Parser, Tree
from kspec.spec.core import Always, Property, Reachable, SpecError, look_up
from kspec.spec.core.errors import code_of
from kspec.spec.core.schema import (
    Anything,
    Items,
    Members,
    OneOf,
    Product,
    Record,
    Scalar,
    Type,
    fields_of,
    names_of,
    type_of_class,
)


@attrs.frozen
class Expression:
    """A condition, ready to be evaluated."""

    text: str
    """What was typed."""
    tree: Tree
    properties: Mapping[str, Property[Any]]
    """The properties that it names."""

    def holds(self, state: Any) -> bool:
        """Whether it is true in a state; false as well where it has no truth value."""
        return evaluate(self.tree, {"": state}, self.properties) is True


def parse(typed: str, state: Any, properties: Iterable[Property[Any]]) -> Expression:
    """The condition that was typed, for states like this one."""
    known = {p.name: p for p in properties if isinstance(p, Always | Reachable)}
    tree = Parser(typed).whole()
    named: dict[str, Property[Any]] = {}
    of = typed_as({"": type_of_class(type(state))}, tree, known, named)
    expression = Expression(typed.strip(), tree, named)
    may_be_true = any(isinstance(t, Anything) or t == Scalar(bool) for t in options_of(of))
    with code_of("a property", *(p.body for p in named.values())):
        value = evaluate(tree, {"": state}, named)
    if not may_be_true or not (value is None or isinstance(value, bool)):
        raise BadExpression(f"{typed.strip()} is not a condition: compare it with something")
    return expression


# -- names -----------------------------------------------------------------------------------

UNKNOWN = Anything()


def typed_as(
    scope: Mapping[str, Type],
    tree: Tree,
    properties: Mapping[str, Property[Any]],
    named: dict[str, Property[Any]],
) -> Type:
    """The type of an expression; raises BadExpression for a name that no state can have.

    The properties that it names are added to `named`. The scope has the type of each variable, and
    of the state under the empty name.
    """
    kind, *parts = tree
    if kind == "constant":
        return UNKNOWN
    if kind == "name":
        return type_of_name(parts[0], scope, properties, named)
    if kind in ("any", "all"):
        variable, among, body = parts
        items = of_items(typed_as(scope, among, properties, named))
        typed_as({**scope, variable: items}, body, properties, named)
        return UNKNOWN
    types = [typed_as(scope, p, properties, named) for p in parts if isinstance(p, tuple)]
    if kind == "field":
        return type_of_field(types[0], parts[1])
    return of_items(types[0]) if kind == "item" else UNKNOWN


def type_of_name(
    name: str,
    scope: Mapping[str, Type],
    properties: Mapping[str, Property[Any]],
    named: dict[str, Property[Any]],
) -> Type:
    """The type of a variable, of a field of the state, or of a property."""
    if name in scope:
        return scope[name]
    state = scope[""]
    fields = fields_by_name(state)
    if fields is None:
        return state if name == "state" else UNKNOWN
    if name in fields:
        return fields[name]
    named[name] = look_up("field or property", name, {**fields, **properties})
    return UNKNOWN


def type_of_field(of: Type, name: str) -> Type:
    """The type of a field of a value."""
    options = [fields_by_name(option) for option in options_of(of)]
    known = [fields for fields in options if fields is not None]
    if len(known) < len(options) and any(isinstance(option, Anything) for option in options_of(of)):
        return UNKNOWN
    every = {field: t for fields in known for field, t in fields.items()}
    if not every:
        raise BadExpression(f"there is no field {name}: the value before it has no fields")
    look_up("field", name, every)
    return OneOf(tuple(fields[name] for fields in known if name in fields))


def of_items(of: Type) -> Type:
    """The type of the items or members of a value."""
    found: list[Type] = []
    for option in options_of(of):
        if isinstance(option, Items):
            found.append(option.item)
        elif isinstance(option, Members):
            found.append(option.member)
        elif isinstance(option, Product):
            found += option.parts
        elif isinstance(option, Anything):
            return UNKNOWN
    return OneOf(tuple(found)) if found else UNKNOWN


def fields_by_name(of: Type) -> dict[str, Type] | None:
    """The types of a record's fields; None for another type."""
    if not isinstance(of, Record):
        return None
    try:
        return {field.name: field.type for field in fields_of(of.cls) if field.compared}
    except SpecError:  # its annotations cannot be read
        return dict.fromkeys(names_of(of.cls) or (), UNKNOWN)
