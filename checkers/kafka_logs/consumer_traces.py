"""Traces of the mapping `consumer`, made of the logs of Java consumers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkers.kafka_logs.adapter import Event
from checkers.kafka_logs.traces import Trace

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
        self.members: dict[str, tuple[int, str | None]] = {}
        """The generation of a consumer, and its member id."""

    def read(self, event: Event) -> None:
        """Take an event of a consumer."""
        if event["event"] in ("joined", "synced"):
            self.enter(event)
        elif event["event"] in ("assigned", "revoked", "lost", "committed"):
            self.traces[-1].append(self.shown(event))

    def enter(self, event: Event) -> None:
        """A consumer that is in a generation."""
        generation, time_ms = event["generation"], event.get("time_ms") or 0
        is_old = generation == self.latest and time_ms - self.since_ms > SAME_GENERATION_MS
        if generation < self.latest or is_old:
            self.traces.append([])
        if generation != self.latest or is_old:
            self.latest, self.since_ms = generation, time_ms
        self.members[event["node"]] = generation, event.get("member")

    def shown(self, event: Event) -> Event:
        """An event with the keys of the mapping."""
        made: Event = {"event": event["event"], "consumer": event["node"]}
        made |= {name: event[name] for name in ("time_ms", "instance", "source") if name in event}
        generation, member = self.members.get(event["node"], (None, None))
        if generation is not None and event["event"] == "assigned":
            made["generation"] = generation
        if member:
            made["member_id"] = member
        if "assigned" in event:
            made["partitions"] = [str(partition) for partition in event["assigned"]]
        if "offset" in event and "topic" in event:
            made["offsets"] = {f"{event['topic']}-{event['partition']}": event["offset"]}
        return made
