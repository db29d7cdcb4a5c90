"""A diagram has an arrow if, and only if, the graph has a step."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import networkx as nx
import pytest

from kspec.checkers.graph.diagram import Diagram, folded, value_at, whole
from kspec.checkers.graph.drawing import MOST_BOXES, svg
from kspec.checkers.graph.formats import dot, graphml
from kspec.checkers.graph.graph import graph_of
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError

SMALL = {"brokers": 2, "log_size": 1, "max_records": 1, "max_epoch": 0}


def by_leader() -> Diagram:
    graph = graph_of(find_model("replication").system("kip-101", SMALL))
    return folded(graph, ["quorum.leader", "quorum.isr"], "leaders <&>", {3: "StrongIsr"})


def test_the_whole_graph_has_a_box_for_each_state_and_all_steps() -> None:
    graph = graph_of(find_model("watermarks").system())
    diagram = whole(graph, "watermarks", {1: "Some"})
    assert [box.level for box in diagram.boxes] == graph.levels.tolist()
    assert [box.fails for box in diagram.boxes] == ["", "Some", "", ""]
    assert sum(sum(arrow.steps.values()) for arrow in diagram.arrows) == len(graph.to)
    pairs = set(zip(graph.origins.tolist(), graph.to.tolist(), strict=True))
    assert {(arrow.source, arrow.target) for arrow in diagram.arrows} == pairs
    assert "follower_fetches(follower=0)" in {rule for a in diagram.arrows for rule in a.steps}


def test_a_folded_graph_counts_states_and_steps_between_boxes() -> None:
    system = find_model("replication").system("kip-101", SMALL)
    graph, diagram = graph_of(system), by_leader()
    states = [graph.state(number) for number in range(len(graph.keys))]

    def box(state: object) -> tuple[int, frozenset[int]]:
        quorum = value_at(state, "quorum")
        return quorum.leader, quorum.isr

    assert sorted(box.states for box in diagram.boxes) == sorted(Counter(map(box, states)).values())
    crossing = Counter(
        rule.name
        for state in states
        for rule, _, after in system.steps(state)
        if box(after) != box(state)
    )
    counted: Counter[str] = Counter()
    for arrow in diagram.arrows:
        assert arrow.source != arrow.target
        counted.update(arrow.steps)
    assert counted == crossing
    assert [box.fails for box in diagram.boxes].count("StrongIsr") == 1


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("quorun", "did you mean quorum?"),
        ("quorum.epoch.x", "a int has no part x"),
        ("views.2.hw", "0 to 1"),
        ("views.first", "0 to 1"),
        ("requests.0", "none, since it is empty"),
    ],
)
def test_an_unknown_field_is_named(field: str, said: str) -> None:
    (state,) = find_model("replication").system("kip-101", SMALL).initial()
    with pytest.raises(SpecError, match=re.escape(said)):
        value_at(state, field)


def test_graphml_is_read_by_networkx() -> None:
    diagram = by_leader()
    text = "\n".join(graphml(diagram))
    read = nx.read_graphml(io.BytesIO(text.encode()))
    assert len(read.nodes) == len(diagram.boxes)
    assert len(read.edges) == len(diagram.arrows)
    box, node = diagram.boxes[0], read.nodes["n0"]
    assert (node["level"], node["states"], node["initial"]) == (box.level, box.states, True)
    assert node["quorum.isr"] == box.values["quorum.isr"]
    assert [n for n in read.nodes if read.nodes[n].get("fails")] == [
        f"n{number}" for number, box in enumerate(diagram.boxes) if box.fails
    ]


def test_dot_names_each_box_and_arrow() -> None:
    diagram = by_leader()
    lines = list(dot(diagram))
    assert lines[0] == 'digraph "leaders <&>" {'
    assert sum(" -> " in line for line in lines) == len(diagram.arrows)
    assert sum("color=red" in line for line in lines) == 1


def test_a_picture_shows_every_box_and_every_rule() -> None:
    diagram = by_leader()
    root = ElementTree.fromstring(svg(diagram))
    text = "".join(root.itertext())
    assert "leaders <&>" in text
    assert len(root.findall(".//{*}rect[@class='box']")) == len(diagram.boxes)
    assert len(root.findall(".//{*}path[@class='arrow']")) == len(diagram.arrows)
    for arrow in diagram.arrows:
        assert all(rule in text for rule in arrow.steps)


def test_a_picture_that_nobody_can_read_is_refused() -> None:
    diagram = by_leader()
    many = Diagram("", (), diagram.boxes * (MOST_BOXES // len(diagram.boxes) + 1), ())
    with pytest.raises(SpecError, match="fold it with --by"):
        svg(many)
