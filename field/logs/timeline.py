"""The timeline of logs: groups, their rounds and causes, partitions, and what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

import attrs

from kspec.field.logs.adapter import Event, Reading
from kspec.field.logs.causes import short
from kspec.field.logs.client_rounds import groups_of_clients
from kspec.field.logs.departures import Departure
from kspec.field.logs.partitions import Partition, partitions_of
from kspec.field.logs.rounds import (
    LONG_ROUND_MS,
    Group,
    Round,
    groups_of,
    headline,
)
from kspec.field.logs.wordings import TOLD
from kspec.traces.text import counted


@attrs.frozen
class Timeline:
    """What the logs show."""

    reading: Reading
    groups: Sequence[Group]
    partitions: Sequence[Partition]
    cluster: Sequence[Event]
    """Starts and stops of brokers, and elections of controllers."""

    def to_json(self) -> dict[str, Any]:
        """The output of `kspec timeline --json`."""
        return {
            "events": len(self.reading.events),
            "whole": self.reading.is_whole,
            "duplicates": self.reading.duplicates,
            "groups": [group.to_json() for group in self.groups],
            "partitions": [one.to_json() for one in self.partitions],
            "cluster": list(self.cluster),
            "files": [report.to_json() for report in self.reading.files],
            "not_shown": not_shown(self),
        }


def timeline_of(reading: Reading, groups: Sequence[str] = ()) -> Timeline:
    """The timeline of what was read; only of some groups if they are named."""
    events = reading.events
    found = groups_of(events)
    known = {group.name for group in found}
    found += [group for group in groups_of_clients(events) if group.name not in known]
    return Timeline(
        reading,
        [group for group in found if not groups or group.name in groups],
        partitions_of(events) if not groups else [],
        [event for event in events if event["event"] in TOLD["cluster"]],
    )


def not_shown(timeline: Timeline) -> list[str]:
    """What the logs that were read cannot show."""
    events = timeline.reading.events
    names = {event["event"] for event in events}
    sides = {event.get("side") for event in events}
    levels = {level for report in timeline.reading.files for level in report.levels}
    found = []
    if timeline.groups and "client" not in sides:
        found.append(
            "Which partitions a member has, and when it re-joined: the clients' logs show this."
        )
    if timeline.groups and "request" not in sides:
        found.append(
            "Heartbeats, commits, and each member's JoinGroup: the request log shows them "
            "(kafka.request.logger at DEBUG)."
        )
    if "member_loaded" not in names and "request" not in sides and timeline.groups:
        found.append(
            "The timeouts of members: only the request log and Scala coordinators log them."
        )
    if timeline.partitions and not {"DEBUG", "TRACE"} & levels:
        found.append(
            "Each advance of high watermarks and log end offsets: kafka.cluster.Partition at DEBUG."
        )
    if timeline.partitions and "leader_started" not in names:
        found.append("Leader epochs: brokers log them in state-change.log.")
    return found


# -- text ---------------------------------------------------------------------------------------


def lines(timeline: Timeline, zone: tzinfo = UTC) -> Iterator[str]:
    """The timeline for a reader."""
    for group in timeline.groups:
        yield from group_lines(group, zone)
        yield ""
    for partition in timeline.partitions:
        if partition.has_history:
            yield from partition_lines(partition, zone)
            yield ""
    quiet = sum(not partition.has_history for partition in timeline.partitions)
    if quiet:
        yield f"{counted(quiet, 'partition')} without a change of leader or ISR."
        yield ""
    yield from read_lines_of(timeline)


def group_lines(group: Group, zone: tzinfo) -> Iterator[str]:
    """A group: its rounds, and why it rebalances."""
    times = [moment for one in group.rounds if (moment := time_of(one)) is not None]
    span = f" in {duration(max(times) - min(times))}" if len(times) > 1 else ""
    yield f"Group {group.name}: {counted(len(group.rounds), 'rebalance')}{span}"
    yield ""
    for item in sorted_items(group):
        yield from round_lines(item, zone) if isinstance(item, Round) else [note(item, zone)]
    if group.rounds:
        yield ""
        yield "  Why it rebalances:"
    for cause, count, clients in group.causes():
        named = f" ({', '.join(clients)})" if clients else ""
        yield f"    {count} × {cause.name}{named}"
        if cause.advice:
            yield f"        {cause.advice}"


def sorted_items(group: Group) -> list[Round | Event]:
    """Rounds and notes in the order of their times."""
    items: list[Round | Event] = [*group.rounds, *group.notes]
    return sorted(items, key=lambda item: time_of(item) or 0)


def time_of(item: Round | Event) -> float | None:
    """When it began."""
    if not isinstance(item, Round):
        return item.get("time_ms")
    return item.end_ms if item.start_ms is None else item.start_ms


def round_lines(one: Round, zone: tzinfo) -> Iterator[str]:
    """A round: when, which generation, how long, why, and who was late."""
    generation = "?" if one.generation is None else one.generation
    members = "" if one.members is None else f", {counted(one.members, 'member')}"
    took = "not ended" if one.end_ms is None else f"took {duration(one.took_ms)}"
    when = clock(time_of(one), zone)
    yield f"  {when}  generation {generation}{members}, {took}: {headline(one)}"
    for told in details(one):
        yield f"      {told}"


def details(one: Round) -> Iterator[str]:
    """Who else joined, left and was late."""
    triggers = set(one.trigger.members)
    others = [short(member) for member in one.joined if member not in triggers]
    if others:
        yield f"{', '.join(others)} joined"
    for departure in one.departed:
        is_trigger = departure.member in triggers
        if not is_trigger or departure.timeout_ms is not None or departure.late_ms is not None:
            yield departure_text(departure, is_trigger=is_trigger)
    if one.members == len(one.joined) > 0 and (one.took_ms or 0) >= LONG_ROUND_MS:
        yield "a new group waits for more members (group.initial.rebalance.delay.ms)"
    elif one.waited_for and one.waited_ms is not None:
        yield f"waited {duration(one.waited_ms)} for {short(one.waited_for)}, which re-joined last"


def departure_text(departure: Departure, *, is_trigger: bool) -> str:
    """How a member departed, which timeout expired, and by how much it was late."""
    who, cause = short(departure.member), departure.cause
    parts = [] if is_trigger else [f"{who} {cause.says}"]
    if departure.timeout_ms is not None:
        parts.append(f"the {cause.timeout or cause.name} was {duration(departure.timeout_ms)}")
    if departure.late_ms is not None:
        parts.append(f"{who} was back {duration(departure.late_ms)} later")
    return "; ".join(parts)


def note(event: Event, zone: tzinfo) -> str:
    """An event that is not a rebalance."""
    text = TOLD["group"][event["event"]].format_map(event)
    return f"  {clock(event.get('time_ms'), zone)}  {text}"


def partition_lines(partition: Partition, zone: tzinfo) -> Iterator[str]:
    """The leader epochs and ISRs of a partition."""
    yield f"Partition {partition.name}"
    for time_ms, text in partition.changes():
        yield f"  {clock(time_ms or None, zone)}  {text}"


def read_lines_of(timeline: Timeline) -> Iterator[str]:
    """What was read, what was not understood, and what the logs cannot show."""
    yield "What was read:"
    for report in timeline.reading.files:
        yield (
            f"  {report.file}: {report.lines:,} lines, {report.protocol_lines:,} understood, "
            f"{counted(report.events, 'event')}"
        )
        yield from (f"    {text}" for text in report_lines(report))
    if timeline.reading.duplicates:
        yield f"  {counted(timeline.reading.duplicates, 'event')} in two files, counted once"
    if not timeline.reading.is_whole:
        yield "  There were too many events; the last are missing."
    missing = not_shown(timeline)
    if missing:
        yield "What these logs cannot show:"
        yield from (f"  {text}" for text in missing)


def report_lines(report: Any) -> Iterator[str]:
    """What is worth saying about a file."""
    if report.cut_lines:
        yield f"{counted(report.cut_lines, 'line')} longer than 1 MiB, cut short"
    if report.without_time:
        yield f"{counted(report.without_time, 'event')} without a time"
    if report.backwards:
        yield f"the clock went back {counted(report.backwards, 'time')}"
    if report.shapes:
        total = sum(report.shapes.values())
        yield f"{counted(total, 'line')} of these loggers not understood, such as"
        for shape, count in report.shapes.most_common(3):
            line, text = report.samples.get(shape, (0, shape))
            yield f"  {count} ×, line {line}: {text[:160]}"


def duration(milliseconds: float | None) -> str:
    """A duration for a reader."""
    if milliseconds is None:
        return "?"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 120_000:
        return f"{milliseconds / 1_000:.1f} s"
    return f"{milliseconds / 60_000:.1f} min"


def clock(time_ms: float | None, zone: tzinfo) -> str:
    """A time of day, with the date where there is one."""
    if time_ms is None:
        return "(no time)"
    moment = datetime.fromtimestamp(time_ms / 1000, zone)
    form = "%H:%M:%S" if moment.year == 1970 else "%Y-%m-%d %H:%M:%S"
    return f"{moment.strftime(form)}.{int(time_ms) % 1000:03}"
