"""Sets of a state iterate in one order, whatever they were made of."""

from __future__ import annotations

import dataclasses
import pickle
import random
from enum import Enum, IntEnum
from itertools import permutations
from typing import Any, NamedTuple

import attrs
import pytest

from kspec.spec.core import (
    Model,
    OrderedSet,
    SpecError,
    System,
    Variant,
    evolve,
    ordered,
    rule,
)


class Color(Enum):
    RED = "r"
    BLUE = "b"


class Number(IntEnum):
    ONE = 1


class Pair(NamedTuple):
    one: Any
    other: Any


@attrs.frozen
class Note:
    n: Any
    text: Any = ""


@attrs.frozen
class Empty:
    pass


@dataclasses.dataclass(frozen=True)
class Data:
    part: Any


ANYTHING = [
    0, 8, 16, -1, -2, 3.5, "b", "a", "", b"x", None, Color.BLUE, Color.RED, (1, "a"), (1, 2), (),
    Pair(1, None), frozenset({1, 2}), frozenset(), Note(1), Note("a"), Note(1, None), Note(2, 0),
    Empty(), Data(1), Data("x"), True,
]  # fmt: skip


@pytest.mark.parametrize("members", [[0, 8, 16, 24], [-1, -2], ["b", "a"], [Note(8), Note(0)]])
def test_equal_sets_iterate_alike(members: list[Any]) -> None:
    orders = {tuple(OrderedSet(way)) for way in permutations(members)}
    assert len(orders) == 1
    assert {tuple(set(OrderedSet(way))) for way in permutations(members)} == {
        tuple(set(OrderedSet(members)))
    }


def test_anything_has_a_place_in_the_order(chance: random.Random) -> None:
    found = set()
    for _ in range(20):
        chance.shuffle(ANYTHING)
        found.add(tuple(map(repr, OrderedSet(ANYTHING))))
    assert len(found) == 1


def test_numbers_and_strings_ascend() -> None:
    assert list(OrderedSet([40, 8, 0, 16])) == [0, 8, 16, 40]
    assert list(OrderedSet(["b", "a", "bb"])) == ["a", "b", "bb"]
    assert list(OrderedSet([Note(2, "a"), Note(1, "b"), Note(1, "a")])) == [
        Note(1, "a"), Note(1, "b"), Note(2, "a"),
    ]  # fmt: skip
    assert list(OrderedSet([Number.ONE, 0])) == [0, Number.ONE]


def test_an_ordered_set_is_a_frozenset() -> None:
    some = OrderedSet([2, 1])
    assert some == frozenset({1, 2}) == some
    assert hash(some) == hash(frozenset({1, 2}))
    assert isinstance(some, frozenset)
    assert repr(some) == "frozenset({1, 2})"
    assert repr(OrderedSet()) == "frozenset()"
    again = pickle.loads(pickle.dumps(some))
    assert type(again) is OrderedSet
    assert list(again) == [1, 2]


@pytest.mark.parametrize(
    "made",
    [
        OrderedSet([24, 8]) | {16, 0},
        OrderedSet([24, 8, 0, 16, 5]) - {5},
        OrderedSet([24, 8, 0, 16]) & frozenset({0, 8, 16, 24, 32}),
        OrderedSet([24, 8, 1]) ^ {0, 16, 1},
        frozenset({24, 16}) | OrderedSet([0, 8]),
        frozenset({24, 16, 8, 0, 3}) - OrderedSet([3]),
        OrderedSet([24]).union([8], {0, 16}),
        OrderedSet([24, 8, 0, 16, 3]).difference([3]),
        OrderedSet([24, 8, 0, 16]).copy(),
    ],
)
def test_what_is_made_of_an_ordered_set_is_ordered(made: Any) -> None:
    assert type(made) is OrderedSet
    assert list(made) == [0, 8, 16, 24]


def test_a_set_that_changes_stays_one() -> None:
    assert type({1} | OrderedSet([2])) is set
    with pytest.raises(TypeError, match="unsupported operand"):
        OrderedSet([1]) | [2]  # type: ignore[operator]


def test_sets_are_ordered_at_any_depth() -> None:
    raw = frozenset({16, 8, 0})
    note = Note(Note((raw, Pair(raw, 1))), Data(raw))
    made = ordered(note)
    assert made == note
    assert type(note.text.part) is frozenset, "it may be a constant of a rule"
    for found in (made.n.n[0], made.n.n[1].one, made.text.part):
        assert type(found) is OrderedSet
    assert type(made.n.n[1]) is Pair
    inner: Any = next(iter(ordered(frozenset({(raw,)}))))
    assert type(inner[0]) is OrderedSet
    new: Any = next(iter(ordered(OrderedSet([1]) | {(raw,)}, OrderedSet([1])) - {1}))
    assert type(new[0]) is OrderedSet


class Sub(tuple[Any, ...]):
    """A tuple with something more."""

    @property
    def top(self) -> Any:
        return self[-1]


def test_a_tuple_keeps_its_class() -> None:
    some = Sub((frozenset({8, 0}), 1))
    some.name = "a"  # type: ignore[attr-defined]
    made = ordered(some)
    assert (type(made), made.top, made.name) == (Sub, 1, "a")  # type: ignore[attr-defined]
    assert type(made[0]) is OrderedSet


def test_a_member_that_equals_a_known_one_is_ordered() -> None:
    known = ordered(frozenset({Note(frozenset({8, 0}))}))
    again: Any = ordered(frozenset({Note(frozenset({0, 8}))}), known)
    assert type(next(iter(again)).n) is OrderedSet


def test_what_has_no_set_stays_as_it_is() -> None:
    for value in (1, "a", (1, (2, None)), Note(1, (2,)), (), None):
        assert ordered(value) is value
    known = OrderedSet([1, 2])
    assert ordered(known) is known


def test_a_mutable_class_is_rejected() -> None:
    @attrs.define(unsafe_hash=True)
    class Changing:
        n: int = 0

    @dataclasses.dataclass(unsafe_hash=True)
    class Changed:
        n: int = 0

    for value in (Changing(), (Changed(),), Note(Changing())):
        with pytest.raises(
            SpecError, match=r"class Chang\w+ is part of a state but is mutable"
        ) as e:
            ordered(value)
        assert "\n" not in str(e.value)


@attrs.frozen
class Members:
    some: frozenset[Any] = frozenset()


def system_of(*rules: Any) -> System[Any]:
    model: Model[Any] = Model(
        name="members", doc="Members.", initial=lambda b: [Members(frozenset({8, 0}))],
        properties=(), variants=(Variant("only", rules=rules, why="There is no other."),),
    )  # fmt: skip
    return model.system()


def test_states_and_choices_have_ordered_sets() -> None:
    @rule(by="x", some=lambda s: (frozenset({16, 8, 0}), frozenset({8})))
    def put(s: Any, some: Any) -> Any:
        return evolve(s, some=frozenset({*some, 24}))

    system = system_of(put)
    [first] = system.initial()
    assert type(first.some) is OrderedSet
    for _, (some,), after in system.steps(first):
        assert type(some) is type(after.some) is OrderedSet
