"""What the text of a rule or a property declares: its summary, and the names of its guards."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kspec.spec.core.checks import Check

Named: TypeAlias = tuple[str, bool]
"""The name of a guard, and whether it is marked: as a limit, or as a lemma's condition."""


def first_paragraph(body: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    return " ".join((inspect.getdoc(body) or "").split("\n\n")[0].split())


def guards_in_text(body: Callable[..., Any]) -> list[Named]:
    """The guards that a rule's text yields, in order, and whether each is a limit.

    Read from the text, so that a guard is known before any state is explored. Guards of a
    function that the rule delegates to (`yield from may_join(...)`) belong to the rule. A guard
    that occurs in several places is listed once, at the first. A name that is an f-string is
    listed as a template: `lock {lock} is free`.
    """
    return list(dict.fromkeys(name for name, _ in guards_of(body, {}, ())))


def errors_in_text(*handlers: Callable[..., Any]) -> dict[str, str]:
    """The error that answers each check of some handlers, as far as their text says it."""
    guards = (guard for handler in handlers for guard in guards_of(handler, {}, ()))
    return {name: error for (name, _), error in guards if error is not None}


def guards_of(
    body: Callable[..., Any],
    arguments: Mapping[str, Named],
    callers: tuple[Callable[..., Any], ...],
) -> Iterator[tuple[Named, Any]]:
    """The guards of a function with their errors, given the names that its callers pass to it."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
        variables = inspect.getclosurevars(body)
    except (OSError, SyntaxError, TypeError):
        return
    scope = {**variables.globals, **variables.nonlocals}
    yields = [node for node in ast.walk(tree) if isinstance(node, ast.Yield | ast.YieldFrom)]
    for node in sorted(yields, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.YieldFrom):
            call = node.value
            called = resolved(call.func, scope) if isinstance(call, ast.Call) else None
            if not isinstance(call, ast.Call) or not inspect.isfunction(called):
                continue
            if called not in (body, *callers):
                passed = names_passed(call, called, arguments, scope)
                yield from guards_of(called, passed, (*callers, body))
        else:
            expression, error = parts_of(node.value, scope)
            name = name_of(expression, arguments, scope)
            if name is not None:
                yield name, resolved(error, scope)


def parts_of(
    yielded: ast.expr | None, scope: Mapping[str, Any]
) -> tuple[ast.expr | None, ast.expr | None]:
    """The name and the error in `name, condition` or `Check(name, condition, error)`."""
    if isinstance(yielded, ast.Tuple):
        return yielded.elts[0], None
    if isinstance(yielded, ast.Call) and resolved(yielded.func, scope) is Check:
        return yielded.args[0], yielded.args[2]
    return None, None


def name_of(
    expression: ast.expr | None, arguments: Mapping[str, Named], scope: Mapping[str, Any]
) -> Named | None:
    """The name that an expression gives to a guard, as far as the text says it."""
    if isinstance(expression, ast.Call) and expression.args:  # limit("…"), provided("…")
        marked = name_of(expression.args[0], arguments, scope)
        return (marked[0], True) if marked else None
    if isinstance(expression, ast.JoinedStr):
        return "".join(map(template, expression.values)), False
    if isinstance(expression, ast.Constant):
        return str(expression.value), False
    if isinstance(expression, ast.Name) and expression.id in arguments:
        return arguments[expression.id]
    value = resolved(expression, scope)
    return (str(value), type(value) is not str) if isinstance(value, str) else None


def template(part: ast.expr) -> str:
    """A part of an f-string: its text, or its expression in braces."""
    if isinstance(part, ast.FormattedValue):
        return f"{{{ast.unparse(part.value)}}}"
    return str(part.value) if isinstance(part, ast.Constant) else ""


def resolved(expression: ast.expr | None, scope: Mapping[str, Any]) -> Any:
    """What a name or `module.name` refers to; None for any other expression."""
    if isinstance(expression, ast.Name):
        return scope.get(expression.id)
    if isinstance(expression, ast.Attribute):
        return getattr(resolved(expression.value, scope), expression.attr, None)
    return None


def names_passed(
    call: ast.Call,
    called: Callable[..., Any],
    arguments: Mapping[str, Named],
    scope: Mapping[str, Any],
) -> dict[str, Named]:
    """The names of guards that a call passes, by the parameter that receives them."""
    given = [*zip(inspect.signature(called).parameters, call.args, strict=False)]
    given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    names = {
        parameter: name_of(expression, arguments, scope)
        for parameter, expression in given
        if not isinstance(expression, ast.Starred)
    }
    return {parameter: name for parameter, name in names.items() if name is not None}
