"""A loop that leaves out a weakly fair rule says where it blocks the rule."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kspec.checkers.engine.reference import explore
from kspec.checkers.graph.excused import MOST, excuses
from kspec.spec.core import LeadsTo, Model, Rule, Step, Variant, evolve, rule, together


@attrs.frozen
class Line:
    """One customer may call, and one operator answers if the line is free."""

    busy: bool = False
    answered: bool = False


def operators(s: Any) -> range:
    return range(MOST + 2)


@rule(by="others")
def others_call(s: Line) -> Step[Line]:
    yield "line is free", not s.busy
    return evolve(s, busy=True)


@rule(by="others")
def others_hang_up(s: Line) -> Step[Line]:
    yield "line is busy", s.busy
    return evolve(s, busy=False)


@rule(by="operator", operator=operators)
def operator_answers(s: Line, operator: int) -> Step[Line]:
    yield "operator is real", operator < MOST + 1
    yield "line is free", not s.busy
    return evolve(s, answered=True)


def told(fair: Any) -> list[str]:
    """What is said of the lasso under weak fairness of one rule, besides hanging up."""
    prop: LeadsTo[Line] = LeadsTo(
        "Answered", lambda s: (not s.answered, s.answered), (fair, others_hang_up)
    )
    rules: tuple[Rule[Any], ...] = (others_call, others_hang_up, operator_answers)
    model: Model[Any] = Model(
        name="line",
        doc="A line.",
        initial=lambda bounds: [Line()],
        properties=(prop,),
        variants=(Variant("line", rules, why=""),),
        final=lambda s: True,
    )
    trace = explore(model.system()).violations[0].trace
    assert trace is not None
    return list(excuses(trace, prop))


SAYS = "Weak fairness does not require {}: in state 2, it is blocked by: line is free."


@pytest.mark.parametrize(
    ("fair", "says"),
    [
        (together(operator_answers), [SAYS.format("operator_answers")]),
        (together(others_hang_up), []),
        (
            operator_answers,
            [
                *(SAYS.format(f"operator_answers operator={n}") for n in range(MOST)),
                "The same goes for 1 other weakly fair choice.",
            ],
        ),
    ],
)
def test_a_choice_that_the_loop_enables_and_leaves_out_is_named(fair: Any, says: list[str]) -> None:
    assert told(fair) == says
