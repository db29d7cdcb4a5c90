"""Recorded traces made of logs, for the checker: a header and events for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from checkers.kafka_logs.adapter import Event
from checkers.kafka_logs.gaps import mark_gaps
from checkers.kafka_logs.group_life import CONSUMER_PROTOCOL_EVENTS, GROUP_EVENTS


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
        if event["event"] in CONSUMER_PROTOCOL_EVENTS:
            continue
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
        elif "group" in event and event["event"] in GROUP_EVENTS | CONSUMER_PROTOCOL_EVENTS:
            yield event


def replica_traces(events: Iterable[Event]) -> Iterator[Trace]:
    """A trace for each partition: what its replicas said of epochs, offsets and ISRs.

    An offset of a follower is its log end offset before it truncates. Brokers without a number
    for an id are left out: the mapping has none for them.
    """
    found: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        is_state = "side" not in event and event["event"] in REPLICA_STATES
        if not (is_state and event["node"].isdigit() and isinstance(event["partition"], int)):
            continue
        node, key = int(event["node"]), (event["topic"], event["partition"])
        seen: Event = {"event": "state", "node": node, "topic": key[0], "partition": key[1]}
        seen |= {name: event[field] for name, field in SEEN.items() if field in event}
        if event["event"] in LEADERS:
            seen["leader"] = node
        seen |= {name: event[name] for name in ("time_ms", "source") if name in event}
        found.setdefault(key, []).append(seen)
    for (topic, partition), states in sorted(found.items()):
        header = {"kspec_trace": 1, "mapping": "replica"}
        yield Trace(f"partition {topic}-{partition}", header, list(states))


LEADERS = frozenset({"leader_started", "leader_kept"})
REPLICA_STATES = LEADERS | {"follower_started"}
"""Lines that tell a replica's state, and not only a part of a change."""
SEEN = {
    "leader": "leader",
    "leader_epoch": "epoch",
    "partition_epoch": "partition_epoch",
    "log_end_offset": "offset",
    "high_watermark": "high_watermark",
    "isr": "isr",
}
"""The keys of the mapping `replica`, by the names of fields in wordings."""


def request_traces(events: Iterable[Event]) -> Iterator[Trace]:
    """A trace for each group and broker: the requests and responses of the request log."""
    found: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        if event.get("side") == "request" and "group" in event:
            kept = {key: value for key, value in event.items() if key != "side"}
            found.setdefault((event["group"], event["node"]), []).append(kept)
    for (group, node), requests in found.items():
        header = {"kspec_trace": 1, "mapping": "coordinator", "group": group}
        for one in requests:
            del one["node"]
        yield Trace(f"group {group} on broker {node}", header, list(requests))
