"""Filtered iterations in the syntax tree of a function: what they need of each member.

`[m for m in s.sent if m.ballot == ballot]` becomes `[m for m in SELECT(s.sent, ...) if m.ballot ==
ballot]`, where SELECT returns the members for which the condition holds if `s.sent` can be asked
for them, and otherwise `s.sent`. The condition stays, so SELECT may return more members than
needed, never fewer.

A **condition** that SELECT evaluates has two parts: expressions that do not mention the member are
evaluated once, before the iteration (`ballot`, `s.term[n]`), and the rest is a function of the
member and of their values. Conditions are evaluated in their order, up to the first that cannot be
split in this way: one that raises decides that the member stays, and so that the original raises.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Any, TypeAlias, TypeGuard, cast

import attrs

SELECT, SORTED, MEMBER, VALUE = "_kspec_select", "_kspec_sorted", "_kspec_member", "_kspec_value_"

Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

CONSUMERS = frozenset(
    {
        "all", "any", "dict", "frozenset", "list", "max", "min", "next", "set", "sorted", "sum",
        "tuple",
    }
)  # fmt: skip
"""Built-in functions that take members of a generator, if any, before they return."""
COPIES = frozenset({"iter", "list", "tuple"})
"""Built-in functions whose result has the same members in the same order."""
NO_SETS = frozenset({"enumerate", "range", "zip"})
"""Built-in functions whose result is no set."""

UNUSUAL = (
    ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await, ast.Global, ast.NamedExpr,
    ast.Nonlocal,
)  # fmt: skip
"""A function with any of these stays as it is."""
UNUSUAL_NAMES = frozenset({"__class__", "eval", "exec", "globals", "locals", "super", "vars"})


@attrs.frozen(eq=False)
class Condition:
    """A condition that an iteration has for its members."""

    test: ast.expr
    """Of the member, and of values under names of ours."""
    names: tuple[str, ...]
    """The variables that the values depend on."""
    values: tuple[ast.expr, ...]
    """The expressions of the values."""
    is_about_member: bool


@attrs.frozen(eq=False)
class Filter:
    """The conditions of one iteration."""

    target: ast.expr
    """The variable, or the variables, that a member is assigned to."""
    conditions: tuple[Condition, ...]
    compares: bool
    """Whether the members are sorted first."""

    @property
    def least(self) -> int:
        """The number of conditions up to the first that says something about the member."""
        return next(n for n, one in enumerate(self.conditions, 1) if one.is_about_member)

    def code(self, length: int) -> ast.Expression:
        """A function of a member and of values: whether the first conditions hold."""
        conditions = self.conditions[:length]
        values = range(sum(len(condition.values) for condition in conditions))
        head = ", ".join([MEMBER, *(f"{VALUE}{n}" for n in values)])
        tests = [deepcopy(condition.test) for condition in conditions]
        made: Any = ast.parse(f"lambda {head}: [_ for _ in ({MEMBER},)][0]", mode="eval")
        only = made.body.body.value
        only.elt = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        only.generators[0].target = deepcopy(self.target)
        return cast(ast.Expression, ast.fix_missing_locations(made))


# -- names ----------------------------------------------------------------------------------------


def free_names(node: ast.AST) -> frozenset[str]:
    """The names that an expression takes from where it stands."""
    if isinstance(node, ast.Name):
        return frozenset({node.id})
    if isinstance(node, COMPREHENSIONS):
        inside = free_in([*outcomes(node), *(part for g in node.generators for part in g.ifs)])
        inside |= free_in(generator.iter for generator in node.generators[1:])
        return free_names(node.generators[0].iter) | (inside - targets_of(node))
    if isinstance(node, ast.Lambda):
        return free_in(defaults_of(node)) | (free_names(node.body) - bound_names(node.args))
    return free_in(ast.iter_child_nodes(node))


def free_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that some expressions take from where they stand."""
    return frozenset().union(*map(free_names, nodes))


def outcomes(node: Comprehension) -> list[ast.expr]:
    """What a comprehension lists."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def defaults_of(node: ast.Lambda) -> list[ast.expr]:
    """The defaults of parameters."""
    return [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]


def targets_of(node: Comprehension) -> frozenset[str]:
    """The variables of a comprehension."""
    return free_in(generator.target for generator in node.generators)


def bound_names(node: ast.AST) -> frozenset[str]:
    """The names that are assigned anywhere in a tree, in whatever way."""
    return frozenset(name for one in ast.walk(node) for name in bound_by(one))


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that one node assigns or deletes."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        yield from filter(None, [node.name])
    elif isinstance(node, ast.MatchMapping):
        yield from filter(None, [node.rest])


def is_unusual(node: ast.AST) -> bool:
    """Whether a function does something that could be changed by accident."""
    return any(
        isinstance(one, UNUSUAL)
        or (isinstance(one, ast.comprehension) and one.is_async)
        or (isinstance(one, ast.Name) and one.id in UNUSUAL_NAMES)
        or (isinstance(one, ast.Name) and one.id.startswith("_kspec"))
        for one in ast.walk(node)
    )


# -- conditions -----------------------------------------------------------------------------------


def conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    """The conditions that must all hold, in the order of their evaluation."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from conjuncts(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from negated(test.operand)
    else:
        yield test


def negated(test: ast.expr) -> Iterator[ast.expr]:
    """The conditions that must all hold for a condition not to hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for value in test.values:
            yield from negated(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from conjuncts(test.operand)
    else:
        yield ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


class Inseparable(Exception):
    """A condition is not a function of the member and of values known before."""


class Splitting:
    """Takes the expressions that do not mention the member out of conditions."""

    def __init__(self, members: frozenset[str], variables: frozenset[str]) -> None:
        self.members = members
        self.variables = variables
        """All names that may be variables of the function: others are global."""
        self.count = 0
        self.names: set[str] = set()
        self.values: list[ast.expr] = []

    def condition(self, test: ast.expr) -> Condition:
        """Split one condition."""
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(test)):
            raise Inseparable
        self.names, self.values = set(), []
        rest = self.rest(deepcopy(test), self.members)
        is_about_member = bool(free_names(test) & self.members)
        return Condition(rest, tuple(sorted(self.names)), tuple(self.values), is_about_member)

    def rest(self, node: ast.expr, bound: frozenset[str]) -> ast.expr:
        """An expression with names in place of its parts that mention no bound name."""
        free = free_names(node)
        if not free & self.variables - bound:
            return node
        is_whole = not isinstance(node, ast.Starred | ast.Slice | ast.FormattedValue)
        if is_whole and not free & bound:
            return self.value(node, free)
        if isinstance(node, COMPREHENSIONS):
            return self.rest_of_comprehension(node, bound)
        if isinstance(node, ast.Lambda | ast.FormattedValue):
            raise Inseparable
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute):
            method.value = self.rest(method.value, bound)  # its object, as a method is no value
        for field, child in ast.iter_fields(node):
            if child is not method or not isinstance(method, ast.Attribute):
                setattr(node, field, self.rest_of_part(child, bound))
        return node

    def rest_of_part(self, part: Any, bound: frozenset[str]) -> Any:
        """The same for a field of a node."""
        if isinstance(part, list):
            return [self.rest_of_part(one, bound) for one in part]
        if isinstance(part, ast.keyword):
            part.value = self.rest(part.value, bound)
        return self.rest(part, bound) if isinstance(part, ast.expr) else part

    def rest_of_comprehension(self, node: Comprehension, bound: frozenset[str]) -> ast.expr:
        """The same for a comprehension, whose variables are bound, too."""
        node.generators[0].iter = self.rest(node.generators[0].iter, bound)
        bound |= targets_of(node)
        for at, generator in enumerate(node.generators):
            if not is_simple(generator.target):
                raise Inseparable
            if at:
                generator.iter = self.rest(generator.iter, bound)
            generator.ifs = [self.rest(one, bound) for one in generator.ifs]
        for field in ("key", "value", "elt"):
            if field in node._fields:
                setattr(node, field, self.rest(getattr(node, field), bound))
        return node

    def value(self, node: ast.expr, free: frozenset[str]) -> ast.expr:
        """A name of ours for an expression."""
        self.names |= free & self.variables
        self.values.append(node)
        self.count += 1
        return ast.copy_location(ast.Name(f"{VALUE}{self.count - 1}", ast.Load()), node)


def is_simple(target: ast.expr) -> bool:
    """Whether a target consists of names."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(is_simple, target.elts))
    return isinstance(target.value if isinstance(target, ast.Starred) else target, ast.Name)


# -- iterations -----------------------------------------------------------------------------------


class Filtering(ast.NodeTransformer):
    """Asks for the members that pass the conditions, wherever a function iterates over some."""

    def __init__(
        self,
        node: ast.FunctionDef | ast.Lambda,
        variables: Iterable[str],
        space: dict[str, Any],
        add: Callable[[Filter], int],
    ) -> None:
        """Change a tree that `is_unusual` does not exclude."""
        self.node = node
        self.variables = bound_names(node) | {*variables}
        self.space = space
        self.add = add
        """Returns the number of a filter, by which the function asks for it."""
        self.depth = 0
        self.has_changed = False
        self.visit_inside(node)

    def visit_inside(self, node: ast.FunctionDef | ast.Lambda) -> None:
        """Change the body of a function, and not its decorators and defaults."""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        else:
            node.body = [self.visit(statement) for statement in node.body]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Change a nested function."""
        self.depth += 1
        self.visit_inside(node)
        self.depth -= 1
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Change a nested function."""
        self.depth += 1
        self.visit_inside(node)
        self.depth -= 1
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Leave a nested class, where names have another meaning."""
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Leave the conditions of a generator that runs later, when variables may have changed."""
        self.generic_visit(node)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        """Change a comprehension."""
        return self.comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        """Change a comprehension."""
        return self.comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        """Change a comprehension."""
        return self.comprehension(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Change a generator that runs at once, and the conditions of `any`, `all` and `sum`."""
        name = self.builtin(node)
        given = node.args[0] if node.args else None
        if name not in CONSUMERS or not isinstance(given, ast.ListComp | ast.GeneratorExp):
            self.generic_visit(node)
            return node
        is_alone = len(node.args) == 1 and not node.keywords
        more = about_outcome(name, given.elt) if is_alone else []
        node.args = [self.comprehension(given, more), *map(self.visit, node.args[1:])]
        node.keywords = [self.visit(one) for one in node.keywords]
        return node

    def builtin(self, node: ast.AST) -> str:
        """The name of the built-in function that an expression calls; empty if it is none."""
        return builtin_called(node, self.variables, self.space)

    def consumed(self, node: ast.AST) -> list[ast.expr]:
        """The generators that run while a call does."""
        if not isinstance(node, ast.Call) or self.builtin(node) not in CONSUMERS:
            return []
        return [one for one in node.args[:1] if isinstance(one, ast.GeneratorExp)]

    def comprehension(self, node: Comprehension, more: Sequence[ast.expr] = ()) -> Any:
        """A comprehension that iterates over what passes its conditions, and some more."""
        filters = []
        for at, generator in enumerate(node.generators):
            later = free_in(other.target for other in node.generators[at + 1 :])
            tests = [one for test in generator.ifs for one in conjuncts(test)]
            tests += more if at + 1 == len(node.generators) else []
            filters.append(self.filter_of(generator.target, generator.iter, tests, later))
        self.generic_visit(node)
        for generator, found in zip(node.generators, filters, strict=True):
            generator.iter = self.selected(generator.iter, found)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Change a loop that skips members."""
        found = None
        if not self.depth and self.is_private(node):
            assigned = bound_names(node) - free_names(node.target)
            tests = [one for test in leading(node.body) for one in test]
            found = self.filter_of(node.target, node.iter, tests, assigned)
        self.generic_visit(node)
        node.iter = self.selected(node.iter, found)
        return node

    def is_private(self, loop: ast.For) -> bool:
        """Whether the variable of a loop is read inside it only, and at once."""
        names = free_names(loop.target)
        at_once = {id(one) for call in ast.walk(loop) for one in self.consumed(call)}
        return not (names & read_outside(self.node, loop) or names & read_later(loop, at_once))

    def filter_of(
        self,
        target: ast.expr,
        members: ast.expr,
        tests: Iterable[ast.expr],
        changing: frozenset[str],
    ) -> Filter | None:
        """The filter of an iteration; None if it has none."""
        if not is_simple(target) or self.builtin(members) in NO_SETS:
            return None
        splitting = Splitting(free_names(target), self.variables)
        conditions: list[Condition] = []
        for test in takewhile(lambda test: not free_names(test) & changing, tests):
            try:
                conditions.append(splitting.condition(test))
            except Inseparable:
                break
        while conditions and not conditions[-1].is_about_member:
            conditions.pop()
        if not conditions:
            return None
        return Filter(deepcopy(target), tuple(conditions), self.is_sorted(members))

    def is_sorted(self, members: ast.expr) -> bool:
        """Whether an iteration is over `sorted(...)`."""
        while is_plain_call(members) and self.builtin(members) in COPIES:
            members = members.args[0]
        return is_plain_call(members) and self.builtin(members) == "sorted"

    def selected(self, members: ast.expr, found: Filter | None) -> ast.expr:
        """The members that pass a filter, as an expression."""
        if found is None:
            return members
        if is_plain_call(members) and self.builtin(members) in COPIES:
            members.args = [self.selected(members.args[0], found)]
            return members
        if found.compares:
            assert isinstance(members, ast.Call)
            members = members.args[0]
        self.has_changed = True
        given = [ast.Constant(self.add(found)), *map(self.captured, found.conditions)]
        name = ast.Name(SORTED if found.compares else SELECT, ast.Load())
        call = ast.Call(name, [members, *given], [])
        return ast.fix_missing_locations(ast.copy_location(call, members))

    def captured(self, condition: Condition) -> ast.expr:
        """Functions that return the variables and the values of a condition; None for none."""
        if not condition.values:
            return ast.Constant(None)
        names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in condition.names]
        values = [self.visit(deepcopy(value)) for value in condition.values]
        return ast.Tuple([late(names), late(values)], ast.Load())


def builtin_called(node: ast.AST, variables: Container[str], space: Container[str]) -> str:
    """The name of the built-in function that an expression calls; empty if it is none."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return ""
    name = node.func.id
    is_own = name in variables or name in space
    return "" if is_own or not hasattr(builtins, name) else name


def is_plain_call(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether an expression is a call with one argument."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return False
    return not isinstance(node.args[0], ast.Starred)


def late(values: list[ast.expr]) -> ast.expr:
    """A function without parameters that returns a tuple of values."""
    made = ast.parse("lambda: ()", mode="eval").body
    assert isinstance(made, ast.Lambda)
    made.body = ast.Tuple(values, ast.Load())
    return made


def about_outcome(name: str, outcome: ast.expr) -> list[ast.expr]:
    """The conditions without which a member counts for nothing in `any`, `all` or `sum`."""
    if name == "any":
        return [*conjuncts(outcome)]
    if name == "all":
        return [*negated(outcome)]
    if name == "sum" and isinstance(outcome, ast.Compare | ast.BoolOp):
        return [ast.Compare(outcome, [ast.IsNot()], [ast.Constant(False)])]
    return []


def leading(body: Sequence[ast.stmt]) -> Iterator[list[ast.expr]]:
    """The conditions without which the body of a loop does nothing."""
    for statement in body:
        if not isinstance(statement, ast.If) or statement.orelse:
            return
        if len(statement.body) == 1 and isinstance(statement.body[0], ast.Continue):
            yield [*negated(statement.test)]
            continue
        if statement is body[-1]:
            yield [*conjuncts(statement.test)]
        return


def read_outside(node: ast.AST, loop: ast.For) -> frozenset[str]:
    """The names that a function reads outside the body of a loop, unless another loop assigns."""
    if node is loop:
        return read_in([loop.iter, *loop.orelse], loop)
    if isinstance(node, ast.For) and not any(one is loop for one in ast.walk(node)):
        own = free_names(node.target) if is_simple(node.target) else frozenset()
        return read_in([node.iter, *node.orelse], loop) | (read_in(node.body, loop) - own)
    if isinstance(node, (*COMPREHENSIONS, ast.Lambda, ast.AugAssign)):
        return free_names(node)
    if isinstance(node, ast.Name):
        return frozenset() if isinstance(node.ctx, ast.Store) else frozenset({node.id})
    return read_in(ast.iter_child_nodes(node), loop)


def read_in(nodes: Iterable[ast.AST], loop: ast.For) -> frozenset[str]:
    """The same for several nodes."""
    return frozenset().union(*(read_outside(node, loop) for node in nodes))


def read_later(loop: ast.For, at_once: set[int]) -> frozenset[str]:
    """The names that functions and generators inside a loop read, perhaps after it."""
    kinds = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
    inside = [one for one in ast.walk(loop) if isinstance(one, kinds) and id(one) not in at_once]
    return frozenset(
        one.id for outer in inside for one in ast.walk(outer) if isinstance(one, ast.Name)
    )
