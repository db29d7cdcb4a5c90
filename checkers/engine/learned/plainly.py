"""Find rules that cannot run on stand-ins, because they call `type`.

`isinstance` gives the same result for a stand-in as for the value; `type` does not, so a rule that
tests `type(x) is Record` would take another branch. Such a rule is run on the state itself.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from kspec.checkers.engine.learned.source import is_library
from kspec.spec.core import Each


def asks_for_types(things: Iterable[Any]) -> bool:
    """Whether functions, or what they call by name, call `type`."""
    todo, seen = list(things), set()
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Each):
            todo.append(thing.source)
        elif isinstance(thing, type):
            todo += functions_of(thing)
        elif isinstance(thing, types.FunctionType) and not is_library(thing.__module__):
            names = set(names_in(thing.__code__))
            if "type" in names and thing.__globals__.get("type", type) is type:
                return True
            todo += called(names, thing)
    return False


def names_in(code: types.CodeType) -> Iterator[str]:
    """The names that code looks up, and the code nested in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def called(names: set[str], function: types.FunctionType) -> Iterator[Any]:
    """The functions and classes that names refer to, also through modules of the user."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if holds(cell)]
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    for thing in [*found, *cells]:
        if isinstance(thing, types.ModuleType) and not is_library(thing.__name__):
            yield from (vars(thing)[name] for name in names if name in vars(thing))
        elif not isinstance(thing, type) or not is_library(thing.__module__):
            yield thing


def holds(cell: types.CellType) -> bool:
    """Whether a variable of a closure has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def functions_of(cls: type) -> Iterator[types.FunctionType]:
    """The methods and properties that a class defines itself, as they are written."""
    for value in vars(cls).values():
        function: Any = value.fget if isinstance(value, property) else value
        function = getattr(function, "__func__", function)
        is_function = isinstance(function, types.FunctionType)
        if is_function and not function.__code__.co_filename.startswith("<"):
            yield function
