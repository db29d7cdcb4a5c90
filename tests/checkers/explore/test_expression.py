"""Conditions that are typed: what they mean, and what is refused."""

from __future__ import annotations

import contextlib
from enum import Enum
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.engine.reference import explore
from kspec.checkers.explore.expression import parse
from kspec.checkers.explore.parser import LONGEST
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import SpecError, always, reachable


class Colour(Enum):
    """A colour."""

    RED = "red"
    BLUE = "light blue"


@attrs.frozen
class Part:
    """A part of a state."""

    size: int
    colour: Colour | None = None


@attrs.frozen
class State:
    """A state."""

    parts: tuple[Part, ...]
    members: frozenset[int]
    leader: Part | None
    name: str
    done: bool = False
    secret: int = attrs.field(default=7, eq=False)

    def method(self) -> bool:
        """Never called."""
        raise AssertionError("called")

    @property
    def computed(self) -> bool:
        """Never read."""
        raise AssertionError("read")


STATE = State((Part(1, Colour.RED), Part(4)), frozenset({0, 2}), None, "a b")


@always
def PartsAreSmall(s: State) -> bool:
    """No part is larger than 4."""
    return all(part.size <= 4 for part in s.parts)


@reachable
def IsDone(s: State) -> bool:
    """It is done."""
    return s.done


def holds(typed: str, state: Any = STATE) -> bool:
    return parse(typed, state, [PartsAreSmall, IsDone]).holds(state)


@pytest.mark.parametrize(
    "typed",
    [
        "parts[0].size == 1",
        "parts[0].size = 1",
        "parts[-1].size == 4 and parts[1].size > parts[0].size",
        "parts[1].size - parts[0].size + 1 == 4",
        "parts[0].size != 2 or done",
        "len(parts) == 2 and len(members) <= 2 and len(leader) == 0",
        "0 in members and 1 not in members and not 1 in members",
        "members == {2, 0}",
        "parts[0].size in [1, 2]",
        "name == 'a b' and name == \"a b\"",
        "parts[0].colour == 'RED' and parts[0].colour == 'red' and 'red' == parts[0].colour",
        "parts[1].colour == none and leader == none",
        "leader.size == none and not leader.size < 3 and not leader.size >= 3",
        "parts[9] == none and parts[9].size == none",
        "any p in parts: p.size == 4",
        "all p in parts: p.size > 0 and p.size < 5",
        "not any p in parts: any q in parts: p.size > 3 and q.size > p.size",
        "(1 == 2 or true) and not false",
        "not not (not done)",
        "done == false",
        "PartsAreSmall and not IsDone",
        "-1 < 0",
        "not name < 3",
        "all p in leader: false",
        "not {parts} == {1}",
    ],
)
def test_a_condition_that_holds(typed: str) -> None:
    assert holds(typed)
    assert not holds(f"not ({typed})")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "a name expected at the end"),
        ("leader.sise == 1", "did you mean size"),
        ("nome == 'a'", "did you mean name"),
        ("PartsAreLarge", "did you mean PartsAreSmall"),
        ("parts[0].size", "is not a condition"),
        ("parts", "is not a condition"),
        ("3", "is not a condition"),
        ("secret == 7", "no field or property named 'secret'"),
        ("method == 1", "no field or property named 'method'"),
        ("computed", "no field or property named 'computed'"),
        ("parts.size == 1", "there is no field size"),
        ("parts[0].__class__ == 1", "no field named '__class__'"),
        ("__import__('os').system('true')", "the condition should end before '('"),
        ("name.upper == 'A'", "there is no field upper"),
        ("lambda: 1", "the condition should end before ':'"),
        ("done; done", "unexpected ';'"),
        ("done done", "should end before 'done'"),
        ("1 <", "a name expected at the end"),
        ("(1 == 1", "')' expected at the end"),
        ("any parts: true", "'in' expected before ':'"),
        ("len parts", "'(' expected before 'parts'"),
        ("- parts == 1", "a number expected"),
        ("99999999999999999999 == 1", "unexpected '9'"),
        ("(" * 60 + "done" + ")" * 60, "at most 40 levels deep"),
        ("not " * LONGEST + "done", f"at most {LONGEST} characters"),
        ("{" * 60, "at most 40 levels deep"),
    ],
)
def test_what_is_refused_is_named(typed: str, says: str) -> None:
    with pytest.raises(SpecError) as refused:
        holds(typed)
    assert says in str(refused.value)


@given(st.text(alphabet="aspdinot()[]{}.,:=<>+-'\" 019_", max_size=60))
def test_any_text_is_a_condition_or_is_refused(typed: str) -> None:
    with contextlib.suppress(SpecError):
        assert holds(typed) in (True, False)


def test_the_longest_condition_is_evaluated() -> None:
    assert holds("+".join(["1"] * 190) + " == 190")


@pytest.mark.parametrize("name", registered_models())
def test_every_property_of_every_model_is_a_condition(name: str) -> None:
    """And it means what the engine says of the initial state."""
    model = find_model(name)
    system = model.system().with_properties([])
    state = system.initial()[0]
    for prop in model.all_properties:
        if hasattr(prop, "failure"):
            assert parse(prop.name, state, model.all_properties).holds(state) == (
                prop.failure(state) is None
            )


def test_a_state_without_fields_is_called_state() -> None:
    assert parse("state == 3", 3, []).holds(3)
    assert parse("state[0] == 3 and len(state) == 1", (3,), []).holds((3,))


def test_conditions_agree_with_the_rules_in_every_state() -> None:
    """A comparison, and the same in Python, in each state of a model."""
    system = find_model("die-hard").system().with_properties([])
    seen = set(system.initial())
    todo = list(seen)
    while todo:
        new = {after for _, _, after in system.steps(todo.pop())} - seen
        seen |= new
        todo += new
    assert len(seen) == explore(system).distinct
    condition = parse("small + big >= 5 and not small == big - 2", next(iter(seen)), [])
    for s in seen:
        assert condition.holds(s) == (s.small + s.big >= 5 and s.small != s.big - 2)
