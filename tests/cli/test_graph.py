"""`kspec graph` at the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Kspec

SMALL = ["replication", "--set", "brokers=2"]


def test_a_folded_graph_is_listed(kspec: Kspec) -> None:
    done = kspec(
        "graph", "group", "--by", "group.state", "--set", "consumers=1", "--set", "crashes=0"
    )
    assert done.code == 0
    assert "5 boxes by group.state" in done.out
    assert "coordinator_accepts_sync" in done.out


@pytest.mark.slow
def test_the_pictures_of_the_page_are_what_the_command_writes(kspec: Kspec) -> None:
    pictures = Path(__file__).parents[2] / "docs" / "images"
    group = ("group", "--by", "group.state", "--set", "consumers=1")
    kspec("graph", *group, "--out", "g.svg")
    assert Path("g.svg").read_text() == (pictures / "graph-group.svg").read_text()
    kspec("graph", *SMALL, "--by", "quorum.leader,quorum.isr", "--out", "leaders.svg")
    assert Path("leaders.svg").read_text() == (pictures / "graph-leaders.svg").read_text()


@pytest.mark.parametrize("name", ["g.svg", "g.dot", "g.graphml"])
def test_a_file_is_written(name: str, kspec: Kspec) -> None:
    assert kspec("graph", "die-hard", "--out", name).code == 0
    assert "big" in Path(name).read_text()


def test_json_has_boxes_arrows_and_passages(kspec: Kspec) -> None:
    asked = ("die-hard", "--property", "GoalIsNeverMeasured", "--json")
    found = json.loads(kspec("graph", *asked, "--by", "big").out)
    assert found["folded_by"] == ["big"]
    assert sum(box["states"] for box in found["boxes"]) == found["states"]
    assert [box["values"] for box in found["boxes"] if box["fails"]] == [{"big": "4"}]
    (shared,) = found["passages"]
    checked = json.loads(kspec("check", *asked).out)
    assert [{"property": "GoalIsNeverMeasured", "states": shared["states"]}] == [
        {name: violation[name] for name in ("property", "states")}
        for violation in checked["violations"]
    ]
    assert shared["paths"] >= 1
    assert {"big": "4"} in shared["values"]


def test_a_property_that_holds_has_no_counterexample(kspec: Kspec) -> None:
    done = kspec("graph", "watermarks", "--property", "HighWatermarkWithinLog")
    assert "HighWatermarkWithinLog holds in every state" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["watermarks", "--out", "g.png"], 2, ".svg, .dot, .graphml"),
        (["group", "--by", "grup.state"], 151, "did you mean group?"),
        (["group", "--out", "g.svg"], 151, "fold it with --by"),
        (["watermarks", "--property", "Foo"], 151, "no property of watermarks named"),
        (["group", "--property", "GroupSettles"], 151, "is a liveness property"),
        ([*SMALL, "--max-states", "10"], 151, "more than 10 states"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], code: int, said: str, kspec: Kspec) -> None:
    done = kspec("graph", *arguments)
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert said in done.err
    assert not list(Path().glob("g.*"))
