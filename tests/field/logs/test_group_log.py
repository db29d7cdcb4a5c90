"""Which line may follow which in a coordinator's log: each guard has a line that it blocks."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.field.logs.group_log import possible
from kspec.field.recorded import from_objects, validate_recordings
from kspec.spec.core.text import guards_in_text
from kspec.spec.observed.group_log import GroupLife, after, blocked, coordinator_logs


def line(event: str, generation: int | None = None, **fields: Any) -> dict[str, Any]:
    """An event of a trace."""
    return {"event": event, **({} if generation is None else {"generation": generation}), **fields}


HEALTHY = [
    line("member_id_issued", member="a", state="Empty"),
    line("preparing", 0),
    line("stabilized", 1, members=1),
    line("assigned", 1, members=1),
    line("preparing", 1),
    line("members_removed", removed=["a"]),
    line("stabilized", 2, members=2),
    line("preparing", 2),
    line("emptied", 3),
    line("deleted"),
    line("preparing", 0),
]

BLOCKED = [
    ([line("preparing", 3)], line("preparing", 3), "no rebalance is in progress"),
    ([line("stabilized", 3)], line("preparing", 4), "a rebalance begins in the current generation"),
    ([line("stabilized", 3)], line("stabilized", 4), "a rebalance is in progress"),
    ([line("stabilized", 3)], line("members_removed"), "a rebalance is in progress"),
    ([line("preparing", 3)], line("stabilized", 5), "the generation increases by one"),
    ([line("preparing", 3)], line("emptied", 3), "the generation increases by one"),
    ([line("preparing", 3)], line("stabilized", 4, members=0), "a generation has members"),
    ([line("preparing", 3)], line("assigned", 3), "the generation waits for its assignment"),
    (
        [line("stabilized", 3)],
        line("assigned", 2),
        "the assignment is for the current generation",
    ),
    (
        [line("stabilized", 3, members=2)],
        line("assigned", 3, members=1),
        "the generation keeps its members",
    ),
    ([line("stabilized", 3)], line("dead", 2), "the generation is the current one"),
    ([line("stabilized", 3)], line("deleted"), "a group with members is not deleted"),
    (
        [line("stabilized", 3)],
        line("member_id_issued", state="Empty"),
        "the line names the group's state",
    ),
]


def test_every_guard_has_a_line_that_it_blocks() -> None:
    assert {name for name, _ in guards_in_text(coordinator_logs)} == {name for *_, name in BLOCKED}


def test_a_healthy_group_is_accepted() -> None:
    header = {"kspec_trace": 1, "mapping": "group-log"}
    found = validate_recordings([from_objects("log", [header, *HEALTHY])], {})
    assert (found.verdict, found.events) == ("accepted", len(HEALTHY))


@pytest.mark.parametrize(("lines", "last", "guard"), BLOCKED, ids=[b[2] for b in BLOCKED])
def test_each_guard_blocks_a_line(
    lines: list[dict[str, Any]], last: dict[str, Any], guard: str
) -> None:
    header = {"kspec_trace": 1, "mapping": "group-log"}
    found = validate_recordings([from_objects("log", [header, *lines, last])], {})
    assert found.rejection is not None
    assert found.rejection.guard == guard
    assert found.rejection.event is not None
    assert found.rejection.event.number == len(lines) + 1
    assert found.rejection.allowed == tuple(possible(after(GroupLife(), lines[-1])))


@pytest.mark.parametrize("event", [one for *_, one, _ in BLOCKED], ids=[b[2] for b in BLOCKED])
def test_a_log_may_begin_anywhere(event: dict[str, Any]) -> None:
    begins = line("stabilized", 4, members=2) if event.get("members") == 0 else event
    assert blocked(GroupLife(), begins) is None


@pytest.mark.parametrize(
    "event",
    [
        {"event": "unheard"},
        {"event": "preparing"},
        {"event": "preparing", "generation": "three"},
        {"event": "stabilized", "generation": 1, "members": True},
        {},
    ],
)
def test_a_malformed_event_is_named(event: dict[str, Any]) -> None:
    header = {"kspec_trace": 1, "mapping": "group-log"}
    found = validate_recordings([from_objects("log", [header, line("preparing", 0), event])], {})
    assert found.verdict == "inconclusive"
    assert found.problems.to_json()


def test_the_log_of_a_group_that_changes_its_protocol_is_possible() -> None:
    """KIP-848: online migration sets the generation to the group epoch, which has grown."""
    log = [line("stabilized", 3), line("converted"), line("preparing", 9)]
    assert [blocked(at, one) for at, one in zip(lives(log), log, strict=True)] == [None] * 3


def test_an_empty_group_may_expire_after_a_failed_write() -> None:
    log = [line("preparing", 3), line("emptied", 4), line("write_failed"), line("preparing", 0)]
    assert [blocked(at, one) for at, one in zip(lives(log), log, strict=True)] == [None] * 4


def lives(log: list[dict[str, Any]]) -> list[GroupLife]:
    """The group before each line."""
    found = [GroupLife()]
    for one in log[:-1]:
        found.append(after(found[-1], one))
    return found
