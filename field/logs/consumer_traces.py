"""Traces of the mapping `consumer`, made of the logs of Java consumers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kspec.field.logs.adapter import Event
from kspec.field.logs.traces import Trace

AT_ONCE_MS = 1_000
"""A consumer logs its assignment within this time after its generation. If lines may be missing,
an assignment that comes later may be one of a later generation."""
SAME_GENERATION_MS = 10 * 60_000
"""A generation that is seen again after so long is one of a new group with the same name."""


def consumer_traces(events: Iterable[Event]) -> Iterator[Trace]:
    """What the consumers of a group were assigned, lost and committed, a trace for each group.

    A group that was deleted begins with generation 1 again: then another trace begins.
    """
    found: dict[str, GroupTraces] = {}
    for event in events:
        if event.get("side") == "client" and "group" in event:
            found.setdefault(event["group"], GroupTraces()).read(event)
    for group, traces in found.items():
        header = {"kspec_trace": 1, "mapping": "consumer", "group": group, "order": "total"}
        for number, told in enumerate(filter(None, traces.traces), 1):
            name = f"consumers of group {group}" + (f", {number}" if number > 1 else "")
            yield Trace(name, header, list(told))


class GroupTraces:
    """The traces of a group's consumers."""

    def __init__(self) -> None:
        """No event was read."""
        self.traces: list[list[Event]] = [[]]
        self.latest, self.since_ms = -1, 0
        """The latest generation, and when it was first seen."""
        self.entered: dict[str, Event] = {}
        """The line that names a consumer's generation, until its next other line."""

    def read(self, event: Event) -> None:
        """Take an event of a consumer."""
        if event["event"] in ("joined", "synced"):
            self.enter(event)
        else:
            entered = self.entered.pop(event["node"], None)
            if event["event"] in ("assigned", "revoked", "lost", "committed"):
                self.traces[-1].append(shown(event, entered))

    def enter(self, event: Event) -> None:
        """A consumer that is in a generation."""
        generation, time_ms = event["generation"], event.get("time_ms") or 0
        is_old = generation == self.latest and time_ms - self.since_ms > SAME_GENERATION_MS
        if generation < self.latest or is_old:
            self.traces.append([])
        if generation != self.latest or is_old:
            self.latest, self.since_ms = generation, time_ms
        self.entered[event["node"]] = event


def shown(event: Event, entered: Event | None) -> Event:
    """An event with the keys of the mapping; `entered` names the consumer's generation."""
    made: Event = {"event": event["event"], "consumer": event["node"]}
    made |= {name: event[name] for name in ("time_ms", "instance", "source") if name in event}
    if entered and event["event"] == "assigned" and is_at_once(entered, event):
        made["generation"] = entered["generation"]
        if "member" in entered:
            made["member_id"] = entered["member"]
    if "assigned" in event:
        made["partitions"] = [str(partition) for partition in event["assigned"]]
    if "offset" in event and "topic" in event:
        made["offsets"] = {f"{event['topic']}-{event['partition']}": event["offset"]}
    return made


def is_at_once(before: Event, event: Event) -> bool:
    """Whether an event follows another immediately."""
    times = before.get("time_ms"), event.get("time_ms")
    return None not in times and 0 <= event["time_ms"] - before["time_ms"] <= AT_ONCE_MS
