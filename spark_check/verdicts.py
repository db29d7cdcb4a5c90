"""Verdicts as rows: the traces among rows of events, checked one after the other.

Rows come sorted by trace and order, so that a trace is never in memory as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, TypeAlias, overload

import attrs
import pyarrow as pa

from kspec.field.recorded import (
    Event,
    Limits,
    Problems,
    Recording,
    TraceMapping,
    Validation,
    find_mapping,
    read_trace,
    validate_recordings,
)
from kspec.field.recorded.find import VERSION
from kspec.field.recorded.report import lines
from kspec.field.recorded.verdict import INCONCLUSIVE
from kspec.spark_check.events import EVENT, HEADER, PROBLEMS, TOGETHER, Row, local
from kspec.spec.core import SpecError

VERDICT = pa.schema(
    [
        ("trace", pa.string()),
        ("verdict", pa.string()),
        ("events", pa.int64()),
        ("unread", pa.int64()),
        ("because", pa.string()),
        ("event", pa.int64()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("guard", pa.string()),
        ("report", pa.string()),
        ("details", pa.string()),
    ]
)
"""`unread` counts lines that could not be read. `report` is what `kspec validate` prints, and
`details` what it prints with `--json`."""

Verdict: TypeAlias = dict[str, Any]


@attrs.frozen
class Question:
    """What is asked of each trace."""

    options: Mapping[str, Any]
    """Keys that replace those of a header; `mapping` at least."""
    by: tuple[str, ...] = ()
    """The keys of a trace; without them, each file is a trace."""
    limits: Limits = attrs.field(factory=Limits)


# -- a file is a trace ----------------------------------------------------------------------------


def verdicts_of_files(
    question: Question, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The verdict on each file."""
    for batch in batches:
        for address in batch.column(0).to_pylist():
            yield as_batch(safely(address, lambda: of_file(question, address)))  # noqa: B023


def of_file(question: Question, address: str) -> Validation:
    """The verdict on a file, as `kspec validate` gives it."""
    return checked(question, read_trace(local(address)))


# -- a trace is the events with equal keys --------------------------------------------------------


def verdicts_of_rows(
    question: Question, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The verdict on each trace among sorted rows, and what could not be read in each file."""
    for (kind, trace), rows in groupby(rows_in(batches), lambda row: (row[1] == PROBLEMS, row[0])):
        if kind:
            yield from (as_batch(of_problems(row)) for row in rows)
        else:
            yield as_batch(safely(trace, lambda: of_rows(question, trace, rows)))  # noqa: B023


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def of_rows(question: Question, trace: str, rows: Iterator[Row]) -> Validation:
    """The verdict on a trace."""
    header: dict[str, Any] = {}
    first: list[Row] = []
    for row in rows:
        if row[1] == EVENT:
            first.append(row)
            break
        header = json.loads(row[5]) | header

    def events() -> Iterator[Event]:
        number = 0
        for _, kind, _, file, line, content, lost in (*first, *rows):
            if kind == EVENT:
                number += 1
                yield Event(number, json.loads(content), file, line, lost)

    return checked(question, Recording(trace, header, events(), Problems()))


def with_problems(batches: Iterable[Any]) -> tuple[list[Row], list[Verdict]]:
    """The events among the rows of a stream, in frames of pandas, and what could not be read."""
    rows: list[Row] = []
    problems: list[Verdict] = []
    for batch in batches:
        for trace, kind, time, *rest in batch.itertuples(index=False, name=None):
            row = (trace, int(kind), None if time != time else time, *rest)
            if kind == PROBLEMS:
                problems.append(of_problems(row))
            else:
                rows.append(row)
    return rows, problems


def of_problems(row: Row) -> Verdict:
    """What could not be read in a file: no verdict, since it is about no trace."""
    trace, _, _, file, _, content, lost = row
    problems = json.loads(content)
    counts = ", ".join(f"{kind['count']} × {kind['kind']}" for kind in problems)
    samples = [
        f"  {sample['file']}, line {sample['line']}: {sample['problem']}"
        for kind in problems
        for sample in kind["samples"]
    ]
    return {
        "trace": trace,
        "events": 0,
        "unread": lost,
        "because": counts,
        "file": file,
        "report": "\n".join([f"{file}: {counts}", *samples]),
        "details": content,
    }


# -- both -----------------------------------------------------------------------------------------


def checked(question: Question, recording: Recording) -> Validation:
    """The verdict on a trace."""
    mapping = mapping_for(question, recording.header)
    return validate_recordings([recording], question.options, question.limits, mapping)


def mapping_for(question: Question, header: Mapping[str, Any]) -> TraceMapping:
    """The mapping of a trace's header."""
    own = {name: value for name, value in header.items() if name not in question.by}
    return mapping_of(json.dumps({**own, **question.options}, sort_keys=True))


@lru_cache(maxsize=64)
def mapping_of(header: str) -> TraceMapping:
    """The mapping of a header, which traces share."""
    return find_mapping(json.loads(header), runs_code=True)


@overload
def safely(trace: str, check: Callable[[], Validation]) -> Verdict: ...
@overload
def safely(trace: str, check: Callable[[], Validation | None]) -> Verdict | None: ...
def safely(trace: str, check: Callable[[], Validation | None]) -> Verdict | None:
    """A verdict as a row, if there is one. No trace is fatal to others."""
    try:
        found = check()
        return None if found is None else row_of(found)
    except Exception as error:
        why = str(error) if isinstance(error, SpecError) else repr(error)
        return row_of(without_verdict(trace, why))


def without_verdict(trace: str, why: str) -> Validation:
    """An inconclusive verdict."""
    return Validation(
        verdict=INCONCLUSIVE,
        trace=trace,
        mapping="",
        events=0,
        about={},
        hidden_names=(),
        most_hidden=0,
        largest=0,
        problems=Problems(),
        because=why,
    )


def row_of(found: Validation) -> Verdict:
    """A verdict as a row."""
    record = found.to_json()
    event = record.get("event")
    return {
        "trace": found.trace,
        "verdict": found.verdict,
        "events": found.events,
        "unread": found.problems.unread,
        "because": found.because or None,
        "event": event["number"] if event else None,
        "file": record.get("file"),
        "line": record.get("line"),
        "guard": record.get("guard"),
        "report": "\n".join(lines(found)),
        "details": json.dumps(record, default=str),
    }


def as_batch(row: Verdict) -> pa.RecordBatch:
    """A row."""
    return pa.RecordBatch.from_pylist([row], VERDICT)


# -- rejected traces as files ---------------------------------------------------------------------


def lines_of_rows(
    question: Question, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Sorted rows as the lines of recorded traces, each with the name of its folder."""
    for trace, rows in groupby(rows_in(batches), itemgetter(0)):
        found = lines_of(question, rows)
        while some := list(islice(found, TOGETHER)):
            columns = {"trace": [folder_of(trace)] * len(some), "value": some}
            yield pa.RecordBatch.from_pydict(columns)


def lines_of(question: Question, rows: Iterator[Row]) -> Iterator[str]:
    """The header of a trace, and its events, each with the line that it came from."""
    header: dict[str, Any] = {"kspec_trace": VERSION}
    begun = False
    for _, kind, _, file, line, content, _ in rows:
        if kind == HEADER:
            header = json.loads(content) | header
            continue
        if not begun:
            yield json.dumps({**header, **question.options})
            begun = True
        yield json.dumps({**json.loads(content), "source": {"file": file, "line": line}})


def folder_of(trace: str) -> str:
    """A name for a trace's folder: its keys, and a digest, since names may be shortened."""
    keys = [str(value) for value in json.loads(trace).values() if value is not None]
    name = re.sub(r"[^\w.-]+", "_", "-".join(keys))[:60]
    return f"{name}-{sha256(trace.encode()).hexdigest()[:8]}"
