"""What a rule or a property says of itself, read from its text."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any


def first_paragraph(body: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    return " ".join((inspect.getdoc(body) or "").split("\n\n")[0].split())


def guards_in_text(body: Callable[..., Any]) -> list[tuple[str, bool]]:
    """The guards that a rule's text yields, in order, and whether each is a limit.

    Read from the text, so that a guard is known before anything has happened. Where the rule
    takes the guards of another function (`yield from may_join(...)`), that one's text is read,
    too. A guard that stands in several places is named once, where it stands first.
    """
    return list(dict.fromkeys(guards_of(body, ())))


def guards_of(
    body: Callable[..., Any], within: tuple[Callable[..., Any], ...]
) -> Iterator[tuple[str, bool]]:
    """The guards of a function that was reached through others, in the order of its text."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
    except (OSError, SyntaxError, TypeError):
        return
    yields = [node for node in ast.walk(tree) if isinstance(node, ast.Yield | ast.YieldFrom)]
    for node in sorted(yields, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.YieldFrom):
            called = called_by(node.value, body)
            if called is not None and called not in (body, *within):
                yield from guards_of(called, (*within, body))
        elif isinstance(node.value, ast.Tuple):
            name = node.value.elts[0]
            is_limit = isinstance(name, ast.Call) and bool(name.args)
            text = name.args[0] if isinstance(name, ast.Call) and name.args else name
            if isinstance(text, ast.Constant):
                yield str(text.value), is_limit


def called_by(call: ast.expr, caller: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function that is called by its name, as the module of the caller knows it."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    found = getattr(caller, "__globals__", {}).get(call.func.id)
    return found if inspect.isfunction(found) else None
