"""Random models: small Python programs, written out as text, that use the language widely.

A model is made from a seed. Its text is what a person might write: classes of records, a class
of states, rules, and properties. The state spaces are finite, because every expression that
makes a value of a type keeps within the type.

By hand:

    python -m tests.checkers.engine.learned.random_models --count 10000 --first-seed 0 --thorough
"""

# ruff: noqa: E501 - pieces of text are clearer on one line

from __future__ import annotations

import linecache
import sys
from collections.abc import Sequence
from random import Random
from types import ModuleType
from typing import Any

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.spec.core import Model, SpecError

HEADER = '''\
from __future__ import annotations

import copy
import dataclasses
import functools
from enum import Enum, IntEnum, StrEnum
from typing import Any, NamedTuple

import attrs

from kspec.spec.core import (
    Model, Variant, always, appended, constant, evolve, limit, reachable, replaced, rule,
)


@attrs.frozen
class Constants:
    top: int = 2
    on: bool = True
    names: tuple = ("a", "b")
    allowed: frozenset = frozenset({0, 1})


def put(items, index, item):
    """Replace an item by way of a list."""
    made = list(items)
    made[index] = item
    return tuple(made)


def put_by_dict(items, index, item):
    """Replace an item by way of a dict."""
    table = dict(enumerate(items))
    table[index] = item
    return tuple(table[k] for k in sorted(table))


def insert(items, item):
    """Add an item at its place in the order."""
    return tuple(sorted([*items, item]))


def changed(value, **changes):
    """Change fields by way of a dict."""
    return type(value)(**({f.alias: getattr(value, f.name) for f in attrs.fields(type(value))} | changes))


def text(value):
    """What a value looks like, whatever the order of its members."""
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(text, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(text, value)) + ")"
    if attrs.has(type(value)):
        names = [field.name for field in attrs.fields(type(value)) if field.eq]
        return "[" + ",".join(text(getattr(value, name)) for name in names) + "]"
    return repr(value)


def first_or(items, otherwise):
    """The first item, if there is one."""
    match items:
        case (first, *_):
            return first
        case _:
            return otherwise
'''

Env = list[tuple[str, "Type"]]
"""What expressions may read: names and their types."""


class Type:
    """The values that a field or an expression may have."""

    size = 1
    """At most so many values."""
    sortable = False
    """Whether the values have an order."""
    part_of_a_set = True

    def literal(self, g: Writer) -> str:
        """An expression without names."""
        raise NotImplementedError

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        """A value made from the one at a path."""
        return g.value(self, env, depth - 1)

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        """A claim about the value at a path: an expression that is True or False."""
        return f"{at} {g.pick('==', '!=')} {g.value(self, env, depth - 1)}"

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        """Paths to parts, their types, and on which condition there are such."""
        return []

    def make(self, g: Writer, env: Env, depth: int) -> str:
        """A value made from parts that are made from what there is."""
        return self.literal(g)


class Int(Type):
    """Numbers below some number."""

    sortable = True

    def __init__(self, size: int) -> None:
        self.size = size

    def literal(self, g: Writer) -> str:
        return str(g.random.randrange(self.size))

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        n, k = self.size, g.random.randrange(1, self.size + 1)
        other = g.value(self, env, depth - 1)
        return g.pick(
            f"({at} + {k}) % {n}", f"({at} + 1) % {n}", f"max(0, {at} - 1)",
            f"min({n - 1}, {at} + 1)", f"{n - 1} - {at}", f"({at} + {other}) % {n}",
            f"min({at}, {other})", f"abs({at} - {other})", f"({at} * 2 + {k}) % {n}",
        )  # fmt: skip

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        k = self.literal(g)
        other = g.value(self, env, depth - 1)
        return g.pick(
            f"{at} == {k}", f"{at} != {other}", f"{at} < {other}", f"{at} >= {k}",
            f"{at} % 2 == 0", f"{at} in ({k}, {other})", f"{at} in {{0, {k}}}",
            f"0 < {at} <= {other}", f"bool({at})", f"{at} + {other} > {self.size - 1}",
            f"{at} not in range({other})", f"str({at}) == '{k}'", f"not {at}",
        )  # fmt: skip


class Bool(Type):
    """True and False."""

    size = 2
    sortable = True

    def literal(self, g: Writer) -> str:
        return g.pick("True", "False")

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        return g.pick(f"not {at}", f"bool({at} ^ {self.literal(g)})", g.condition(env, depth - 1))

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        return g.pick(
            at, at, f"not {at}", f"{at} is True", f"{at} == {g.value(self, env, depth - 1)}"
        )


class Str(Type):
    """A few words."""

    sortable = True

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.size = len(words)

    def literal(self, g: Writer) -> str:
        return repr(g.random.choice(self.words))

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        first, last = self.words[0], self.words[-1]
        return g.pick(
            f"({first!r} if {at} == {last!r} else {last!r})",
            f"{{{', '.join(f'{w!r}: {v!r}' for w, v in zip(self.words, self.words[1:] + self.words[:1], strict=True))}}}[{at}]",
            g.value(self, env, depth - 1),
        )

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        other = g.value(self, env, depth - 1)
        return g.pick(
            f"{at} == {other}", f"{at} != {self.literal(g)}", f"{at} <= {other}",
            f"{at}.startswith({self.literal(g)})", f"len({at}) > 1", f"{at} in {other}",
            f"'-'.join([{at}, {other}]) == 'a-b'", f"{at} in ({self.literal(g)}, {other})",
            f"'{{}}!'.format({at}) == 'a!'", f"bool({at})",
        )  # fmt: skip


class Member(Type):
    """The members of an Enum, StrEnum or IntEnum."""

    def __init__(self, name: str, base: str, members: Sequence[str]) -> None:
        self.name, self.base, self.members = name, base, members
        self.size = len(members)
        self.sortable = base != "Enum"

    def literal(self, g: Writer) -> str:
        return f"{self.name}.{g.random.choice(self.members)}"

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        one, other = self.literal(g), self.literal(g)
        return g.pick(
            f"({one} if {at} is {other} else {other})",
            f"({one} if {at} == {other} else {at})",
            f"list({self.name})[list({self.name}).index({at}) - 1]",
            f"{self.name}({at}.value)",
        )

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        return g.pick(
            f"{at} is {self.literal(g)}", f"{at} == {g.value(self, env, depth - 1)}",
            f"{at} in ({self.literal(g)}, {self.literal(g)})",
            f"{at}.name != {g.random.choice(self.members)!r}",
            f"{at} is not {g.value(self, env, depth - 1)}",
            f"isinstance({at}, {self.name})",
        )  # fmt: skip


class Optional(Type):
    """None, or a value."""

    def __init__(self, of: Type) -> None:
        self.of = of
        self.size = of.size + 1
        self.part_of_a_set = of.part_of_a_set

    def literal(self, g: Writer) -> str:
        return "None" if g.chance(0.4) else self.of.literal(g)

    def make(self, g: Writer, env: Env, depth: int) -> str:
        return "None" if g.chance(0.4) else g.value(self.of, env, depth)

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        inner = self.of.change(g, at, env, depth - 1)
        new = g.value(self.of, env, depth - 1)
        return g.pick(
            f"({inner} if {at} is not None else {new})",
            f"(None if {at} is not None else {new})",
            f"({new} if {at} is None else {at})",
            "None",
        )

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        inner = self.of.condition(g, at, env, depth - 1)
        return g.pick(
            f"{at} is None", f"{at} is not None", f"{at} is not None and ({inner})",
            f"{at} is None or ({inner})", f"{at} == {g.value(self, env, depth - 1)}",
            f"{at} in (None, {self.literal(g)})",
        )  # fmt: skip

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        return [(at, self.of, f"{at} is not None")]


class Union(Type):
    """Records of one class or of the other."""

    def __init__(self, one: Record, other: Record) -> None:
        self.either = one, other
        self.size = one.size + other.size
        self.part_of_a_set = one.part_of_a_set and other.part_of_a_set

    def literal(self, g: Writer) -> str:
        return g.random.choice(self.either).literal(g)

    def make(self, g: Writer, env: Env, depth: int) -> str:
        return g.value(g.random.choice(self.either), env, depth)

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        one, other = g.random.sample(self.either, 2)
        if issubclass_of(other, one):
            one, other = other, one
        return (
            f"({g.pick(one.change(g, at, env, depth - 1), g.value(other, env, depth - 1))}"
            f" if isinstance({at}, {one.name}) else"
            f" {g.pick(other.change(g, at, env, depth - 1), g.value(one, env, depth - 1))})"
        )

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        one = g.random.choice(self.either)
        name = one.fields[0][0]
        return g.pick(
            f"isinstance({at}, {one.name})", f"{at} == {g.value(self, env, depth - 1)}",
            f"isinstance({at}, ({one.name}, int))", f"hasattr({at}, {name!r})",
            f"getattr({at}, {name!r}, None) == {one.fields[0][1].literal(g)}",
        )  # fmt: skip

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        one, other = self.either
        found: list[tuple[str, Type, str]] = []
        for a, b in ((one, other), (other, one)):
            if not issubclass_of(b, a):
                found.append((at, a, f"isinstance({at}, {a.name})"))
        return found


def issubclass_of(one: Record, other: Record) -> bool:
    """Whether the one class is derived from the other."""
    return one.parent is other


class Record(Type):
    """The instances of an attrs class."""

    def __init__(self, name: str, fields: list[tuple[str, Type]]) -> None:
        self.name, self.fields = name, fields
        self.parent: Record | None = None
        self.apart: list[str] = []
        """Fields that are not compared, and so are the same in all instances."""
        self.constants = False
        self.odd = ""
        """What keeps it from being plain."""
        self.opaque = False
        """A dataclass."""
        self.derived: list[tuple[str, Type, str]] = []
        """Properties and methods: how they are called, their type and text."""
        self.kw_only = False

    @property
    def size(self) -> int:  # type: ignore[override]
        return product_of(t.size for _, t in self.fields)

    @property
    def part_of_a_set(self) -> bool:  # type: ignore[override]
        return all(t.part_of_a_set for _, t in self.fields)

    def built(self, g: Writer, values: Sequence[str], constants: str = "Constants()") -> str:
        """A call of the class, or of the function that makes an instance."""
        if self.apart:
            return f"make_{self.name}({', '.join([*values, *[constants] * self.constants])})"
        names = [name.lstrip("_") for name, _ in self.fields]
        given = [f"{n}={v}" for n, v in zip(names, values, strict=True)]
        if self.constants:
            return f"{self.name}({', '.join(given)}, constants={constants})"
        if not self.kw_only and g.chance(0.6):
            return f"{self.name}({', '.join(values)})"
        return f"{self.name}({', '.join(given)})"

    def literal(self, g: Writer) -> str:
        return self.built(g, [t.literal(g) for _, t in self.fields])

    def make(self, g: Writer, env: Env, depth: int) -> str:
        constants = "s.constants" if self.constants and g.has_s else "Constants()"
        return self.built(g, [g.value(t, env, depth - 1) for _, t in self.fields], constants)

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        chosen = g.random.sample(self.fields, min(len(self.fields), g.pick(1, 1, 1, 2, 2, 3)))
        changes = {}
        for name, t in chosen:
            path = f"{at}.{name}"
            changes[name] = (
                t.change(g, path, env, depth - 1) if g.chance(0.7) else g.value(t, env, depth - 1)
            )
        given = ", ".join(f"{name.lstrip('_')}={v}" for name, v in changes.items())
        if self.opaque:
            return f"dataclasses.replace({at}, {given})"
        ways = [f"evolve({at}, {given})"] * 4 + [f"attrs.evolve({at}, {given})"] * 2
        if len(changes) == 2 and g.chance(0.5):
            one, two = (f"{name.lstrip('_')}={v}" for name, v in changes.items())
            ways += [f"evolve(evolve({at}, {one}), {two})"] * 3
        if self.odd != "init":
            rest = [changes.get(name, f"{at}.{name}") for name, _ in self.fields]
            ways.append(self.built(g, rest, f"{at}.constants" if self.constants else ""))
        if not self.apart and not self.constants and not self.odd:
            ways.append(f"changed({at}, {given})")
            quoted = ", ".join(f"{name.lstrip('_')!r}: {v}" for name, v in changes.items())
            if not any(name.startswith("_") for name, _ in self.fields):
                ways.append(f"{self.name}(**{{**attrs.asdict({at}, recurse=False), {quoted}}})")
                name, t = self.fields[-1]
                if not self.kw_only:
                    new = changes.get(name, t.literal(g))
                    ways.append(f"{self.name}(*attrs.astuple({at}, recurse=False)[:-1], {new})")
        return g.random.choice(ways)

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        name, t = g.random.choice(self.fields)
        inner = t.condition(g, f"{at}.{name}", env, depth - 1)
        ways = [
            inner, inner, f"{at} == {g.value(self, env, depth - 1)}",
            f"{at} != {self.literal(g)}", f"{at} in ({self.literal(g)}, {self.literal(g)})",
            f"{at} in {{{self.literal(g)}, {self.literal(g)}}}",
            f"hash({at}) == hash({self.literal(g)})", f"isinstance({at}, {self.name})",
            f"{{{self.literal(g)}: True}}.get({at}, False)",
        ]  # fmt: skip
        if not self.opaque and not self.constants and not has_sets(self):
            ways += [
                f"repr({at}) == repr({self.literal(g)})", f"str({at}).count('1') > 1" if "'" in at else f"f'{{{at}}}'.count('1') > 1",
                f"attrs.astuple({at}) == attrs.astuple({self.literal(g)})",
            ]  # fmt: skip
        return g.random.choice(ways)

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        found: list[tuple[str, Type, str]] = [(f"{at}.{n}", t, "") for n, t in self.fields]
        found += [(f"{at}.{call}", t, "") for call, t, _ in self.derived]
        if self.constants:
            found += [
                (f"{at}.constants.top", Int(3), ""), (f"{at}.constants.on", Bool(), ""),
                (f"{at}.constants.names", Fixed([Str(["a", "b"])] * 2), ""),
                (f"{at}.constants.allowed", SetOf(Int(2)), ""),
            ]  # fmt: skip
        found += [(f"{at}.{name}", Int(3), "") for name in self.apart]
        return found


def product_of(sizes: Any) -> int:
    """How many combinations there are."""
    made = 1
    for size in sizes:
        made *= size
    return made


class Fixed(Type):
    """Tuples with an item of each of some types."""

    def __init__(self, items: Sequence[Type]) -> None:
        self.items = items
        self.size = product_of(t.size for t in items)
        self.same = all(t is items[0] for t in items)
        self.sortable = all(t.sortable for t in items)
        self.part_of_a_set = all(t.part_of_a_set for t in items)

    def of(self, values: Sequence[str]) -> str:
        """The text of a tuple."""
        return f"({', '.join(values)}{',' * (len(values) == 1)})"

    def literal(self, g: Writer) -> str:
        return self.of([t.literal(g) for t in self.items])

    def make(self, g: Writer, env: Env, depth: int) -> str:
        return self.of([g.value(t, env, depth - 1) for t in self.items])

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        n = len(self.items)
        i = g.random.randrange(n)
        t = self.items[i]
        new = t.change(g, f"{at}[{i}]", env, depth - 1)
        if g.chance(0.3):
            new = g.value(t, env, depth - 1)
        ways = [
            *[f"replaced({at}, {i}, {new})"] * 3, f"(*{at}[:{i}], {new}, *{at}[{i + 1}:])",
            f"{at}[:{i}] + ({new},) + {at}[{i + 1}:]", f"put({at}, {i}, {new})",
            f"put_by_dict({at}, {i}, {new})",
            f"tuple({new} if k == {i} else x for k, x in enumerate({at}))",
            self.of([new if k == i else f"{at}[{k}]" for k in range(n)]),
        ]  # fmt: skip
        if self.same:
            variable = g.index(env, n)
            if variable:
                new = t.change(g, f"{at}[{variable}]", env, depth - 1)
                ways += [
                    *[f"replaced({at}, {variable}, {new})"] * 3,
                    f"tuple({new} if k == {variable} else x for k, x in enumerate({at}))",
                ]
            x = g.name("x")
            mapped = t.change(g, x, [*env, (x, t)], depth - 2)
            ways += [
                f"{at}[::-1]", f"tuple(reversed({at}))", f"{at}[1:] + {at}[:1]",
                f"({at}[-1], *{at}[:-1])", f"tuple({mapped} for {x} in {at})",
                f"tuple([{mapped} if {t.condition(g, x, env, depth - 2)} else {x} for {x} in {at}])",
                f"({at} * 2)[1:{n + 1}]",
            ]  # fmt: skip
            if n == 2:
                ways.append(f"({at}[1], {at}[0])")
            if t.sortable:
                ways += [f"tuple(sorted({at}))", f"tuple(sorted({at}, reverse=True))"]
        return g.random.choice(ways)

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        i = g.random.randrange(len(self.items))
        inner = self.items[i].condition(g, f"{at}[{i}]", env, depth - 1)
        other = g.value(self, env, depth - 1)
        ways = [inner, inner, f"{at} == {other}", f"{at} != {self.literal(g)}",
                f"{at} in ({self.literal(g)}, {other})", f"{at} in {{{self.literal(g)}}}"]  # fmt: skip
        ways += item_conditions(g, at, self.items[i], env, depth) if self.same else []
        if self.sortable:
            ways += [f"{at} < {other}", f"{at} >= {self.literal(g)}"]
        return g.random.choice(ways)

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        found: list[tuple[str, Type, str]] = []
        for i, t in enumerate(self.items):
            found.append((f"{at}[{i}]", t, ""))
        found.append((f"{at}[-1]", self.items[-1], ""))
        variable = g.index(g.env, len(self.items)) if self.same else ""
        if variable:
            found += [(f"{at}[{variable}]", self.items[0], "")] * 2
        if self.same:
            found.append((f"{at}.count({self.items[0].literal(g)})", Int(len(self.items) + 1), ""))
        return found


def item_conditions(g: Writer, at: str, t: Type, env: Env, depth: int) -> list[str]:
    """Claims about a tuple or frozenset of items of one type."""
    x = g.name("x")
    inner = t.condition(g, x, [*env, (x, t)], depth - 2)
    wanted = g.value(t, env, depth - 1)
    return [
        f"any({inner} for {x} in {at})", f"all({inner} for {x} in {at})",
        f"{wanted} in {at}", f"{wanted} not in {at}", f"{t.literal(g)} in {at}",
        f"sum(1 for {x} in {at} if {inner}) > 1", f"len(set({at})) < len({at})",
        f"len([{x} for {x} in {at} if {inner}]) == 1",
        f"next(({x} for {x} in sorted({at}, key=text) if {inner}), None) is None",
        f"{wanted} in list({at})", f"{wanted} in frozenset({at})",
        f"sorted({at}, key=text)[:1] == [{t.literal(g)}]",
    ]  # fmt: skip


class Sequence_(Type):
    """Tuples of items of one type, up to a length."""

    def __init__(self, of: Type, most: int) -> None:
        self.of, self.most = of, most
        self.size = sum(of.size**n for n in range(most + 1))
        self.sortable = of.sortable
        self.part_of_a_set = of.part_of_a_set

    def literal(self, g: Writer) -> str:
        count = g.random.randrange(self.most + 1)
        return Fixed([self.of]).of([self.of.literal(g) for _ in range(count)])

    def make(self, g: Writer, env: Env, depth: int) -> str:
        count = g.random.randrange(self.most + 1)
        return Fixed([self.of]).of([g.value(self.of, env, depth - 1) for _ in range(count)])

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        new, most, x = g.value(self.of, env, depth - 1), self.most, g.name("x")
        inner = self.of.condition(g, x, [*env, (x, self.of)], depth - 2)
        mapped = self.of.change(g, x, [*env, (x, self.of)], depth - 2)
        first = self.of.change(g, f"{at}[0]", env, depth - 1)
        last = self.of.change(g, f"{at}[-1]", env, depth - 1)
        ways = [
            *[f"appended({at}, {new})[:{most}]"] * 2, f"({at} + ({new},))[:{most}]",
            f"(*{at}, {new})[-{most}:]", f"({new}, *{at})[:{most}]", f"{at}[1:]", f"{at}[:-1]",
            f"tuple({x} for {x} in {at} if {inner})", f"tuple({mapped} for {x} in {at})",
            f"tuple(dict.fromkeys({at}))", f"{at}[::-1]", f"(({new},) + {at}[1:] if {at} else {at})",
            f"(replaced({at}, 0, {first}) if {at} else ({new},))",
            f"({at}[:-1] + ({last},) if len({at}) > 0 else {at})",
            f"tuple(sorted({at}, key=text))", f"({at}[1:] + {at}[:1])", "()",
            f"({at} if {new} in {at} else ({at} + ({new},))[:{most}])",
            f"(appended({at}, {new}) if len({at}) < {most} else {at})",
        ]  # fmt: skip
        if self.of.sortable:
            ways += [f"insert({at}, {new})[:{most}]", f"tuple(sorted({at}))"]
        return g.random.choice(ways)

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        k = g.random.randrange(self.most + 1)
        other = g.value(self, env, depth - 1)
        first = self.of.condition(g, f"{at}[0]", env, depth - 1)
        ways = [
            f"len({at}) {g.pick('==', '<', '>')} {k}", f"bool({at})", f"not {at}",
            f"{at} == {other}", f"{at}[:1] == {self.literal(g)}", f"{at} != ()",
            f"len({at}) > 0 and ({first})", f"{at} in ({self.literal(g)}, {other})",
            f"{at}[-1:] == {at}[:1]", f"first_or({at}, {self.of.literal(g)}) == {self.of.literal(g)}",
        ]  # fmt: skip
        ways += item_conditions(g, at, self.of, env, depth)
        if self.sortable:
            ways += [
                f"{at} < {other}",
                f"max({at}, default={self.of.literal(g)}) == {self.of.literal(g)}",
            ]
        return g.random.choice(ways)

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        found: list[tuple[str, Type, str]] = [
            (f"{at}[0]", self.of, f"len({at}) > 0"), (f"{at}[-1]", self.of, f"len({at}) > 0"),
            (f"len({at})", Int(self.most + 1), ""),
            (f"first_or({at}, {self.of.literal(g)})", self.of, ""),
        ]  # fmt: skip
        variable = g.index(g.env, self.most)
        if variable:
            found.append((f"{at}[{variable}]", self.of, f"{variable} < len({at})"))
        return found


class SetOf(Type):
    """Frozensets of values of a small type."""

    def __init__(self, of: Type) -> None:
        self.of = of
        self.size = 2 ** min(of.size, 12)

    def literal(self, g: Writer) -> str:
        count = g.random.randrange(min(3, self.of.size) + 1)
        if not count:
            return "frozenset()"
        return f"frozenset({{{', '.join(self.of.literal(g) for _ in range(count))}}})"

    def make(self, g: Writer, env: Env, depth: int) -> str:
        return f"frozenset({{{g.value(self.of, env, depth - 1)}}})"

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        new, x = g.value(self.of, env, depth - 1), g.name("x")
        other = g.value(self, env, depth - 1)
        inner = self.of.condition(g, x, [*env, (x, self.of)], depth - 2)
        mapped = self.of.change(g, x, [*env, (x, self.of)], depth - 2)
        return g.pick(
            *[f"{at} | {{{new}}}"] * 3, *[f"{at} - {{{new}}}"] * 2, f"{at} ^ {{{new}}}",
            f"{at}.union({{{new}}})", f"{at}.difference([{new}])", f"{at} & {other}",
            f"{at} | {other}", f"{at} - {other}", f"{other} - {at}", f"{other} | {at}",
            f"frozenset({x} for {x} in {at} if {inner})", f"frozenset({{*{at}, {new}}})",
            f"({at} - {{{new}}} | {{{self.of.literal(g)}}})", f"{at}.intersection({other})",
            f"({at} | {{{new}}} if {new} not in {at} else {at} - {{{new}}})",
            f"{at}.symmetric_difference({other})", f"frozenset({mapped} for {x} in {at})",
            f"({at} | {{{new}}}) & {other}", f"frozenset(list({at}))",
            f"frozenset({{{new}}} | {at})", f"frozenset({{{new}}} ^ {at})",
            f"frozenset({{{new}, {self.of.literal(g)}}} - {at})", f"({at} | {other}) - {{{new}}}",
            f"frozenset({{{new}}} & {at} | {other})", f"frozenset({at} | dict.fromkeys([{new}]).keys())",
        ).join("()")  # fmt: skip

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        other = g.value(self, env, depth - 1)
        new = g.value(self.of, env, depth - 1)
        ways = [
            f"{new} in {at}", f"{new} not in {at}", f"{at} <= {other}", f"{at} >= {self.literal(g)}",
            f"{at} < {other}", f"{at}.issubset({other})", f"{at}.isdisjoint({other})",
            f"{at} == {other}", f"{at} != {self.literal(g)}", f"bool({at})", f"not {at}",
            f"len({at}) {g.pick('==', '<', '>')} {g.random.randrange(3)}", f"{at} == set()",
            f"len({at} | {{{new}}}) > 1", f"{new} in ({at} - {{{self.of.literal(g)}}})",
            f"bool({at} & {other})", f"{at}.issuperset({other})", f"{other} > {at}",
            f"{at} in ({self.literal(g)}, {other})", f"set({at}) == {other}",
            f"{other} == {at}", f"{at} == {{{new}: 1}}.keys()", f"({at} | {other}) == {other}", f"bool({at} - {{{new}}})",
            *item_conditions(g, at, self.of, env, depth),
        ]  # fmt: skip
        return g.random.choice(ways)

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        found: list[tuple[str, Type, str]] = [(f"len({at})", Int(min(self.of.size, 12) + 1), "")]
        first = g.pick(
            f"next(iter({at}))", f"tuple({at})[-1]", f"list({at} | {{{self.of.literal(g)}}})[0]",
            f"set({at}).pop()", f"sorted({at}, key=lambda it: 0)[0]", f"[*{at}][0]",
            f"list({{*{at}}})[-1]", f"max({at}, key=lambda it: it is None)",
        )  # fmt: skip
        found.append((first, self.of, f"bool({at})"))
        if self.of.sortable:
            found.append((f"{g.pick('min', 'max')}({at})", self.of, f"bool({at})"))
        else:
            found.append((f"sorted({at}, key=text)[0]", self.of, f"len({at}) > 0"))
        return found


class Named(Type):
    """A NamedTuple."""

    def __init__(self, name: str, fields: list[tuple[str, Type]]) -> None:
        self.name, self.fields = name, fields
        self.size = product_of(t.size for _, t in fields)
        self.sortable = all(t.sortable for _, t in fields)
        self.part_of_a_set = all(t.part_of_a_set for _, t in fields)

    def literal(self, g: Writer) -> str:
        return f"{self.name}({', '.join(t.literal(g) for _, t in self.fields)})"

    def make(self, g: Writer, env: Env, depth: int) -> str:
        return f"{self.name}({', '.join(g.value(t, env, depth - 1) for _, t in self.fields)})"

    def change(self, g: Writer, at: str, env: Env, depth: int) -> str:
        name, t = g.random.choice(self.fields)
        new = t.change(g, f"{at}.{name}", env, depth - 1)
        if g.chance(0.3):
            new = g.value(t, env, depth - 1)
        given = [new if n == name else f"{at}.{n}" for n, _ in self.fields]
        return g.pick(
            f"{at}._replace({name}={new})", f"{self.name}({', '.join(given)})",
            f"{self.name}(**{{**{at}._asdict(), {name!r}: {new}}})",
        )  # fmt: skip

    def condition(self, g: Writer, at: str, env: Env, depth: int) -> str:
        name, t = g.random.choice(self.fields)
        return g.pick(
            t.condition(g, f"{at}.{name}", env, depth - 1),
            f"{at} == {g.value(self, env, depth - 1)}", f"{at}[0] == {self.fields[0][1].literal(g)}",
            f"isinstance({at}, {self.name})", f"{at} in {{{self.literal(g)}}}",
        )  # fmt: skip

    def parts(self, g: Writer, at: str) -> list[tuple[str, Type, str]]:
        return [(f"{at}.{n}", t, "") for n, t in self.fields]


class Writer:
    """Writes the text of one model."""

    def __init__(self, seed: str, *, with_helpers: bool = False) -> None:
        self.seed = seed
        self.with_helpers = with_helpers
        self.random = Random(seed)
        self.lines: list[str] = []
        self.records: list[Record] = []
        self.enums: list[Member] = []
        self.names = 0
        self.env: Env = []
        self.has_s = False
        self.helpers: list[tuple[str, Type, Type]] = []
        """Functions that keep their results by their argument: name, argument and result."""
        self.careless = self.chance(0.06)
        """Whether the rules look at parts without asking first whether there are such."""

    # -- chance ---------------------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        """Whether something with this probability happens."""
        return self.random.random() < p

    def pick(self, *ways: Any) -> Any:
        """One of several, each as likely as another."""
        return self.random.choice(ways)

    def name(self, stem: str) -> str:
        """A new name."""
        self.names += 1
        return f"{stem}{self.names}"

    # -- expressions ----------------------------------------------------------------------------

    def index(self, env: Env, below: int) -> str:
        """A name for a number that is below another."""
        found = [e for e, t in env if type(t) is Int and t.size <= below and e.isidentifier()]
        return self.random.choice(found) if found else ""

    def paths(self, env: Env, depth: int = 3) -> list[tuple[str, Type, str]]:
        """Everything that can be read, its type, and on which condition."""
        self.env = env
        found = [(e, t, "") for e, t in env]
        last = found
        for _ in range(depth):
            following = []
            for at, t, needs in last:
                for path, part, condition in [*t.parts(self, at), *self.helped(t, at)]:
                    both = " and ".join(c for c in (needs, condition) if c)
                    following.append((path, part, both))
            found = found + following
            last = following
        return found

    def helped(self, t: Type, at: str) -> list[tuple[str, Type, str]]:
        """Calls of helpers with what is at a path."""
        if "help" in at:
            return []
        calls = [(f"{name}({at})", to, "") for name, of, to in self.helpers if of is t]
        return calls * 3

    def value(self, t: Type, env: Env, depth: int) -> str:
        """An expression of a type."""
        how = self.random.random()
        if depth > 0 and how < 0.75:
            chosen = [e for e, o in env if e != "s" and alike(o, t)]
            if chosen and how < 0.3:
                return self.random.choice(chosen)
            if how < 0.6:
                same = [(e, needs) for e, o, needs in self.paths(env) if alike(o, t)]
                if same:
                    at, needs = self.random.choice(same)
                    made = at if how < 0.35 else t.change(self, at, env, depth - 1)
                    if needs and not self.careless:
                        return f"({made} if {needs} else {t.literal(self)})"
                    return made if made.isidentifier() else f"({made})"
            if how < 0.66:
                one, other = self.value(t, env, depth - 1), self.value(t, env, depth - 2)
                return f"({one} if {self.condition(env, depth - 2)} else {other})"
            return t.make(self, env, depth)
        return t.literal(self)

    def condition(self, env: Env, depth: int) -> str:
        """An expression that is True or False."""
        at, t, needs = self.random.choice(self.paths(env, max(1, min(3, depth))))
        made = t.condition(self, at, env, depth)
        if needs and not self.careless:
            made = self.pick(f"({needs} and ({made}))", f"(not ({needs}) or ({made}))")
        how = self.random.random()
        if depth > 0 and how < 0.2:
            other = self.condition(env, depth - 2)
            return f"({made}) {self.pick('and', 'or')} ({other})"
        if depth > 0 and how < 0.25:
            other = self.condition(env, depth - 2)
            return f"(({made}) if ({other}) else ({self.condition(env, depth - 2)}))"
        return f"not ({made})" if how > 0.92 else f"({made})"

    # -- types ----------------------------------------------------------------------------------

    def scalar(self) -> Type:
        """A type of values without parts."""
        how = self.random.random()
        if how < 0.45:
            return Int(self.pick(2, 2, 3, 3, 4))
        if how < 0.6:
            return Bool()
        if how < 0.75:
            return Str(self.pick(["a", "b"], ["a", "bb", "c"]))
        if how < 0.83:
            return Optional(Int(2))
        if not self.enums or self.chance(0.4):
            base = self.pick("Enum", "StrEnum", "IntEnum")
            members = ["RED", "BLUE", "GREEN"][: self.pick(2, 3)]
            enum = Member(self.name("Color"), base, members)
            self.enums.append(enum)
            self.lines += ["", "", f"class {enum.name}({base}):"]
            for k, member in enumerate(members):
                value = repr(member.lower()) if base == "StrEnum" else str(k)
                self.lines.append(f"    {member} = {value}")
        return self.random.choice(self.enums)

    def type(self, depth: int) -> Type:
        """A type of any kind."""
        how = self.random.random()
        if depth <= 0 or how < 0.25:
            return self.scalar()
        if how < 0.42:
            return self.record(depth - 1)
        if how < 0.52:
            return Optional(self.pick(self.record, self.type)(depth - 1).without_none())
        if how < 0.6:
            return self.union(depth - 1)
        if how < 0.7:
            item = self.type(depth - 1)
            return Fixed([item] * self.pick(1, 2, 2, 3))
        if how < 0.76:
            return Fixed([self.type(depth - 1) for _ in range(self.pick(2, 3))])
        if how < 0.86:
            return Sequence_(self.type(depth - 1), self.pick(1, 2, 2, 3))
        if how < 0.95:
            for _ in range(9):
                item = self.type(depth - 1)
                if item.size <= 4 and item.part_of_a_set:
                    return SetOf(item)
            return SetOf(Int(3))
        return self.named(depth - 1) if how < 0.98 else self.opaque()

    def named(self, depth: int) -> Named:
        """A NamedTuple's class."""
        names = ["p", "q", "r"][: self.pick(1, 2, 2)]
        made = Named(self.name("Named"), [(n, self.type(depth - 1)) for n in names])
        self.lines += ["", "", f"class {made.name}(NamedTuple):"]
        self.lines += [f"    {n}: Any" for n in names]
        return made

    def opaque(self) -> Record:
        """A dataclass."""
        names = ["p", "q"][: self.pick(1, 2)]
        made = Record(self.name("Data"), [(n, self.type(1)) for n in names])
        made.opaque = True
        slots = self.pick("", ", slots=True")
        self.lines += ["", "", f"@dataclasses.dataclass(frozen=True{slots})", f"class {made.name}:"]
        self.lines += [f"    {n}: Any" for n in names]
        return made

    def union(self, depth: int) -> Union:
        """Two classes of records, one of which may be derived from the other."""
        one = self.record(depth)
        if one.apart or one.odd or one.opaque or self.chance(0.7):
            other = self.record(depth)
            while other is one:
                other = self.record(depth, new=True)
            return Union(one, other)
        extra = self.name("extra")
        other = Record(self.name("Rec"), [*one.fields, (extra, self.scalar())])
        other.parent, other.kw_only = one, True
        other.derived = list(one.derived)
        self.records.append(other)
        self.lines += [
            "",
            "",
            "@attrs.frozen(kw_only=True)",
            f"class {other.name}({one.name}):",
            f"    {extra}: Any",
        ]
        return Union(one, other)

    def record(self, depth: int, *, new: bool = False) -> Record:
        """A class of records, or one that there is already."""
        if self.records and not new and self.chance(0.5):
            return self.random.choice(self.records)
        names = self.random.sample(["a", "b", "c", "d", "_e"], self.pick(1, 1, 2, 2, 3))
        made = Record(self.name("Rec"), [(n, self.type(depth)) for n in names])
        odd = self.pick("converter", "validator", "post", "eq", "init", "getattr")
        made.odd = odd if self.chance(0.08) else ""
        if self.chance(0.12) and not made.odd:
            made.apart = ["same"]
        self.write_class(made)
        self.records.append(made)
        return made

    def write_class(self, made: Record) -> None:
        """The text of an attrs class."""
        options = [
            option
            for option, p in (("slots=False", 0.25), ("cache_hash=True", 0.2), ("order=True", 0.1))
            if self.chance(p)
        ]
        if made.odd == "eq":
            options = ["eq=False"]
        if made.odd == "init":
            options = ["init=False"]
        if self.chance(0.15) and made.odd != "init":
            options.append("kw_only=True")
            made.kw_only = True
        how = self.pick("attrs.frozen", "attrs.frozen", "attrs.define")
        if how == "attrs.define":
            options.append("frozen=True")
        self.lines += ["", "", f"@{how}({', '.join(options)})", f"class {made.name}:"]
        lines = []
        for position, (name, t) in enumerate(made.fields):
            given = ""
            last = all(not isinstance(x, Union | Record) for _, x in made.fields[position:])
            if position == 0 and made.odd == "converter":
                given = f" = attrs.field(converter={self.pick('lambda x: x', 'attrs.converters.optional(lambda x: x)')})"
            elif position == 0 and made.odd == "validator":
                given = " = attrs.field(validator=lambda self, field, value: None)"
            elif last and self.chance(0.2) and made.odd != "init":
                given = f" = {t.literal(self)}"
            elif self.chance(0.1):
                given = " = attrs.field(repr=True)"
            lines.append(f"    {name}: Any{given}")
        seen_default = False
        for line in lines:
            has_default = " = " in line and "attrs.field" not in line
            if seen_default and not has_default and not made.kw_only:
                lines = [
                    one if " = " not in one or "attrs.field" in one else one.split(" = ")[0]
                    for one in lines
                ]
                break
            seen_default = seen_default or has_default
        self.lines += lines
        if made.constants:
            self.lines.append("    constants: Any = constant()")
        for name in made.apart:
            self.lines.append(f"    {name}: Any = attrs.field(eq=False, kw_only=True)")
        names = [name for name, _ in made.fields]
        self_ = ", ".join(f"self.{name}" for name in names)
        if made.odd == "post":
            self.lines += ["", "    def __attrs_post_init__(self):", "        pass"]
        elif made.odd == "eq":
            self.lines += [
                "", "    def __eq__(self, other):",
                (f"        return type(other).__name__ == {made.name!r} and "
                f"({self_},) == ({self_.replace('self.', 'other.')},)"),
                "", "    def __hash__(self):", f"        return hash(({self_},))",
            ]  # fmt: skip
        elif made.odd == "init":
            given = ", ".join(n.lstrip("_") for n in names)
            self.lines += ["", f"    def __init__(self, {given}, constants=None):" if made.constants
                           else f"    def __init__(self, {given}):"]  # fmt: skip
            passed = ", ".join(f"{n.lstrip('_')}={n.lstrip('_')}" for n in names)
            if made.constants:
                passed += ", constants=constants"
            for name in made.apart:
                passed += f", {name}=None"
            self.lines.append(f"        self.__attrs_init__({passed})")
        elif made.odd == "getattr":
            self.lines += [
                "", "    def __getattr__(self, name):",
                "        if name == 'answer':", "            return 42",
                "        raise AttributeError(name)",
            ]  # fmt: skip
        self.write_derived(made)
        if made.apart:
            given = ", ".join(n.lstrip("_") for n in names) + ", constants=None" * made.constants
            passed = ", ".join(f"{n.lstrip('_')}={n.lstrip('_')}" for n in names)
            passed += "".join(f", {name}=2" for name in made.apart)
            if made.constants:
                passed += ", constants=constants"
            self.lines += [
                "", "", f"def make_{made.name}({given}):", f"    return {made.name}({passed})",
            ]  # fmt: skip

    def write_derived(self, made: Record) -> None:
        """Properties and methods of a class."""
        for _ in range(self.pick(0, 0, 1, 2)):
            name = self.name("derived")
            env: Env = [("self", made)]
            t: Type = Bool() if self.chance(0.6) else self.scalar_known()
            text = self.condition(env, 2) if type(t) is Bool else self.value(t, env, 3)
            how = self.pick("property", "property", "method", "cached", "contains", "len")
            if how == "cached":
                how = "functools.cached_property" if self.chance(0.5) else "property"
            if how == "property" or how == "functools.cached_property":
                self.lines += [
                    "",
                    f"    @{how}",
                    f"    def {name}(self):",
                    f"        return {text}",
                ]
                made.derived.append((name, t, text))
            else:
                self.lines += ["", f"    def {name}(self, *more):", f"        return {text}"]
                made.derived.append((f"{name}()", t, text))

    def scalar_known(self) -> Type:
        """A type of values without parts that needs no class."""
        return self.pick(Int(2), Int(3), Str(["a", "b"]))

    # -- the model ------------------------------------------------------------------------------

    def state(self) -> Type:
        """The type of states."""
        self.root = "class"
        how = self.random.random()
        if how < 0.06:
            self.root = "other"
            return self.pick(
                lambda: self.named(3), lambda: Int(9), lambda: Fixed([self.type(2), self.type(2)]),
                lambda: Sequence_(self.type(1), 2), lambda: self.union(2), self.opaque,
                lambda: SetOf(Int(4)), lambda: Str(["a", "b", "c", "d"]),
            )()  # fmt: skip
        names = self.random.sample(["n", "t", "u", "v", "_w", "x"], self.pick(1, 2, 2, 3, 3, 4, 5))
        made = Record("State", [(n, self.type(3)) for n in names])
        made.constants = self.chance(0.4)
        if self.chance(0.06):
            made.odd = self.pick("converter", "validator", "post", "eq", "init", "getattr")
        return made

    def write(self) -> str:
        """The whole text."""
        self.lines = HEADER.splitlines()
        begun = len(self.lines)
        sizes = self.pick((4, 60), (20, 300), (60, 1000), (100, 3000))
        for _ in range(300):
            del self.lines[begun:]
            self.records, self.enums, self.helpers = [], [], []
            state = self.state()
            least, most = sizes
            if least <= state.size <= most:
                break
        if isinstance(state, Record) and self.root == "class":
            self.write_class(state)
        self.state_type = state
        self.has_s = isinstance(state, Record) and state.constants
        if self.with_helpers:
            for _ in range(self.pick(1, 2, 2, 3)):
                self.write_helper(state)
        rules = [self.write_rule(k) for k in range(self.pick(1, 2, 3, 4, 5, 6))]
        properties = [self.write_property(k) for k in range(self.pick(0, 1, 2, 3))]
        final = self.pick("None", "None", f"lambda s: {self.condition([('s', state)], 2)}")
        if self.chance(0.3):
            final = "lambda s: True"
        initial = [state.literal(self) for _ in range(self.pick(1, 1, 1, 2, 3))]
        self.lines += [
            "", "",
            "MODEL = Model(",
            f'    name="random-{self.seed}",',
            '    doc="A random model.",',
            f"    initial=lambda bounds: [{', '.join(initial)}],",
            f"    properties=({', '.join(properties)}{',' * (len(properties) == 1)}),",
            f"    variants=(Variant('only', rules=({', '.join(rules)},), why='There is no other.'),),",
            f"    final={final},",
            ")",
        ]  # fmt: skip
        return "\n".join(self.lines) + "\n"

    def write_helper(self, state: Type) -> None:
        """A function of a part of the state that keeps its results."""
        of = self.random.choice([t for _, t, _ in self.paths([("s", state)])])
        env: Env = [("it", of)]
        to = self.pick(of, of, Bool(), self.random.choice(self.paths(env))[1])
        text = self.condition(env, 2) if type(to) is Bool else self.value(to, env, 3)
        if to is of and self.chance(0.5):
            text = of.change(self, "it", env, 3)
        name = self.name("help")
        how = self.pick("functools.cache", "functools.lru_cache(maxsize=8)", "")
        self.lines += ["", "", f"@{how}" if how else f"kept_{name} = {{}}", ""]
        if how:
            self.lines[-1:] = [f"def {name}(it):", f"    return {text}"]
        else:
            self.lines += [
                f"def {name}(it):", f"    if it not in kept_{name}:",
                f"        kept_{name}[it] = {text}", f"    return kept_{name}[it]",
            ]  # fmt: skip
        self.helpers.append((name, of, to))

    def domain(self, env: Env) -> tuple[str, Type]:
        """What a rule chooses from: an expression, and the type of the choices."""
        if self.chance(0.4):
            paths = self.paths(env)[1:] or self.paths(env)
            t = self.random.choice(paths[: 3 + len(paths) // 2])[1]
            values = dict.fromkeys(t.literal(self) for _ in range(4))
            return f"({', '.join(values)},)", t
        ways: list[tuple[str, Type]] = [(f"range({n})", Int(n)) for n in (2, 3)]
        t = self.scalar_known()
        ways.append((f"({t.literal(self)}, {t.literal(self)})", t))
        ways += [(e.name, e) for e in self.enums]
        for at, kind, needs in self.paths(env):
            found: list[tuple[str, Type]] = []
            if isinstance(kind, Fixed) and kind.same:
                found = [
                    (at, kind.items[0]),
                    (f"enumerate({at})", Fixed([Int(len(kind.items)), kind.items[0]])),
                ]
                found.append((f"range(len({at}))", Int(len(kind.items))))
            elif isinstance(kind, Sequence_):
                x = self.name("x")
                inner = kind.of.condition(self, x, [*env, (x, kind.of)], 1)
                found = [(at, kind.of), (f"range(len({at}))", Int(kind.most)),
                         (f"[{x} for {x} in {at} if {inner}]", kind.of),
                         (f"({x} for {x} in {at})", kind.of), (f"set({at})", kind.of)]  # fmt: skip
            elif isinstance(kind, SetOf):
                found = [(at, kind.of), (f"sorted({at}, key=text)", kind.of),
                         (f"{at} - {{{kind.of.literal(self)}}}", kind.of),
                         (f"{at} | {{{kind.of.literal(self)}}}", kind.of)]  # fmt: skip
            elif isinstance(kind, Int):
                found = [(f"range({at})", Int(max(1, kind.size - 1))), (f"range({at} + 1)", kind)]
            elif isinstance(kind, Record | Named | Union):
                found = [(f"({at},)", kind), (f"[{at}, {kind.literal(self)}]", kind)]
                found.append((f"({kind.change(self, at, env, 2)}, {at})", kind))
            elif isinstance(kind, Optional):
                found = [(f"(() if {at} is None else ({at},))", kind.of), (f"[{at}, None]", kind)]
            for text, of in found:
                ways.append((f"({text} if {needs} else ())" if needs else text, of))
        return self.random.choice(ways)

    def write_rule(self, k: int) -> str:
        """The text of a rule; answers its name."""
        env: Env = [("s", self.state_type)]
        choices = []
        has_s, self.has_s = self.has_s, self.has_s
        for name in ["c", "k"][: self.pick(0, 0, 1, 1, 1, 2)]:
            text, t = self.domain(env[:1])
            choices.append((name, text, t))
        env += [(name, t) for name, _, t in choices]
        given = "".join(f", {name}=lambda s: {text}" for name, text, _ in choices)
        names = ", ".join(["s", *[name for name, _, _ in choices]])
        name = f"rule{k}"
        lines: list[str] = []
        is_plain_function = self.chance(0.15)
        for _ in range(self.pick(0, 0, 1, 2)):
            lines.append(self.write_local(env))
        if not is_plain_function:
            for g in range(self.pick(0, 0, 1, 1, 2, 3)):
                label = f'"guard {g}"'
                if self.chance(0.12):
                    at, t, needs = self.random.choice(self.paths(env, 2))
                    if not needs and "'" not in at and '"' not in at:
                        shown = f"text({at})" if has_sets(t) else at
                        label = f'f"guard {g} with {{{shown}}}"'
                if self.chance(0.25):
                    label = f"limit({label})"
                holds = self.condition(env, 3)
                if self.chance(0.5):
                    holds = f"{holds} or {self.condition(env, 2)}"
                if self.careless and self.chance(0.1):
                    holds = f"({holds}) or None"
                lines.append(f"yield {label}, {holds}")
                if self.chance(0.1):
                    lines.append(self.write_local(env))
        lines += self.effect(env)
        if not is_plain_function and not any("yield" in line for line in lines):
            is_plain_function = True
        self.has_s = has_s
        self.lines += ["", "", f'@rule(by="somebody"{given})', f"def {name}({names}):"]
        self.lines += [f"    {line}" for line in lines]
        return name

    def write_local(self, env: Env) -> str:
        """An assignment; what is assigned can be read from then on."""
        name = self.name("y")
        found = [(at, t) for at, t, needs in self.paths(env) if not needs]
        at, t = self.random.choice(found)
        if self.chance(0.25):
            at, t = "s", self.state_type
        text = at if self.chance(0.3) else t.change(self, at, env, 3)
        env.append((name, t))
        return f"{name} = {text}"

    def effect(self, env: Env) -> list[str]:
        """The lines that make the next state."""
        how = self.random.random()
        if how < 0.55:
            return [f"return {self.next_state(env)}"]
        if how < 0.58:
            return ["return s"]
        if how < 0.7:
            return [
                f"if {self.condition(env, 2)}:", f"    return {self.next_state(env)}",
                f"return {self.next_state(env)}",
            ]  # fmt: skip
        if how < 0.85:
            return self.match(env)
        if how < 0.93:
            y = self.name("y")
            lines = [f"{y} = {self.next_state(env)}"]
            lines += [f"return {self.next_state([*env, (y, self.state_type)], y)}"]
            return lines
        y, x = self.name("y"), self.name("x")
        loops = [
            (at, t) for at, t, needs in self.paths(env)
            if not needs and isinstance(t, Fixed | Sequence_)
        ]  # fmt: skip
        if not loops:
            return [f"return {self.next_state(env)}"]
        at, t = self.random.choice(loops)
        env = [*env, (y, self.state_type)]
        if isinstance(t, Sequence_) or t.same:
            env.append((x, t.of if isinstance(t, Sequence_) else t.items[0]))
        return [
            f"{y} = s", f"for {x} in {at}:", f"    if {self.condition(env, 2)}:",
            f"        {y} = {self.next_state(env, y)}", f"return {y}",
        ]  # fmt: skip

    def next_state(self, env: Env, at: str = "s") -> str:
        """An expression for the next state."""
        if self.chance(0.06):
            return self.value(self.state_type, env, 4)
        return self.state_type.change(self, at, env, 4)

    def match(self, env: Env) -> list[str]:
        """A match statement over some part of the state."""
        found = [
            (at, t) for at, t, needs in self.paths(env)
            if not needs and isinstance(t, Record | Optional | Union | Fixed | Sequence_ | Int)
        ]  # fmt: skip
        if not found:
            return [f"return {self.next_state(env)}"]
        at, t = self.random.choice(found)
        lines = [f"match {at}:"]
        for pattern, binds in self.patterns(t):
            if pattern != "_" and self.chance(0.25):
                pattern += f" if {self.condition([*env, *binds], 1)}"
            lines += [f"    case {pattern}:", f"        return {self.next_state([*env, *binds])}"]
        return [*lines, f"return {self.next_state(env)}"]

    def patterns(self, t: Type) -> list[tuple[str, Env]]:
        """Patterns of a type, with the names that they bind."""
        if isinstance(t, Record):
            name, field = self.random.choice(t.fields)
            x = self.name("m")
            found: list[tuple[str, Env]] = [(f"{t.name}({name}={x})", [(x, field)])]
            if isinstance(field, Int):
                found.insert(0, (f"{t.name}({name}={field.literal(self)})", []))
            if t.fields[0][0] == "a" and not t.kw_only and t.odd != "init":
                found = [(f"{t.name}({x})", [(x, t.fields[0][1])])]
            return found
        if isinstance(t, Union):
            one, other = t.either
            if issubclass_of(other, one):
                one, other = other, one
            return [*self.patterns(one)[:1], (f"{other.name}()", [])]
        if isinstance(t, Optional):
            return [("None", []), *self.patterns(t.of)]
        if isinstance(t, Fixed):
            names = [self.name("m") for _ in t.items]
            i = self.random.randrange(len(names))
            binds = list(zip(names, t.items, strict=True))
            if isinstance(t.items[i], Int):
                names[i] = t.items[i].literal(self)
                del binds[i]
            return [(f"({', '.join(names)},)", binds)]
        if isinstance(t, Sequence_):
            x, rest = self.name("m"), self.name("m")
            return self.pick(
                [("()", []), (f"({x}, *{rest})", [(x, t.of)])],
                [(f"[{x}]", [(x, t.of)]), (f"[*_, {x}]", [(x, t.of)])],
            )
        if isinstance(t, Int):
            return [(t.literal(self), []), (f"{t.literal(self)} | {t.literal(self)}", [])]
        return [("_", [])]

    def write_property(self, k: int) -> str:
        """The text of a property; answers its name."""
        env: Env = [("s", self.state_type)]
        if self.chance(0.35):
            name = f"Reachable{k}"
            self.lines += [
                "", "", "@reachable", f"def {name}(s):", f"    return {self.condition(env, 3)}"
            ]  # fmt: skip
            return name
        name = f"Always{k}"
        lines = []
        if self.chance(0.5):
            lines.append(f"return {self.condition(env, 2)} or {self.condition(env, 2)}")
        else:
            at, t, needs = self.random.choice(self.paths(env, 2))
            lines.append(f'yield "one", {self.condition(env, 2)} or {self.condition(env, 2)}')
            if (
                not needs
                and isinstance(t, Fixed | Sequence_ | SetOf)
                and not (isinstance(t, Fixed) and not t.same)
            ):
                x = self.name("x")
                of = t.items[0] if isinstance(t, Fixed) else t.of
                inner = of.condition(self, x, [*env, (x, of)], 2)
                lines += [f"for {x} in {at}:", f'    yield f"at {{text({x})}}", {inner}']
            else:
                lines.append(f'yield "two", {self.condition(env, 3)} or {self.condition(env, 2)}')
        self.lines += ["", "", "@always", f"def {name}(s):", *[f"    {line}" for line in lines]]
        return name


def has_sets(t: Type) -> bool:
    """Whether a value may look otherwise than one that is equal: it has a frozenset."""
    if isinstance(t, Union):
        return any(map(has_sets, t.either))
    if isinstance(t, Fixed):
        return any(map(has_sets, t.items))
    if isinstance(t, Record | Named):
        return any(has_sets(part) for _, part in t.fields)
    if isinstance(t, Optional | Sequence_):
        return has_sets(t.of)
    return isinstance(t, SetOf)


def alike(one: Type, other: Type) -> bool:
    """Whether the values of the one type are values of the other."""
    if one is other:
        return True
    if isinstance(one, Int) and isinstance(other, Int):
        return one.size <= other.size
    if isinstance(one, Bool) and isinstance(other, Bool):
        return True
    if isinstance(one, Str) and isinstance(other, Str):
        return set(one.words) <= set(other.words)
    if isinstance(other, Union):
        return any(one is either for either in other.either)
    if isinstance(other, Optional):
        return alike(one, other.of)
    if isinstance(one, SetOf) and isinstance(other, SetOf):
        return alike(one.of, other.of)
    if isinstance(one, Sequence_) and isinstance(other, Sequence_):
        return one.most <= other.most and alike(one.of, other.of)
    return False


def without_none(self: Type) -> Type:
    """The type, or what it is beside None."""
    return self.of if isinstance(self, Optional) else self


Type.without_none = without_none  # type: ignore[attr-defined]


def text_of(seed: int) -> str:
    """The text of the model with this seed: of a few, the first with more than some states.

    One in ten has helpers that keep their results, and more states.
    """
    with_helpers = seed % 10 == 9
    least, attempts = (100, 40) if with_helpers else (12, 4)
    for attempt in range(attempts):
        text = Writer(f"{seed}-{attempt}", with_helpers=with_helpers).write()
        few = Options(max_states=least, keep_going=True)
        try:
            verdict = explore(model_of(text, f"{seed}-{attempt}").system(), few)
        except SpecError:
            if with_helpers:
                continue
            return text
        if verdict.distinct >= least:
            return text
    return text


def model_of(text: str, name: str) -> Model[Any]:
    """The model that a text defines."""
    file = f"/random-models/{name}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {"__name__": f"random_models_{name}", "__file__": file}
    module = ModuleType(space["__name__"])
    module.__dict__.update(space)
    sys.modules[module.__name__] = module  # where NamedTuple and dataclass look for it
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    model: Model[Any] = module.__dict__["MODEL"]
    return model


def random_model(seed: int) -> Model[Any]:
    """The model with this seed."""
    return model_of(text_of(seed), str(seed))


def compared(seed: int, *, thorough: bool = False) -> Any:
    """The comparison of the two engines on the model with this seed."""
    from tests.checkers.engine.learned.agreement import disagreement

    system = random_model(seed).system()
    return disagreement(system, thorough=thorough, odd=seed % 2 == 1)


if __name__ == "__main__":
    from tests.checkers.engine.learned.agreement import compare_many

    sys.exit(compare_many(compared, text_of, HEADER))
