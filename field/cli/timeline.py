"""`kspec timeline`: what the logs of brokers and clients tell about groups and partitions."""

from __future__ import annotations

from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from kspec.checkers.cli.options import FILE, all_of, json_option, option, repeated, writes
from kspec.checkers.cli.output import OutputFile, say, say_json
from kspec.spec.core import SpecError

if TYPE_CHECKING:
    from kspec.field.logs.adapter import Reading

log_options = all_of(
    repeated(
        "--broker",
        "brokers",
        "A log of the broker ID, if neither its lines nor its folder name it. Repeatable.",
        metavar="ID=FILE",
    ),
    option(
        "--zone",
        "The time zone of the logs, such as Europe/Berlin, where lines have none (default UTC).",
        metavar="ZONE",
    ),
)
"""The options of commands that read logs."""


@click.command()
@click.argument("files", metavar="FILE…", nargs=-1, type=FILE)
@log_options
@repeated("--group", "groups", "Only this group. Repeatable.", metavar="G")
@writes("--html", "Write the timeline as an HTML page.")
@json_option
def timeline(
    files: tuple[Path, ...],
    brokers: tuple[str, ...],
    zone: str | None,
    groups: tuple[str, ...],
    html: Path | None,
    as_json: bool,
) -> int:
    """Find in Kafka's logs why groups rebalance, and how leaders and ISRs changed.

    Each FILE is a log of a broker (server.log, state-change.log, controller.log,
    kafka-request.log) or of Java consumers, or a folder with logs of brokers; rolled and
    compressed files as well, in any order. Logs of several brokers are read together.

    \b
    kspec timeline /var/log/kafka
    kspec timeline broker1/ broker2/ consumer.log --group billing --html timeline.html
    kspec timeline --broker 1=kafka-1.txt.gz --zone Europe/Berlin --json

    For each rebalance it names the trigger, who joined and left, who was late by how much and
    which timeout it met, and the setting to change.

    Exit codes: 0, 151 if a file cannot be read or no line is Kafka's.
    """
    from kspec.field.logs.timeline import lines, timeline_of

    page = OutputFile(html) if html else None
    where = zone_of(zone)
    reading = read_logs(files, brokers, where)
    found = timeline_of(reading, groups)
    if groups and not found.groups:
        there = ", ".join(group.name for group in timeline_of(reading, ()).groups) or "none"
        raise SpecError(f"no line is about the group {groups[0]}: there is {there}")
    if page:
        from kspec.field.logs.page import timeline_page

        page.write(timeline_page(found, where))
    if as_json:
        say_json(found.to_json())
        return 0
    for line in lines(found, where):
        say(line)
    if page:
        say(f"Written: {page.path}")
    return 0


def zone_of(name: str | None) -> tzinfo:
    """The time zone of this name."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SpecError(
            f"there is no time zone {name}; one is Europe/Berlin, another UTC"
        ) from None


def read_logs(files: tuple[Path, ...], brokers: tuple[str, ...], zone: tzinfo) -> Reading:
    """The events of the logs; SpecError if there is no line of Kafka's in them."""
    from kspec.field.logs import adapter
    from kspec.field.logs.files import find_files

    if not files and not brokers:
        raise click.UsageError("name a FILE, such as server.log")
    reading = adapter.read_logs(find_files(files, brokers, zone), zone)
    if not any(report.protocol_lines for report in reading.files):
        total = sum(report.lines for report in reading.files)
        raise SpecError(
            f"no line is one that Kafka logs about groups, replicas or consumers ({total:,} read)"
        )
    return reading
