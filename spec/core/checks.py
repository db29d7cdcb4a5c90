"""Checks: the guards of a handler, each with the error that answers a request if it fails.

A handler yields its checks in Kafka's order and returns its effect. A rule that delegates to a
handler has them as its guards; `decide` runs a handler by itself.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from types import CodeType
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import attrs

T = TypeVar("T")

ALL_HOLD = "all guards hold"
"""What is said in place of the guard that decides where none fails."""


class Check(NamedTuple):
    """A guard of a handler."""

    guard: str
    """The condition."""
    holds: bool
    """Whether it holds."""
    error: Any
    """The error if it does not."""

    def __str__(self) -> str:
        return f"{self.guard}: {self.error}"


Checked: TypeAlias = Generator[Check, None, T]
"""A handler, or a part that handlers share: it yields checks, and returns a value."""


@attrs.frozen
class Decision(Generic[T]):
    """What a handler decides."""

    checks: tuple[Check, ...]
    """The checks that were evaluated, up to the first that fails."""
    effect: T | None
    """What the handler returns; None if a check fails."""
    functions: tuple[CodeType, ...]
    """The function that decides, and those that delegate to it, outermost first."""

    @property
    def failed(self) -> Check | None:
        """The check that fails."""
        last = self.checks[-1] if self.checks else None
        return None if last is None or last.holds else last

    @property
    def error(self) -> Any:
        """The error of the check that fails; None if all hold."""
        return None if self.failed is None else self.failed.error

    @property
    def guard(self) -> str:
        """The guard that fails, or that all hold."""
        return ALL_HOLD if self.failed is None else self.failed.guard

    @property
    def source(self) -> str:
        """The class and method of Kafka that the function which decides follows."""
        sources = (source_of(function) for function in reversed(self.functions))
        return next(filter(None, sources), "")


def decide(handler: Checked[T]) -> Decision[T]:
    """Run a handler until a check fails, or to its end."""
    checks: list[Check] = []
    try:
        while True:
            check = next(handler)
            checks.append(check)
            if not check.holds:
                return Decision(tuple(checks), None, functions_of(handler))
    except StopIteration as end:
        return Decision(tuple(checks), end.value, functions_of(handler))


def functions_of(handler: Any) -> tuple[CodeType, ...]:
    """The function of a handler, and of those that it delegates to where it is suspended."""
    functions = []
    while handler is not None:
        functions.append(handler.gi_code)
        handler = handler.gi_yieldfrom
    return tuple(functions)


def source_of(function: CodeType) -> str:
    """What a function's docstring names as its source in Kafka."""
    docstring = function.co_consts[0] if function.co_consts else None
    found = re.search(r"Kafka: (.+?)[.,;]?(?:\.\s|\n\s*\n|$)", docstring or "", re.DOTALL)
    return "" if found is None else " ".join(found[1].replace("`", "").split())
