"""Files as recorded traces, a line at a time, in bounded memory.

NDJSON, Parquet and ITF are read. Whatever is read is data: a line that is not an event is counted
and named, and the next line is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import attrs

from kspec.checkers.needs import needs
from kspec.field.recorded.mapping import Event
from kspec.field.recorded.problems import Problems
from kspec.spec.core import SpecError
from kspec.spec.core.errors import located
from kspec.traces.itf import ACTION, PICKS
from kspec.traces.source import bounded_lines, name_of, parse_json, read_text, standard_input

MOST_LINE = 1 << 20
"""The longest line that is read, in bytes: 1 MiB. Of a longer one, nothing is kept."""

Header = Mapping[str, Any]


@attrs.frozen
class Recording:
    """A trace that is being read."""

    name: str
    """Its file."""
    header: Header
    """Empty where the file has none."""
    events: Iterator[Event]
    """Each event when it is asked for."""
    problems: Problems
    """What could not be read so far."""


def read_trace(path: Path, problems: Problems | None = None) -> Recording:
    """The trace in a file, or on standard input for `-`; only its header is read at once."""
    name = name_of(path)
    if path.suffix == ".parquet":
        return recording(name, parquet_objects(path), problems)
    if is_itf(path):
        return recording(name, itf_objects(path), problems)
    return from_lines(name, numbered_lines(path), problems)


def is_itf(path: Path) -> bool:
    """Whether a file is one JSON document, and not a JSON object on each line."""
    if path.name.endswith(".itf.json"):
        return True
    if path.suffix != ".json" or not path.is_file():
        return False
    _, line = next(numbered_lines(path), (0, b""))
    try:
        first = json.loads(line or b"")
    except (ValueError, RecursionError):
        return True
    return isinstance(first, dict) and "states" in first


def from_lines(
    name: str, lines: Iterable[tuple[int, bytes | None]], problems: Problems | None = None
) -> Recording:
    """The trace of numbered NDJSON lines; None is a line that is too long."""
    problems = Problems() if problems is None else problems
    return recording(name, objects(name, lines, problems), problems)


def from_objects(name: str, contents: Iterable[Mapping[str, Any]]) -> Recording:
    """The trace of JSON objects that are in memory: a header, and events."""
    return recording(name, enumerate(contents, 1))


def recording(
    name: str,
    found: Iterable[tuple[int, Mapping[str, Any]]],
    problems: Problems | None = None,
) -> Recording:
    """A trace of numbered objects, of which the first may be the header."""
    problems = Problems() if problems is None else problems
    rest = iter(found)
    first = list(islice(rest, 1))
    header: Header = {}
    if first and "kspec_trace" in first[0][1]:
        header = first.pop()[1]
    elif first:
        problems.add("missing version", name, first[0][0], 'no header {"kspec_trace": 1, …}')
    return Recording(name, header, numbered(name, chain(first, rest), problems), problems)


def numbered(
    name: str, contents: Iterable[tuple[int, Mapping[str, Any]]], problems: Problems
) -> Iterator[Event]:
    """The events with their numbers; clocks that go backwards are counted."""
    clocks: dict[str, float] = {}
    for number, (line, content) in enumerate(contents, 1):
        source = content.get("source")
        file, at = name, line
        if isinstance(source, dict):
            file, at = str(source.get("file", name)), source.get("line", line)
            at = at if type(at) is int else line
        time = content.get("time_ms")
        if type(time) is int or type(time) is float:
            node = str(content.get("node", ""))
            latest = clocks.get(node)
            if latest is not None and time < latest:
                back = f"{latest - time:g} ms before an earlier event"
                problems.add(
                    "clock went backwards", file, at, back + (f" of {node}" if node else "")
                )
            elif latest is not None or len(clocks) < MOST_CLOCKS:
                clocks[node] = time
        yield Event(number, content, file, at, problems.unread)


MOST_CLOCKS = 10_000
"""Of how many nodes the clocks are followed."""


# -- NDJSON ----------------------------------------------------------------------------------


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file that are not blank; None for a line that is too long."""
    try:
        if str(path) == "-":
            yield from lines_of(standard_input().readline)
        else:
            with path.open("rb") as file:
                yield from lines_of(file.readline)
    except OSError as error:
        raise SpecError(f"cannot read {name_of(path)}: {error.strerror or error}") from None


def lines_of(readline: Callable[[int], bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Lines of bounded length."""
    for number, line in bounded_lines(readline, MOST_LINE):
        if len(line) > MOST_LINE:
            yield number, None
        elif line.strip():
            yield number, line


def objects(
    name: str, lines: Iterable[tuple[int, bytes | None]], problems: Problems
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The JSON objects on the lines; other lines are counted."""
    loads = json.loads
    for number, line in lines:
        if line is None:
            problems.add("line too long", name, number, f"longer than {MOST_LINE >> 20} MiB")
            continue
        try:
            content = loads(line)
        except (ValueError, RecursionError) as error:
            told = str(error).partition(":")[0] or "nested too deeply"
            problems.add("malformed line", name, number, f"not JSON, or cut short: {told}")
            continue
        if type(content) is dict:
            yield number, content
        else:
            problems.add("malformed line", name, number, "not a JSON object")


# -- Parquet ----------------------------------------------------------------------------------


def parquet_objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a Parquet file: columns are keys, nulls are left out.

    The columns `choices`, `state`, `fields` and `source` may be JSON text. The header is the
    file's metadata `kspec_trace`, as JSON.
    """
    needs("a Parquet file", "checkpoint", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            said = (file.schema_arrow.metadata or {}).get(b"kspec_trace")
            if said is not None:
                yield 0, parse_json(said.decode("utf-8", "replace"))
            number = 0
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {k: from_column(v) for k, v in row.items() if v is not None}
    except FileNotFoundError:
        raise SpecError(f"cannot read {path}: No such file or directory") from None
    except (pa.ArrowException, OSError) as error:
        raise SpecError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def from_column(value: Any) -> Any:
    """A cell: JSON text of an object becomes the object; nulls in structs are left out."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, dict):
        return {k: from_column(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [from_column(v) for v in value]
    return value


# -- ITF --------------------------------------------------------------------------------------


def itf_objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """An ITF file as a header and events; any variable may be missing, and rule and choices too."""
    name = name_of(path)
    with located(name):
        raw = parse_json(read_text(path))
    yield from itf_events(raw, name)


def itf_events(raw: Any, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The header and the events of an ITF document; a line is the number of a state."""
    states = raw.get("states") if isinstance(raw, dict) else None
    if not isinstance(states, list) or not states or not all(isinstance(s, dict) for s in states):
        raise SpecError(f'{name}: not an ITF trace: it has no list "states" of objects')
    meta = raw.get("#meta")
    about = meta.get("kspec") if isinstance(meta, dict) else None
    about = about if isinstance(about, dict) else {}
    known = {"model": "mapping", "variant": "variant", "bounds": "bounds"}
    header = {own: about[theirs] for theirs, own in known.items() if theirs in about}
    yield 1, {"kspec_trace": 1, **header, "initial": observed_in(states[0])}
    for number, state in enumerate(states[1:], 2):
        event: dict[str, Any] = {"state": observed_in(state)}
        if state.get(ACTION) is not None:
            event["rule"] = state[ACTION]
        if isinstance(state.get(PICKS), dict):
            event["choices"] = state[PICKS]
        yield number, event


def observed_in(state: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of an ITF state."""
    return {k: v for k, v in state.items() if not k.startswith("#") and k not in (ACTION, PICKS)}
