"""`kspec start`: where a group that was stopped begins again."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import Parsed, json_option, option
from kspec.checkers.cli.output import or_dash, say, say_json, say_table
from kspec.field.cli.operating import (
    DURATION,
    RATE,
    file_argument,
    group_option,
    read_groups,
    retention_of,
    retention_options,
    starts_option,
)
from kspec.field.groups.groups import Group, GroupPartition, headed
from kspec.field.groups.times import in_words, parse_java_duration
from kspec.spec.consumer.fetching import Policy
from kspec.spec.consumer.reset import PartitionOffsets
from kspec.spec.consumer.start import ByDuration, Outlook
from kspec.spec.core import SpecError
from kspec.spec.messages import GroupState, Offset, OffsetsTopicRecord
from kspec.spec.offsets_topic.expiry import CONSUMER, GroupStatus, expires_at
from kspec.spec.offsets_topic.records import LogEntry
from kspec.spec.storage.retention import RetentionSettings


def parse_policy(text: str) -> Policy | ByDuration:
    """A value of auto.offset.reset, as Kafka reads it (`AutoOffsetResetStrategy.fromString`)."""
    kind, colon, duration = text.partition(":")
    if kind == "by_duration" and colon:
        return ByDuration(parse_java_duration(duration))
    if text not in tuple(Policy):
        raise SpecError(f"earliest, latest, none or by_duration:PT1H is expected, not {text}")
    return Policy(text)


@click.command()
@file_argument
@starts_option
@group_option
@option(
    "--after",
    "times",
    "When it starts again, such as 3d. Repeatable. By default, when the answer changes.",
    type=DURATION,
    metavar="D",
    multiple=True,
)
@option(
    "--auto-offset-reset",
    "policy",
    "The consumers' setting: earliest, latest, none, or by_duration:PT1H (Kafka 4.0).",
    type=Parsed("policy", parse_policy),
    default="latest",
    metavar="P",
)
@option(
    "--offsets-retention",
    "The brokers' offsets.retention.minutes.",
    type=DURATION,
    default="7d",
    metavar="D",
)
@option(
    "--stopped-for",
    "How long the group has had no members.",
    type=DURATION,
    default="0s",
    metavar="D",
)
@option(
    "--produced",
    "Records produced to each partition. At 0/s, those in the log count as written now.",
    type=RATE,
    default="0/s",
    metavar="R",
)
@retention_options
@json_option
def start(
    file: Path,
    starts: Path | None,
    names: tuple[str, ...],
    times: tuple[int, ...],
    policy: Policy | ByDuration,
    offsets_retention: int,
    stopped_for: int,
    produced: Fraction,
    as_json: bool,
    **retention: int | None,
) -> int:
    """Find where a stopped group begins again, given both retentions.

    The group's committed offsets expire, and so do the records that it has not read; where either
    is gone, auto.offset.reset decides. FILE is the output of kafka-consumer-groups --describe
    (Kafka 2.0 to 4.x), or the JSON of kspec lag; `-` is standard input. Its groups count as
    stopped. The topic's retention is 7d unless an option says otherwise.

    \b
    kspec start now.txt --group billing --starts starts.txt --produced 50/s
    kspec start now.txt --group billing --starts starts.txt --produced 50/s \\
        --after 3d --after 8d --auto-offset-reset earliest --retention 3d --json

    Kafka deletes offsets and records somewhat later than it may: offsets every 10 minutes, records
    by whole segments.
    """
    settings, size = retention_of(**retention)
    groups = read_groups(file, starts, names)

    def outlook(found: GroupPartition) -> Outlook | None:
        if found.end is None:
            return None
        now = PartitionOffsets(found.start or 0, found.end, found.committed)
        expires = None if found.committed is None else expiry(found, stopped_for, offsets_retention)
        return Outlook(now, produced, settings or RetentionSettings(), expires, size)

    records = []
    for group in groups:
        partitions = []
        for each in group.partitions:
            ahead = outlook(each)
            begins = [] if ahead is None else beginnings(ahead, times, policy)
            partitions.append({**each.to_json(), "begins": begins})
        records.append({**group.to_json(), "partitions": partitions})
    if as_json:
        say_json({"groups": records})
    else:
        print_beginnings(groups, records)
    return 0


def expiry(found: GroupPartition, stopped_for: int, retention: int) -> int:
    """The milliseconds until a commit expires, at least 0."""
    status = GroupStatus(GroupState.EMPTY, CONSUMER, since=-stopped_for)
    record = OffsetsTopicRecord("", found.partition, Offset(found.committed or 0))
    expires = expires_at(status, found.partition, LogEntry(0, record), retention)
    assert expires is not None, "the offsets of an empty group expire"
    return max(0, expires)


def beginnings(
    outlook: Outlook, times: Sequence[int], policy: Policy | ByDuration
) -> list[dict[str, Any]]:
    """Where the group begins at these times, or now and whenever that changes."""
    found = []
    for time in sorted(set(times or outlook.changes())):
        begins = outlook.begins_after(time, policy)
        effect = outlook.effect_after(time, begins)
        then = outlook.after(time)
        found.append(
            {
                "after_ms": time,
                "offset": begins.offset,
                "because": str(begins.because),
                "raises": begins.raises,
                "start": then.start,
                "end": then.end,
                "deleted": outlook.deleted_after(time),
                "skipped": effect.skipped if effect else None,
                "repeated": effect.repeated if effect else None,
            }
        )
    return found


def print_beginnings(groups: Sequence[Group], records: Sequence[dict[str, Any]]) -> None:
    """Print a line for each partition and time."""
    # Offsets and records may expire within one second: what holds after both is shown.
    rows: dict[tuple[str, ...], list[str]] = {}
    for group, record in zip(groups, records, strict=True):
        for each in record["partitions"]:
            for at in each["begins"]:
                where = at["raises"] if at["offset"] is None else str(at["offset"])
                numbers = [at["deleted"], at["skipped"], at["repeated"]]
                cells = map(or_dash, numbers)
                place = group.name or "–", each["topic"], str(each["partition"])
                moment = *place, in_words(at["after_ms"])
                rows[moment] = [*moment, where, *cells, at["because"]]
    columns = ["group", "topic", "partition", "after", "begins at"]
    columns += ["deleted", "skipped", "repeated", "because"]
    say_table(columns, list(rows.values()), right=range(2, 8))
    notes = []
    for group in groups:
        text = headed(group)
        if group.has_members:
            notes.append(f"{text} has members; it counts as stopped now.")
        if group.state == "missing":
            notes.append(f"{text} does not exist, so auto.offset.reset decides everywhere.")
        if any(each.start is None for each in group.partitions):
            notes.append(f"{text}: log starts are unknown and count as 0; give --starts.")
    if notes:
        say()
        say("\n".join(notes))
