"""The tasks of validation on Spark, run in this process without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kspec.checkers.cli.main import run
from kspec.field.recorded.files import validate_files
from kspec.spark_check.events import EVENT, ORDER, PROBLEMS, ROW, event_rows, record_rows
from kspec.spark_check.validate import exit_code, validate
from kspec.spark_check.verdicts import Question, lines_of_rows, verdicts_of_files, verdicts_of_rows
from tests.field.recorded.walks import system_of, walk, whole

GROUP = Question({"mapping": "group"}, ("cluster", "group"))
STEPS = 24


def events_of(seed: int) -> list[dict[str, Any]]:
    """A walk of the model `group`, with times."""
    events = [whole(step) for step in walk(system_of("group"), seed, STEPS)]
    return [{**event, "time_ms": 10 * number} for number, event in enumerate(events)]


def altered(events: list[dict[str, Any]], at: int) -> list[dict[str, Any]]:
    """The same events, one with another generation."""
    events[at]["state"]["group"]["generation"] = 9
    return events


def write(file: Path, lines: Iterable[Any]) -> Path:
    """A file of JSON lines; text is written as it is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines))
    return file


def mingled(folder: Path, traces: int, bad: Sequence[int] = ()) -> list[Path]:
    """Two files with the events of traces, of which some are altered; the second continues."""
    first, second = [], []
    for number in range(traces):
        events = events_of(number)
        events = altered(events, 20) if number in bad else events
        lines = [{**event, "group": f"g{number}"} for event in events]
        header = {"kspec_trace": 1, "mapping": "group", "group": f"g{number}"}
        first += [header, *lines[: STEPS // 2]]
        second += lines[STEPS // 2 :]
    return [write(folder / "b.ndjson", first), write(folder / "a.ndjson", second)]


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """The rows of batches."""
    return [row for batch in batches for row in batch.to_pylist()]


def in_order(question: Question, files: Sequence[Path]) -> pa.RecordBatch:
    """The events of files, as Spark sorts them."""
    paths = pa.RecordBatch.from_pydict({"path": [f"file:{file}" for file in files]})
    rows = pa.Table.from_batches(event_rows(question.by, [paths]), ROW)

    def place(row: dict[str, Any]) -> tuple[tuple[bool, Any], ...]:
        return tuple((row[name] is not None, row[name]) for name in ORDER)  # nulls first

    keyed = sorted(rows.to_pylist(), key=place)
    return pa.RecordBatch.from_pylist(keyed, ROW)


def verdicts(question: Question, files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """The rows of the verdicts, by group or file."""
    found = rows_of(verdicts_of_rows(question, [in_order(question, files)]))
    by_name = {}
    for row in found:
        keys = json.loads(row["trace"])
        by_name[keys.get("group") or Path(keys["file"]).name] = row
    assert len(by_name) == len(found)
    return by_name


@pytest.mark.parametrize("text", ["plain", "in folders"])
def test_traces_are_put_together_from_files_in_order(tmp_path: Path, text: str) -> None:
    folder = tmp_path if text == "plain" else tmp_path / "cluster=eu"
    found = verdicts(GROUP, mingled(folder, 4, bad=[2]))
    notes = found.pop("a.ndjson")
    assert notes["verdict"] is None
    assert "missing version" in notes["because"]
    assert {name: row["verdict"] for name, row in found.items()} == {
        "g0": "accepted",
        "g1": "accepted",
        "g2": "rejected",
        "g3": "accepted",
    }
    keys = json.loads(found["g2"]["trace"])
    assert keys == {"cluster": None if text == "plain" else "eu", "group": "g2"}
    line = 2 * STEPS // 2 + 20 - STEPS // 2 + 1
    assert (found["g2"]["event"], found["g2"]["line"]) == (21, line)
    assert found["g2"]["file"] == str(folder / "a.ndjson")
    assert found["g1"]["events"] == STEPS
    assert "group.generation" in found["g2"]["report"]


def test_rejected_traces_are_files_for_kspec_validate(tmp_path: Path) -> None:
    files = mingled(tmp_path, 2, bad=[1])
    trace = json.dumps({"cluster": None, "group": "g1"})
    batch = in_order(GROUP, files)
    lines = rows_of(lines_of_rows(GROUP, [batch.filter(pc.field("trace").isin([trace]))]))
    assert {row["trace"][:3] for row in lines} == {"g1-"}
    texts = [row["value"] for row in lines]
    (found,) = validate_files([write(tmp_path / "again.ndjson", texts)], {"mapping": "group"})
    assert found.verdict == "rejected"
    assert found.rejection is not None
    assert found.rejection.event is not None
    assert found.rejection.event.number == 21
    assert found.rejection.event.file == str(files[1])


def test_a_clock_that_goes_backwards_does_not_reorder_a_file(tmp_path: Path) -> None:
    events = events_of(1)
    for number, event in enumerate(events):
        event |= {"group": "g", "time_ms": 1000 - number}
    found = verdicts(GROUP, [write(tmp_path / "events", events)])
    assert found["g"]["verdict"] == "accepted"
    assert f"{STEPS - 1} × clock went backwards" in found["events"]["because"]
    assert found["events"]["unread"] == 0


def test_nodes_of_a_trace_are_merged_as_kspec_validate_does(tmp_path: Path) -> None:
    events = events_of(3)
    for number, event in enumerate(events):
        event |= {"group": "g", "node": str(number % 2), "time_ms": 0}
        if number:
            event["receives"] = str(number - 1)
        event["sends"] = str(number)
    files = [write(tmp_path / f"node{n}", events[n::2]) for n in (0, 1)]
    assert verdicts(GROUP, files)["g"]["verdict"] == "accepted"


def test_what_cannot_be_read_is_counted_and_stops_nothing_else(tmp_path: Path) -> None:
    files = mingled(tmp_path, 3, bad=[2])
    files.append(write(tmp_path / "c", ["{", "[1]", {"time_ms": 1}, "x" * (1 << 20)]))
    files.append(tmp_path / "missing")
    found = verdicts(GROUP, files)
    assert found["g2"]["verdict"] == "rejected"
    assert found["c"]["unread"] == 4
    assert "2 × malformed line" in found["c"]["because"]
    assert "1 × line too long" in found["c"]["because"]
    assert "1 × event of no trace" in found["c"]["because"]
    assert "No such file" in found["missing"]["report"]


def test_a_trace_with_a_lost_line_is_never_rejected(tmp_path: Path) -> None:
    first, second = mingled(tmp_path, 3, bad=[0, 2])
    lines = second.read_text().splitlines()
    at = 2 * STEPS // 2
    second.write_text("\n".join([*lines[:at], lines[at][:50], *lines[at + 1 :]]))
    found = verdicts(GROUP, [first, second])
    assert found["g0"]["verdict"] == "rejected"  # before the lost line
    assert found["g1"]["verdict"] == "accepted"
    assert found["g2"]["verdict"] == "inconclusive"
    assert found["g2"]["because"] == "a line before this event could not be read"


def test_a_bad_header_is_fatal_to_its_trace_alone(tmp_path: Path) -> None:
    files = mingled(tmp_path, 2)
    text = files[0].read_text().replace('"group": "g1"}', '"group": "g1", "variant": "x"}', 1)
    files[0].write_text(text)
    found = verdicts(GROUP, files)
    assert (found["g0"]["verdict"], found["g1"]["verdict"]) == ("accepted", "inconclusive")
    assert "no variant of group named" in found["g1"]["because"]


def test_files_are_traces_without_keys(tmp_path: Path) -> None:
    header = {"kspec_trace": 1, "mapping": "group"}
    files = [
        write(tmp_path / "good.ndjson", [header, *events_of(1)]),
        write(tmp_path / "bad one.ndjson", [header, *altered(events_of(1), 20)]),
        write(tmp_path / "empty.ndjson", []),
    ]
    paths = pa.RecordBatch.from_pydict({"path": [f"file:{file}" for file in files]})
    question = Question({"mapping": "group"})
    found = rows_of(verdicts_of_files(question, [paths]))
    assert [row["verdict"] for row in found] == ["accepted", "rejected", "inconclusive"]
    wanted = list(validate_files(files[:2], {"mapping": "group"}))
    assert [json.loads(row["details"]) for row in found[:2]] == [
        json.loads(json.dumps(one.to_json())) for one in wanted
    ]
    assert found[1]["line"] == 22


def test_records_of_a_topic_are_events_in_the_order_of_offsets() -> None:
    events = [{**event, "group": "g"} for event in events_of(1)[:3]]
    values = [json.dumps(event).encode() for event in events]
    records = {
        "file": ["t-1", "t-0", "t-0", "t-0", "t-0", "t-0"],
        "offset": [4, 9, 7, 8, 10, 11],
        "value": [values[0], values[2], values[1], b"{", b"x" * ((1 << 20) + 1), None],
    }
    found = rows_of(record_rows(["group"], [pa.RecordBatch.from_pydict(records)]))
    rows = [(row["file"], row["line"], row["unread"]) for row in found if row["kind"] == EVENT]
    assert rows == [("t-0", 7, 0), ("t-0", 9, 1), ("t-1", 4, 0)]
    (problems,) = (row for row in found if row["kind"] == PROBLEMS)
    assert problems["unread"] == 2
    assert {kind["kind"] for kind in json.loads(problems["content"])} >= {
        "malformed line",
        "line too long",
    }


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"accepted": 2}, 0),
        ({"accepted": 1, "rejected": 1, "inconclusive": 1}, 3),
        ({"accepted": 1, "inconclusive": 1}, 4),
        ({"accepted": 1, "unread": 1}, 4),
        ({}, 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst_trace(counts: dict[str, int], code: int) -> None:
    names = ("accepted", "rejected", "inconclusive", "unread")
    summary = {name: counts.get(name, 0) for name in names}
    assert exit_code(summary | {"traces": sum(counts.values())}) == code


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gruop", "."), "did you mean group"),
        (("group", ".", "--variant", "x"), "no variant of group named"),
        (("group", ".", "--set", "x=1"), "no bound of group named"),
    ],
)
def test_bad_options_are_rejected_before_spark_starts(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    assert run([*arguments, "--out", "nowhere"], validate) == 151
    assert says in capsys.readouterr().err
