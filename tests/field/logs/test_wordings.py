"""The tables of wordings: each is found by its own words, with the values that it was given."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kspec.field.logs.adapter import BROKER_LINES, CLIENT_LINES
from kspec.field.logs.wordings import LISTS, NUMBERS, Table, Wording, items
from tests.field.logs.recorded import VERSIONS, read_brokers

EVERY = [
    pytest.param(table, wording, id=f"{wording.event or 'known'}-{wording.since}-{number}")
    for table in (BROKER_LINES, CLIENT_LINES)
    for number, wording in enumerate(table.wordings)
]


def sample(wording: Wording) -> tuple[str, dict[str, Any]]:
    """A line in these words, and its fields."""
    fields: dict[str, Any] = {}
    for name in re.findall(r"\{(\w+)\}", wording.text):
        if name in NUMBERS:
            fields[name] = 100 + len(fields)
        elif name in LISTS:
            fields[name] = [1, 2]
        elif name == "partition":
            fields[name] = "a-topic-7"
        else:
            fields[name] = f"the-{name}"
    text = wording.text.replace("{_}", "anything")
    for name, value in fields.items():
        shown = "1,2" if name in LISTS else str(value)
        text = text.replace("{" + name + "}", shown)
    fields.pop("_", None)
    return text, {**fields, **dict(wording.values)}


@pytest.mark.parametrize(("table", "wording"), EVERY)
def test_a_line_is_read_as_its_wording_says(table: Table, wording: Wording) -> None:
    text, fields = sample(wording)
    for end in ("", ".", " (kafka.Some$Logger)", ". (kafka.Logger:12) [thread-1]"):
        found = table.read(f"[2024-05-01 13:00:00,123] INFO [GroupCoordinator 1]: {text}{end}")
        assert found is not None
        assert found[0].event == wording.event
        if wording.event:
            assert {name: found[1][name] for name in fields} == fields


def test_a_wording_has_versions_and_a_source() -> None:
    for wording in (*BROKER_LINES.wordings, *CLIENT_LINES.wordings):
        assert re.fullmatch(r"\d+\.\d+", wording.since)
        assert re.fullmatch(r"(\d+\.\d+)?", wording.until)
        assert wording.level in {"INFO", "WARN", "ERROR", "DEBUG"}
        assert wording.source


def test_a_reason_may_contain_parentheses() -> None:
    line = (
        "Preparing to rebalance group g (a) in state PreparingRebalance with old generation 3 "
        "(__consumer_offsets-7) (reason: Adding new member m with group instance id None; client "
        "reason: because (so) (there)) (kafka.coordinator.group.GroupCoordinator)"
    )
    found = BROKER_LINES.read(line)
    assert found is not None
    assert found[1]["group"] == "g (a)"
    assert found[1]["reason"].endswith("because (so) (there)")


@pytest.mark.parametrize("printed", ["Set(a, b)", "HashSet(a, b)", "[a, b]", "List(a, b)", "a,b"])
def test_lists_are_read_as_java_and_scala_print_them(printed: str) -> None:
    assert items(printed) == ["a", "b"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_line_of_a_coordinator_that_a_real_broker_wrote_is_understood(version: str) -> None:
    shapes = [s for report in read_brokers(version).files for s in report.shapes]
    assert [shape for shape in shapes if "Coordinator" in shape] == []
