"""The logs of real brokers are accepted, rejected once a line is altered, and excused for gaps."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from kspec.field.logs.adapter import Event
from kspec.field.logs.traces import by_group, group_traces
from kspec.field.recorded import from_objects, validate_recordings
from kspec.field.recorded.verdict import Rejection
from tests.field.logs.recorded import VERSIONS, read_brokers

ROUNDS = ("preparing", "stabilized", "assigned", "emptied")


def rejections(events: Iterable[Event], *, lines_missing: bool = True) -> list[Rejection]:
    """The rejections of the groups' traces."""
    found = []
    for trace in group_traces(events, lines_missing=lines_missing):
        verdict = validate_recordings([from_objects(trace.name, trace.objects())], {})
        found += [] if verdict.rejection is None else [verdict.rejection]
    return found


def lines(version: str) -> list[Event]:
    """The coordinators' lines of a recording."""
    return list(by_group(read_brokers(version).events))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_logs_of_real_brokers_are_accepted_and_nothing_is_excused(version: str) -> None:
    traces = list(group_traces(read_brokers(version).events))
    assert {trace.header["group"] for trace in traces} == {"billing", "static"}
    assert sum(len(trace.events) for trace in traces) > 60
    assert all("excused" not in trace.header for trace in traces)
    assert rejections(read_brokers(version).events, lines_missing=False) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_altered_generation_is_rejected_at_its_line(version: str) -> None:
    """Each line about a generation, with both neighbouring numbers, in a log that is complete."""
    every = lines(version)
    altered = [
        (number, line["generation"] + change)
        for number, line in enumerate(every)
        if line["event"] in ROUNDS
        for change in (-1, 1)
        if line["generation"] + change >= 0
    ]
    missed = []
    for number, generation in altered:
        changed = [*every]
        changed[number] = {**every[number], "generation": generation}
        found = rejections(changed, lines_missing=False)
        # The first line of a trace may name any generation: the second contradicts it.
        near = {str(line["source"]) for line in every[number : number + 5]}
        told = {str(r.event.content["source"]) for r in found if r.event is not None}
        if not told & near:
            missed.append((every[number], generation))
    assert len(altered) > 80
    assert [line["event"] for line, _ in missed if is_followed(every, line)] == []


def is_followed(every: list[Event], line: Event) -> bool:
    """Whether another line about generations follows in this group's life on this broker."""
    alike = [one for one in every if (one["group"], one["node"]) == (line["group"], line["node"])]
    rest = alike[alike.index(line) + 1 :]
    following = next((one for one in rest if one["event"] in (*ROUNDS, "deleted", "dead")), None)
    return following is not None and following["event"] in ROUNDS


@pytest.mark.parametrize("version", VERSIONS)
def test_most_altered_generations_are_rejected_although_lines_may_be_missing(version: str) -> None:
    every = lines(version)
    numbers = [n for n, line in enumerate(every) if line["event"] in ROUNDS]
    caught = 0
    for number in numbers:
        changed = [*every]
        changed[number] = {**every[number], "generation": every[number]["generation"] + 5}
        told = [r.event.content["source"] for r in rejections(changed) if r.event is not None]
        caught += every[number]["source"] in told
    assert caught > 0.7 * len(numbers)


@pytest.mark.parametrize("version", VERSIONS)
def test_half_of_the_lines_missing_is_never_a_rejection(
    version: str, chance: random.Random
) -> None:
    every = lines(version)
    for _ in range(50):
        kept = [line for line in every if chance.random() < 0.5]
        assert rejections(kept) == []


def test_what_missing_lines_excuse_is_told() -> None:
    every = [line for line in lines("4.0.0") if line["event"] != "preparing"]
    excused = [trace.header.get("excused", []) for trace in group_traces(every)]
    assert sum(map(len, excused)) > 5
    assert all(one["file"] and one["line"] and one["guard"] for some in excused for one in some)
