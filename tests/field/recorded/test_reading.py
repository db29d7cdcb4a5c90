"""What cannot be read is counted and named, and is not fatal to other traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kspec.field.logs.adapter import BROKER_LINES
from kspec.field.recorded import validate_files, validate_recordings
from kspec.field.recorded.find import VERSION
from kspec.field.recorded.mapping import read_schemas
from kspec.field.recorded.reading import MOST_LINE, from_lines, lines_of
from kspec.spec.core import SpecError
from kspec.spec.observed.consumer import KINDS
from kspec.spec.observed.replica import HANDLERS
from tests.field.recorded.walks import system_of, trace, walk, whole


def lines(seed: int = 1, steps: int = 12) -> list[bytes]:
    events = [whole(step) for step in walk(system_of("group"), seed, steps)]
    return [json.dumps(line).encode() + b"\n" for line in trace("group", events)]


def verdict_on(found: list[bytes]) -> dict[str, Any]:
    numbered = list(enumerate(found, 1))
    return validate_recordings([from_lines("file", numbered)], {"mapping": "group"}).to_json()


def kinds(record: dict[str, Any]) -> dict[str, int]:
    return {problem["kind"]: problem["count"] for problem in record["problems"]}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"{", "malformed line"),
        (b"\xff\n", "malformed line"),
        (b"[1]\n", "malformed line"),
        (b"[" * 100_000 + b"\n", "malformed line"),
        (b'{"event": "unheard-of"}\n', "malformed event"),
        (b'{"rule": "unheard_of"}\n', "malformed event"),
        (b'{"rule": "consumer_crashes", "choices": 3}\n', "malformed event"),
        (b'{"rule": "consumer_crashes", "choices": {"who": 3}}\n', "malformed event"),
        (b'{"state": []}\n', "malformed event"),
        (b'{"state": {"grup": {}}}\n', "malformed event"),
    ],
)
def test_a_line_that_is_no_event_is_counted_and_leaves_the_trace_undecided(
    line: bytes, kind: str
) -> None:
    record = verdict_on([*lines(), line])
    assert kinds(record) == {kind: 1}
    assert record["verdict"] == "inconclusive"
    assert record["problems"][0]["samples"][0]["line"] == 14


@pytest.mark.parametrize(
    "observed",
    [
        {"consumers": {"9" * 5000: {}}},
        {"consumers": {"²": {}}},
        {"group": {"generation": {"#bigint": "²"}}},
        {"group": {"generation": {"#bigint": "9" * 5000}}},
    ],
)
def test_digits_that_are_no_number_are_rejected(observed: dict[str, Any]) -> None:
    line = json.dumps({"state": observed}).encode()
    assert verdict_on([*lines(), line])["verdict"] == "rejected"


def test_a_rejection_before_a_bad_line_stands_and_after_it_is_inconclusive() -> None:
    good = lines()
    wrong = b'{"state": {"group": {"generation": 99}}}\n'
    assert verdict_on([*good, wrong, b"{"])["verdict"] == "rejected"
    assert verdict_on([*good, b"{", wrong])["verdict"] == "inconclusive"


def test_a_missing_header_is_counted() -> None:
    record = verdict_on(lines()[1:])
    assert kinds(record) == {"missing version": 1}
    assert record["verdict"] == "accepted"


def test_another_version_is_refused() -> None:
    with pytest.raises(SpecError, match="version 2"):
        verdict_on([b'{"kspec_trace": 2, "mapping": "group"}\n', *lines()[1:]])


def test_a_clock_that_goes_backwards_is_counted() -> None:
    first, *events = map(json.loads, lines())
    for number, event in enumerate(events):
        event["time_ms"] = 1000 - number
    record = verdict_on([json.dumps(line).encode() for line in (first, *events)])
    assert kinds(record) == {"clock went backwards": 11}
    assert record["verdict"] == "accepted"


def test_a_gigabyte_without_a_newline_is_read_in_pieces() -> None:
    asked: list[int] = []

    def readline(size: int) -> bytes:
        asked.append(size)
        return b"x" * size if sum(asked) < 1 << 30 else b"\n"

    once: Callable[[int], bytes] = readline
    number, line = next(lines_of(once))
    assert (number, line) == (1, None)
    assert max(asked) <= MOST_LINE + 1


def test_files_that_cannot_be_read_are_errors_in_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty.ndjson"
    empty.write_text("")
    for path in (empty, tmp_path / "missing.ndjson", tmp_path):
        with pytest.raises(SpecError) as refused:
            list(validate_files([path], {"mapping": "group"}))
        assert "\n" not in str(refused.value)


def test_parquet_is_read_as_ndjson_is(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    header, *events = map(json.loads, lines())
    rows = {
        "rule": [event["rule"] for event in events],
        "choices": [json.dumps(event["choices"]) for event in events],
        "state": [json.dumps(event["state"]) for event in events],
    }
    table = pa.table(rows).replace_schema_metadata({"kspec_trace": json.dumps(header)})
    pq.write_table(table, tmp_path / "trace.parquet")
    found = next(iter(validate_files([tmp_path / "trace.parquet"], {"mapping": "group"})))
    assert (found.verdict, found.events) == ("accepted", 12)
    (tmp_path / "bad.parquet").write_text("no parquet")
    with pytest.raises(SpecError, match="cannot read"):
        list(validate_files([tmp_path / "bad.parquet"], {"mapping": "group"}))


def test_a_header_is_data_and_names_no_code(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("raise SystemExit('executed')")
    line = json.dumps({"kspec_trace": 1, "mapping": str(tmp_path / "model.py")}).encode()
    with pytest.raises(SpecError, match="no model or mapping"):
        validate_recordings([from_lines("file", [(1, line)])], {})


def test_each_schema_names_the_events_that_its_mapping_checks() -> None:
    assert read_schemas("trace").header["kspec_trace"]["const"] == VERSION
    assert read_schemas("replica").event["event"]["enum"] == list(HANDLERS)
    assert read_schemas("consumer").event["event"]["enum"] == list(KINDS)
    told = {one.event for one in BROKER_LINES.wordings} | {"deleted", "gap"}
    assert set(read_schemas("group-log").event["event"]["enum"]) <= told
