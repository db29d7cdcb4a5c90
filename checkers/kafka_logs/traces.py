"""Recorded traces made of logs, for the checker: a header and events for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from checkers.kafka_logs.adapter import Event
from checkers.kafka_logs.gaps import mark_gaps
from checkers.kafka_logs.group_life import GROUP_EVENTS


@attrs.frozen
class Trace:
    """A recorded trace in memory."""

    name: str
    header: Mapping[str, Any]
    events: list[Mapping[str, Any]]

    def objects(self) -> list[Mapping[str, Any]]:
        """The header and the events, as the lines of a file."""
        return [self.header, *self.events]


def group_traces(events: Iterable[Event], *, lines_missing: bool = True) -> Iterator[Trace]:
    """A trace for each group and each broker that coordinated it.

    With `lines_missing`, a `gap` stands where lines must be missing; otherwise the log is taken
    as complete.
    """
    found: dict[tuple[str, str], list[Event]] = {}
    for event in by_group(events):
        found.setdefault((event["group"], event["node"]), []).append(event)
    for (group, node), lines in found.items():
        marked, excused = mark_gaps(lines) if lines_missing else (lines, [])
        header = {"kspec_trace": 1, "mapping": "group-log", "group": group, "node": node}
        if excused:
            header["excused"] = excused
        yield Trace(f"group {group} on broker {node}", header, list(marked))


def by_group(events: Iterable[Event]) -> Iterator[Event]:
    """The coordinators' events, each of one group."""
    for event in events:
        if "side" in event:
            continue
        if event["event"] == "groups_deleted":
            for group in event["groups"]:
                yield {**event, "event": "deleted", "group": str(group)}
        elif "group" in event and event["event"] in GROUP_EVENTS:
            yield event
