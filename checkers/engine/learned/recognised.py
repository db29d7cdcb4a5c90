"""Plain Python that reads parts of sets: functions rewritten to ask for the part alone.

A rule says `[m for m in s.sent if isinstance(m, Promise) and m.ballot == ballot]`, and depends on
the promises of this ballot, not on all messages. A rewritten function asks the set for the members
that pass its conditions (`filters.py`), and is otherwise the original: on plain values both give
the same result, or raise the same exception. A function is left alone where that is not certain.

Functions are rewritten together with the functions that they call by a global name; the rewritten
ones call each other. Methods, functions of libraries and cached functions are not rewritten.

The conditions become tests (`spec/core/matching.py`). The site of a test names its function, and
has a fingerprint of the condition, so a site in a file of answers never names another condition.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator
from copy import deepcopy
from dataclasses import is_dataclass
from enum import Enum
from operator import attrgetter
from types import FunctionType
from typing import Any

import attrs

from kspec.checkers.engine.learned.filters import (
    SELECT,
    SORTED,
    Condition,
    Filter,
    Filtering,
    Inseparable,
    Splitting,
    bound_names,
    builtin_called,
    conjuncts,
    is_plain_call,
    is_unusual,
)
from kspec.checkers.engine.learned.plainly import names_in
from kspec.checkers.engine.learned.source import Sources, is_library
from kspec.checkers.engine.learned.standins import (
    ATOMS,
    ROOT,
    SETS,
    STANDINS,
    Items,
    is_standin,
    real,
)
from kspec.checkers.engine.learned.texts import Text, like, text_of
from kspec.checkers.engine.learned.values import is_plain
from kspec.spec.core import Each, OrderedSet
from kspec.spec.core.matching import Test, select
from kspec.spec.core.sets import Entries, parts_of

LISTERS = frozenset({"list", "sorted", "tuple"})
"""Built-in functions by which a function of choices may list a set."""


class Unknown(Exception):
    """A condition depends on something that a test cannot have as a value."""


@attrs.frozen(eq=False)
class Tests:
    """A filter, with the tests for its first conditions."""

    filter: Filter
    codes: tuple[tuple[str, Callable[..., object]], ...]
    """By the number of conditions, less one: the site and the function."""

    def test(self, captured: Iterable[Any]) -> Test | None:
        """The test for as many leading conditions as possible; None if none reads the member."""
        values: list[Any] = []
        length = 0
        for one in captured:
            if one is not None:
                try:
                    values += values_of(*one)
                except Exception:  # the original meets it again, if it gets there
                    break
            length += 1
        if length < self.filter.least:
            return None
        site, code = self.codes[length - 1]
        return Test(site, tuple(values), code)


@attrs.frozen(eq=False)
class Listed(Each):
    """A function of choices that lists the same members as `each`."""

    original: Callable[[Any], Any] = attrs.field(kw_only=True)
    """The function. It raises if a test raises for a member (`Test.raises`), as `each` does not."""
    compares: bool = attrs.field(kw_only=True)
    """Whether it sorts all members, and raises where they cannot be compared (`sorts`)."""
    sorts: bool = attrs.field(kw_only=True)
    """Whether it sorts those that pass the tests."""

    def __call__(self, s: Any) -> Any:
        """What the function lists."""
        return self.original(s)


class Recognised:
    """The functions of a model, rewritten."""

    def __init__(self, functions: Iterable[Any], sources: Sources | None = None) -> None:
        """Rewrite some functions, and what they call."""
        self.sources = sources or Sources()
        self.sites: dict[str, Callable[..., object]] = {}
        self.filters: list[Tests] = []
        self.spaces: dict[int, dict[str, Any]] = {}
        self.texts: dict[Any, Text | None] = {}
        self.made: dict[Any, FunctionType] = {}
        self.seen: set[Any] = set()
        self.add(functions)

    def add(self, functions: Iterable[Any]) -> None:
        """Rewrite further functions, and what they call."""
        reached = list(reached_from(functions))
        for function in reached:
            if function in self.seen:
                continue
            self.seen.add(function)
            rewritten = self.rewritten(function)
            if rewritten is not None:
                self.made[function] = rewritten
        self.connect(reached)

    def body_of(self, function: Any) -> Any:
        """The rewritten function, or the function itself if nothing changes."""
        return self.made.get(function, function) if is_function(function) else function

    def test_of(self, site: str) -> Callable[..., object] | None:
        """The function of a site: of a member and the values of a test."""
        return self.sites.get(site)

    def test(self, site: str, values: tuple[Any, ...]) -> Test | None:
        """The test of a site and values; None if these functions have no such site."""
        if not site:
            return Test("", values)
        code = self.sites.get(site)
        return None if code is None else Test(site, values, code)

    # -- rewriting --------------------------------------------------------------------------------

    def text(self, function: FunctionType) -> Text | None:
        """The text of a function, if it may be rewritten."""
        if function not in self.texts:
            found = text_of(function)
            self.texts[function] = None if found is None or is_unusual(found.node) else found
        return self.texts[function]

    def rewritten(self, function: FunctionType) -> FunctionType | None:
        """The function with filters; None if it has none, or cannot be rewritten."""
        text = self.text(function)
        if text is None:
            return None
        node, free = deepcopy(text.node), function.__code__.co_freevars
        changed = Filtering(node, free, function.__globals__, adder(self, function))
        return text.changed(node, self.space(function)) if changed.has_changed else None

    def space(self, function: FunctionType) -> dict[str, Any]:
        """The globals of rewritten functions of a module."""
        old = function.__globals__
        if id(old) not in self.spaces:
            self.spaces[id(old)] = {**old, SELECT: self.selected, SORTED: self.in_order}
        return self.spaces[id(old)]

    def tests_of(self, function: FunctionType, found: Filter, name: str) -> Tests:
        """The tests of a filter, with their sites."""
        codes = []
        for length in range(1, len(found.conditions) + 1):
            file, line = function.__code__.co_filename, function.__code__.co_firstlineno
            code = eval(compile(found.code(length), file, "eval"), self.space(function))  # noqa: S307
            digest = self.sources.fingerprint_of(code) or f"line {line}"
            site = f"{name}.{length} {digest}"
            self.sites[site] = code
            codes.append((site, code))
        return Tests(found, tuple(codes))

    def connect(self, reached: list[FunctionType]) -> None:
        """Have rewritten functions called in place of the originals, also by what calls these."""
        calls = {f: {c for c in called_by(f) if is_function(c)} for f in reached}
        grown = True
        while grown:
            callers = [f for f in reached if f not in self.made and calls[f] & self.made.keys()]
            for function in callers:
                self.made[function] = like(function, function.__code__, self.space(function))
            grown = bool(callers)
        for function in reached:
            if function in self.made:
                space = self.space(function)
                for name in {*names_in(function.__code__)} & space.keys():
                    space[name] = self.body_of(space[name])

    # -- while a function runs --------------------------------------------------------------------

    def selected(self, members: Any, number: int, *captured: Any) -> Any:
        """The members that pass a filter, if they can be asked for."""
        if not hasattr(type(members), "_kspec_selected"):
            return members
        test = self.filters[number].test(captured)
        return members if test is None else select(members, test)

    def in_order(self, members: Any, number: int, *captured: Any) -> list[Any]:
        """The same, sorted; if sorting could raise, all of them are."""
        if hasattr(type(members), "_kspec_sorts") and members._kspec_sorts():
            members = self.selected(members, number, *captured)
        return sorted(members)

    # -- choices ----------------------------------------------------------------------------------

    def each_of(self, choices: Any) -> Each | None:
        """A function of choices as `each`, if all it does is list members of a set."""
        if isinstance(choices, Each):
            return choices
        text = self.text(choices) if is_function(choices) else None
        return None if text is None else self.listed(choices, text)

    def listed(self, function: FunctionType, text: Text) -> Each | None:
        """A function that only returns members of a set, as choices."""
        variables = bound_names(text.node).union(function.__code__.co_freevars)
        found = listing_of(text.node, variables, function.__globals__)
        if found is None:
            return None
        tests: tuple[Test, ...] = ()
        if found.conditions:
            name = f"{function.__module__}.{function.__qualname__}:choices"
            assert found.target is not None
            filtered = Filter(found.target, found.conditions, found.compares)
            site, code = self.tests_of(function, filtered, name).codes[-1]
            tests = (Test(site, (), code),)
        source = found.path if "." not in found.path else attrgetter(found.path)
        return Listed(source, tests, original=function, compares=found.compares, sorts=found.sorts)


def adder(recognised: Recognised, function: FunctionType) -> Callable[[Filter], int]:
    """A function that gives the filters of a function their numbers."""
    own = 0

    def add(found: Filter) -> int:
        nonlocal own
        name = f"{function.__module__}.{function.__qualname__}:{own}"
        recognised.filters.append(recognised.tests_of(function, found, name))
        own += 1
        return len(recognised.filters) - 1

    return add


def is_function(thing: Any) -> bool:
    """Whether something is a function of the user."""
    return isinstance(thing, FunctionType) and not is_library(thing.__module__)


def called_by(function: FunctionType) -> Iterator[Any]:
    """What the global names in a function refer to."""
    space = function.__globals__
    yield from (space[name] for name in {*names_in(function.__code__)} if name in space)


def reached_from(functions: Iterable[Any]) -> Iterable[FunctionType]:
    """Some functions, and those that they call by global names, in a fixed order."""
    todo, found = [*functions], dict[FunctionType, None]()
    while todo:
        function = todo.pop()
        if is_function(function) and function not in found:
            found[function] = None
            todo += called_by(function)
    return found


# -- values ---------------------------------------------------------------------------------------


def values_of(
    variables: Callable[[], tuple[Any, ...]], values: Callable[[], tuple[Any, ...]]
) -> list[Any]:
    """The plain values of a condition; Unknown where they might change meanwhile."""
    if not all(map(is_steady, variables())):
        raise Unknown
    return [plain(value) for value in values()]


def is_steady(value: Any) -> bool:
    """Whether a value cannot change: it is a stand-in, or immutable with all its parts."""
    cls: Any = type(value)
    if is_atom(value) or is_standin(value):
        return True
    if isinstance(value, tuple) or cls in SETS:
        return all(map(is_steady, value))
    if isinstance(value, Entries):
        return is_steady(value.pairs())
    return is_record(cls) and all(is_steady(getattr(value, name)) for name in parts_of(cls))


def plain(value: Any) -> Any:
    """A value without stand-ins; Unknown if it cannot be, or if that reads a whole set or state."""
    cls: Any = type(value)
    if is_atom(value):
        return value
    if cls is Items or (cls in STANDINS and value._kspec_about[1].component != ROOT):
        return real(value)
    if is_standin(value):
        raise Unknown
    if cls in SETS:
        return OrderedSet([plain(part) for part in value])
    if isinstance(value, Entries):
        return value.of_pairs(plain(value.pairs()))
    if isinstance(value, tuple):
        parts = [plain(part) for part in value]
        return cls._make(parts) if hasattr(cls, "_make") else tuple(parts)
    fields = [getattr(value, name) for name in parts_of(cls)]
    if is_record(cls) and all(plain(field) is field for field in fields):
        return value
    raise Unknown


def is_atom(value: Any) -> bool:
    """Whether a value has no parts."""
    return type(value) in ATOMS or type(value) is range or isinstance(value, Enum | type)


def is_record(cls: Any) -> bool:
    """Whether instances of a class consist of their fields, and cannot change."""
    if is_dataclass(cls):
        params: Any = vars(cls).get("__dataclass_params__")
        return params is not None and bool(params.frozen)
    return is_plain(cls)


# -- functions that list --------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Listing:
    """What a function of choices returns."""

    path: str
    """The fields that lead from the state to the set."""
    target: ast.expr | None
    conditions: tuple[Condition, ...]
    compares: bool
    """Whether all members are sorted."""
    sorts: bool
    """Whether the function sorts the members for which the conditions hold."""


def listing_of(
    node: ast.FunctionDef | ast.Lambda, variables: frozenset[str], space: Container[str]
) -> Listing | None:
    """The listing of a function of the state that does nothing else; else None."""
    state, outcome = parameter_of(node), outcome_of(node)
    target: ast.expr | None = None
    conditions: tuple[Condition, ...] = ()

    def unwrapped(listed: ast.expr) -> tuple[ast.expr, bool]:
        sorts = False
        while is_plain_call(listed) and builtin_called(listed, variables, space) in LISTERS:
            sorts |= builtin_called(listed, variables, space) == "sorted"
            listed = listed.args[0]
        return listed, sorts

    if state is None or outcome is None:
        return None
    outcome, sorts = unwrapped(outcome)
    compares = sorts
    if isinstance(outcome, ast.ListComp | ast.GeneratorExp):
        found = conditions_of(outcome, variables)
        if found is None:
            return None
        target, conditions = outcome.generators[0].target, found
        outcome, compares = unwrapped(outcome.generators[0].iter)
    path = path_of(outcome, state)
    return Listing(path, target, conditions, compares, sorts) if path else None


def parameter_of(node: ast.FunctionDef | ast.Lambda) -> str | None:
    """The only parameter of a function; None if it has others."""
    given = [one for one in ast.walk(node.args) if isinstance(one, ast.arg)]
    return given[0].arg if len(given) == 1 and given == node.args.args else None


def outcome_of(node: ast.FunctionDef | ast.Lambda) -> ast.expr | None:
    """What a function returns, if it does nothing else."""
    if isinstance(node, ast.Lambda):
        return node.body
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def conditions_of(
    node: ast.ListComp | ast.GeneratorExp, variables: frozenset[str]
) -> tuple[Condition, ...] | None:
    """The conditions of a comprehension that lists members; None if it does more."""
    generator = node.generators[0]
    names = [one.id for one in (node.elt, generator.target) if isinstance(one, ast.Name)]
    if len(node.generators) > 1 or len(names) < 2 or names[0] != names[1]:
        return None
    splitting = Splitting(frozenset(names), variables)
    try:
        found = [splitting.condition(one) for test in generator.ifs for one in conjuncts(test)]
    except Inseparable:
        return None
    return None if splitting.count else tuple(found)


def path_of(node: ast.expr, state: str) -> str:
    """The fields that lead from the state to a part of it; empty for another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    is_part = isinstance(node, ast.Name) and node.id == state
    return ".".join(reversed(names)) if is_part else ""
