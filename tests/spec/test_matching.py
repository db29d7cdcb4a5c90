"""Parts of sets equal the comprehensions that they stand for."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.core import (
    OrderedSet,
    SpecError,
    System,
    Variant,
    count,
    distinct,
    each,
    evolve,
    highest,
    matching,
    rule,
)
from kspec.spec.core.matching import Each, Test, select, summary
from kspec.spec.core.models import Model


@frozen
class Prepare:
    """A request without an answer yet."""

    ballot: int


@frozen
class Promise:
    """An answer."""

    acceptor: int
    ballot: int
    voted: int | bool = 0


small = st.integers(0, 2)
messages = st.frozensets(
    st.builds(Prepare, small) | st.builds(Promise, small, small, small | st.booleans()),
    max_size=9,
)


@given(messages, small, st.booleans())
def test_parts_and_summaries_equal_comprehensions(
    sent: frozenset[Any], ballot: int, in_order: bool
) -> None:
    """A class and fields choose the members that a comprehension with both conditions chooses."""
    members = OrderedSet(sent) if in_order else sent
    promises = [m for m in members if isinstance(m, Promise) and m.ballot == ballot]
    found = matching(members, Promise, ballot=ballot)
    assert type(found) is OrderedSet
    assert found == frozenset(promises)
    assert list(found) == list(OrderedSet(promises))
    assert found._is_settled
    assert count(members, Promise, ballot=ballot) == len(promises)
    voted = max((m.voted for m in promises), default=-1)
    assert highest(members, "voted", Promise, ballot=ballot, default=-1) == voted
    assert distinct(members, "acceptor", Promise, ballot=ballot) == {m.acceptor for m in promises}
    assert matching(members, (Prepare, Promise), ballot=ballot) == {
        m for m in members if m.ballot == ballot
    }
    assert matching(members, Prepare | Promise) == matching(members) == members
    assert matching(members, voted=1) == {m for m in members if getattr(m, "voted", None) == 1}


def test_members_without_fields_match_by_class() -> None:
    """Sets of numbers, strings and tuples have members, too."""
    assert matching(frozenset({1, "a", (1, 2)}), str) == {"a"}
    assert count(frozenset({1, "a", (1, 2)}), (int, str)) == 2
    assert matching((3, 1, 3), int) == {1, 3}


def test_names_that_match_nothing_are_errors() -> None:
    """A field that is misspelt would make a rule that is never enabled."""
    empty: frozenset[Any] = frozenset()
    with pytest.raises(SpecError, match="Promise has no field 'balot'"):
        matching(empty, Promise, balot=1)
    with pytest.raises(SpecError, match="Prepare has no field 'voted'"):
        highest(empty, "voted", Prepare, default=0)
    with pytest.raises(SpecError, match="'Promise' is not a class of members"):
        matching(empty, "Promise")
    with pytest.raises(ValueError, match="no member has a voted"):
        highest(empty, "voted", Promise)


def test_tests_that_can_be_told_apart_differ() -> None:
    """True equals 1, but a condition may ask which of the two it is."""
    assert Test("a", (1,)) != Test("a", (True,))
    assert Test("a", ((1, frozenset({1})),)) != Test("a", ((1, frozenset({True})),))
    assert Test("a", (Prepare(1),)) != Test("a", (Prepare(True),))
    assert hash(Test("a", (1, "b"))) == hash(Test("a", (1, "b"), code=bool))
    assert Test("a", (1, "b")) == Test("a", (1, "b"), code=bool)


def test_a_condition_that_raises_holds() -> None:
    """The member is then in the part, and the rule's own condition raises."""
    assert Test("a", (), lambda m: m.ballot > 0).holds("no message")
    assert not Test("a", (1,), lambda m, least: m > least).holds(0)


class Recorded:
    """An engine's object in place of a set."""

    def __init__(self, members: frozenset[Any]) -> None:
        self.plain = OrderedSet(members)
        self.asked: list[Any] = []

    def _kspec_selected(self, tests: tuple[Test, ...]) -> Any:
        self.asked.append(tests)
        return matching([m for m in self.plain if all(test.holds(m) for test in tests)])


class Summarised(Recorded):
    """One that answers summaries as well."""

    def _kspec_summary(self, tests: tuple[Test, ...], name: str, args: tuple[()]) -> Any:
        self.asked.append((tests, name, args))
        return summary(name)(matching([m for m in self.plain if all(t.holds(m) for t in tests)]))


@pytest.mark.parametrize("kind", [Recorded, Summarised])
def test_an_engine_is_asked_for_the_part_alone(kind: type[Recorded]) -> None:
    """Each word asks one question."""
    sent = frozenset({Prepare(1), Promise(0, 1, 5), Promise(1, 1, 4), Promise(1, 2, 9)})
    members: Any = kind(sent)
    test = Test("", ((Promise,), (("ballot", 1),)))
    assert matching(members, Promise, ballot=1) == {Promise(0, 1, 5), Promise(1, 1, 4)}
    assert members.asked.pop() == (test,)
    assert count(members, Promise, ballot=1) == 2
    assert highest(members, "voted", Promise, ballot=1) == 5
    assert distinct(members, "acceptor", Promise, ballot=1) == {0, 1}
    names = ["count", "highest:voted", "distinct:acceptor"]
    wanted = [(test,)] * 3 if kind is Recorded else [((test,), name, ()) for name in names]
    assert members.asked == wanted
    assert select(members, test) == {Promise(0, 1, 5), Promise(1, 1, 4)}
    assert select(sent, test) is sent


@frozen
class Network:
    """Messages in flight."""

    sent: frozenset[Any] = frozenset()
    taken: tuple[Any, ...] = ()


@rule(by="acceptor", m=each("sent", Prepare))
def acceptor_takes(s: Network, m: Prepare) -> Network:
    """A message arrives."""
    return evolve(s, sent=s.sent - {m}, taken=(*s.taken, m))


def test_members_are_choices_in_ascending_order() -> None:
    """`each` lists them for a rule."""
    start = Network(frozenset({Prepare(2), Prepare(0), Promise(0, 0), Prepare(1)}))
    variant = Variant("one", (acceptor_takes,), why="There is one.")
    model = Model("network", "Messages.", lambda bounds: [start], (), (variant,))
    system: System[Any] = model.system()
    (s,) = system.initial()
    assert [choice for _, choice, _ in system.steps(s)] == [(Prepare(b),) for b in range(3)]
    assert list(each(lambda s: s.sent)(s)) == list(OrderedSet(start.sent))
    assert list(each("sent", Prepare, ballot=1)(s)) == [Prepare(1)]
    assert isinstance(acceptor_takes.choices["m"], Each)
    with pytest.raises(SpecError, match=r"each\('send'\): Network has no such field"):
        each("send")(s)
