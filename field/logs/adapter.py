"""Read log files and make events of the lines that Kafka's protocols are seen in.

An event is a JSON object: `event`, `time_ms`, `node` (a broker's id or a client's), the fields of
its wording, and `source` with the file and the line. What was not understood is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from itertools import islice
from typing import Any, TypeAlias

import attrs

from kspec.field.logs.files import LogFile
from kspec.field.logs.layout import Entry, read_entry
from kspec.field.logs.lines import Line, read_lines
from kspec.field.logs.request_log import MARK, requests_of
from kspec.field.logs.wordings import KNOWN, Table
from kspec.field.shapes import some_fields

Event: TypeAlias = dict[str, Any]

BROKER_LINES = Table("coordinators.toml", "replicas.toml")
CLIENT_LINES = Table("consumers.toml")

BROKER = re.compile(
    r"\[(?:GroupCoordinator (?:id=)?|GroupMetadataManager brokerId=|Broker id=|"
    r"ReplicaFetcher replicaId=|ReplicaFetcherManager on broker |ReplicaManager broker=|"
    r"(?:Quorum)?Controller (?:id=)?|KafkaServer id=|BrokerServer id=|KafkaApi-)(\d+)"
)
"""The prefix of a line that names the broker."""
PARTITION = re.compile(r"\[Partition (?P<partition>\S+-\d+) broker=(?P<node>\d+)\]")
LOG = re.compile(r"\[(?:Unified)?Log partition=(?P<partition>\S+-\d+), dir=")
CLIENT = re.compile(
    r"\[(?:Consumer|Worker) (?:instanceId=(?P<instance>.*?), )?clientId=(?P<client>.*?), "
    r"groupId=(?P<group>.*?)\] "
)
PROTOCOL = (
    "GroupCoordinator",
    "GroupMetadataManager",
    "state.change.logger",
    "kafka.cluster.Partition",
    "ConsumerCoordinator",
    "AbstractCoordinator",
    "ConsumerRebalanceListenerInvoker",
    "SubscriptionState",
    "ReplicaFetcherThread",
)
"""Loggers and prefixes whose lines should be understood."""
MOST_SHAPES = 200
"""How many different shapes of lines that are not understood are counted apart."""
MOST_EVENTS = 1_000_000
"""How many events are kept in memory: about a kilobyte each."""


@attrs.define
class FileReport:
    """What was read of a file."""

    file: str
    lines: int = 0
    protocol_lines: int = 0
    """Lines whose wording is known."""
    events: int = 0
    cut_lines: int = 0
    """Lines that were longer than lines.LONGEST."""
    without_time: int = 0
    """Events whose line has no time that could be read."""
    backwards: int = 0
    """How often the clock went back."""
    levels: Counter[str] = attrs.field(factory=Counter)
    shapes: Counter[str] = attrs.field(factory=Counter)
    """Lines that look like the protocol but were not understood, with numbers left out."""
    samples: dict[str, tuple[int, str]] = attrs.field(factory=dict)
    """The first line of each shape."""

    def not_understood(self, line: Line, message: str) -> None:
        """Count a line that looks like the protocol."""
        shape = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "N", message)[:160]
        if shape in self.shapes or len(self.shapes) < MOST_SHAPES:
            self.shapes[shape] += 1
            self.samples.setdefault(shape, (line.number, line.text[:300]))
        else:
            self.shapes["(others)"] += 1

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            **some_fields(self, "file", "lines", "protocol_lines", "events"),
            **some_fields(self, "cut_lines", "without_time"),
            "clock_went_back": self.backwards,
            "levels": dict(self.levels),
            "not_understood": sum(self.shapes.values()),
            "samples": [
                {"count": self.shapes[shape], "line": line, "text": text}
                for shape, (line, text) in self.samples.items()
            ][:10],
        }


@attrs.define
class Reading:
    """The events of all files in order, and what was read of each."""

    events: list[Event]
    files: list[FileReport]
    duplicates: int = 0
    """Events that two files tell, or that one tells twice in a row."""
    is_whole: bool = True
    """Whether all events were kept."""


def read_logs(series: Sequence[Sequence[LogFile]], zone: tzinfo = UTC) -> Reading:
    """The events of files, merged by their times; those of a series stay in its order."""
    ordered: list[tuple[float, int, int, Event]] = []
    reports: list[FileReport] = []
    is_whole = True
    for number, files in enumerate(series):
        latest = float("-inf")
        for file in files:
            report = FileReport(str(file.path))
            reports.append(report)
            room = MOST_EVENTS - len(ordered)
            found = list(islice(events_of(file, report, zone), room + 1))
            is_whole = is_whole and len(found) <= room
            for event in named(found[:room], file):
                time_ms, at = event.get("time_ms"), latest
                if event.get("side") == "request":  # a line tells of moments before it
                    at = time_ms or latest
                elif time_ms is not None:
                    report.backwards += time_ms < latest
                    at = latest = max(latest, time_ms)
                ordered.append((at, number, len(ordered), event))
    ordered.sort(key=lambda one: one[:3])
    events = [event for *_, event in ordered]
    kept = list(without_repetitions(events))
    return Reading(kept, reports, len(events) - len(kept), is_whole)


def events_of(file: LogFile, report: FileReport, zone: tzinfo) -> Iterator[Event]:
    """The events of a file, from its first line to its last."""
    for line in read_lines(file.path):
        report.lines += 1
        report.cut_lines += line.is_cut
        if MARK in line.text:
            yield from request_events(line, report, zone)
            continue
        is_protocol = any(name in line.text for name in PROTOCOL)
        tables = [t for t in (BROKER_LINES, CLIENT_LINES) if t.may_match(line.text)]
        if not tables and not is_protocol:
            continue
        entry = read_entry(line.text, zone)
        for table in tables:
            found = table.read(entry.message)
            if found is None:
                continue
            wording, fields = found
            report.protocol_lines += 1
            report.levels[entry.level or "none"] += 1
            if wording.event != KNOWN:
                report.events += 1
                report.without_time += entry.time_ms is None
                yield event_of(wording.event, fields, entry, line, table is CLIENT_LINES)
            break
        else:
            if is_protocol and not line.text.startswith((" ", "\t", "Caused by:")):
                report.not_understood(line, entry.message)


def request_events(line: Line, report: FileReport, zone: tzinfo) -> Iterator[Event]:
    """The events of a line of the request log."""
    entry = read_entry(line.text, zone)
    found = list(requests_of(entry))
    report.protocol_lines += bool(found)
    if found:
        report.levels[entry.level or "none"] += 1
    for event in found:
        report.events += 1
        yield {**event, "side": "request", "source": {"file": line.file, "line": line.number}}


def event_of(name: str, fields: dict[str, Any], entry: Entry, line: Line, is_client: bool) -> Event:
    """The event that a line tells."""
    event: Event = {"event": name}
    if entry.time_ms is not None:
        event["time_ms"] = entry.time_ms
    message = entry.message
    if is_client:
        client = CLIENT.search(message)
        event |= {"node": client["client"], "group": client["group"]} if client else {}
        event["side"] = "client"
        if client and client["instance"]:
            event["instance"] = client["instance"]
    else:
        broker = BROKER.search(message)
        event |= {"node": broker[1]} if broker else {}
        for prefix in (PARTITION, LOG):
            found = prefix.search(message)
            event |= found.groupdict() if found else {}
    event |= fields
    if isinstance(event.get("partition"), str):
        event |= split_partition(event["partition"])
    event["source"] = {"file": line.file, "line": line.number}
    return event


def split_partition(name: str) -> dict[str, Any]:
    """Topic and partition; a topic may contain dashes."""
    topic, _, number = name.rpartition("-")
    is_number = re.fullmatch("[0-9]{1,9}", number)
    return {"topic": topic, "partition": int(number)} if is_number else {"topic": name}


def named(events: list[Event], file: LogFile) -> list[Event]:
    """Give each event a node: that of an option or its line, or that of the file's other lines."""
    nodes = Counter((e.get("side"), e["node"]) for e in events if "node" in e)
    for event in events:
        side = event.get("side")
        alike = [node for of, node in nodes if of == side]
        others = alike[0] if len(alike) == 1 or (alike and not side) else ""
        own = event.get("node", others) if side else file.node or event.get("node", others)
        event["node"] = own or file.path.resolve().parent.name
    return events


def without_repetitions(events: Iterable[Event]) -> Iterator[Event]:
    """Leave out an event that was told just before, at the same time by the same node."""
    recent: dict[str, None] = {}
    time_ms = None
    for event in events:
        if event.get("time_ms") is None:
            yield event
            continue
        if event["time_ms"] != time_ms:
            time_ms = event["time_ms"]
            recent.clear()
        key = repr([(name, value) for name, value in event.items() if name != "source"])
        if key not in recent:
            recent[key] = None
            yield event
