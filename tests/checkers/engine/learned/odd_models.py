"""Models whose states are not plain records of tuples with fixed lengths."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from kspec.spec.core import Claims, Model, Step, Variant, always, limit, rule

# -- a tuple whose length varies, and is first seen to do so on the way ---------------------------


@attrs.frozen
class Shelf:
    """Books, each with a colour, and how many were ever put there."""

    books: tuple[str, ...] = ("red", "red")
    ever: int = 0


@rule(by="reader", colour=lambda s: ("red", "blue"))
def put(s: Shelf, colour: str) -> Step[Shelf]:
    """Put a book there."""
    yield limit("few books were put there"), s.ever < 5
    yield "there is room", len(s.books) < 3
    return attrs.evolve(s, books=(*s.books, colour), ever=s.ever + 1)


@rule(by="reader")
def take(s: Shelf) -> Step[Shelf]:
    """Take the first book."""
    yield "there is one", len(s.books) > 0
    return attrs.evolve(s, books=s.books[1:])


SHELF = Model(
    name="shelf",
    doc="A shelf.",
    initial=lambda bounds: [Shelf()],
    properties=(),
    variants=[Variant("plain", rules=(put, take), why="Books come and go.")],
)


# -- states of two classes ------------------------------------------------------------------------


@attrs.frozen
class Off:
    """Nothing is on."""

    times: int = 0


@attrs.frozen
class On:
    """Something is."""

    times: int
    level: int = 0


@rule(by="hand")
def switch(s: Off | On) -> Step[Off | On]:
    """Switch it on, or off."""
    yield limit("it is not switched on often"), s.times < 4
    return On(s.times) if isinstance(s, Off) else Off(s.times + 1)


@rule(by="hand")
def raise_level(s: Off | On) -> Step[Off | On]:
    """Turn it up."""
    yield "it is on", isinstance(s, On)
    assert isinstance(s, On)
    yield limit("it is not at its highest"), s.level < 3
    return attrs.evolve(s, level=s.level + 1)


SWITCH = Model(
    name="switch",
    doc="A switch.",
    initial=lambda bounds: [Off()],
    properties=(),
    variants=[Variant("plain", rules=(switch, raise_level), why="On and off.")],
)


# -- states that are no attrs class ---------------------------------------------------------------


class Pair(NamedTuple):
    """Two numbers."""

    one: int
    two: frozenset[int]


@rule(by="hand", number=lambda s: range(4))
def add(s: Pair, number: int) -> Step[Pair]:
    """Add a number."""
    yield "it is new", number not in s.two
    return Pair(s.one + number, s.two | {number})


@always
def FewNumbers(s: Pair) -> Claims:
    """Not all numbers are there."""
    yield "some are missing", len(s.two) < 4


PAIR = Model(
    name="pair",
    doc="Numbers and their sum.",
    initial=lambda bounds: [Pair(0, frozenset())],
    properties=(FewNumbers,),
    variants=[Variant("plain", rules=(add,), why="Numbers come.")],
)


# -- a rule that raises ---------------------------------------------------------------------------


@attrs.frozen
class Ball:
    """How high it is."""

    height: int = 5


@rule(by="gravity")
def fall(s: Ball) -> Ball:
    """Fall."""
    return Ball(s.height - s.height // s.height)


BROKEN = Model(
    name="ball",
    doc="A ball.",
    initial=lambda bounds: [Ball()],
    properties=(),
    variants=[Variant("plain", rules=(fall,), why="It falls.")],
)
