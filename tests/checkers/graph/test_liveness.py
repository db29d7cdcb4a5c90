"""Liveness: leads-to properties under fairness."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import pytest

import examples
from checkers.engine.reference import explore
from checkers.engine.verdict import EXIT_LEADS_TO, Verdict
from spec.core import LeadsTo, Model, Rule, Step, Variant, leads_to, limit, rule


def test_two_polite_people_never_pass() -> None:
    verdict = explore(examples.CORRIDOR.system("both-polite"))
    (violation,) = verdict.violations
    assert (violation.name, violation.exit_code) == ("TheyPass", EXIT_LEADS_TO)
    assert violation.trace is not None
    assert violation.trace.loop == 0
    assert violation.states == 2


def test_one_polite_person_is_enough() -> None:
    assert explore(examples.CORRIDOR.system("one-steps-aside")).verdict == "holds"


# -- a lamp: on and off as one likes, until it breaks ---------------------------------------------


@attrs.frozen
class Lamp:
    on: bool = False
    broken: bool = False


@rule(by="someone")
def switch(s: Lamp) -> Step[Lamp]:
    yield "works", not s.broken
    return attrs.evolve(s, on=not s.on)


@rule(by="time")
def burn_out(s: Lamp) -> Step[Lamp]:
    yield "is on", s.on
    yield "works", not s.broken
    return attrs.evolve(s, broken=True)


@rule(by="time")
def burn_out_at_the_edge(s: Lamp) -> Step[Lamp]:
    yield limit("is old enough"), False
    return attrs.evolve(s, broken=True)


def checked(
    rules: tuple[Rule[Lamp], ...], *, weak: list[Rule[Lamp]], strong: list[Rule[Lamp]]
) -> Verdict:
    @leads_to(weakly_fair=weak, strongly_fair=strong)
    def Breaks(s: Lamp) -> tuple[bool, bool]:
        return True, s.broken

    return explore(lamp(rules, Breaks).system())


def lamp(rules: tuple[Rule[Lamp], ...], prop: LeadsTo[Lamp]) -> Model[Lamp]:
    return Model(
        name="lamp",
        doc="",
        initial=lambda bounds: [Lamp()],
        properties=(prop,),
        variants=(Variant("lamp", rules, why=""),),
        final=lambda s: s.broken,
    )


def test_without_fairness_a_lamp_is_switched_forever() -> None:
    assert checked((switch, burn_out), weak=[], strong=[]).exit_code == EXIT_LEADS_TO


def test_weak_fairness_ignores_rules_enabled_intermittently() -> None:
    verdict = checked((switch, burn_out), weak=[switch, burn_out], strong=[])
    assert verdict.exit_code == EXIT_LEADS_TO
    (violation,) = verdict.violations
    assert violation.trace is not None
    assert violation.trace.loop is not None
    loop = [
        *violation.trace.states[violation.trace.loop :],
        violation.trace.states[violation.trace.loop],
    ]
    assert {(a.on, b.on) for a, b in pairwise(loop)} == {(False, True), (True, False)}


def test_strong_fairness_covers_rules_enabled_infinitely_often() -> None:
    assert checked((switch, burn_out), weak=[switch], strong=[burn_out]).verdict == "holds"


def test_strong_fairness_of_one_rule_does_not_enable_another() -> None:
    """Nobody has to switch the lamp on at all, so it may stay off for ever: a behaviour that
    takes no further step is not one that rules are unfair to, unless they could be taken.
    """
    verdict = checked((switch, burn_out), weak=[], strong=[burn_out])
    assert verdict.verdict == "holds"  # switching is the only thing to do, and it goes on


def test_an_end_without_the_goal_is_a_violation() -> None:
    @rule(by="someone")
    def switch_off_for_good(s: Lamp) -> Step[Lamp]:
        yield "is on", s.on
        return attrs.evolve(s, on=False)

    @leads_to()
    def Breaks(s: Lamp) -> tuple[bool, bool]:
        return True, s.broken

    model = attrs.evolve(
        lamp((switch_off_for_good,), Breaks),
        initial=lambda bounds: [Lamp(on=True)],
        final=lambda s: not s.on,
    )
    (violation,) = explore(model.system()).violations
    assert (violation.name, violation.states) == ("Breaks", 2)
    assert violation.trace is not None
    assert violation.trace.loop is None


def test_a_behaviour_that_a_limit_stops_is_not_judged() -> None:
    verdict = checked((burn_out_at_the_edge,), weak=[], strong=[])
    assert verdict.verdict == "holds"
    assert verdict.edge_of_bounds == 1


@pytest.mark.parametrize(
    ("weak", "may_stop", "word"),
    [
        ([], True, "violated"),
        ([], False, "holds"),
        ([burn_out_at_the_edge], True, "holds"),  # beyond its limit, it would be taken
    ],
)
def test_a_behaviour_that_may_stop_is_excused_by_fair_rules_only(
    weak: list[Any], may_stop: bool, word: str
) -> None:
    @leads_to(weakly_fair=weak, may_stop=may_stop)
    def Breaks(s: Lamp) -> tuple[bool, bool]:
        return True, s.broken

    assert explore(lamp((burn_out_at_the_edge,), Breaks).system()).verdict == word


@pytest.mark.parametrize(("weak", "states"), [([], 1), ([switch], None)])
def test_a_behaviour_that_may_stop_need_not_take_unfair_rules(
    weak: list[Any], states: int | None
) -> None:
    @leads_to(weakly_fair=weak, may_stop=True)
    def ComesOn(s: Lamp) -> tuple[bool, bool]:
        return not s.on, s.on

    violations = explore(lamp((switch,), ComesOn).system()).violations
    assert [v.states for v in violations] == ([] if states is None else [states])


def test_a_reached_goal_may_be_left_again() -> None:
    @leads_to(weakly_fair=[switch])
    def ComesOn(s: Lamp) -> tuple[bool, bool]:
        return not s.on, s.on

    assert explore(lamp((switch,), ComesOn).system()).verdict == "holds"


def test_an_unreachable_trigger_is_no_violation() -> None:
    @leads_to()
    def AfterBreaking(s: Lamp) -> tuple[bool, bool]:
        return s.broken, s.on and s.broken

    assert explore(lamp((switch,), AfterBreaking).system()).verdict == "holds"


# -- fairness speaks of each choice by itself -----------------------------------------------------


@attrs.frozen
class Queue:
    served: frozenset[int] = frozenset()
    turns: int = 0


@rule(by="clerk", customer=lambda s: range(2))
def serve(s: Queue, customer: int) -> Queue:
    return Queue(s.served | {customer}, 1 - s.turns)


@pytest.mark.parametrize(("fair", "word"), [([serve], "holds"), ([], "violated")])
def test_fairness_applies_to_each_choice_separately(fair: list[Any], word: str) -> None:
    @leads_to(weakly_fair=fair)
    def BothAreServed(s: Queue) -> tuple[bool, bool]:
        return True, len(s.served) == 2

    model = Model(
        name="queue",
        doc="",
        initial=lambda bounds: [Queue()],
        properties=(BothAreServed,),
        variants=(Variant("queue", (serve,), why=""),),
    )
    assert explore(model.system()).verdict == word
