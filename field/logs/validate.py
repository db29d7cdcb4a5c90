"""Logs to verdicts: `kspec validate --from KIND`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from kspec.field.logs.adapter import MOST_EVENTS, Event, Reading
from kspec.field.logs.consumer_traces import consumer_traces
from kspec.field.logs.traces import Trace, group_traces, replica_traces, request_traces
from kspec.field.recorded.checker import Limits
from kspec.field.recorded.files import validate_recordings
from kspec.field.recorded.reading import from_objects
from kspec.field.recorded.verdict import Validation
from kspec.spec.core import SpecError
from kspec.traces.text import counted

Maker: TypeAlias = Callable[[Sequence[Event]], Iterable[Trace]]


def makers(kind: str, *, lines_missing: bool, unclean: bool) -> Mapping[str, Maker]:
    """How traces are made of the logs of a kind, by the mapping that they are checked against."""
    if kind == "kafka-request-log":
        return {"coordinator": request_traces}
    if kind == "consumer-log":
        return {"consumer": consumer_traces}
    return {
        "group-log": partial(group_traces, lines_missing=lines_missing),
        "replica": partial(replica_traces, unclean=unclean),
    }


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
    made = makers(kind, lines_missing=lines == "some", unclean=unclean == "true")
    traces = [t for n, make in made.items() if mapping in (None, n) for t in make(reading.events)]
    if not traces:
        raise SpecError(f"no line makes a trace of {' or '.join(made)}: is it a {kind}?")
    return [
        validate_recordings([from_objects(trace.name, trace.objects())], others, limits)
        for trace in traces
    ]


def excuses(validation: Validation) -> Iterator[str]:
    """What missing lines excuse in a trace, for a reader."""
    excused = validation.about.get("excused") or []
    if excused:
        one = excused[0]
        number = counted(len(excused), "place")
        yield (
            f"  Lines must be missing in {number}; the first is before {one.get('file')}, line "
            f"{one.get('line')} ({one.get('guard')}). With them, more could be checked."
        )
