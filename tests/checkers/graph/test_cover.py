"""Traces over every step: all are taken, and no other set of traces has fewer steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.graph.cover import edge_cover
from kspec.checkers.graph.graph import Graph, graph_of
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import SpecError, Taken

SMALL = {
    "replication": {"brokers": 2, "log_size": 1},
    "group": {"crashes": 0, "failovers": 0},
    "paxos": {"values": 1},
    "raft": {"entries": 0},
}
"""Bounds for models whose defaults, or first ones for mutation, are too large here."""


def graph_from(ways: Sequence[Sequence[int]]) -> Graph[int]:
    """A graph, given by where the steps out of each state lead; state 0 is initial."""
    reached = nx.single_source_shortest_path_length(
        nx.DiGraph([(a, b) for a, out in enumerate(ways) for b in out] + [(0, 0)]), 0
    )
    order = sorted(reached, key=lambda state: reached[state])
    number = {state: place for place, state in enumerate(order)}
    out = [[number[b] for b in ways[state]] for state in order]
    return Graph(
        system=find_model("counter").system(),
        keys=order,
        levels=np.array([reached[state] for state in order]),
        begins=np.cumsum([0, *map(len, out)]),
        to=np.array([b for after in out for b in after], np.int64),
        labels=np.zeros(sum(map(len, out)), np.int64),
        as_state=lambda key: key,
        acts=[Taken("step", {})],
    )


def fewest_steps(graph: Graph[Any]) -> int:
    """The smallest number of steps in a cover, by another solver."""
    flow: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    entered = np.bincount(graph.to, minlength=len(graph.keys)).tolist()
    left = np.diff(graph.begins).tolist()
    for state in range(len(graph.keys)):
        # Surplus arrivals at a state may end there, or continue.
        flow.add_node(state, demand=left[state] - entered[state])
        flow.add_edge(state, "outside", weight=0)
    flow.add_node("outside", demand=0)
    for state in range(graph.initial):
        flow.add_edge("outside", state, weight=0)
    for before, after in zip(graph.origins.tolist(), graph.to.tolist(), strict=True):
        flow.add_edge(before, after, weight=1)
    cost, _ = nx.network_simplex(nx.DiGraph(flow))
    return int(cost) + len(graph.to)


def assert_takes_every_step(graph: Graph[Any], traces: Sequence[Sequence[int]]) -> None:
    """Each trace is a behaviour from an initial state, and together they take every step."""
    for trace in traces:
        assert graph.origins[trace[0]] < graph.initial
        assert all(graph.to[a] == graph.origins[b] for a, b in itertools.pairwise(trace))
    assert {step for trace in traces for step in trace} == set(range(len(graph.to)))


@pytest.mark.parametrize(
    "model",
    [pytest.param(m, marks=[pytest.mark.slow] * (m == "partition")) for m in registered_models()],
)
def test_a_cover_of_a_model_takes_every_step_with_the_fewest_steps(model: str) -> None:
    found = find_model(model)
    first = found.baseline.bounds[0] if found.baseline else {}
    graph = graph_of(found.system(bounds=SMALL.get(model, first)))
    traces = edge_cover(graph)
    assert_takes_every_step(graph, traces)
    assert sum(map(len, traces)) == fewest_steps(graph)


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 7), max_size=4, unique=True), min_size=8, max_size=8))
def test_a_cover_of_any_graph_takes_every_step_with_the_fewest_steps(
    ways: list[list[int]],
) -> None:
    graph = graph_from(ways)
    traces = edge_cover(graph)
    assert_takes_every_step(graph, traces)
    assert sum(map(len, traces)) == fewest_steps(graph)


@pytest.mark.slow
def test_no_trace_exceeds_the_longest_allowed() -> None:
    graph = graph_of(find_model("replication").system(bounds={"brokers": 2}))
    free, short = edge_cover(graph), edge_cover(graph, longest=15)
    assert max(map(len, free)) > 15
    assert max(map(len, short)) == 15
    assert_takes_every_step(graph, short)
    with pytest.raises(SpecError, match="no trace of 3 takes them"):
        edge_cover(graph, longest=3)
