"""The syntax trees of functions, and functions made of changed trees.

A tree is taken from the file that defines a function, and only if compiling it gives the function's
code: so neither a file that has changed, nor code that something else has rewritten, misleads.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from types import CodeType, FunctionType
from typing import Any, TypeAlias

import attrs

Node: TypeAlias = ast.FunctionDef | ast.Lambda

FUTURE = annotations.compiler_flag


@attrs.frozen(eq=False)
class Text:
    """A function with its syntax tree, which is a copy."""

    function: Any
    node: Node
    imports: tuple[ast.stmt, ...]
    """Those of its module: a method is called in another way than a function of a module."""
    place: int
    """The index of its code among those that compiling the tree gives."""

    def changed(self, node: Node, space: dict[str, Any]) -> FunctionType | None:
        """The function with a changed tree and other globals; None if that needs other cells."""
        old = self.function.__code__
        made = codes_of(node, self.imports, old)
        if self.place >= len(made) or made[self.place].co_freevars != old.co_freevars:
            return None
        return like(self.function, made[self.place].replace(co_qualname=old.co_qualname), space)


def like(function: FunctionType, code: CodeType, space: dict[str, Any]) -> FunctionType:
    """A function with other code and other globals."""
    name, defaults = function.__name__, function.__defaults__
    made = FunctionType(code, space, name, defaults, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    for attribute in ("__doc__", "__module__", "__qualname__", "__annotations__"):
        setattr(made, attribute, getattr(function, attribute))
    return made


def text_of(function: FunctionType) -> Text | None:
    """The text of a function; None if it is not known for sure."""
    code = function.__code__
    tree, imports = parsed(code.co_filename, "".join(lines_of(function)))
    for node in nodes_at(tree, code):
        codes = codes_of(node, imports, code)
        if code in codes:
            return Text(function, deepcopy(node), imports, codes.index(code))
    return None


def lines_of(function: FunctionType) -> list[str]:
    """The lines of the file that defines a function."""
    linecache.checkcache(function.__code__.co_filename)
    return linecache.getlines(function.__code__.co_filename, function.__globals__)


@cache
def parsed(filename: str, source: str) -> tuple[ast.Module, tuple[ast.stmt, ...]]:
    """The syntax tree of a file, and its imports; nobody may change them."""
    try:
        tree = ast.parse(source, filename)
    except (SyntaxError, ValueError, RecursionError):
        tree = ast.Module([], [])
    return tree, tuple(imports_in(tree))


def imports_in(node: ast.AST) -> Iterator[ast.stmt]:
    """The imports of a module, outside its functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            if getattr(child, "module", None) != "__future__":
                yield child
        elif not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr
        ):
            yield from imports_in(child)


def nodes_at(tree: ast.AST, code: CodeType) -> Iterator[Node]:
    """The functions of this name that begin at this line, but for those inside classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            continue
        if isinstance(node, ast.FunctionDef | ast.Lambda) and head_of(node) == (
            code.co_name,
            code.co_firstlineno,
        ):
            yield node
        yield from nodes_at(node, code)


def head_of(node: Node) -> tuple[str, int]:
    """The name and the first line of a function's code."""
    if isinstance(node, ast.Lambda):
        return "<lambda>", node.lineno
    return node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)])


def codes_of(node: Node, imports: tuple[ast.stmt, ...], of: CodeType) -> list[CodeType]:
    """The code of a tree, among that of its decorators and defaults, in a fixed order.

    It is compiled where the names that it takes from enclosing functions are bound.
    """
    body: ast.stmt = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    ast.copy_location(body, node)
    if of.co_flags & inspect.CO_NESTED:
        around = ast.parse(f"def around({', '.join(of.co_freevars)}): pass").body[0]
        assert isinstance(around, ast.FunctionDef)
        around.body, body = [body], around
    module = ast.fix_missing_locations(ast.Module([*imports, body], []))
    try:
        code: CodeType = compile(
            module, of.co_filename, "exec", flags=of.co_flags & FUTURE, dont_inherit=True
        )
    except (SyntaxError, ValueError, RecursionError):
        return []
    if of.co_flags & inspect.CO_NESTED:
        (code,) = inner(code)
    return inner(code)


def inner(code: CodeType) -> list[CodeType]:
    """The code that stands directly in other code."""
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
