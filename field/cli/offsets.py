"""`kspec offsets`: groups, members and offsets from the files of `__consumer_offsets`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kspec.checkers.cli.options import FILE, json_option, number_option, option
from kspec.checkers.cli.output import counted, or_dash, say, say_json, say_table
from kspec.checkers.engine.verdict import EXIT_REJECTED
from kspec.checkers.needs import needs
from kspec.field.cli.log import say_problems

if TYPE_CHECKING:
    from kspec.field.offsets.groups import Group, GroupOffset
    from kspec.field.offsets.report import OffsetsReport

MOST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, the last that has a date here."""


@click.command()
@click.argument("paths", metavar="DIR|FILE…", nargs=-1, required=True, type=FILE)
@option("--group", "only", "Show this group with its members and offsets.", metavar="G")
@number_option(
    "--retention-minutes",
    "`offsets.retention.minutes` of the brokers.",
    low=1,
    high=2**31 - 1,
    default=7 * 24 * 60,
)
@option(
    "--now",
    "The time at which to judge expiry: 2026-03-01T12:00Z, or milliseconds. Default: now.",
    metavar="TIME",
)
@number_option(
    "--partitions",
    "`offsets.topic.num.partitions`. Default: 50, or fewer if the folders show it.",
    low=1,
    high=2**31 - 1,
)
@json_option
def offsets(
    paths: tuple[Path, ...],
    only: str | None,
    retention_minutes: int,
    now: str | None,
    partitions: int | None,
    as_json: bool,
) -> int:
    """Show consumer groups from __consumer_offsets: members, offsets, expiry, dead bytes.

    DIR is the folder of a partition of __consumer_offsets, or a log directory with such folders.
    FILE is what kafka-console-consumer printed with OffsetsMessageFormatter or
    GroupMetadataMessageFormatter; `-` is standard input.

    \b
    kspec offsets /var/lib/kafka/data
    kspec offsets /var/lib/kafka/data --group orders
    kspec offsets offsets.txt groups.txt --json

    The files are only read. A damaged batch is reported, and the others are read.

    Exit codes: 0 if there is no problem, 3 if there is a problem (damage, a group in the wrong
    partition, a cleaner that does not clean, a transaction that does not end), 151 if a file cannot
    be read.
    """
    needs("kspec offsets", "storage", "cramjam", "crc32c")
    from kspec.field.offsets.report import report_offsets

    report = report_offsets(
        paths,
        moment(now),
        retention_minutes * 60_000,
        partitions,
        only,
        lambda folders: counted("partition", folders),
    )
    if as_json:
        say_json(report.to_json())
    else:
        print_report(report, in_detail=only is not None)
    return EXIT_REJECTED if report.problems else 0


def moment(text: str | None) -> int:
    """A time in milliseconds; without a zone, it is UTC."""
    if text is None:
        return int(time.time() * 1000)
    if text.isascii() and text.isdecimal() and len(text) <= 20 and int(text) <= MOST_MS:
        return int(text)
    try:
        found = datetime.fromisoformat(text)
        zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
        milliseconds = int(zoned.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise click.UsageError(
            f"--now takes a time such as 2026-03-01T12:00Z, or milliseconds, not {text!r:.40}"
        ) from None
    if milliseconds < 0:
        raise click.UsageError("--now takes a time since 1970")
    return milliseconds


# -- printing -------------------------------------------------------------------------------------


def print_report(report: OffsetsReport, *, in_detail: bool) -> None:
    """Print groups, partitions and problems."""
    minutes = report.retention_ms // 60_000
    days, rest = divmod(minutes, 24 * 60)
    kept = f"{minutes:,} minutes" if rest else f"{days} day{'s' if days > 1 else ''}"
    say(f"{clock(report.now)}; offsets are kept for {kept}")
    say()
    if in_detail:
        for group in report.groups:
            print_group(group, report.now)
    else:
        print_groups(report.groups, report.now)
        print_partitions(report)
    say()
    for note in report.notes:
        say(f"Note: {note}")
    say_problems(report.problems, report.more_problems)


def print_groups(groups: Sequence[Group], now: int) -> None:
    """Print a line for each group."""
    if not groups:
        say("There is no group.")
        return
    rows = [
        [
            str(len(group.members)),
            str(len(group.offsets)),
            number(group.live_bytes),
            number(group.dead_bytes),
            group.kind or "?",
            group.state or "?",
            "" if group.generation is None else str(group.generation),
            next_expiry(group, now),
            group.name,
        ]
        for group in groups
    ]
    columns = ("members", "offsets", "live", "dead", "type", "state", "gen", "next expiry", "group")
    say_table(columns, rows, right=(0, 1, 2, 3, 6))


def next_expiry(group: Group, now: int) -> str:
    """When the first offset of a group expires."""
    expired = sum(one.is_expired(now) for one in group.offsets)
    if expired:
        return f"{expired} expired"
    if group.next_expiry is not None:
        return clock(group.next_expiry)
    unknown = any(one.expiry.reason.startswith("unknown") for one in group.offsets)
    return "unknown" if unknown else "never" if group.offsets else "–"


def print_partitions(report: OffsetsReport) -> None:
    """Print a line for each partition, and its open transactions."""
    if not report.partitions:
        return
    say()
    rows = []
    for one in report.partitions:
        live, cleaner = one.live_bytes, one.cleaner
        dead = f"{(one.bytes - live) / one.bytes:.0%}" if one.bytes else "–"
        came = "?" if not cleaner.is_known else str(cleaner.checkpoint or 0)
        dirty = "–" if cleaner.oldest_dirty is None else clock(cleaner.oldest_dirty)
        counts = (one.bytes, live, one.keys, one.tombstones)
        row = [*map("{:,}".format, counts), dead, came, str(one.end), str(one.last_stable_offset)]
        rows.append([*row, dirty, str(one.folder.path)])
    columns = ("bytes", "live", "keys", "tombstones", "dead", "clean to", "end", "LSO")
    say_table((*columns, "oldest dirty", "folder"), rows, right=range(8))
    for one in report.partitions:
        for transaction in one.open_transactions:
            say(
                f"{one.folder.path}: producer {transaction.producer_id} has a transaction open "
                f"since offset {transaction.first_offset}, {clock(transaction.since)}"
            )


def print_group(group: Group, now: int) -> None:
    """Print a group with its members and offsets."""
    facts = [group.kind or "type unknown", group.state or "state unknown"]
    if group.generation is not None:
        word = "generation" if group.kind == "classic" else "epoch"
        facts.append(f"{word} {group.generation}")
    facts += [f"{name} {value}" for name, value in named_facts(group) if value is not None]
    say(f"{group.name}: {', '.join(facts)}")
    for member in group.members:
        say()
        instance = f" ({member.instance})" if member.instance else ""
        say(f"member {member.id}{instance}, client {member.client} at {member.host}")
        if member.topics:
            say(f"  subscribes to {', '.join(member.topics)}")
        for topic, numbers in sorted((member.assignment or {}).items()):
            say(f"  owns {topic} {', '.join(map(str, sorted(numbers)))}")
    if group.offsets or group.pending:
        say()
        rows = [row_of(one, when(one, now)) for one in group.offsets]
        rows += [row_of(one, "in an open transaction") for one in group.pending]
        columns = ("partition", "offset", "epoch", "dead", "topic", "committed", "expires")
        say_table(columns, rows, right=range(4))


def named_facts(group: Group) -> list[tuple[str, object]]:
    """What else is known of a group."""
    return [
        ("protocol", group.protocol),
        ("leader", group.leader),
        ("since", None if group.since is None else clock(group.since)),
        ("in partition", group.partition),
    ]


def row_of(one: GroupOffset, expires: str) -> list[str]:
    """The line of an offset."""
    epoch = or_dash(one.leader_epoch)
    numbers = [str(one.partition), str(one.offset), epoch, number(one.dead_bytes)]
    return [*numbers, one.topic, clock(one.committed), expires]


def when(one: GroupOffset, now: int) -> str:
    """When an offset expires, and why."""
    if one.expiry.time is None:
        reason = one.expiry.reason
        return reason if reason.startswith(("never", "unknown")) else f"never: {reason}"
    word = "expired" if one.is_expired(now) else ""
    return f"{word} {clock(one.expiry.time)} ({one.expiry.reason})".strip()


def clock(milliseconds: int) -> str:
    """A time, to the minute."""
    if not 0 <= milliseconds <= MOST_MS:
        return str(milliseconds)
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def number(count: int | None) -> str:
    """A count, if it is known."""
    return "–" if count is None else f"{count:,}"
