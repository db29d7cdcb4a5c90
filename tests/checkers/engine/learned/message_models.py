"""Random models of protocols: sets of messages, queues, mappings and multisets in their states.

A model is made from a seed, as a text. Its messages are records of one class or of several, tuples
with a tag, numbers or words. Rules send, receive, filter, move and count them, as users write this:
comprehensions with a filter, `any`, `sum`, `max`, choices from a set, a loop that ends early, a
`match` statement. All numbers are below a small number, so every state space is finite; limits on
sizes keep most of them small.

By hand:

    python -m tests.checkers.engine.learned.message_models --count 10000 --first-seed 0
"""

# ruff: noqa: E501 - pieces of text are clearer on one line

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from random import Random
from typing import Any
from unittest.mock import patch

import attrs

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.spec.core import Model, SpecError
from tests.checkers.engine.learned.random_models import model_of

HEADER = '''\
from __future__ import annotations

from enum import Enum
from functools import cache
from itertools import combinations
from typing import Any

import attrs
from attrs import frozen

from kspec.spec.core import (
    Bag, Map, Model, Variant, always, appended, constant, count, distinct, each, evolve, highest,
    limit, matching, reachable, replaced, rule,
)


class Mode(Enum):
    IDLE = 0
    BUSY = 1
    DONE = 2


def only(cls, items, **wanted):
    """The messages of a class with some fields."""
    return [m for m in items if isinstance(m, cls) and all(getattr(m, f) == v for f, v in wanted.items())]


def first_where(items, test, otherwise):
    """The first item that passes a test."""
    for item in items:
        if test(item):
            return item
    return otherwise


def number_of(value):
    """A small number that depends on all of a value."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, frozenset)):
        return sum(map(number_of, value)) + len(value)
    if isinstance(value, str):
        return len(value) + ord(value[0])
    if isinstance(value, (Map, Bag)):
        return sum(number_of(item) for item in value.items())
    if attrs.has(type(value)):
        return sum(number_of(getattr(value, a.name)) for a in attrs.fields(type(value)))
    return int(value or 0)

'''

# -- what a message is ----------------------------------------------------------------------------

Holder = tuple[str, "Elements"]
"""An expression for several messages, and what they are."""


@attrs.frozen
class Kind:
    """Messages of one class, with one tag, or of one simple type."""

    name: str
    how: str
    """record, tuple, int or word."""
    fields: tuple[str, ...] = ()

    def new(self, parts: Sequence[str]) -> str:
        """A message made of numbers."""
        if self.how == "record":
            return f"{self.name}({', '.join(parts)})"
        if self.how == "tuple":
            return f"({', '.join([repr(self.name), *parts])},)"
        if self.how == "int":
            return f"({parts[0]} * 2 + {parts[1]}) % 5"
        return f"'abcde'[({parts[0]} + {parts[1]} * 2) % 5]"

    @property
    def parts(self) -> int:
        """How many numbers make one."""
        return len(self.fields) if self.how in ("record", "tuple") else 2

    def numbers(self, m: str) -> list[str]:
        """Small numbers that a message holds."""
        if self.how == "record":
            return [f"{m}.{field}" for field in self.fields]
        if self.how == "tuple":
            return [f"{m}[{k}]" for k in range(1, len(self.fields) + 1)]
        return [f"{m} % K"] if self.how == "int" else [f"ord({m}) % K"]


@attrs.frozen
class Elements:
    """The kinds of messages that one set or queue may hold."""

    kinds: tuple[Kind, ...]

    @property
    def is_mixed(self) -> bool:
        """Whether a message may be of several kinds."""
        return len(self.kinds) > 1

    @property
    def has_order(self) -> bool:
        """Whether `sorted` takes the messages without a key."""
        return self.kinds[0].how != "record"

    def sorted(self, items: str) -> str:
        """A sorted list of the messages in an expression."""
        return f"sorted({items})" if self.has_order else f"sorted({items}, key=repr)"


@attrs.frozen
class Field:
    """A field of the state."""

    name: str
    shape: str
    """set, sets (a tuple of sets), queue, channels (a tuple of queues), pairs, family (a set of
    sets), map (numbers to numbers), owner (numbers to messages), bag, one (None or a message),
    number, numbers, mode."""
    of: Elements | None = None
    initial: str = ""


class Writer:
    """Writes the text of one model."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.random = Random(f"messages {seed}")
        self.names = 0
        self.top = self.pick(2, 2, 3)
        self.careless = self.chance(0.05)
        """Whether fields are read without asking for the class of a message."""
        self.kinds = self.some_kinds()
        self.fields = self.some_fields()
        self.bound: list[tuple[str, Elements]] = []
        """Names that hold a message, in the rule that is being written."""
        self.numbers_bound: list[str] = []
        """Names that hold a small number."""

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

    # -- the classes and the state ----------------------------------------------------------------

    def some_kinds(self) -> tuple[Kind, ...]:
        """The kinds of messages of the model; all have the same form."""
        how = self.pick("record", "record", "record", "tuple", "tuple", "int", "word")
        if how in ("int", "word"):
            return (Kind(how, how),)
        names = ("Request", "Vote", "Reply") if how == "record" else ("ask", "vote", "tell")
        count = self.pick(1, 1, 2, 2, 3)
        return tuple(
            Kind(name, how, tuple(self.random.sample(("to", "term", "value"), self.pick(1, 2, 2))))
            for name in names[:count]
        )

    def elements(self) -> Elements:
        """All kinds, or some of them."""
        if self.chance(0.75):
            return Elements(self.kinds)
        return Elements(tuple(self.random.sample(self.kinds, self.pick(1, len(self.kinds)))))

    def some_fields(self) -> list[Field]:
        """The fields of the state: at least one holds a set of messages."""
        fields = [Field("sent", "set", Elements(self.kinds), "frozenset()")]
        for name, p in (
            ("done", 0.35), ("inbox", 0.2), ("queue", 0.25), ("links", 0.12), ("table", 0.15),
            ("groups", 0.1), ("terms", 0.2), ("owner", 0.15), ("bag", 0.2), ("held", 0.2), ("n", 0.7), ("at", 0.4), ("mode", 0.25),
        ):  # fmt: skip
            if self.chance(p):
                fields.append(self.field(name))
        self.random.shuffle(fields)
        return fields

    def field(self, name: str) -> Field:
        """A field of this name."""
        of = self.elements()
        return {
            "done": Field(name, "set", of, "frozenset()"),
            "inbox": Field(name, "sets", of, "(frozenset(),) * 2"),
            "queue": Field(name, "queue", of, "()"),
            "links": Field(name, "channels", of, "((),) * 2"),
            "table": Field(name, "pairs", None, "frozenset()"),
            "groups": Field(name, "family", of, "frozenset()"),
            "terms": Field(name, "map", None, "Map()"),
            "owner": Field(name, "owner", of, "Map()"),
            "bag": Field(name, "bag", of, "Bag()"),
            "held": Field(name, "one", of, "None"),
            "n": Field(name, "number", None, "0"),
            "at": Field(name, "numbers", None, "(0, 0)"),
            "mode": Field(name, "mode", None, "Mode.IDLE"),
        }[name]

    def of_shape(self, *shapes: str) -> list[Field]:
        """The fields of some shapes."""
        return [field for field in self.fields if field.shape in shapes]

    # -- numbers --------------------------------------------------------------------------------

    def number(self, depth: int = 2) -> str:
        """An expression for a number from 0 to K - 1."""
        ways: list[Callable[[], str]] = [lambda: str(self.random.randrange(self.top))]
        ways += [lambda: self.random.choice(self.numbers_bound)] * (3 * bool(self.numbers_bound))
        if self.of_shape("number"):
            ways += [lambda: "s.n"] * 2
        if self.of_shape("numbers"):
            ways.append(lambda: f"s.at[{self.place(depth)}]")
        if self.of_shape("map"):
            ways.append(lambda: f"s.terms.get({self.number(0)}, 0)")
        safe = [(m, of) for m, of in self.bound if not of.is_mixed or self.careless]
        if safe:
            ways += [lambda: self.of_message(*self.random.choice(safe))] * 4
        if depth > 0:
            ways += [
                lambda: f"({self.number(depth - 1)} + 1) % K",
                lambda: f"min({self.number(depth - 1)}, {self.number(depth - 1)})",
                lambda: f"({self.number(depth - 1)} + {self.number(depth - 1)}) % K",
                lambda: f"min(K - 1, {self.counted(depth - 1)})",
                lambda: f"{self.counted(depth - 1)} % K",
                lambda: self.extreme(depth - 1),
            ]
        return self.random.choice(ways)()

    def place(self, depth: int) -> str:
        """An index of a tuple of two."""
        return self.pick("0", "1", f"({self.number(depth - 1)}) % 2" if depth > 0 else "0")

    def of_message(self, m: str, of: Elements) -> str:
        """A number that a message holds, where its kind is known, or taken to be."""
        return self.random.choice(self.random.choice(of.kinds).numbers(m))

    def counted(self, depth: int) -> str:
        """The number of messages that pass a test; it may be large."""
        items, of = self.holder(depth)
        x = self.name("x")
        test = self.test(x, of, depth)
        if of.kinds[0].how == "record" and self.chance(0.35):
            kind = self.random.choice(of.kinds)
            return self.pick(
                f"count({items}, {self.wanted(kind)})", f"count({items}, {self.wanted(kind)})",
                f"len(matching({items}, {self.wanted(kind)}))",
                f"len(distinct({items}, {self.random.choice(kind.fields)!r}, {self.wanted(kind)}))",
                f"count({items}, {kind.name})", f"count({items}, {self.wanted_of_any(kind)})",
            )  # fmt: skip
        if self.of_shape("bag") and self.chance(0.15):
            bag = self.of_shape("bag")[0]
            assert bag.of is not None
            return self.pick("len(s.bag)", f"s.bag.count({self.message(bag.of, 0)})")
        return self.pick(
            f"len({items})", f"sum(1 for {x} in {items} if {test})",
            f"len([{x} for {x} in {items} if {test}])", f"sum({test} for {x} in {items})",
            f"len({{number_of({x}) for {x} in {items} if {test}}})",
            f"len({items} - {{{self.message(of, depth - 1)}}})" if of_set(items) else f"len({items})",
        )  # fmt: skip

    def extreme(self, depth: int) -> str:
        """The least or greatest number among messages that pass a test."""
        items, of = self.holder(depth)
        x = self.name("x")
        kind = self.random.choice(of.kinds)
        number = self.random.choice(kind.numbers(x))
        test = self.test_of(x, of, kind, depth)
        if kind.how == "record" and self.chance(0.35):
            field = self.random.choice(kind.fields)
            return f"highest({items}, {field!r}, {self.wanted(kind)}, default={self.number(0)})"
        return self.pick(
            f"max(({number} for {x} in {items} if {test}), default=0)",
            f"min([{number} for {x} in {items} if {test}], default=K - 1)",
            f"sum({number} for {x} in {items} if {test}) % K",
        )  # fmt: skip

    def wanted(self, kind: Kind) -> str:
        """A class and perhaps a field, as the words for parts of sets take them."""
        if self.chance(0.25):
            return kind.name
        return f"{kind.name}, {self.random.choice(kind.fields)}={self.number(0)}"

    def wanted_of_any(self, kind: Kind) -> str:
        """A field of any class, or two fields of one."""
        if len(kind.fields) > 1 and self.chance(0.5):
            return f"{kind.name}, {', '.join(f'{field}={self.number(0)}' for field in kind.fields)}"
        return f"None, {self.random.choice(kind.fields)}={self.number(0)}"

    # -- tests of messages ----------------------------------------------------------------------

    def is_kind(self, x: str, of: Elements, kind: Kind) -> str:
        """Whether a message is of a kind; nothing where it must be."""
        if not of.is_mixed or self.careless:
            return ""
        return (
            f"isinstance({x}, {kind.name})" if kind.how == "record" else f"{x}[0] == {kind.name!r}"
        )

    def test_of(self, x: str, of: Elements, kind: Kind, depth: int) -> str:
        """Whether a message is of a kind, and perhaps more."""
        number = self.random.choice(kind.numbers(x))
        other = self.number(min(depth, 1) - 1)
        ways = [f"{number} == {other}"] * 4 + [
            f"{number} != {other}", f"{number} >= {other}", f"{number} < K - 1", f"{number} in (0, {other})",
            f"{number} == {self.random.choice(kind.numbers(x))}", "True",
        ]  # fmt: skip
        guard = self.is_kind(x, of, kind)
        return f"{guard} and {self.random.choice(ways)}" if guard else self.random.choice(ways)

    def test(self, x: str, of: Elements, depth: int) -> str:
        """Whether a message passes some test."""
        kind = self.random.choice(of.kinds)
        ways = [self.test_of(x, of, kind, depth)] * 6
        ways += [
            f"{x} == {self.message(of, 0)}",
            f"{x} in ({self.message(of, 0)}, {self.message(of, 0)})",
        ]
        ways += [f"{x} not in {items}" for items, _ in self.holders(of)]
        ways += [f"number_of({x}) % 2 == 0"]
        made: str = self.random.choice(ways)
        return f"not ({made})" if self.chance(0.15) else made

    # -- messages -------------------------------------------------------------------------------

    def message(self, of: Elements, depth: int = 2) -> str:
        """An expression for a message."""
        same = [m for m, others in self.bound if set(others.kinds) <= set(of.kinds)]
        if same and self.chance(0.4):
            return str(self.random.choice(same))
        kind = self.random.choice(of.kinds)
        records = [
            (m, others)
            for m, others in self.bound
            if others.kinds == (kind,) and kind.how == "record"
        ]
        if records and self.chance(0.4):
            m, _ = self.random.choice(records)
            return f"evolve({m}, {self.random.choice(kind.fields)}={self.number(depth - 1)})"
        return kind.new([self.number(depth - 1) for _ in range(kind.parts)])

    def holders(self, of: Elements | None = None) -> list[Holder]:
        """Fields that hold messages, and their parts."""
        found: list[Holder] = []
        for field in self.fields:
            if field.of is None or (of is not None and field.of != of):
                continue
            if field.shape in ("set", "queue"):
                found += [(f"s.{field.name}", field.of)] * 2
            elif field.shape in ("sets", "channels"):
                found.append((f"s.{field.name}[{self.place(1)}]", field.of))
        return found

    def holder(self, depth: int, *, sets: bool = False) -> Holder:
        """An expression for several messages."""
        found = self.holders()
        if sets:
            found = [(items, of) for items, of in found if of_set(items)]
        items, of = self.random.choice(found)
        x = self.name("x")
        if depth <= 0 or self.chance(0.6):
            return items, of
        ways = []
        if of_set(items):
            ways += [
                f"({items} - {{{self.message(of, 0)}}})", f"({items} | {{{self.message(of, 0)}}})",
                f"frozenset({x} for {x} in {items} if {self.test(x, of, depth - 1)})",
            ]  # fmt: skip
            ways += [
                f"({items} {self.pick('|', '&', '-')} {other})"
                for other, _ in self.holders(of)
                if of_set(other)
            ]
        if not sets:
            ways += [
                of.sorted(items), f"[{x} for {x} in {items} if {self.test(x, of, depth - 1)}]", f"list({items})",
                f"tuple({x} for {x} in {items} if {self.test(x, of, depth - 1)})",
            ]  # fmt: skip
            kind = self.random.choice(of.kinds)
            if kind.how == "record":
                asked = f"{self.random.choice(kind.fields)}={self.number(0)}"
                if self.chance(0.6):
                    return f"matching({items}, {self.wanted(kind)})", Elements((kind,))
                return f"only({kind.name}, {items}, {asked})", Elements((kind,))
        return self.random.choice(ways), of

    # -- conditions -----------------------------------------------------------------------------

    def condition(self, depth: int = 2) -> str:
        """An expression that is True or False."""
        how = self.random.random()
        if depth > 0 and how < 0.12:
            return f"({self.condition(depth - 1)}) {self.pick('and', 'or')} ({self.condition(depth - 1)})"
        if how < 0.25:
            return f"{self.number(depth - 1)} {self.pick('==', '!=', '<', '>=')} {self.number(depth - 1)}"
        if how < 0.33:
            others = [self.of_other(field, depth) for field in self.fields]
            some = [made for made in others if made]
            if some:
                return str(self.random.choice(some))
        if how < 0.4 and self.bound:
            return self.test(*self.random.choice(self.bound), depth)
        return self.of_holder(depth)

    def of_holder(self, depth: int) -> str:
        """A claim about several messages."""
        items, of = self.holder(depth)
        x, y = self.name("x"), self.name("y")
        test = self.test(x, of, depth)
        made = self.message(of, depth - 1)
        kind = self.random.choice(of.kinds)
        ways = [
            *[f"{made} in {items}", f"{made} not in {items}"] * 2,
            f"any({test} for {x} in {items})", f"all({test} for {x} in {items})",
            f"not any({test} for {x} in {items})",
            f"any({self.message(of, 0)} in {items} for {x} in range(K))",
            f"{self.counted(depth)} {self.pick('==', '>', '<', '>=')} {self.random.randrange(4)}",
            f"2 * {self.counted(depth)} > K", f"bool({items})", f"not {items}",
            f"next(({x} for {x} in {of.sorted(items)} if {test}), None) is None",
            f"first_where({items}, lambda {x}: {test}, None) is not None",
            f"any({test} and {self.test(y, of, 0)} for {x} in {items} for {y} in {items} if {x} != {y})",
            f"any(all({self.test(y, of, 0)} for {y} in pair) for pair in combinations({of.sorted(items)}, 2))",
            f"len({{{self.random.choice(kind.numbers(x))} for {x} in {items} if {self.test_of(x, of, kind, 0)}}}) < 2",
        ]  # fmt: skip
        if of_set(items):
            other, _ = self.random.choice([*self.holders(of), (f"{{{self.message(of, 0)}}}", of)])
            ways += [
                f"{items}.isdisjoint({other})",
                f"bool({items} & {{{self.message(of, 0)}, {made}}})",
            ]
            if of_set(other) or other.startswith("{"):
                ways += [f"{items} <= {other}", f"{items} == {other}", f"{items} >= {other}"]
        if self.helpers_of(of):
            ways += [f"{self.random.choice(self.helpers_of(of))}({items}, {self.number(0)})"] * 3
        return self.random.choice(ways)

    def of_other(self, field: Field, depth: int) -> str:
        """A claim about a field that is no set or queue of messages."""
        if field.shape == "mode":
            return f"s.mode {self.pick('is', 'is not')} Mode.{self.pick('IDLE', 'BUSY', 'DONE')}"
        if field.shape == "one":
            assert field.of is not None
            return self.pick(
                "s.held is None", "s.held is not None",
                f"s.held is not None and ({self.test('s.held', field.of, depth)})",
            )  # fmt: skip
        if field.shape == "map":
            return self.pick(
                f"{self.number(0)} in s.terms", f"{self.number(0)} not in s.terms",
                f"s.terms.get({self.number(0)}) == {self.number(0)}", "len(s.terms) > 1",
                f"any(value == {self.number(0)} for value in s.terms.values())",
                "all(key <= value for key, value in s.terms.items())",
                f"max(s.terms.values(), default=0) >= {self.number(0)}", "bool(s.terms)",
                f"s.terms == Map({{{self.number(0)}: {self.number(0)}}})",
                f"next(iter(s.terms), 0) == {self.number(0)}",
            )  # fmt: skip
        if field.shape == "owner":
            assert field.of is not None
            k, made = self.number(0), self.message(field.of, 0)
            return self.pick(
                f"s.owner.get({k}) == {made}", f"{made} in s.owner.values()", f"{k} in s.owner",
                f"s.owner.get({k}) is not None and ({self.test(f's.owner[{k}]', field.of, 0)})",
                f"any({self.test('x', field.of, 0)} for x in s.owner.values())",
            )  # fmt: skip
        if field.shape == "bag":
            assert field.of is not None
            made = self.message(field.of, 0)
            return self.pick(
                f"{made} in s.bag", f"{made} not in s.bag", f"s.bag.count({made}) > 1", "len(s.bag) > 2",
                f"any({self.test('x', field.of, 0)} for x in s.bag)", "bool(s.bag)",
                "any(number > 1 for _, number in s.bag.items())", f"s.bag == Bag([{made}])",
                f"sum({self.test('x', field.of, 0)} for x in s.bag) == 1",
            )  # fmt: skip
        if field.shape == "pairs":
            return self.pick(
                f"({self.number(0)}, {self.number(0)}) in s.table",
                f"any(a == {self.number(0)} and b >= {self.number(0)} for a, b in s.table)",
                f"dict(s.table).get({self.number(0)}, 0) == {self.number(0)}",
                f"{self.number(0)} in {{a for a, _ in s.table}}",
            )
        if field.shape == "family":
            assert field.of is not None
            made = self.message(field.of, 0)
            return self.pick(
                f"frozenset({{{made}}}) in s.groups", f"any({made} in group for group in s.groups)",
                "len(s.groups) > 1", f"all(len(group) < {self.pick(2, 3)} for group in s.groups)",
            )  # fmt: skip
        return ""

    # -- helpers --------------------------------------------------------------------------------

    def helpers_of(self, of: Elements) -> list[str]:
        """The functions that take messages of these kinds."""
        return [name for name, others in getattr(self, "helpers", []) if others == of]

    def write_helpers(self) -> list[str]:
        """Functions of several messages and a number, some of which keep their results."""
        self.helpers: list[tuple[str, Elements]] = []
        lines: list[str] = []
        for _ in range(self.pick(0, 0, 1, 2)):
            of = self.random.choice(self.holders())[1]
            name, x = self.name("has"), self.name("x")
            self.numbers_bound = ["k"]
            fields, self.fields = self.fields, []
            test = self.test(x, of, 1)
            self.fields = fields
            lines += ["", "", f"def {name}(items, k):"] + [
                [f"    return any({test} for {x} in items)"],
                [f"    for {x} in items:", f"        if {test}:", "            return True", "    return False"],
                ["    found = 0", f"    for {x} in items:", f"        if {test}:", "            found += 1",
                 f"    return found > {self.pick(0, 1)}"],
            ][self.random.randrange(3)]  # fmt: skip
            self.helpers.append((name, of))
        self.numbers_bound = []
        return lines

    # -- updates --------------------------------------------------------------------------------

    def changes(self, depth: int = 2) -> dict[str, str]:
        """New values of some fields; a message that is moved is in two of them."""
        sets = self.of_shape("set")
        alike = [(a, b) for a in sets for b in sets if a is not b and a.of == b.of]
        if alike and self.chance(0.25):
            one, other = self.random.choice(alike)
            assert one.of is not None
            m = self.message(one.of, depth)
            return {one.name: f"s.{one.name} - {{{m}}}", other.name: f"s.{other.name} | {{{m}}}"}
        wanted = self.random.sample(self.fields, min(len(self.fields), self.pick(1, 1, 2, 2, 3)))
        if not any(field.shape == "set" for field in wanted) and self.chance(0.6):
            wanted.append(next(f for f in self.fields if f.name == "sent"))
        return {field.name: self.change(field, depth) for field in wanted}

    def change(self, field: Field, depth: int) -> str:
        """A new value of a field."""
        at = f"s.{field.name}"
        if field.shape == "number":
            return self.number(depth)
        if field.shape == "numbers":
            return f"replaced({at}, {self.place(depth)}, {self.number(depth)})"
        if field.shape == "mode":
            return f"Mode.{self.pick('IDLE', 'BUSY', 'DONE')}"
        if field.shape == "pairs":
            a, b = self.number(depth - 1), self.number(depth - 1)
            return self.pick(
                f"{at} | {{({a}, {b})}}", f"frozenset(p for p in {at} if p[0] != {a}) | {{({a}, {b})}}",
                f"frozenset((dict({at}) | {{{a}: {b}}}).items())", f"frozenset(p for p in {at} if p[1] >= {b})",
            )  # fmt: skip
        if field.shape == "map":
            a, b = self.number(depth - 1), self.number(depth - 1)
            return self.pick(
                f"{at}.set({a}, {b})", f"{at}.set({a}, {b})", f"{at}.set({a}, {at}.get({a}, 0))", f"{at} | {{{a}: {b}}}",
                f"({at}.without({a}) if {a} in {at} else {at})", f"Map((k, v) for k, v in {at}.items() if v != {b})",
                "Map()", f"Map({{**{at}, {a}: {b}}})", f"Map({{k: (v + 1) % K for k, v in {at}.items()}})",
                *([f"{at}.without({a})"] if self.careless else []),
            )  # fmt: skip
        of = field.of
        assert of is not None
        if field.shape == "owner":
            k, made = self.number(depth - 1), self.message(of, depth)
            return self.pick(
                *[f"{at}.set({k}, {made})"] * 3, f"({at}.without({k}) if {k} in {at} else {at})",
                f"Map((k, m) for k, m in {at}.items() if {self.test('m', of, 0)})", f"{at} | {{{k}: {made}}}",
            )  # fmt: skip
        if field.shape == "bag":
            made = self.message(of, depth)
            return self.pick(
                *[f"({at}.add({made}) if len({at}) < 3 else {at})"] * 3, f"({at}.remove({made}) if {made} in {at} else {at})",
                f"{at} - [{made}]", f"Bag(x for x in {at} if {self.test('x', of, 0)})", "Bag()", f"Bag([{made}])",
                f"(({at} + [{made}, {made}]) if not {at} else {at})", *([f"{at}.remove({made})"] if self.careless else []),
            )  # fmt: skip
        if field.shape == "set":
            return self.set_changed(at, of, depth)
        if field.shape == "queue":
            return self.queue_changed(at, of, depth)
        if field.shape in ("sets", "channels"):
            i, change = (
                self.place(depth),
                self.set_changed if field.shape == "sets" else self.queue_changed,
            )
            x = self.name("x")
            new = change(f"{at}[{i}]", of, depth)
            every = change(x, of, depth - 1) if field.shape == "sets" else f"{x}[1:]"
            return self.pick(
                *[f"replaced({at}, {i}, {new})"] * 5,
                f"tuple({every} for {x} in {at})",
                f"{at}[::-1]",
            )
        if field.shape == "family":
            return self.pick(
                f"{at} | {{frozenset({{{self.message(of, depth)}}})}}", f"{at} | {{s.sent}}" if self.sent_is(of) else "frozenset()",
                f"frozenset(group | {{{self.message(of, 0)}}} for group in {at})",
                f"frozenset(group for group in {at} if {self.message(of, 0)} not in group)",
            )  # fmt: skip
        held = self.message(of, depth)
        return self.pick(held, held, "None", f"({held} if s.held is None else None)")

    def sent_is(self, of: Elements) -> bool:
        """Whether the main set holds such messages."""
        return of == Elements(self.kinds)

    def set_changed(self, at: str, of: Elements, depth: int) -> str:
        """A new set."""
        m, x = self.message(of, depth), self.name("x")
        test = self.test(x, of, depth)
        kind = self.random.choice(of.kinds)
        bound = [name for name, others in self.bound if others == of]
        ways = [
            *[f"{at} | {{{m}}}"] * 6, *[f"{at} - {{{m}}}"] * 2, f"{at} ^ {{{m}}}", f"{at}.union([{m}])",
            f"{at} | {{{m}, {self.message(of, 1)}}}", f"({at} - {{{m}}}) | {{{self.message(of, 1)}}}",
            f"frozenset({x} for {x} in {at} if {test})", f"{at} - {{{x} for {x} in {at} if {test}}}",
            f"frozenset({{{m}}})", "frozenset()", f"frozenset({of.sorted(at)}[:2])",
            f"{at} | frozenset({kind.new([x] + ['0'] * (kind.parts - 1))} for {x} in range(K))",
            f"frozenset({{*{at}, {m}}})", f"({at} if {m} in {at} else {at} | {{{m}}})",
            f"frozenset({x} if {test} else {self.message(of, 0)} for {x} in {at})",
        ]  # fmt: skip
        if kind.how == "record":
            ways += [
                f"{at} - matching({at}, {self.wanted(kind)})",
                f"frozenset(matching({at}, {self.wanted(kind)}))",
            ]
        ways += [f"{at} - {{{name}}}" for name in bound for _ in range(6)]
        ways += [
            f"({at} - {{{name}}}) | {{{self.message(of, 1)}}}" for name in bound for _ in range(3)
        ]
        ways += [
            f"{at} {self.pick('|', '&', '-')} {other}"
            for other, _ in self.holders(of)
            if of_set(other)
        ]
        if kind.how == "record" and not of.is_mixed:
            ways.append(
                f"frozenset(evolve({x}, {kind.fields[0]}={self.number(0)}) for {x} in {at})"
            )
        return self.random.choice(ways)

    def queue_changed(self, at: str, of: Elements, depth: int) -> str:
        """A new queue, of at most three messages."""
        m, x = self.message(of, depth), self.name("x")
        return self.pick(
            f"appended({at}, {m})[:3]", f"appended({at}, {m})[-3:]", f"(*{at}, {m})[:2]", f"({m}, *{at})[:3]",
            f"{at}[1:]", f"{at}[1:]", f"{at}[:-1]", f"{at}[1:] + {at}[:1]", "()",
            f"tuple({x} for {x} in {at} if {self.test(x, of, depth)})", f"tuple({of.sorted(at)})",
            f"({at} if {m} in {at} else ({at} + ({m},))[:3])",
            *([f"tuple({of.sorted('s.sent')})[:2]"] if self.sent_is(of) else []),
        )  # fmt: skip

    # -- rules ----------------------------------------------------------------------------------

    def choices(self) -> list[tuple[str, str]]:
        """The choices of a rule, which are bound from then on: names, and texts of their domains."""
        made: list[tuple[str, str]] = []
        for _ in range(self.pick(0, 1, 1, 1, 2, 2)):
            if self.chance(0.45):
                made.append((self.name("k"), f"range({self.pick('K', 'K', '2')})"))
            else:
                made.append((self.name("m"), ""))
        given = []
        numbers, messages = [], []
        for name, text in made:
            if text:
                numbers.append(name)
                text = f"lambda s: {text}"
            else:
                text, of = self.each() if self.chance(0.3) else self.domain()
                text = text if text.startswith("each(") else f"lambda s: {text}"
                messages.append((name, of))
            given.append((name, text))
        self.numbers_bound, self.bound = numbers, messages
        return given

    def each(self) -> Holder:
        """Messages to choose from, by the word for it."""
        self.numbers_bound, self.bound = [], []
        sets = [field for field in self.of_shape("set") if field.of is not None]
        field = self.random.choice(sets)
        assert field.of is not None
        kind = self.random.choice(field.of.kinds)
        inboxes = self.of_shape("sets")
        if inboxes and self.chance(0.3):
            assert inboxes[0].of is not None
            return f"each(lambda s: s.inbox[{self.place(0)}])", inboxes[0].of
        if kind.how == "record" and self.chance(0.7):
            field_wanted = f", {self.random.choice(kind.fields)}={self.random.randrange(self.top)}"
            more = field_wanted if self.chance(0.3) else ""
            return f"each({field.name!r}, {kind.name}{more})", Elements((kind,))
        return f"each({field.name!r})", field.of

    def domain(self) -> Holder:
        """Messages to choose from."""
        self.numbers_bound, self.bound = [], []
        items, of = self.random.choice(self.holders())
        x = self.name("x")
        kind = self.random.choice(of.kinds)
        bags = self.of_shape("bag")
        if bags and self.chance(0.2):
            assert bags[0].of is not None
            return "s.bag", bags[0].of
        if kind.how == "record" and self.chance(0.2):
            part = Elements((kind,))
            return self.pick(
                (f"only({kind.name}, {items})", part), (f"matching({items}, {kind.name})", part),
                (f"matching({items}, {self.wanted(kind)})", part),
            )  # fmt: skip
        if of.is_mixed and self.chance(0.3):
            chosen = self.is_kind(x, of, kind) or "True"
            return f"[{x} for {x} in {items} if {chosen}]", of if self.careless else Elements(
                (kind,)
            )
        return self.pick(
            items, items, of.sorted(items), of.sorted(items), of.sorted(items),
            f"[{x} for {x} in {items} if {self.test(x, of, 1)}]", f"list({items})[:2]", f"set({items})" if of.has_order else items,
        ), of  # fmt: skip

    def local(self) -> str:
        """An assignment; what is assigned may be read from then on."""
        if self.chance(0.5):
            name, text = self.name("y"), self.number()
            self.numbers_bound.append(name)
            return f"{name} = {text}"
        items, of = self.holder(1)
        name, otherwise = self.name("y"), self.message(of, 0)
        text = f"first_where({of.sorted(items)}, lambda it: {self.test('it', of, 1)}, {otherwise})"
        self.bound.append((name, of))
        return f"{name} = {text}"

    def write_rule(self, number: int) -> list[str]:
        """The text of a rule."""
        choices = self.choices()
        given = "".join(f", {name}={text}" for name, text in choices)
        lines = ["", "", f'@rule(by="somebody"{given})']
        lines.append(f"def rule{number}({', '.join(['s', *(name for name, _ in choices)])}):")
        body: list[str] = []
        first = f'yield "first", {self.condition()}'
        for name, of in list(self.bound):
            if of.is_mixed and not self.careless and self.chance(0.5):
                kind = self.random.choice(of.kinds)
                body.append(f'yield "{name} is {kind.name}", {self.is_kind(name, of, kind)}')
                self.bound.append((name, Elements((kind,))))
        for place in range(self.pick(0, 1, 1, 2)):
            if self.chance(0.25):
                body.append(self.local())
            text = f'"guard {place}"' if self.chance(0.75) else f'limit("guard {place}")'
            likely = self.pick(False, True, True)
            holds = f"{self.condition()} or {self.condition()}" if likely else self.condition()
            body.append(f"yield {text}, {holds}")
        if self.chance(0.25):
            body.append(self.local())
        changes = self.changes()
        for field in self.fields:
            if (
                field.name in changes
                and field.shape in ("set", "sets", "family", "pairs")
                and self.chance(0.85)
            ):
                size = (
                    f"len(s.{field.name})"
                    if field.shape != "sets"
                    else f"sum(map(len, s.{field.name}))"
                )
                body.append(
                    f'yield limit("room in {field.name}"), {size} < {self.pick(2, 3, 3, 4)}'
                )
        body += self.returned(changes)
        if not any("yield" in line for line in body) and self.chance(0.5):
            body.insert(0, first)
        return lines + [f"    {line}" for line in body]

    def write_sender(self) -> list[str]:
        """A rule that sends messages as long as there is room, so that there are some."""
        self.numbers_bound, self.bound = ["k", "j"], []
        of = Elements(self.kinds)
        kind = self.random.choice(of.kinds)
        made = kind.new([self.pick("k", "j", "(k + j) % K") for _ in range(kind.parts)])
        most = self.pick(2, 3, 3, 4)
        lines = [
            "",
            "",
            '@rule(by="sender", k=lambda s: range(K), j=lambda s: range(K))',
            "def send(s, k, j):",
        ]
        if self.chance(0.3):
            lines.append(f'    yield "not sent", {made} not in s.sent')
        lines.append(f'    yield limit("room in sent"), len(s.sent) < {most}')
        given = f"sent=s.sent | {{{made}}}"
        others = [
            field for field in self.fields if field.shape in ("queue", "number", "one", "channels")
        ]
        if others and self.chance(0.4):
            field = self.random.choice(others)
            given += f", {field.name}={self.change(field, 1)}"
        return [*lines, f"    return evolve(s, {given})"]

    def returned(self, changes: dict[str, str]) -> list[str]:
        """The last lines of a rule."""
        given = ", ".join(f"{name}={text}" for name, text in changes.items())
        how = self.random.random()
        if how < 0.7:
            return [f"return {self.pick('evolve', 'evolve', 'attrs.evolve')}(s, {given})"]
        other = ", ".join(f"{name}={text}" for name, text in self.changes().items())
        if how < 0.8:
            return [
                f"if {self.condition()}:",
                f"    return evolve(s, {other})",
                f"return evolve(s, {given})",
            ]
        if how < 0.88:
            return [f"after = evolve(s, {given})", f"return evolve(after, {other})"]
        if how < 0.95:
            items, of = self.holder(1)
            sent, x = Elements(self.kinds), self.name("x")
            new = (
                f"after.sent | {{{x}}}"
                if set(of.kinds) <= set(sent.kinds)
                else f"after.sent - {{{x}}}"
            )
            return [
                f"after = evolve(s, {given})", f"for {x} in {items}:", f"    if {self.test(x, of, 1)}:",
                f"        after = evolve(after, sent={new})", f"        {self.pick('break', 'continue')}", "return after",
            ]  # fmt: skip
        whole = {field.name: f"s.{field.name}" for field in self.fields} | changes
        return [f"return State({', '.join(f'{name}={text}' for name, text in whole.items())})"]

    def write_property(self, number: int) -> tuple[str, list[str]]:
        """The name and the text of a property."""
        self.bound, self.numbers_bound = [], []
        if self.chance(0.3):
            name = f"Reachable{number}"
            return name, ["", "", "@reachable", f"def {name}(s):", f"    return {self.condition()}"]
        name = f"Always{number}"
        if self.chance(0.25):
            text, of = self.domain()
            self.bound = [("m", of)]
            claim = f"return {self.condition()} or {self.condition()}"
            return name, [
                "",
                "",
                f"@always(m=lambda s: {text})",
                f"def {name}(s, m):",
                f"    {claim}",
            ]
        lines = ["", "", "@always", f"def {name}(s):"]
        if self.chance(0.5):
            return name, [*lines, f"    return {self.condition()} or {self.condition()}"]
        items, of = self.holder(1)
        self.bound = [("m", of)]
        claim = f"{self.condition()} or {self.condition()}"
        return name, [
            *lines,
            f"    for m in {of.sorted(items)}:",
            f'        yield f"{{m}}", {claim}',
        ]

    # -- the model ------------------------------------------------------------------------------

    def write_classes(self) -> list[str]:
        """The classes of messages, and of states."""
        lines = ["", f"K = {self.top}"]
        for kind in self.kinds:
            if kind.how == "record":
                lines += ["", "", self.pick("@frozen", "@frozen", "@attrs.frozen(cache_hash=True)")]
                lines += [f"class {kind.name}:", *(f"    {field}: int" for field in kind.fields)]
        lines += ["", "", "@frozen", "class State:"]
        return lines + [f"    {field.name}: Any = {field.initial}" for field in self.fields]

    def write(self) -> str:
        """The whole text."""
        lines = [HEADER, *self.write_classes(), *self.write_helpers()]
        count = self.pick(2, 3, 3, 4, 5)
        for number in range(count):
            lines += self.write_rule(number)
        rules = [f"rule{number}" for number in range(count)]
        if self.chance(0.85):
            rules.insert(0, "send")
            lines += self.write_sender()
        names = []
        for number in range(self.pick(0, 1, 1, 2, 3)):
            name, text = self.write_property(number)
            names.append(name)
            lines += text
        self.bound, self.numbers_bound = [], []
        final = self.pick(
            "None", "lambda s: True", "lambda s: True", f"lambda s: {self.condition(1)}"
        )
        lines += [
            "", "", "MODEL = Model(",
            f'    name="messages-{self.seed}", doc="A random model.", initial={self.initial()},',
            f"    properties=({''.join(f'{name}, ' for name in names)}), final={final},",
            f"    variants=(Variant('only', rules=({', '.join(rules)},), why='There is no other.'),),",
            ")",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def initial(self) -> str:
        """The initial states."""
        of = Elements(self.kinds)
        some = "".join(f"{self.fresh(of)}, " for _ in range(2))
        return self.pick(
            "lambda b: [State()]", "lambda b: [State()]", f"lambda b: [State(sent=frozenset({{{some}}}))]",
            f"lambda b: [State(sent=frozenset({{m}})) for m in ({some})]",
        )  # fmt: skip

    def fresh(self, of: Elements) -> str:
        """A message made of literals."""
        kind = self.random.choice(of.kinds)
        return kind.new([str(self.random.randrange(self.top)) for _ in range(kind.parts)])


def of_set(items: str) -> bool:
    """Whether an expression is a set, and neither a list nor a tuple."""
    return items.startswith(("s.sent", "s.done", "s.inbox", "(", "frozenset("))


# -- models ---------------------------------------------------------------------------------------

MOST = 1_500
"""Models with more states than these are skipped."""


def text_of(seed: int) -> str:
    """The text of the model with this seed: of a few, the first with more than a few states."""
    for attempt in range(6):
        name = f"{seed}-{attempt}"
        text = Writer(name).write()
        try:
            verdict = explore(
                model_of(text, name).system(), Options(max_states=30, keep_going=True)
            )
        except SpecError:
            if attempt % 2 == 0:  # a model that raises at once is of little use
                continue
            return text
        if verdict.distinct >= 30:
            return text
    return text


def random_model(seed: int) -> Model[Any]:
    """The model with this seed."""
    return model_of(text_of(seed), f"messages-{seed}")


# -- thresholds of the learned engine -------------------------------------------------------------

THRESHOLDS: Sequence[tuple[str, str, int]] = (("kspec.checkers.engine.learned.tables", "FROM", 2),)
"""Numbers from which the learned engine works differently, such as the number of values from which
a set is divided by element: module, name, and a value so small that random models exceed it."""


@contextmanager
def low_thresholds() -> Iterator[None]:
    """Every threshold of the learned engine is low, so that small models exceed it."""
    with ExitStack() as stack:
        for module, name, value in THRESHOLDS:
            stack.enter_context(patch.object(import_module(module), name, value))
        yield


def compared(seed: int, *, thorough: bool = False) -> Any:
    """The comparison of the two engines on the model with this seed."""
    from tests.checkers.engine.learned.agreement import disagreement

    with low_thresholds():
        system = random_model(seed).system()
        return disagreement(system, thorough=thorough, odd=seed % 2 == 1, most=MOST)


if __name__ == "__main__":
    from tests.checkers.engine.learned.agreement import compare_many

    sys.exit(compare_many(compared, text_of, HEADER))
