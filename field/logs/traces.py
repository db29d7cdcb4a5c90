"""Recorded traces made of logs, for the checker: a header and events for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from kspec.field.logs.adapter import Event
from kspec.field.logs.gaps import mark_gaps
from kspec.field.logs.group_log import CONSUMER_PROTOCOL_EVENTS, GROUP_EVENTS


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
    for event in events:
        if event["event"] == "coordinator_started":
            restart(found, event)
        for one in by_group([event]):
            if one["event"] not in CONSUMER_PROTOCOL_EVENTS:
                found.setdefault((one["group"], one["node"]), []).append(one)
    for (group, node), lines in found.items():
        marked, excused = mark_gaps(lines) if lines_missing else (lines, [])
        header = {"kspec_trace": 1, "mapping": "group-log", "group": group, "node": node}
        if excused:
            header["excused"] = excused
        yield Trace(f"group {group} on broker {node}", header, list(marked))


def restart(found: Mapping[tuple[str, str], list[Event]], event: Event) -> None:
    """A broker that starts has no groups. What it loads may be older than what it logged."""
    for (group, node), lines in found.items():
        if node == event["node"]:
            lines.append({**event, "event": "unloaded", "group": group})


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


def replica_traces(events: Iterable[Event], *, unclean: bool = False) -> Iterator[Trace]:
    """A trace for each partition: what its replicas said of epochs, offsets and ISRs.

    An offset of a follower is its log end offset before it truncates. Brokers without a number
    for an id are left out: the mapping has none for them. Where the logs show an unclean election
    of the partition, or `unclean` says that there may be one, committed records may be lost.
    """
    found: dict[tuple[str, int], list[Event]] = {}
    lossy = set()
    for event in events:
        if "side" in event or not isinstance(event.get("partition"), int):
            continue
        key = event["topic"], event["partition"]
        is_broker = re.fullmatch("[0-9]{1,9}", event["node"])
        if event["event"] in REPLICA_STATES | {"log_deleted"} and is_broker:
            found.setdefault(key, []).append(event)
        elif event["event"] == "unclean_election":
            lossy.add(key)
    for (topic, partition), lines in sorted(found.items()):
        header: Event = {"kspec_trace": 1, "mapping": "replica"}
        if unclean or (topic, partition) in lossy:
            header["unclean"] = True
        for which, states in by_topic_id(lines).items():
            name = f"partition {topic}-{partition}" + (f" {which}" if which else "")
            yield Trace(name, header, [seen(event) for event in states])


def by_topic_id(lines: Sequence[Event]) -> dict[str, list[Event]]:
    """The states of a partition, apart for each topic that had its name.

    A topic that is created anew begins with leader epoch 0. Its lines are told apart by their
    topic id; followers' lines have none, and are left out if there are several. Up to Kafka 3.2
    no line has one: where a log was deleted, each broker's lines are checked by themselves, from
    one deletion to the next.
    """
    ids = {own for line in lines if (own := topic_id(line))}
    deletions = dict.fromkeys((line["node"] for line in lines), 0)
    is_deleted = any(line["event"] == "log_deleted" for line in lines)
    found: dict[str, list[Event]] = {}
    for line in lines:
        if line["event"] == "log_deleted":
            deletions[line["node"]] += 1
        elif len(ids) > 1:
            if own := topic_id(line):
                found.setdefault(f"of topic id {own}", []).append(line)
        elif ids or not is_deleted:
            found.setdefault("", []).append(line)
        else:
            which = f"on broker {line['node']}, log {deletions[line['node']] + 1}"
            found.setdefault(which, []).append(line)
    return found


def topic_id(line: Event) -> str:
    """The topic id of a line, printed as `Some(…)`; empty if it has none."""
    return str(line.get("topic_id", "None")).removeprefix("Some(").rstrip(")").replace("None", "")


def seen(event: Event) -> Event:
    """A replica's state, with the keys of the mapping."""
    node = int(event["node"])
    state: Event = {"event": "state", "node": node}
    state |= {name: event[name] for name in ("topic", "partition")}
    state |= {name: event[field] for name, field in SEEN.items() if field in event}
    if event["event"] in LEADERS:
        state["leader"] = node
    return state | {name: event[name] for name in ("time_ms", "source") if name in event}


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
