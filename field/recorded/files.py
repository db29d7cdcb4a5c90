"""Files to verdicts: `kspec validate` and others begin here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from kspec.checkers.models.find import registered_models
from kspec.checkers.registered import registered
from kspec.field.recorded.checker import Limits, after_events, finish
from kspec.field.recorded.find import MAPPINGS, find_mapping, is_code
from kspec.field.recorded.mapping import Event, TraceMapping
from kspec.field.recorded.merging import after_merging
from kspec.field.recorded.problems import Problems
from kspec.field.recorded.reading import Header, Recording, read_trace
from kspec.field.recorded.verdict import Validation
from kspec.spec.core import SpecError, look_up

LOOK_AHEAD = 1000
"""In how many events nodes are looked for, to know whether a file has several."""


def validate_files(
    paths: Sequence[Path],
    options: Header,
    *,
    merge: bool = False,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Iterator[Validation]:
    """The verdict on each file; on all of them together if they are to be merged."""
    if merge:
        problems = Problems()
        recordings = [read_trace(path, problems) for path in paths]
        yield with_events(validate_recordings(recordings, options, limits))
    else:
        for path in paths:
            yield with_events(validate_recordings([read_trace(path)], options, limits))


def validate_recordings(
    recordings: Sequence[Recording],
    options: Header,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    mapping: TraceMapping | None = None,
) -> Validation:
    """The verdict on one trace, of one or more recordings; options replace the header's keys.

    Several recordings share their `Problems`.
    """
    header = header_of(recordings, options)
    mapping = mapping or find_mapping(header, runs_code="mapping" in options)
    problems = recordings[0].problems
    sources: list[Iterable[Event]] = [recording.events for recording in recordings]
    several = len(sources) > 1
    if not several:
        sources[0], has_nodes = with_nodes(recordings[0].events)
        several = has_nodes and header.get("order") != "total"
    if several:
        skew, names = header.get("clock_skew_ms"), header.get("nodes")
        frontier = after_merging(
            mapping,
            sources,
            problems,
            limits,
            clock_skew_ms=skew if type(skew) in (int, float) else None,
            names=[str(name) for name in names] if isinstance(names, list) else (),
        )
    else:
        frontier = after_events(mapping, sources[0], problems, limits)
    return finish(
        mapping,
        frontier,
        trace=", ".join(recording.name for recording in recordings),
        complete=header.get("complete") is True,
        problems=problems,
        limits=limits,
    )


def header_of(recordings: Sequence[Recording], options: Header) -> dict[str, Any]:
    """The keys of the first header that has them, with those of the options."""
    header: dict[str, Any] = {}
    for recording in reversed(recordings):
        header |= recording.header
    said, asked = header.get("mapping"), options.get("mapping")
    if asked is not None and not is_code(str(asked)):
        look_up("model or mapping", str(asked), {**registered_models(), **registered(MAPPINGS)})
    if isinstance(said, str) and asked is not None and said != asked and not is_code(str(asked)):
        raise SpecError(f"{recordings[0].name} is a trace of {said}, not of {asked}")
    for key, value in options.items():
        if isinstance(value, Mapping) and isinstance(header.get(key), Mapping):
            header[key] = {**header[key], **value}
        else:
            header[key] = value
    return header


def with_nodes(events: Iterator[Event]) -> tuple[Iterator[Event], bool]:
    """The same events, and whether the first of them are of several nodes."""
    first = list(islice(events, LOOK_AHEAD))
    return chain(first, events), len({event.node for event in first}) > 1


def with_events(found: Validation) -> Validation:
    """The verdict; SpecError for a file without an event."""
    if found.events or found.rejection:
        return found
    samples = [s for kind in found.problems.to_json() for s in kind["samples"]]
    told = f"; line {samples[-1]['line']}: {samples[-1]['problem']}" if samples else ""
    raise SpecError(f"{found.trace} holds no event of {found.mapping}{told}")
