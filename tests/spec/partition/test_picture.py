"""Pictures of a partition: logs, brokers that are down or cut off, acknowledged records."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kspec.checkers.models.find import find_model
from kspec.checkers.models.stories import STORIES
from kspec.spec.core import Taken
from kspec.spec.core.picture import Lane, Picture
from kspec.spec.partition import Cluster
from kspec.spec.partition.picture import picture
from kspec.spec.partition.state import Broker


def drawn(name: str, index: int = -1) -> Picture:
    """A state of a story, with the step that led to it."""
    trace = STORIES[name].played()
    states = trace.states
    at = range(len(states))[index]
    step = attrs.evolve(trace.steps[at - 1], before=states[at - 1]) if at else None
    return picture(states[at], step)


def lane(drawing: Picture, name: str) -> Lane:
    return next(lane for lane in drawing.lanes if lane.name == name)


def texts(of: Lane) -> list[str]:
    return [cell.text + cell.sign for cell in of.cells if cell.text]


def band(of: Lane) -> str:
    assert of.band is not None
    return of.band.name


def test_a_lost_record_is_marked_where_its_producer_is() -> None:
    last = drawn("lost-after-restart")
    assert texts(lane(last, "producers")) == ["r0✓", "r1✓"]
    assert lane(last, "producers").facts == {"lost": "r1"}
    assert texts(lane(last, "consumers")) == ["r0", "r1"]
    assert [texts(lane(last, f"broker {b}")) for b in (0, 1)] == [["r0 e0✓"], ["r0 e0✓"]]
    assert lane(last, "producers").cells[1].place == "record 1"


def test_a_record_is_not_lost_while_a_broker_that_is_down_has_it() -> None:
    before = drawn("lost-after-restart", -3)
    assert band(lane(before, "broker 0")) == "down"
    assert lane(before, "producers").facts == {}


def test_marks_and_colours() -> None:
    last = drawn("kept-in-clean-elections")
    leader = lane(last, "broker 1")
    assert {mark.label: mark.at for mark in leader.marks} == {"HW": 3, "LEO": 3}
    assert [cell.colour for cell in leader.cells] == [0, 0, 1]
    assert leader.facts["epochs"] == "e0@0 e1@2"


@pytest.mark.parametrize(
    ("name", "index", "arrows"),
    [
        ("four-moments", 0, []),
        ("four-moments", 1, [("producers", "broker 0", "r0")]),
        ("four-moments", 2, [("broker 0", "broker 1", "r0, HW 0")]),
        (
            "four-moments",
            3,
            [
                ("broker 1", "broker 0", "fetch from offset 1"),
                ("broker 0", "producers", "ack r0"),
            ],
        ),
        ("four-moments", 4, [("broker 0", "broker 1", "HW 1")]),
        ("lost-after-restart", 12, [("controller", "broker 1", "follow broker 0 in epoch 1")]),
        ("lost-after-restart", 15, [("controller", "broker 1", "lead in epoch 2")]),
        ("kept-after-restart", 13, [("broker 0", "broker 1", "where the logs agree: offset 2")]),
        (
            "kept-after-restart",
            20,
            [
                ("broker 0", "broker 1", "fetch from offset 2"),
                ("broker 1", "controller", "ISR {0 1}"),
            ],
        ),
    ],
)
def test_messages_are_arrows(name: str, index: int, arrows: list[tuple[str, str, str]]) -> None:
    found = [(arrow.source, arrow.target, arrow.label) for arrow in drawn(name, index).arrows]
    assert found == arrows


def test_what_a_broker_does() -> None:
    def states(name: str, index: int) -> list[str]:
        return [band(lane) for lane in drawn(name, index).lanes if lane.band]

    assert states("kept-after-restart", 8) == ["leader", "down"]
    assert states("kept-after-restart", 11) == ["leader", "waiting"]
    assert states("kept-after-restart", 12) == ["leader", "truncating"]
    assert states("kept-after-restart", 13) == ["leader", "follower"]


def test_a_cut_off_leader_is_deposed_and_runs_on() -> None:
    model = find_model("partition")
    system = model.system("kafka-2.1", {"cut_offs": 1, "acks": 1})
    fences = next(rule for rule in system.rules if rule.name == "controller_fences_broker")
    before: Any = system.initial()[0]
    after = fences.attempt(before, (Broker(0), Broker(2)))
    assert isinstance(after, Cluster)
    choices = {"broker": Broker(0), "successor": Broker(2)}
    cut_off = lane(picture(after, Taken(fences.name, choices, before)), "broker 0")
    assert (band(cut_off), cut_off.role) == ("deposed", "cut off")


def test_every_term_of_a_story_is_explained() -> None:
    for name in (name for name, story in STORIES.items() if story.model == "partition"):
        last = drawn(name)
        facts = {fact for lane in last.lanes for fact in lane.facts}
        assert facts <= last.words.keys()
