"""`kspec lag`: how far groups are behind, and when retention deletes what they have not read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import FILE, json_option, option, reads
from kspec.checkers.cli.output import or_dash, say, say_json, say_table
from kspec.field.cli.operating import (
    DURATION,
    RATE,
    group_option,
    read_groups,
    retention_of,
    retention_options,
    starts_option,
)
from kspec.field.groups.groups import Group, GroupPartition, headed
from kspec.field.groups.live import read_cluster
from kspec.field.groups.times import in_words
from kspec.spec.consumer.lag import Flow, flow_between, kept_records, overtaken_in
from kspec.spec.storage.retention import RetentionSettings

ALREADY, NOW, LATER, NEVER, UNKNOWN = "already", "now", "later", "never", "unknown"
"""When retention may delete unread records; `already` where it did."""


@click.command()
@click.argument("file", metavar="[FILE]", type=FILE, required=False)
@option(
    "--bootstrap-server",
    "address",
    "Ask a running cluster, without TLS and SASL, in place of FILE. Needs the extra clients.",
    metavar="HOST:PORT",
)
@starts_option
@group_option
@reads(
    "--earlier", "An earlier description of the groups, for the rates since then. Needs --elapsed."
)
@option("--elapsed", "The time from --earlier to FILE, such as 10m.", type=DURATION, metavar="D")
@option("--produced", "Records produced to each partition: 50/s.", type=RATE, metavar="R")
@option("--consumed", "Records that the group reads from each.", type=RATE, metavar="R")
@retention_options
@json_option
def lag(
    file: Path | None,
    address: str | None,
    starts: Path | None,
    names: tuple[str, ...],
    earlier: Path | None,
    elapsed: int | None,
    produced: Fraction | None,
    consumed: Fraction | None,
    as_json: bool,
    **retention: int | None,
) -> int:
    """Find the lag and lead of groups, and the time until retention overtakes them.

    FILE is the output of kafka-consumer-groups --describe (Kafka 2.0 to 4.x), or the JSON of this
    command; `-` is standard input. --bootstrap-server asks a cluster instead. The lag is the end
    of the log minus the committed offset. The lead, the committed offset minus the start of the
    log, needs --starts. The time until retention deletes records that the group has not read needs
    the topic's retention, and rates: --earlier with --elapsed, or --produced with --consumed.

    \b
    kafka-consumer-groups --bootstrap-server :9092 --describe --all-groups > now.txt
    kafka-get-offsets --bootstrap-server :9092 --time earliest > starts.txt
    kspec lag now.txt --starts starts.txt
    kspec lag now.txt --earlier before.txt --elapsed 10m --retention 7d --json
    kspec lag --bootstrap-server :9092 --group billing --json > now.json

    Kafka deletes whole segments, so unread records stay at least as long as this command says, if
    the rates stay as they are.
    """
    if (file is None) == (address is None):
        raise click.UsageError("give FILE or --bootstrap-server")
    if address and starts:
        raise click.UsageError("--starts is for FILE: --bootstrap-server knows the log starts")
    if (earlier is None) != (elapsed is None) or (produced is None) != (consumed is None):
        raise click.UsageError("give --earlier with --elapsed, or --produced with --consumed")
    if earlier and produced is not None:
        raise click.UsageError("--earlier and --produced both give the rates: choose one")
    if elapsed == 0:
        raise click.UsageError("--elapsed must be more than 0")
    if earlier and str(earlier) == str(file):
        raise click.UsageError("--earlier and FILE are the same file")
    settings, size = retention_of(**retention)
    groups = read_groups(file, starts, names) if file else read_cluster(address or "", names)
    flow = None
    if produced is not None and consumed is not None:
        flow = Flow(produced, consumed)
    before = offsets_before(read_groups(earlier, None, names)) if earlier else {}

    records = []
    for group in groups:
        record = group.to_json()
        for found, each in zip(group.partitions, record["partitions"], strict=True):
            rates = flow
            past = before.get((group.name, str(found.partition)))
            if past and elapsed and found.committed is not None and found.end is not None:
                rates = flow_between(past, (found.committed, found.end), elapsed)
            when, after = overtaken(found, rates, settings, size)
            each |= {"overtaken": when, "overtaken_in_ms": after}
        records.append(record)
    if as_json:
        say_json({"groups": records})
    else:
        print_groups(groups, records, settings=settings)
    return 0


def offsets_before(groups: Sequence[Group]) -> dict[tuple[str | None, str], tuple[int, int]]:
    """The commits and ends of an earlier description, by group and partition."""
    return {
        (group.name, str(each.partition)): (each.committed, each.end)
        for group in groups
        for each in group.partitions
        if each.committed is not None and each.end is not None
    }


def overtaken(
    found: GroupPartition,
    flow: Flow | None,
    settings: RetentionSettings | None,
    record_bytes: Fraction | None,
) -> tuple[str, int | None]:
    """When retention overtakes a group in a partition, and the milliseconds until then."""
    if found.deleted:
        return ALREADY, None
    if found.lag is None or flow is None or settings is None:
        return UNKNOWN, None
    kept = kept_records(settings, flow.produced, record_bytes)
    after = overtaken_in(found.lag, kept, flow)
    if after is None:
        return NEVER, None
    return (LATER, int(after)) if after else (NOW, 0)


def print_groups(
    groups: Sequence[Group],
    records: Sequence[dict[str, Any]],
    *,
    settings: RetentionSettings | None,
) -> None:
    """Print a line for each partition, the lag of each group, and what is remarkable."""
    with_starts = any(p.start is not None for group in groups for p in group.partitions)
    columns = ["group", "topic", "partition", "committed", "end", "lag"]
    columns += ["start", "lead"] if with_starts else []
    rows = []
    for record in records:
        for each in record["partitions"]:
            cells = [or_dash(each[name]) for name in columns[2:]]
            if settings:
                after = each["overtaken_in_ms"]
                cells.append(each["overtaken"] if after is None else f"in {in_words(after)}")
            rows.append([record["group"] or "–", each["topic"], *cells])
    if rows:
        columns += ["overtaken"] if settings else []
        say_table(columns, rows, right=range(2, 8 if with_starts else 6))
        say()
    for group in groups:
        count = len(group.partitions)
        partitions = f"{count} partition{'' if count == 1 else 's'}"
        state = f" ({STATE_WORDS[group.state]})" if group.state else ""
        say(f"{headed(group)}{state}: lag {group.lag:,} in {partitions}.")
        for line in remarks(group):
            say(f"  {line}")


STATE_WORDS = {
    "empty": "no members",
    "rebalancing": "rebalancing",
    "active": "has members",
    "missing": "does not exist",
}
"""The states of groups, in words."""


def remarks(group: Group) -> list[str]:
    """What an operator may overlook."""
    lines = []
    for each in group.partitions:
        if each.deleted:
            lines.append(
                f"{each.partition}: {each.deleted:,} offsets were deleted before the group read "
                "them; auto.offset.reset decides where it continues."
            )
        if each.lag is not None and each.lag < 0:
            lines.append(
                f"{each.partition}: the commit is {-each.lag:,} above the end of the log; was the "
                "log truncated, or the topic re-created?"
            )
    without = sum(each.committed is None for each in group.partitions)
    if without:
        lines.append(f"{without} without a committed offset: auto.offset.reset decides.")
    return lines
