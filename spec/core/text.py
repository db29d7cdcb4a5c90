"""What a rule or a property says of itself, read from its text."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def first_paragraph(body: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    return " ".join((inspect.getdoc(body) or "").split("\n\n")[0].split())


def guards_in_text(body: Callable[..., Any]) -> list[tuple[str, bool]]:
    """The guards that a rule's text yields, in order, and whether each is a limit.

    Read from the text, so that a guard is known before anything has happened.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
    except (OSError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            name = node.value.elts[0]
            is_limit = isinstance(name, ast.Call) and bool(name.args)
            text = name.args[0] if isinstance(name, ast.Call) and name.args else name
            if isinstance(text, ast.Constant):
                found.append((node.lineno, str(text.value), is_limit))
    return [(text, is_limit) for _, text, is_limit in sorted(found)]
