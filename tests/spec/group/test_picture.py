"""How a group is drawn: states as bands, partitions as cell_reads, messages as arrows."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference, explore
from kspec.checkers.engine.search import Search
from kspec.spec.core import Always, Blocked, Taken
from kspec.spec.core.picture import Arrow, Cell, Picture
from kspec.spec.group import GROUP
from kspec.spec.group.picture import COORDINATOR, picture
from kspec.spec.group.state import Inbound, World
from kspec.traces.trace import Trace


def play(steps: list[tuple[str, Any]], **bounds: int) -> tuple[World, Picture]:
    """Take some steps, and draw the last state."""
    system = GROUP.system("eager", bounds)
    rules = {rule.name: rule for rule in system.rules}
    (state,) = system.initial()
    for name, chosen in steps:
        rule = rules[name]
        before, choice = state, () if chosen is None else (chosen,)
        after = rule.attempt(before, choice)
        assert not isinstance(after, Blocked), (name, chosen, after)
        state = after
        taken = Taken(name, dict(zip(rule.choices, choice, strict=True)), before)
    return state, picture(state, taken)


BOTH_JOIN = [
    step
    for consumer in (0, 1)
    for step in [
        ("consumer_finds_coordinator", consumer),
        ("consumer_joins", consumer),
        ("coordinator_adds_member", Inbound(consumer, False)),
    ]
] + [
    ("coordinator_extends_initial_delay", None),
    ("coordinator_ends_initial_delay", None),
]
FIRST_READS = [
    ("consumer_receives_generation", 0),
    ("coordinator_accepts_sync", Inbound(0, False)),
    ("consumer_receives_assignment", 0),
    ("consumer_applies_assignment", 0),
]


@pytest.fixture(scope="module")
def lost_generation() -> Trace:
    """A consumer whose heartbeat thread resets its generation (KAFKA-8104)."""
    small = {"consumers": 1, "crashes": 0, "failovers": 0, "early": 1}
    violation = explore(GROUP.system("before-kafka-8104", small)).violations[0]
    assert violation.trace is not None
    return violation.trace


def test_a_step_that_answers_two_consumers_has_an_arrow_to_each() -> None:
    _, shown = play(BOTH_JOIN, static=2)
    assert shown.arrows == [
        Arrow(COORDINATOR, "consumer 0", "a1 in generation 1, leads a1, b1"),
        Arrow(COORDINATOR, "consumer 1", "b1 in generation 1, led by a1"),
    ]


def test_a_response_already_in_flight_has_no_second_arrow() -> None:
    _, shown = play([*BOTH_JOIN, *FIRST_READS[:2]], static=2)
    assert shown.arrows == [
        Arrow("consumer 0", COORDINATOR, "SyncGroup as a1, generation 1, assigns a1 p0, b1 p1"),
        Arrow(COORDINATOR, "consumer 0", "assigned p0"),
    ]
    assert shown.lanes[2].facts["response"] == "generation 1"


def test_a_partition_is_first_assigned_and_then_read() -> None:
    _, assigned = play([*BOTH_JOIN, *FIRST_READS[:3]], static=2)
    assert [cell.text for cell in assigned.lanes[0].cells] == ["p0 a1", "p1 b1"]
    assert assigned.lanes[1].facts["next"] == "reads p0"
    assert assigned.lanes[1].cells == []
    _, reads = play([*BOTH_JOIN, *FIRST_READS], static=2)
    (cell_read,) = reads.lanes[1].cells
    assert (cell_read.text, cell_read.colour) == ("p0", 1)
    assert reads.lanes[0].cells[0].colour == cell_read.colour


def test_an_abandoned_request_is_shown_until_it_arrives() -> None:
    steps = [
        ("consumer_finds_coordinator", 0),
        ("consumer_joins", 0),
        ("consumer_abandons_request", 0),
    ]
    _, shown = play(steps, static=1, early=1)
    assert shown.lanes[1].facts["request"] == "abandoned: JoinGroup"
    _, arrived = play([*steps, ("coordinator_adds_member", Inbound(0, True))], static=1, early=1)
    assert arrived.arrows == [Arrow("consumer 0", COORDINATOR, "abandoned: JoinGroup")]
    assert arrived.lanes[0].facts["members"] == "a1 joining, disconnected"


def test_an_unassigned_partition_is_an_empty_cell() -> None:
    _, shown = play([("administrator_adds_partition", None)], growths=1)
    assert [(cell.text, cell.place) for cell in shown.lanes[0].cells] == [
        ("", "partition 0"),
        ("", "partition 1"),
        ("", "partition 2"),
    ]


def test_the_states_of_a_group_are_bands_over_the_trace(lost_generation: Trace) -> None:
    bands = [picture(state, None).lanes[0].band for state in lost_generation.states]
    assert list(dict.fromkeys(band.name for band in bands if band)) == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
    ]


def test_a_partition_read_without_a_generation_has_no_colour(
    lost_generation: Trace,
) -> None:
    lane = picture(lost_generation.states[-1], lost_generation.steps[-1]).lanes[1]
    assert [(cell.text, cell.colour) for cell in lane.cells] == [("p0", None), ("p1", None)]
    assert lane.place == lost_generation.where


def places(shown: Picture) -> set[str]:
    """The places that a property may name."""
    cells: list[Cell] = [cell for lane in shown.lanes for cell in lane.cells]
    return {lane.place for lane in shown.lanes} | {cell.place for cell in cells}


def test_every_place_that_a_property_names_is_in_the_picture(lost_generation: Trace) -> None:
    system = GROUP.system(None, {"early": 1})
    explored = Reference(system)
    Search(system, explored, Options(max_states=300)).run()
    both_read, _ = play(
        [
            *BOTH_JOIN,
            *FIRST_READS,
            *[
                (name, Inbound(1, False) if isinstance(chosen, Inbound) else 1)
                for name, chosen in FIRST_READS
            ],
        ],
        static=2,
        partitions=2,
    )
    named = set()
    for state in [*explored.came_from, *lost_generation.states, both_read]:
        here = places(picture(state, None))
        for prop in GROUP.properties:
            if isinstance(prop, Always):
                claimed = {place.partition(",")[0] for place, _ in prop.body(state)}
                assert claimed <= here, prop.name
                named |= claimed
    assert named == {
        COORDINATOR,
        "consumer 0",
        "consumer 1",
        "partition 0",
        "partition 1",
        "reading of partition 0",
    }


def test_every_name_in_the_picture_is_explained(lost_generation: Trace) -> None:
    for state in lost_generation.states:
        shown = picture(state, None)
        names = {name for lane in shown.lanes for name in lane.facts}
        names |= {lane.band.name for lane in shown.lanes if lane.band}
        assert names <= set(shown.words)
