"""State diagrams from the explored graph."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from kspec.checkers.graph.transitions import transitions
from kspec.checkers.models.find import find_model
from kspec.spec.core import Model, NoBounds, SpecError, Variant, rule
from kspec.spec.group.properties import LEGAL, states_passed
from kspec.spec.messages import GroupState

GROUP = find_model("group")

DOCS = Path(__file__).parents[3] / "docs"


@attrs.frozen
class Light:
    colour: str = "red"
    times: int = 0


@rule(by="clock")
def turn(s: Light) -> Light:
    """To the next colour; red comes only after two more."""
    return Light("red" if s.colour == "green" else "green", (s.times + 1) % 3)


@rule(by="clock")
def wait(s: Light) -> Light:
    """Nothing changes."""
    return s


LIGHT = Model(
    name="light",
    doc="A light.",
    initial=lambda bounds: [Light()],
    properties=(),
    bounds=NoBounds,
    variants=(Variant("only", (turn, wait), "It is a light."),),
)


def test_a_change_is_found_with_the_rules_that_make_it() -> None:
    found = transitions([LIGHT.system()], lambda before, after: [before.colour, after.colour])
    assert found == {("red", "green"): {"turn"}, ("green", "red"): {"turn"}}


def test_a_step_may_go_through_several_states() -> None:
    found = transitions(
        [LIGHT.system()], lambda before, after: [before.colour, "amber", after.colour]
    )
    assert found["red", "amber"] == {"turn", "wait"}
    assert ("red", "green") not in found


def test_more_states_than_allowed_are_an_error() -> None:
    with pytest.raises(SpecError, match="more than 2 states"):
        transitions([LIGHT.system()], lambda before, after: [], max_states=2)


# -- the states of a group --------------------------------------------------------------------


@pytest.mark.slow
def test_exactly_the_legal_transitions_of_a_group_occur() -> None:
    """In two small sets of bounds: with a static member that crashes, and with a failover."""
    systems = [GROUP.system(None, bounds) for bounds in GROUP.baseline.bounds[1:3]]
    assert transitions(systems, states_passed).keys() == LEGAL


def drawing_tool() -> ModuleType:
    """The script that makes the page's diagram."""
    path = DOCS / "tools" / "states.py"
    spec = importlib.util.spec_from_file_location("states", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_about_groups_shows_the_legal_transitions() -> None:
    text = (DOCS / "group.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (\w+) \| (.+?) \|", text, flags=re.MULTILINE)
    assert {(GroupState(a), GroupState(b)) for _, a, b, _ in rows} == LEGAL
    drawn = (DOCS / "images" / "group-found.svg").read_text(encoding="utf-8")
    numbers = re.findall(r'<g class="(\w+)">.*?>(\d+)</text>', drawn, flags=re.DOTALL)
    assert {n: kind for kind, n in numbers} == {
        n: "only" if "not drawn" in said else "usual" for n, _, _, said in rows
    }


@pytest.mark.slow
def test_the_group_diagram_is_up_to_date() -> None:
    for path, text in drawing_tool().files().items():
        assert path.read_text(encoding="utf-8") == text, f"run docs/tools/states.py for {path}"
