"""The states and steps within the bounds: the same from learned rules as from the rules."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pytest

from kspec import examples
from kspec.checkers.cli.options import Asked
from kspec.checkers.engine.learned.steps import StepsByLearning
from kspec.checkers.engine.liveness.judge import judge
from kspec.checkers.engine.liveness.region import with_beyond
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.engine.steps import StepsByRules, level_by_level
from kspec.checkers.graph.graph import Graph, graph_of, graph_up_to, source_of, states_of
from kspec.checkers.graph.trace_sets import over_every_step
from kspec.checkers.models.find import find_model
from kspec.checkers.models.named import Named
from kspec.spark_check.traces import Shipped
from kspec.spec.core import (
    LeadsTo,
    Liveness,
    Model,
    NoBounds,
    Rule,
    Step,
    System,
    Variant,
    leads_to,
    limit,
    rule,
)

GROUP = find_model("group")
REPLICATION = find_model("replication")
DELIVERY = find_model("delivery")
OFFSETS_TOPIC = find_model("offsets-topic")

NOTHING_FAILS = {"crashes": 0, "failovers": 0}
SMALL_GROUP = NOTHING_FAILS | {"ids": 1, "generations": 2}


def assert_same(one: Graph[Any], two: Graph[Any]) -> None:
    """Two graphs have the same states and steps, in the same order."""
    for name in ("levels", "begins", "to", "labels"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert [one.state(n) for n in range(len(one.keys))] == [
        two.state(n) for n in range(len(two.keys))
    ]
    for step in range(len(one.to)):
        assert one.taken(step) == two.taken(step)


def both(system: System[Any]) -> Graph[Any]:
    """The graph by learned rules, which is that by the rules."""
    learned = graph_up_to(StepsByLearning(system))[0]
    assert_same(graph_up_to(StepsByRules(system))[0], learned)
    return learned


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "variant", "bounds", "states"),
    [
        ("counter", None, {}, 6),
        ("die-hard", None, {}, 16),
        ("two-phase-lock", None, {}, 13),
        ("corridor", None, {}, 2),
        ("watermarks", None, {}, 4),
        ("replication", None, {"brokers": 2}, 957),
        ("delivery", None, DELIVERY.baseline.bounds[0], 648),
        ("offsets-topic", None, OFFSETS_TOPIC.baseline.bounds[0], 802),
        ("group", "eager", NOTHING_FAILS, 463),
        ("group", "cooperative", NOTHING_FAILS, 1090),
    ],
)
def test_learned_rules_produce_the_same_graph(
    model: str, variant: str | None, bounds: dict[str, int], states: int
) -> None:
    system = find_model(model).system(variant, bounds)
    assert len(both(system).keys) == states == len(graph_of(system).keys)


# -- models in which learning is not straightforward -----------------------------------------------


@attrs.frozen
class Log:
    items: tuple[int, ...] = (0,)
    turns: int = 0


@attrs.frozen
class Closed:
    items: int = 0


def model(initial: Any, *rules: Rule[Any], properties: Iterable[Any] = ()) -> System[Any]:
    """A model of these rules."""
    return Model(
        name="odd",
        doc="",
        initial=lambda bounds: [initial],
        properties=tuple(properties),
        bounds=NoBounds,
        variants=(Variant("odd", rules, why=""),),
        final=lambda s: True,
    ).system()


@rule(by="clock")
def tick(s: Log) -> Step[Log]:
    yield limit("has turns left"), s.turns < 40
    return attrs.evolve(s, turns=s.turns + 1)


@rule(by="someone", item=lambda s: range(2))
def append(s: Log, item: int) -> Step[Log]:
    yield "is late", s.turns > 30
    yield limit("has room"), len(s.items) < 4
    return attrs.evolve(s, items=(*s.items, item))


def test_the_length_of_a_tuple_may_change_after_many_states() -> None:
    graph = both(model(Log(), tick, append))
    assert len({len(graph.state(n).items) for n in range(len(graph.keys))}) == 4


def test_states_may_have_different_classes() -> None:
    @rule(by="someone")
    def close(s: Any) -> Step[Any]:
        yield "is open", isinstance(s, Log)
        yield "is late", s.turns == 39
        return Closed(len(s.items))

    @rule(by="clock")
    def tick_if_open(s: Any) -> Step[Any]:
        yield "is open", isinstance(s, Log)
        return (yield from tick.body(s))

    assert len(both(model(Log(), tick_if_open, close)).keys) == 42


@pytest.mark.slow
def test_states_may_need_more_bits_later() -> None:
    @rule(by="clock", step=lambda s: (1, 7))
    def count(s: Log, step: int) -> Step[Log]:
        yield limit("is small"), s.turns < 3000
        return attrs.evolve(s, turns=s.turns + step, items=(s.turns % 1000,))

    assert len(both(model(Log(), count)).keys) > 3000


def test_choices_may_be_listed_in_different_orders() -> None:
    def turned(s: Log) -> list[int]:
        return [0, 1, 2] if s.turns % 2 else [2, 0, 1]

    @rule(by="someone", item=turned)
    def put(s: Log, item: int) -> Step[Log]:
        yield limit("has turns left"), s.turns < 5
        return Log((item,), s.turns + 1)

    graph = both(model(Log(), put))
    first = [graph.taken(step).choices["item"] for step in range(3)]
    assert first == [2, 0, 1]


@pytest.mark.parametrize("make", [StepsByLearning, StepsByRules])
def test_an_exception_in_a_rule_is_raised(make: Callable[[System[Any]], Any]) -> None:
    @rule(by="someone")
    def fail(s: Log) -> Step[Log]:
        yield "is late", s.turns == 20
        raise ZeroDivisionError("late")

    with pytest.raises(ZeroDivisionError, match="late"):
        graph_up_to(make(model(Log(), tick, fail)))


# -- states, nearest first -------------------------------------------------------------------------


@pytest.mark.slow
def test_states_are_found_nearest_first_and_level_by_level() -> None:
    system = GROUP.system("eager", SMALL_GROUP)
    by_rules = list(states_of(system, by_rules=True))
    assert list(states_of(system)) == by_rules
    source = source_of(system)
    levels = level_by_level(source)
    assert len(next(levels)) == len(source.keys) == 1
    assert next(levels) == range(1, len(source.keys))


def test_a_way_to_a_state_is_a_shortest_behaviour() -> None:
    system = GROUP.system("eager", SMALL_GROUP)
    source = source_of(system)
    depth = {source.state(n): d for d, level in enumerate(level_by_level(source)) for n in level}
    last = source.state(len(source.keys) - 1)
    way = source.way_to(last)
    assert (len(way) - 1, way[-1]) == (depth[last], last)
    for before, after in pairwise(way):
        assert any(state == after for _, _, state in system.steps(before))


@pytest.mark.parametrize("where", ["replication", "group"])
def test_a_shipped_graph_equals_the_original(where: str) -> None:
    bounds = {"group": SMALL_GROUP, "replication": {"brokers": 2, "log_size": 1}}[where]
    settings = [f"{bound}={value}" for bound, value in bounds.items()]
    name = Named.of(where, Asked(where, None, settings).system())
    graph = graph_of(name.system())
    shipped = Shipped.of(name, graph, over_every_step(graph).pieces)
    assert_same(graph, pickle.loads(pickle.dumps(shipped)).graph)


# -- liveness properties ---------------------------------------------------------------------------


def never_full(weak: Iterable[Rule[Any]]) -> LeadsTo[Any]:
    """From the twentieth turn on, the log is full at some point."""

    @leads_to(weakly_fair=tuple(weak))
    def LogFills(s: Log) -> tuple[bool, bool]:
        return s.turns >= 20, len(s.items) == 4

    return LogFills


@rule(by="clock")
def wind(s: Log) -> Log:
    return attrs.evolve(s, turns=(s.turns + 1) % 40)


@pytest.mark.parametrize(("weak", "word"), [([append], "violated"), ([], "violated")])
def test_both_graphs_judge_a_leads_to_property_alike(weak: list[Rule[Any]], word: str) -> None:
    """Appending is enabled only intermittently, which weak fairness ignores."""
    system = model(Log(), wind, append, properties=[never_full(weak)])
    learned, reference = (run(system, Options(engine=e)) for e in ("learned", "reference"))
    assert learned.verdict == reference.verdict == word
    assert learned.violations == reference.violations
    (violation,) = learned.violations
    assert violation.trace is not None
    assert violation.trace.loop is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "bounds"),
    [
        ("eager", NOTHING_FAILS),
        ("eager", {"consumers": 1, "losses": 1, "stalls": 1, "ids": 3, "generations": 5}),
        ("cooperative", NOTHING_FAILS | {"ids": 1}),
        ("before-kafka-12890", SMALL_GROUP | {"consumers": 1, "losses": 1, "stalls": 1}),
    ],
)
def test_both_graphs_judge_group_settles_alike(variant: str, bounds: dict[str, int]) -> None:
    system = GROUP.system(variant, NOTHING_FAILS | bounds).with_properties(["GroupSettles"])
    (prop,) = system.properties
    assert isinstance(prop, LeadsTo)
    by_learning = list(judge(system, [prop], StepsByLearning))
    assert by_learning == list(judge(system, [prop], StepsByRules))
    learned, by_rules = StepsByLearning(system), StepsByRules(system)
    assert len(graph_up_to(learned)[0].keys) == len(graph_up_to(by_rules)[0].keys)
    for one, two in zip(learned.judged(prop), by_rules.judged(prop), strict=True):
        assert np.array_equal(one, two)


def test_what_limits_block_is_learned_from_the_guards() -> None:
    """A question that reads all of the state is learned anew in each state: this took minutes."""
    system = REPLICATION.system("kip-279", {"brokers": 2}).with_all_properties()
    extended, beyond = with_beyond(
        system, [p for p in system.properties if isinstance(p, Liveness)]
    )
    source = StepsByLearning(extended)
    states = len(graph_up_to(source)[0].keys)
    asked = [i for i in source.learning.book.instances if i.asked in beyond]
    assert asked
    assert max(i.runs for i in asked) < states / 10


def test_a_small_system_with_a_leads_to_property_is_left_to_the_reference_engine() -> None:
    assert run(examples.CORRIDOR.system("both-polite")).engine == "reference"


@pytest.mark.slow
def test_learned_rules_check_a_leads_to_property() -> None:
    bounds = NOTHING_FAILS | {"consumers": 1, "losses": 1, "stalls": 1, "ids": 3, "generations": 5}
    system = GROUP.system("eager", bounds).with_properties(["GroupSettles"])
    verdict = run(system, Options("learned"))
    assert (verdict.verdict, verdict.distinct) == ("holds", 1240)
