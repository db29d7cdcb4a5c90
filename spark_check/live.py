"""A trace whose events are still coming: what is kept of it between two batches of a stream.

Events of different files or topic partitions come in any order. They wait until the trace's
watermark, its latest time less a delay, has passed them, and are checked in the order of their
times. An event that comes after later ones were checked is late: it is counted, and a rejection
after it is inconclusive.
"""

from __future__ import annotations

import enum
import io
import json
import math
import pickle
from collections.abc import Iterable, Iterator
from importlib import import_module
from operator import itemgetter
from typing import Any

import attrs

from kspec.field.recorded import BadEvent, Event, Frontier, Problems, TraceMapping, Validation
from kspec.field.recorded.checker import UNREAD, advance, begin, finish, skip
from kspec.spark_check.events import HEADER, Row
from kspec.spark_check.verdicts import Question, mapping_for
from kspec.spec.core import SpecError

CLOCKS = "events of several nodes were ordered by their clocks"
"""Why a rejection may be false where the order of nodes' events matters."""

in_time = itemgetter(2, 3, 4)


@attrs.define
class Live:
    """A trace so far."""

    trace: str
    header: dict[str, Any] = attrs.field(factory=dict)
    waiting: list[Row] = attrs.field(factory=list)
    """Events that the watermark has not passed."""
    clocks: dict[tuple[str, str], float] = attrs.field(factory=dict)
    """The latest time of each node in each file."""
    latest: float = -math.inf
    """The latest time."""
    checked: float = -math.inf
    """The time of the last event that was checked."""
    frontier: Frontier | None = None
    """None before the first event is checked."""
    number: int = 0
    """How many events were checked, or were malformed."""
    node: str | None = None
    """The node of the first event."""
    late: int = 0
    """How many events were late."""
    problems: Problems = attrs.field(factory=Problems)
    is_over: bool = False
    """Whether a verdict was given; further events change nothing."""


def take(question: Question, live: Live, rows: Iterable[Row], delay: float) -> Validation | None:
    """Add events, and check those that the watermark passes; a verdict if that rejects one."""
    if live.is_over:
        return None
    for row in sorted(rows, key=itemgetter(1, 3, 4)):
        if row[1] == HEADER:
            live.header = json.loads(row[5]) | live.header
        else:
            wait(live, row)
    return check(question, live, live.latest - delay)


def wait(live: Live, row: Row) -> None:
    """Put an event among those that wait, unless it is late."""
    trace, kind, time, file, line, content, unread = row
    source = str(json.loads(content).get("node", "")), file
    known = live.clocks.get(source, -math.inf)
    time = max(known, time if time is not None else live.latest)
    live.clocks[source] = time
    live.latest = max(live.latest, time)
    if time < live.checked:
        live.late += 1
        live.problems.add("late event", file, line, f"{live.checked - time:g} ms too late")
    else:
        live.waiting.append((trace, kind, time, file, line, content, unread))


def check(question: Question, live: Live, until: float) -> Validation | None:
    """Check the events up to a time; the verdict if one is rejected."""
    mapping = mapping_for(question, live.header)
    frontier = live.frontier or begin(mapping, question.limits)
    if live.late and not mapping.may_lack_events:
        frontier = skip(frontier, "a late event was not checked")
    live.waiting.sort(key=in_time)
    count = sum(1 for row in live.waiting if (row[2] or 0) <= until)
    ready, live.waiting = live.waiting[:count], live.waiting[count:]
    for event in events_of(live, ready):
        frontier = after(question, mapping, live, frontier, event)
        if frontier.is_over:
            break
    live.frontier = frontier
    return verdict_on(question, live, mapping) if frontier.is_over else None


def events_of(live: Live, rows: Iterable[Row]) -> Iterator[Event]:
    """Rows as the next events of a trace."""
    for _, _, time, file, line, content, unread in rows:
        live.number += 1
        live.checked = live.checked if time is None else time
        yield Event(live.number, json.loads(content), file, line, unread)


def after(
    question: Question, mapping: TraceMapping, live: Live, frontier: Frontier, event: Event
) -> Frontier:
    """The frontier after an event."""
    live.node = event.node if live.node is None else live.node
    try:
        if event.unread and not mapping.may_lack_events:
            frontier = skip(frontier, UNREAD)
        is_ordered = event.node == live.node or live.header.get("order") == "total"
        if not is_ordered and not mapping.is_local(mapping.read(event.content)):
            frontier = skip(frontier, CLOCKS)
        return advance(mapping, frontier, event, question.limits)
    except BadEvent as error:
        live.problems.add("malformed event", event.file, event.line, str(error))
        return frontier if mapping.may_lack_events else skip(frontier, UNREAD)


def end(question: Question, live: Live) -> Validation:
    """The verdict on a trace without further events."""
    found = check(question, live, math.inf)
    return found or verdict_on(question, live, mapping_for(question, live.header))


def verdict_on(question: Question, live: Live, mapping: TraceMapping) -> Validation:
    """The verdict on the events that were checked; the trace is over."""
    assert live.frontier is not None
    verdict = finish(
        mapping,
        live.frontier,
        trace=live.trace,
        complete=live.header.get("complete") is True,
        problems=live.problems,
        limits=question.limits,
    )
    live.is_over, live.frontier, live.waiting, live.clocks = True, None, [], {}
    return verdict


# -- as bytes -------------------------------------------------------------------------------------


def to_bytes(live: Live) -> bytes:
    """A trace so far, for Spark's state store."""
    return pickle.dumps(live)


def from_bytes(content: bytes) -> Live:
    """A trace so far. Only kspec's records are made: nothing else is called."""
    live = Records(io.BytesIO(content)).load()
    assert isinstance(live, Live)
    return live


class Records(pickle.Unpickler):
    """An unpickler that knows attrs classes, enums and named tuples of kspec, and sets."""

    def find_class(self, module: str, name: str) -> Any:
        """The class; SpecError for any other."""
        if module == "builtins" and name in ("set", "frozenset"):
            return super().find_class(module, name)
        if module.partition(".")[0] == "kspec" and "." not in name:
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and (
                attrs.has(found) or issubclass(found, enum.Enum | tuple | frozenset)
            ):
                return found
        raise SpecError(
            f"the state of a stream has {module}.{name}, which is not a record of kspec's"
        )
