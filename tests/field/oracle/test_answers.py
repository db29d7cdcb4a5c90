"""Requests and answers: what each oracle answers, and how wrong requests are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kspec.field.oracle import questions
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.names import NAMES, ROWS
from kspec.field.oracle.questions import (
    ORACLES,
    Oracle,
    answer,
    as_line,
    find_oracle,
    json_schema,
    module_of,
)

CASES = Path(__file__).parents[2] / "cases"
FUNCTIONS = tuple(name for name in ORACLES if name != "group")


def ask(oracle: Oracle, method: str, **params: Any) -> Any:
    """The result of a request."""
    asked = {"id": "x", "method": method, "params": params}
    answered = answer(oracle, as_line(asked).encode(), 1)
    assert answered.keys() == {"id", "result"}, answered
    return answered["result"]


def error(oracle: Oracle, line: str | bytes) -> str:
    """Why the request on a line is wrong."""
    raw = line if isinstance(line, bytes) else line.encode()
    answered = answer(oracle, raw, 7)
    assert answered["error"]["line"] == 7
    return str(answered["error"]["message"])


def test_every_name_is_that_of_a_field() -> None:
    known = {n: d for oracle in ORACLES for n, d in json_schema(oracle)["$defs"].items()}
    for cls, names in NAMES.items():
        assert {name for name in names.values() if name} <= known[cls]["properties"].keys(), cls
    for cls, fields in ROWS.items():
        shown = {NAMES.get(cls, {}).get(field, field) for field in fields}
        assert shown <= known[cls]["properties"].keys(), cls


# -- Kafka's answers -------------------------------------------------------------------------------


def test_the_epochs_oracle_answers_as_kafka_does() -> None:
    oracle = find_oracle("epochs")
    for case in json.loads((CASES / "epoch_cache_sample.json").read_text("utf-8")):
        epochs: Any = []
        for name, *numbers in case["ops"]:
            if name == "assign":
                epoch, start = numbers
                epochs = ask(oracle, "assign", epochs=epochs, epoch=epoch, startOffset=start)
            elif name == "truncate_from_end":
                epochs = ask(oracle, "truncateFromEnd", epochs=epochs, endOffset=numbers[0])
            elif name == "truncate_from_start":
                epochs = ask(oracle, "truncateFromStart", epochs=epochs, startOffset=numbers[0])
            elif name == "clear":
                epochs = []
        expected = case["expect"]
        match case["query"]:
            case {"epoch_entries": _}:
                found: Any = [[entry["epoch"], entry["startOffset"]] for entry in epochs]
            case {"end_offset_for": epoch, "log_end_offset": end}:
                numbered = {"requestedEpoch": epoch, "logEndOffset": end}
                found = list(ask(oracle, "endOffsetFor", epochs=epochs, **numbered).values())
            case {"epoch_for_offset": offset}:
                found = ask(oracle, "epochForOffset", epochs=epochs, offset=offset)
            case {"latest_epoch": _}:
                found = ask(oracle, "latestEpoch", epochs=epochs)
            case {"previous_epoch": epoch}:
                found = ask(oracle, "previousEpoch", epochs=epochs, epoch=epoch)
            case {"next_epoch": epoch}:
                found = ask(oracle, "nextEpoch", epochs=epochs, epoch=epoch)
            case query:
                pytest.fail(f"{query}")
        assert found == expected, case["id"]


def test_the_placement_oracle_answers_as_kafka_does() -> None:
    oracle = find_oracle("placement")
    for case in json.loads((CASES / "placement_sample.json").read_text("utf-8"))["group_partition"]:
        asked = {"id": case["id"], "numPartitions": case["num_partitions"]}
        assert ask(oracle, "partitionFor", **asked) == case["expect"]
        assert ask(oracle, "hashCode", text=case["id"]) == case["java_hash"]
    assert ask(oracle, "murmur2", key="MjE=") == -973932308  # "21", from Kafka's UtilsTest


@pytest.mark.slow
def test_the_assignors_oracle_answers_as_kafka_does() -> None:
    oracle = find_oracle("assignors")
    cases = json.loads((CASES / "assignors_racks.json").read_text("utf-8"))["cases"]
    for case in cases:
        members = [
            {
                "memberId": name,
                "subscription": {
                    "topics": member["topics"],
                    "ownedPartitions": [
                        {"topic": topic, "partition": index}
                        for topic, index in member.get("owned", ())
                    ],
                    "generationId": member.get("generation"),
                    "groupInstanceId": member.get("instance_id"),
                    "rackId": member.get("rack"),
                },
            }
            for name, member in case["members"].items()
        ]
        group = {
            "partitionsPerTopic": case["partitions"],
            "members": members,
            "racks": case["racks"],
            "inGivenOrder": True,
        }
        found = ask(oracle, "assign", assignor=case["assignor"], **group)
        lists = {
            each["memberId"]: [[tp["topic"], tp["partition"]] for tp in each["partitions"]]
            for each in found
        }
        assert lists == case["result"], case["id"]
        if not case["id"].startswith("random"):  # whose claims are of several generations
            asked = {"assignor": case["assignor"], **group, "assignment": found}
            assert ask(oracle, "violations", **asked) == []


def test_a_broken_guarantee_is_named() -> None:
    found = ask(
        find_oracle("assignors"),
        "violations",
        assignor="range",
        partitionsPerTopic={"t": 2},
        members=[{"memberId": "a", "subscription": {"topics": ["t"]}}],
        assignment=[{"memberId": "a", "partitions": [{"topic": "t", "partition": 0}]}],
    )
    assert {"guarantee": "every_partition_is_assigned", "where": "t-1"} in found


def test_an_exception_that_kafka_raises_is_an_answer() -> None:
    fetching = {"state": "FETCHING", "position": {"offset": 5}}
    asked = {"method": "offsetOutOfRange", "params": {"partition": fetching, "policy": "none"}}
    answered = answer(find_oracle("positions"), as_line(asked).encode(), 3)
    assert answered["id"] == 3
    assert answered["raises"]["exception"] == "OffsetOutOfRangeException"


# -- the schema ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_requests_and_answers_are_valid(name: str) -> None:
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = jsonschema.Draft202012Validator(schema)
    oracle, drawn = find_oracle(name), module_of(name).drawn
    methods = set()
    for number in range(60):
        method, params = drawn(Draw(3, number))
        asked = {"id": number, "method": method, "params": params}
        answered = answer(oracle, as_line(asked).encode(), 1)
        valid.validate(asked)
        valid.validate(answered)
        assert "error" not in answered
        methods.add(method)
        assert not valid.is_valid({**asked, "other": 1})
        assert not valid.is_valid({**answered, "other": 1})
    assert methods == oracle.questions.keys() - {"violations"}


# -- wrong requests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "column 2: not JSON, or cut short: Expecting property name"),
        ("[1]", "a request is an object, not [1]"),
        (b"\xff", "not UTF-8"),
        ("[" * 200 + "]" * 200, "nested deeper than 100 levels"),
        ('{"method": "hashCode", "method": "murmur2"}', "'method' is given twice"),
        ('{"params": {}}', "method is the name of a method"),
        ('{"method": "hashcode"}', "no method named 'hashcode': did you mean hashCode?"),
        ('{"method": "hashCode", "id": 1.5}', "id is a whole number or a string"),
        ('{"method": "hashCode", "version": 2}', "unknown field 'version': known are id, method"),
        ('{"method": "hashCode"}', "params: text is missing"),
        ('{"method": "hashCode", "params": []}', "params: expected an object, not []"),
        ('{"method": "hashCode", "params": {"text": 1}}', "params.text: expected a string, not 1"),
        ('{"method": "murmur2", "params": {"key": "ü"}}', "params.key: expected bytes in base64"),
        (
            '{"method": "partitionFor", "params": {"id": "g", "numPartitions": 0}}',
            "params.numPartitions: from 1 to 2147483647, not 0",
        ),
        (
            '{"method": "partitionFor", "params": {"id": "g", "numPartitions": true}}',
            "params.numPartitions: expected a whole number of 64 bits, not True",
        ),
    ],
)
def test_a_wrong_request_is_answered_with_the_reason(line: str | bytes, message: str) -> None:
    assert error(find_oracle("placement"), line).startswith(message)


def test_the_place_of_a_wrong_value_is_named() -> None:
    asked = {
        "method": "assign",
        "params": {
            "assignor": "range",
            "partitionsPerTopic": {"t": 1},
            "members": [{"memberId": "a", "subscription": {"topics": ["t", 3]}}],
        },
    }
    message = "params.members[0].subscription.topics[1]: expected a string, not 3"
    assert error(find_oracle("assignors"), as_line(asked)) == message


def test_a_line_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "MOST_BYTES", 1 << 20)
    asked = {"method": "hashCode", "params": {"text": "x" * (1 << 20)}}
    assert error(find_oracle("placement"), as_line(asked)) == "longer than 1 MiB"


def test_the_id_of_a_wrong_request_comes_back() -> None:
    answered = answer(find_oracle("placement"), b'{"id": "q-1", "method": "no"}', 4)
    assert answered["id"] == "q-1"


JUNK: tuple[Any, ...] = (
    None, True, -1, 2**63, 2**62, 1.5, "", "x", [], {}, [None], [[]], [{}], {"a": {}}, {"id": 1},
)  # fmt: skip


def mutated(value: Any, draw: Draw) -> Any:
    """A JSON value with one part replaced, removed or added."""
    if isinstance(value, dict) and value and draw.chance(0.8):
        name = draw.choose(list(value))
        if draw.chance(0.15):
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: mutated(value[name], draw)}
    if isinstance(value, list) and value and draw.chance(0.8):
        place = draw.below(len(value))
        if draw.chance(0.15):
            return [*value, value[place]]
        return [*value[:place], mutated(value[place], draw), *value[place + 1 :]]
    return draw.choose(JUNK)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_request_is_answered(name: str) -> None:
    oracle, drawn = find_oracle(name), module_of(name).drawn
    outcomes: set[str] = set()
    for number in range(300):
        draw = Draw(4, number)
        method, params = drawn(draw)
        asked = mutated({"id": number, "method": method, "params": params}, draw)
        answered = answer(oracle, as_line(asked).encode(), 1)
        assert len(answered) == 2
        outcomes |= answered.keys()
    assert {"result", "error"} <= outcomes


@pytest.mark.slow
def test_an_oracle_starts_without_the_engines() -> None:
    code = (
        "import sys, kspec.checkers.cli.main, kspec.field.cli.oracle;"
        "from kspec.field.oracle.questions import *;"
        "[find_oracle(name) for name in ORACLES];"
        "print([m for m in ('numba', 'numpy', 'networkx', 'hypothesis') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
