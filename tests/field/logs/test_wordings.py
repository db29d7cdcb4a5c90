"""The tables of wordings: each is found by its own words, with the values that it was given."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from kspec.field.logs.adapter import BROKER_LINES, CLIENT_LINES
from kspec.field.logs.causes import CAUSES
from kspec.field.logs.wordings import KINDS, KNOWN, Table, Wording, items, read_wordings
from tests.field.logs.recorded import VERSIONS, read_brokers

EVERY = [
    pytest.param(table, wording, id=f"{wording.event}-{wording.since}-{number}")
    for table in (BROKER_LINES, CLIENT_LINES)
    for number, wording in enumerate(table.wordings)
]


def sample(wording: Wording) -> tuple[str, dict[str, Any]]:
    """A line in these words, and its fields."""
    fields: dict[str, Any] = {}
    for name in re.findall(r"\{(\w+)\}", wording.text):
        kind = KINDS.get(name)
        if kind == "numbers":
            fields[name] = 100 + len(fields)
        elif kind in ("brokers", "lists"):
            fields[name] = [1, 2]
        elif name == "partition":
            fields[name] = "a-topic-7"
        else:
            fields[name] = f"the-{name}"
    text = wording.text.replace("{_}", "anything")
    for name, value in fields.items():
        shown = "1,2" if isinstance(value, list) else str(value)
        text = text.replace("{" + name + "}", shown)
    fields.pop("_", None)
    return text, {**fields, **wording.values}


@pytest.mark.parametrize(("table", "wording"), EVERY)
def test_a_line_is_read_as_its_wording_says(table: Table, wording: Wording) -> None:
    text, fields = sample(wording)
    for end in ("", ".", " (kafka.Some$Logger)", ". (kafka.Logger:12) [thread-1]"):
        found = table.read(f"[2024-05-01 13:00:00,123] INFO [GroupCoordinator 1]: {text}{end}")
        assert found is not None
        assert found[0].event == wording.event
        if wording.event != KNOWN:
            assert {name: found[1][name] for name in fields} == fields


GOOD = {"text": "Group {group} rests", "since": "4.3", "source": "Group.rest"}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"since": "4.3", "source": "Group.rest"}, "text"),
        ({**GOOD, "text": "Group {grop} rests"}, "fields.toml does not have grop"),
        ({**GOOD, "text": "{group}"}, "no words"),
        ({**GOOD, "text": 3}, "text"),
        ({**GOOD, "since": "4"}, "since"),
        ({**GOOD, "until": "trunk"}, "until"),
        ({**GOOD, "source": ""}, "source"),
        ({**GOOD, "level": "info"}, "level"),
        ({**GOOD, "values": "state"}, "values"),
        ({**GOOD, "untill": "4.4"}, "untill"),
    ],
)
def test_a_malformed_wording_is_refused_with_its_file_and_event(
    entry: dict[str, Any], told: str
) -> None:
    assert read_wordings("groups.toml", {"rested": [GOOD]})[0].until == ""
    with pytest.raises(ValueError, match=f"groups.toml: rested: .*{told}"):
        read_wordings("groups.toml", {"rested": [GOOD, entry]})


def test_each_field_of_the_list_is_in_a_wording() -> None:
    every = (*BROKER_LINES.wordings, *CLIENT_LINES.wordings)
    named = {name for one in every for name in re.findall(r"\{(\w+)\}", one.text)}
    assert named - {"_"} == set(KINDS)


def test_each_cause_has_expressions_that_compile() -> None:
    for cause in CAUSES.values():
        for expression in (*cause.reasons, *cause.client_reasons):
            assert set(re.compile(expression).groupindex) <= {"member", "client"}


def test_each_file_of_wordings_says_how_to_add_one() -> None:
    for file in files("kspec.field.logs.wordings").iterdir():
        if file.name.endswith(".toml"):
            assert file.read_text(encoding="utf-8").startswith("# ")


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
