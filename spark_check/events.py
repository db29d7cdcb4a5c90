"""Events as rows: each with its trace, and its place in the order.

A trace is the events with equal values of some keys, such as `cluster` and `group`; the values may
also be in the names of folders (`cluster=eu/events.ndjson`). Its events may be spread over files,
and a file may have events of many traces.

The order of a node's events in a file is kept. Otherwise, events are ordered by their times: if a
clock goes backwards within a file, the later line gets the time of the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pyarrow as pa

from kspec.field.recorded.mapping import Event
from kspec.field.recorded.problems import Problems
from kspec.field.recorded.reading import MOST_LINE, Recording, from_lines, read_trace
from kspec.spec.core import SpecError

HEADER, EVENT, PROBLEMS = 0, 1, 2
"""The kinds of rows; a header stands before the events of its trace."""

ROW = pa.schema(
    [
        ("trace", pa.string()),
        ("kind", pa.int8()),
        ("time", pa.float64()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("content", pa.string()),
        ("unread", pa.int64()),
    ]
)
"""`trace` is a JSON object of the keys; `unread` counts unreadable lines before, in the file."""

ORDER = ("trace", "kind", "time", "file", "line")

Row: TypeAlias = tuple[str, int, float | None, str, int, str, int]

NO_TRACE, UNREADABLE = "event of no trace", "unreadable file"
CLOCK = "clock went backwards"
"""The kind of problem that `kspec.field.recorded.reading` counts by node."""

TOGETHER = 4096
"""How many rows are sent together."""


def event_rows(by: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of files, whose paths are the only column."""
    for batch in batches:
        for path in batch.column(0).to_pylist():
            yield from together(rows_of_file(path, by))


def record_rows(by: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a topic's records: their file is the topic partition, their line the offset."""
    for batch in batches:
        records = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        for file, some in groupby(sorted(records, key=itemgetter(0, 1)), itemgetter(0)):
            values = [(offset, bounded(value)) for _, offset, value in some if value]
            rows = rows_of_recording(file, partial(from_lines, file, values), by, {})
            yield from together(row for row in rows if row[1] != PROBLEMS or row[6])


def bounded(value: bytes) -> bytes | None:
    """A record's value; None if it is too long."""
    return value if len(value) <= MOST_LINE else None


def together(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Rows as batches."""
    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == TOGETHER:
            yield as_batch(waiting)
            waiting = []
    if waiting:
        yield as_batch(waiting)


def as_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Some rows."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array(column, kind)
            for column, kind in zip(zip(*rows, strict=True), ROW.types, strict=True)
        ],
        schema=ROW,
    )


def rows_of_file(address: str, by: Sequence[str]) -> Iterator[Row]:
    """The events of a file, then what could not be read."""
    known = values_in(Path(address), by)
    return rows_of_recording(address, lambda: read_trace(local(address)), by, known)


def rows_of_recording(
    name: str, read: Callable[[], Recording], by: Sequence[str], known: Mapping[str, str]
) -> Iterator[Row]:
    """The events of a recording, then what could not be read."""
    problems = Problems()
    try:
        recording = read()
        name, problems = recording.name, recording.problems
        yield from rows_of(recording, by, known)
    except Exception as error:  # a file is never fatal to others
        text = str(error) if isinstance(error, SpecError) else repr(error)
        problems.add(UNREADABLE, name, 0, text)
    if problems.counts:
        others = sum(problems.counts.get(kind, 0) for kind in (NO_TRACE, UNREADABLE))
        content = json.dumps(problems.to_json())
        trace = json.dumps({"file": name})
        yield trace, PROBLEMS, None, name, 0, content, problems.unread + others


def rows_of(recording: Recording, by: Sequence[str], known: Mapping[str, str]) -> Iterator[Row]:
    """The events of a recording; `known` are the keys that all of them have."""
    header, problems = recording.header, recording.problems
    text = json.dumps(header) if header else ""
    named: set[str] = set()
    clocks: dict[tuple[str, str], float] = {}
    backwards = Problems()
    for event in recording.events:
        content = event.content
        trace = trace_of(content, by, known)
        if trace is None:
            problems.add(NO_TRACE, event.file, event.line, f"without {', '.join(by)}")
            continue
        if text and trace not in named:
            named.add(trace)
            yield trace, HEADER, None, recording.name, 0, text, 0
        if "kspec_trace" in content:
            yield trace, HEADER, None, event.file, event.line, json.dumps(content), 0
            continue
        latest, where = clocks.get((trace, event.node)), (event.file, event.line)
        time = time_of(event)
        if latest is not None and (time is None or time < latest):
            if time is not None:
                backwards.add(CLOCK, *where, f"{latest - time:g} ms before an earlier event")
            time = latest
        if time is not None:
            clocks[trace, event.node] = time
        yield trace, EVENT, time, *where, json.dumps(content), event.unread
    problems.counts.pop(CLOCK, None)  # of nodes, whatever their traces are
    problems.counts |= backwards.counts
    problems.samples |= backwards.samples


def trace_of(content: Mapping[str, Any], by: Sequence[str], known: Mapping[str, str]) -> str | None:
    """The trace of an event; None if it has none of the keys."""
    keys = {name: content[name] if name in content else known.get(name) for name in by}
    if all(value is None for value in keys.values()):
        return None
    return json.dumps(keys, sort_keys=True)


def time_of(event: Event) -> float | None:
    """The time of an event, if it has one."""
    time = event.content.get("time_ms")
    return float(time) if type(time) is int or type(time) is float else None


def local(address: str) -> Path:
    """The file at an address of Spark's."""
    parts = urlsplit(address)
    if parts.scheme not in ("", "file"):
        raise SpecError(f"{address} is not in a folder: mount it on all machines")
    return Path(address.removeprefix("file:").replace("///", "/", 1))


def values_in(path: Path, by: Sequence[str]) -> dict[str, str]:
    """The keys in the names of the folders around a file."""
    pairs = (part.partition("=") for part in path.parts[:-1])
    return {name: value for name, equals, value in pairs if equals and name in by}
