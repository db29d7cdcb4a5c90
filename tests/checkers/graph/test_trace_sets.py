"""Sets of traces: the counted traces are generated, and the rules allow them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from kspec.checkers.graph.graph import Graph, graph_of
from kspec.checkers.graph.trace_sets import TraceSet, all_up_to, over_every_step, to_every_state
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError, System

TWO_BROKERS = find_model("replication").system(
    bounds={"brokers": 2, "log_size": 1, "max_records": 1}
)
GRAPH = graph_of(TWO_BROKERS)


def states_of(graph: Graph[Any], found: TraceSet) -> list[tuple[Any, ...]]:
    """The traces of a set as states, after checking that they are numbered one by one."""
    traces: list[tuple[Any, ...]] = []
    for piece in found.pieces:
        for number, initial, steps in piece.rows(graph):
            assert number == len(traces)
            numbers = [initial, *(int(graph.to[step]) for step in steps)]
            traces.append(tuple(graph.state(n) for n in numbers))
    assert len(traces) == found.traces
    assert sum(len(trace) - 1 for trace in traces) == found.steps
    assert max(len(trace) - 1 for trace in traces) == found.longest
    return traces


def all_by_rules(system: System[Any], length: int) -> Iterator[tuple[Any, ...]]:
    """All traces of this length, and those that end earlier, by the rules."""

    def onward(trace: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        steps = [after for _, _, after in system.steps(trace[-1])]
        if len(trace) > length or not steps:
            yield trace
        else:
            for after in steps:
                yield from onward((*trace, after))

    for state in system.initial():
        yield from onward((state,))


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 1, 5])
def test_all_traces_are_those_that_the_rules_allow(length: int) -> None:
    made = states_of(GRAPH, all_up_to(GRAPH, length, 10_000))
    assert sorted(made, key=repr) == sorted(all_by_rules(TWO_BROKERS, length), key=repr)


def test_traces_that_end_early_are_among_all_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.graph.trace_sets.TOGETHER", 2)
    system = find_model("two-phase-lock").system()
    graph = graph_of(system)
    made = states_of(graph, all_up_to(graph, 30, 100_000))
    assert len({len(trace) for trace in made}) > 1
    assert sorted(made, key=repr) == sorted(all_by_rules(system, 30), key=repr)


def test_more_traces_than_the_limit_are_refused_before_any_is_made() -> None:
    count = len(list(all_by_rules(TWO_BROKERS, 5)))
    assert all_up_to(GRAPH, 5, count).traces == count
    with pytest.raises(SpecError, match=f"there are {count:,} traces of up to 5 steps"):
        all_up_to(GRAPH, 5, count - 1)
    with pytest.raises(SpecError, match=r"there are about \d\.\de\+\d+ traces"):
        all_up_to(graph_of(find_model("die-hard").system()), 100, 10**9)


@pytest.mark.slow
def test_a_shortest_trace_leads_to_every_state() -> None:
    traces = states_of(GRAPH, to_every_state(GRAPH))
    assert len({trace[-1] for trace in traces}) == len(GRAPH.keys) == len(traces)
    shortest: dict[Any, int] = {}
    level = TWO_BROKERS.initial()
    while level:
        depth = 1 + max(shortest.values(), default=0)
        shortest.update(dict.fromkeys(level, depth))
        after = {a for s in level for _, _, a in TWO_BROKERS.steps(s)}
        level = [state for state in after if state not in shortest]
    assert {trace[-1]: len(trace) for trace in traces} == shortest


def test_learned_rules_and_rules_produce_the_same_graph() -> None:
    def steps(graph: Graph[Any]) -> set[tuple[Any, str, Any]]:
        found = set()
        for step, (before, after) in enumerate(zip(graph.origins, graph.to, strict=True)):
            state = graph.state(before)
            found.add((state, repr(graph.taken(step)), graph.state(after)))
        return found

    by_learning, by_rules = steps(GRAPH), steps(graph_of(TWO_BROKERS, by_rules=True))
    assert by_learning == by_rules
    assert len(by_learning) == len(GRAPH.to)


def test_a_graph_that_is_too_large_is_refused() -> None:
    with pytest.raises(SpecError, match="more than 100 states"):
        graph_of(TWO_BROKERS, max_states=100)


@pytest.mark.slow
def test_every_step_of_three_brokers_is_taken() -> None:
    """The traces, as states alone, take every step that the rules allow."""
    system = find_model("replication").system(bounds={"max_records": 1})
    graph = graph_of(system)
    traces = states_of(graph, over_every_step(graph))
    initial = set(system.initial())
    assert all(trace[0] in initial for trace in traces)
    taken = {pair for trace in traces for pair in itertools.pairwise(trace)}
    allowed, todo, seen = set(), list(initial), set(initial)
    while todo:
        state = todo.pop()
        for _, _, after in system.steps(state):
            allowed.add((state, after))
            if after not in seen:
                seen.add(after)
                todo.append(after)
    assert len(seen) == 6_787
    assert taken == allowed
