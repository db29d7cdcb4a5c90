"""The grammar of the conditions that are typed; `expression` says what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from kspec.spec.core import SpecError

Tree: TypeAlias = tuple[Any, ...]
"""A parsed expression: the name of its kind, and its parts."""

LONGEST = 400
"""Characters of an expression."""
DEEPEST = 40
"""How deeply an expression may be nested."""

TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d{1,18}\b)|(?P<text>"[^"]*"|'[^']*')|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<sign>==|!=|<=|>=|[<>=+\-.,:()\[\]{}]))"""
)
WORDS = {"and", "or", "not", "in", "any", "all", "len", "true", "false", "none"}
COMPARISONS = {"==", "=", "!=", "<", "<=", ">", ">=", "in"}


class BadExpression(SpecError):
    """What was typed is no condition on these states."""


class Parser:
    """A parser by recursive descent; each method reads one kind of expression."""

    def __init__(self, typed: str) -> None:
        """Cut the text into tokens."""
        if len(typed) > LONGEST:
            raise BadExpression(f"a condition may have at most {LONGEST} characters")
        self.tokens: list[tuple[str, str]] = []
        self.depth = 0
        rest = typed.rstrip()
        at = 0
        while at < len(rest):
            found = TOKEN.match(rest, at)
            if found is None:
                raise BadExpression(f"unexpected {rest[at:].strip()[:1]!r} in the condition")
            self.tokens.append((str(found.lastgroup), found[found.lastgroup or 0]))
            at = found.end()
        self.tokens.append(("end", ""))
        self.next = 0

    @property
    def word(self) -> str:
        """The text of the next token; empty at the end."""
        return self.tokens[self.next][1]

    def accept(self, *wanted: str) -> str:
        """Read the next token if it is one of these; empty if it is not."""
        kind, token = self.tokens[self.next]
        if kind in ("name", "sign") and token in wanted:
            self.next += 1
            return token
        return ""

    def expect(self, wanted: str) -> None:
        """Read the next token, which has to be this one."""
        if not self.accept(wanted):
            raise BadExpression(f"{wanted!r} expected {self.place()}")

    def place(self) -> str:
        """Where the parser is, for messages."""
        return f"before {self.word!r}" if self.word else "at the end"

    def name(self) -> str:
        """Read a name that is not a word of the language."""
        kind, token = self.tokens[self.next]
        if kind != "name" or token in WORDS:
            raise BadExpression(f"a name expected {self.place()}")
        self.next += 1
        return token

    def whole(self) -> Tree:
        """The whole text."""
        tree = self.either()
        if self.tokens[self.next][0] != "end":
            raise BadExpression(f"the condition should end {self.place()}")
        return tree

    def either(self) -> Tree:
        """`a or b`, and everything that binds tighter."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise BadExpression(f"a condition may be nested at most {DEEPEST} levels deep")
        tree = self.joined(self.both, "or")
        self.depth -= 1
        return tree

    def joined(self, part: Callable[[], Tree], *signs: str) -> Tree:
        """Expressions of one kind with these signs between them, from left to right."""
        tree = part()
        while sign := self.accept(*signs):
            tree = (sign, tree, part())
        return tree

    def both(self) -> Tree:
        """`a and b`."""
        return self.joined(self.negated, "and")

    def negated(self) -> Tree:
        """`not a`; `any x in a: b`; a comparison."""
        negations = 0
        while self.accept("not"):
            negations += 1
        tree = self.quantified() if self.word in ("any", "all") else self.comparison()
        return ("not", tree) if negations % 2 else tree

    def quantified(self) -> Tree:
        """`any x in a: b`, or `all x in a: b`."""
        kind = self.accept("any", "all")
        variable = self.name()
        self.expect("in")
        among = self.sum()
        self.expect(":")
        return (kind, variable, among, self.either())

    def comparison(self) -> Tree:
        """`a == b`, `a in b`, `a not in b`, or a value alone."""
        tree = self.sum()
        if self.word == "not":
            self.expect("not")
            self.expect("in")
            return ("not", ("in", tree, self.sum()))
        sign = self.accept(*COMPARISONS)
        if not sign:
            return tree
        if sign == "!=":
            return ("not", ("==", tree, self.sum()))
        return ("==" if sign == "=" else sign, tree, self.sum())

    def sum(self) -> Tree:
        """`a + b`, `a - b`."""
        return self.joined(self.value, "+", "-")

    def value(self) -> Tree:
        """A constant, a set, `len(a)`, an expression in brackets, or a path into the state."""
        kind, token = self.tokens[self.next]
        if kind in ("number", "text"):
            self.next += 1
            return ("constant", int(token) if kind == "number" else token[1:-1])
        if self.accept("-"):
            kind, token = self.tokens[self.next]
            if kind != "number":
                raise BadExpression(f"a number expected {self.place()}")
            self.next += 1
            return ("constant", -int(token))
        for word, constant in (("true", True), ("false", False), ("none", None)):
            if self.accept(word):
                return ("constant", constant)
        if self.accept("{"):
            return ("set", *self.items("}"))
        if self.accept("["):
            return ("list", *self.items("]"))
        if self.accept("("):
            tree = self.either()
            self.expect(")")
            return tree
        if self.accept("len"):
            self.expect("(")
            tree = ("len", self.either())
            self.expect(")")
            return tree
        return self.path()

    def items(self, end: str) -> list[Tree]:
        """The items of a set or a list."""
        found: list[Tree] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(self.either())
        return found

    def path(self) -> Tree:
        """`name`, `name.field`, `name[index]`, and so on."""
        tree: Tree = ("name", self.name())
        while sign := self.accept(".", "["):
            if sign == ".":
                tree = ("field", tree, self.name())
            else:
                tree = ("item", tree, self.either())
                self.expect("]")
        return tree
