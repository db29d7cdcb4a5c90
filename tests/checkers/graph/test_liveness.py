"""Liveness: fairness, stuttering, shortest lassos, and what bounds cut off."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec import examples
from kspec.checkers.engine.liveness import lasso, passes
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import BOUNDS, EXIT_INCONCLUSIVE, EXIT_LEADS_TO
from kspec.spec.core import (
    EventuallyAlways,
    InfinitelyOften,
    LeadsTo,
    Model,
    Rule,
    SpecError,
    Step,
    System,
    Variant,
    budget,
    evolve,
    leads_to,
    limit,
    rule,
    together,
)
from kspec.traces.itf import parse, to_itf
from kspec.traces.replay import replay
from kspec.traces.trace import STUTTERING
from tests.checkers.graph.lassos import is_behaviour, is_violation, shortest_violation
from tests.checkers.graph.toys import TOYS, Lamp, Twins, leading, serve

VERDICTS = json.loads((Path(__file__).parent / "tla" / "verdicts.json").read_text())
"""By module, specification and property: TLC's verdict (`tla/record.py`)."""

CASES = [
    (module, specification, prop)
    for module, specifications in VERDICTS.items()
    for specification, properties in specifications.items()
    for prop in properties
]


def test_every_toy_is_compared_with_tlc() -> None:
    asked = {
        (name, specification, prop)
        for name, toy in TOYS.items()
        for specification in toy.specifications
        for prop in toy.properties
    }
    assert asked == set(CASES)


@pytest.mark.parametrize(("module", "specification", "prop"), CASES)
def test_verdicts_are_those_of_tlc(module: str, specification: str, prop: str) -> None:
    verdict = explore(TOYS[module].system(specification, prop))
    assert verdict.verdict == VERDICTS[module][specification][prop]


@pytest.mark.parametrize(("module", "specification", "prop"), CASES)
def test_counterexamples_are_the_shortest_lassos(
    module: str, specification: str, prop: str
) -> None:
    system = TOYS[module].system(specification, prop)
    assert_shortest(system, most=5)


def assert_shortest(system: System[Any], most: int) -> None:
    """What is reported is a lasso that violates the property, and no shorter one does."""
    (prop,) = system.properties
    violations = explore(system).violations
    states = violations[0].states if violations else most + 1
    assert shortest_violation(system, min(states, most)) == (states if states <= most else None)
    for violation in violations:
        trace = violation.trace
        assert trace is not None
        assert trace.loop is not None
        walked = [*trace.states, trace.states[trace.loop]]
        assert is_behaviour(system, list(trace.states), trace.loop)
        assert is_violation(system, prop, list(trace.states), trace.loop)
        assert len(trace.steps) == len(trace.states)
        assert all(a != b for a, b in pairwise(walked[:-1]))


# -- random graphs --------------------------------------------------------------------------------


def random_system(draw: random.Random) -> System[Any]:
    """Up to five states, four rules, and a property of some kind under some fairness."""
    size = draw.randint(2, 5)
    edges = [
        (draw.choice("abcd"), draw.randrange(size), draw.randrange(size))
        for _ in range(draw.randint(2, 9))
    ]
    rules = [
        several(name, [(a, b) for other, a, b in edges if other == name])
        for name in sorted({name for name, _, _ in edges})
    ]
    weak, strong = (
        [together(r) if draw.random() < 0.3 else r for r in rules if draw.random() < 0.5]
        for _ in range(2)
    )
    kind = draw.choice([LeadsTo, InfinitelyOften, EventuallyAlways])
    first, second = (frozenset(n for n in range(size) if draw.random() < 0.5) for _ in range(2))
    body = (lambda s: (s.x in first, s.x in second)) if kind is LeadsTo else lambda s: s.x in second
    return model_of(rules, kind("Random", body, weak, strong)).system()


def several(name: str, edges: list[tuple[int, int]]) -> Rule[Twins]:
    """A rule whose choices are steps."""

    def body(s: Twins, edge: int) -> Step[Twins]:
        yield "is there", s.x == edges[edge][0]
        return Twins(edges[edge][1])

    return Rule(name, "x", {"edge": lambda s: range(len(edges))}, body)


def model_of(rules: Any, prop: Any, **given: Any) -> Model[Any]:
    return Model(
        name="random",
        doc="",
        initial=lambda bounds: [Twins()],
        properties=(prop,),
        variants=(Variant("random", tuple(rules), why=""),),
        final=lambda s: True,
        **given,
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_have_the_shortest_lassos(seed: int) -> None:
    assert_shortest(random_system(random.Random(seed)), most=6)


@pytest.mark.parametrize("seed", range(20))
def test_learned_rules_give_the_same_verdict(seed: int) -> None:
    system = random_system(random.Random(seed))
    reference, learned = (run(system, Options(engine=e)) for e in ("reference", "learned"))
    assert learned.verdict == reference.verdict
    assert learned.liveness == reference.liveness
    assert [v.states for v in learned.violations] == [v.states for v in reference.violations]


@pytest.mark.slow
def test_compiled_passes_give_the_same_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = [random_system(random.Random(seed)) for seed in range(120, 180)]
    plain = [explore(system) for system in systems]
    monkeypatch.setattr(passes, "MANY", 0)
    for system, verdict in zip(systems, plain, strict=True):
        again = explore(system)
        assert again.violations == verdict.violations
        assert again.liveness == verdict.liveness


@pytest.mark.slow
def test_a_search_that_is_given_up_reports_a_fair_lasso(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasso, "MOST_WORK", -1)
    for seed in range(120):
        system = random_system(random.Random(seed))
        for violation in explore(system).violations:
            assert violation.trace is not None
            trace, (prop,) = violation.trace, system.properties
            assert trace.loop is not None
            assert is_violation(system, prop, list(trace.states), trace.loop)
            if trace.loop < len(trace.states) - 1:
                assert "a shorter one may exist" in violation.says


# -- stuttering -----------------------------------------------------------------------------------


def test_two_polite_people_never_pass() -> None:
    verdict = explore(examples.CORRIDOR.system("both-polite"))
    (violation,) = verdict.violations
    assert (violation.name, violation.exit_code) == ("TheyPass", EXIT_LEADS_TO)
    assert violation.trace is not None
    assert violation.trace.loop == 0
    assert violation.states == 2


def test_one_polite_person_is_enough() -> None:
    assert explore(examples.CORRIDOR.system("one-steps-aside")).verdict == "holds"


def test_stuttering_is_a_loop_of_one_state() -> None:
    system = TOYS["Lamp"].system("None", "Breaks")
    (violation,) = explore(system).violations
    trace = violation.trace
    assert trace is not None
    assert violation.says == "Breaks fails: the behaviour stops before it holds"
    assert (len(trace.states), trace.loop, trace.steps[-1].rule) == (1, 0, STUTTERING)
    document = parse(json.dumps(to_itf(trace)), "trace")
    assert document.loop == 0
    assert replay(system, document) == trace


def test_the_loop_rather_than_the_stem_may_pass_the_trigger() -> None:
    toy = TOYS["Channel"]
    prop: Any = LeadsTo("Arrives", lambda s: (s.in_flight, s.received), toy.rules[:2])
    system = attrs.evolve(toy.system("None", "Arrives"), properties=(prop,), rules=toy.rules[:2])
    assert_shortest(system, most=4)
    (violation,) = explore(system).violations
    assert violation.trace is not None
    assert (violation.states, violation.trace.loop) == (2, 0)


# -- what the bounds cut off ----------------------------------------------------------------------


@rule(by="time")
def burn_out_at_the_edge(s: Lamp) -> Step[Lamp]:
    yield limit("is old enough"), False
    return evolve(s, broken=True)


@rule(by="time")
def burn_out_by_fault(s: Lamp) -> Step[Lamp]:
    yield budget("a fault is left"), False
    return evolve(s, broken=True)


@rule(by="someone")
def switch(s: Lamp) -> Step[Lamp]:
    yield "works", not s.broken
    return evolve(s, on=not s.on)


def lamp(rules: Any, weak: Any, strong: Any = ()) -> System[Any]:
    prop: Any = LeadsTo("Breaks", lambda s: (True, s.broken), weak, strong)
    return attrs.evolve(model_of(rules, prop), initial=lambda bounds: [Lamp()]).system()


@pytest.mark.parametrize("engine", ["reference", "learned"])
def test_a_behaviour_that_only_a_limit_stops_is_undecided(engine: str) -> None:
    verdict = run(lamp([burn_out_at_the_edge], [burn_out_at_the_edge]), Options(engine=engine))
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", BOUNDS)
    assert (verdict.exit_code, verdict.violations) == (EXIT_INCONCLUSIVE, [])
    (count,) = verdict.liveness
    assert (count.property, count.verdict) == ("Breaks", "inconclusive")
    assert (count.states, count.cut_off) == (1, 1)
    assert verdict.to_json(0)["liveness"] == [
        {"property": "Breaks", "verdict": "inconclusive", "states": 1, "cut_off": 1}
    ]


def test_a_limit_of_an_unfair_rule_excuses_nothing() -> None:
    assert explore(lamp([burn_out_at_the_edge], [])).verdict == "violated"


def test_a_budget_of_faults_excuses_nothing() -> None:
    assert explore(lamp([burn_out_by_fault], [burn_out_by_fault])).verdict == "violated"


@pytest.mark.parametrize(
    ("weak", "strong"), [([switch, burn_out_at_the_edge], []), ([switch], [burn_out_at_the_edge])]
)
def test_a_loop_that_only_a_limit_keeps_is_undecided(weak: Any, strong: Any) -> None:
    verdict = explore(lamp([switch, burn_out_at_the_edge], weak, strong))
    (count,) = verdict.liveness
    assert (count.verdict, count.cut_off) == ("inconclusive", 2)


# -- what is asked --------------------------------------------------------------------------------


def test_an_unreachable_trigger_is_no_violation() -> None:
    prop: Any = LeadsTo("Never", lambda s: (s.x > 1, False))
    assert explore(model_of([leading("up", 0, 1)], prop).system()).verdict == "holds"


def test_a_fair_function_that_is_no_rule_is_rejected() -> None:
    with pytest.raises(SpecError, match="explore cannot be fair: name a rule"):
        leads_to(weakly_fair=[explore])(lambda s: (True, True))  # type: ignore[arg-type]


def test_a_fair_rule_without_a_list_is_rejected() -> None:
    with pytest.raises(SpecError, match="fair rules are a list"):
        leads_to(weakly_fair=serve)(lambda s: (True, True))  # type: ignore[arg-type]


def raises(s: Any) -> bool:
    return bool(s.no_such_field)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        (LeadsTo, lambda s: s.x > 1, "Stated returns False, and should return two conditions"),
        (LeadsTo, lambda s: (yield "x", True), "Stated yields claims, and should return two"),
        (InfinitelyOften, lambda s: None, "Stated returns None, and should return True or False"),
        (EventuallyAlways, lambda s: (yield "x", True), "yields claims, and should return True"),
        (EventuallyAlways, raises, "Stated raised AttributeError: .* \\(test_liveness.py, line"),
    ],
)
def test_a_misstated_property_is_reported_in_one_line(
    kind: Any, body: Any, says: str, engine: str
) -> None:
    system = model_of([leading("up", 0, 1)], kind("Stated", body)).system()
    with pytest.raises(SpecError, match=says):
        run(system, Options(engine=engine))


def test_an_unknown_choice_is_rejected() -> None:
    with pytest.raises(SpecError, match="serve has no choice clerk"):
        together(serve, each=["clerk"])


def test_a_model_may_ask_several_kinds_at_once() -> None:
    toy = TOYS["Lamp"]
    properties = [
        kind(name, body, *toy.specifications["WeakAndStrong"])
        for name, (kind, body) in toy.properties.items()
    ]
    system = attrs.evolve(toy.system("None", "Breaks"), properties=tuple(properties))
    verdict = explore(system, Options(keep_going=True))
    assert {count.property: count.verdict for count in verdict.liveness} == VERDICTS["Lamp"][
        "WeakAndStrong"
    ]
