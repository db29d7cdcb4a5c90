"""Logs to verdicts: `kspec validate --from KIND`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kspec.field.logs.adapter import MOST_EVENTS, Event, Reading
from kspec.field.logs.consumer_traces import consumer_traces
from kspec.field.logs.traces import (
    Trace,
    group_traces,
    replica_traces,
    request_traces,
)
from kspec.field.recorded.checker import Limits
from kspec.field.recorded.files import validate_recordings
from kspec.field.recorded.reading import from_objects
from kspec.field.recorded.verdict import Validation
from kspec.spec.core import SpecError

KINDS: Mapping[str, Mapping[str, Callable[..., Iterable[Trace]]]] = {
    "kafka-log": {"group-log": group_traces, "replica": replica_traces},
    "kafka-request-log": {"coordinator": request_traces},
    "consumer-log": {"consumer": consumer_traces},
}
"""The kinds of logs, with the mappings that their traces are checked against."""


def traces_of(
    kind: str,
    events: Sequence[Event],
    mapping: str | None,
    *,
    lines_missing: bool,
    unclean: bool = False,
) -> Iterator[Trace]:
    """The traces in logs of a kind; those of one mapping only if it is named."""
    for name, make in KINDS[kind].items():
        if mapping not in (None, name):
            continue
        if make is group_traces:
            yield from group_traces(events, lines_missing=lines_missing)
        elif make is replica_traces:
            yield from replica_traces(events, unclean=unclean)
        else:
            yield from make(events)


def validate_logs(
    kind: str,
    reading: Reading,
    options: Mapping[str, Any],
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> list[Validation]:
    """The verdict on each group, partition or consumer of the logs."""
    if not reading.is_whole:
        raise SpecError(f"more than {MOST_EVENTS:,} events: validate the logs in parts")
    settings = dict(options.get("settings") or {})
    lines = settings.pop("lines", "some")
    if lines not in ("some", "all"):
        raise SpecError(f"lines is some or all, not {lines!r:.40}")
    unclean = str(settings.pop("unclean", "false")).lower()
    if unclean not in ("true", "false"):
        raise SpecError(f"unclean is true or false, not {unclean!r:.40}")
    others = {key: value for key, value in options.items() if key not in ("mapping", "settings")}
    others |= {"settings": settings} if settings else {}
    mapping = options.get("mapping")
    how = {"lines_missing": lines == "some", "unclean": unclean == "true"}
    traces = list(traces_of(kind, reading.events, mapping, **how))
    if not traces:
        mappings = " or ".join(KINDS[kind])
        raise SpecError(f"no line makes a trace of {mappings}: is it a {kind}?")
    found = []
    for trace in traces:
        recording = from_objects(trace.name, trace.objects())
        found.append(validate_recordings([recording], others, limits))
    return found


def excuses(validation: Validation) -> Iterator[str]:
    """What missing lines excuse in a trace, for a reader."""
    excused = validation.about.get("excused") or []
    if excused:
        one = excused[0]
        number = "1 place" if len(excused) == 1 else f"{len(excused):,} places"
        yield (
            f"  Lines must be missing in {number}; the first is before {one.get('file')}, line "
            f"{one.get('line')} ({one.get('guard')}). With them, more could be checked."
        )
