"""`kspec reset`: the plan of a reset, with what it skips and repeats, as Kafka's tool takes it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import flag, json_option, option, reads, repeated
from kspec.checkers.cli.output import or_dash, say, say_json, say_raw, say_table
from kspec.field.cli.operating import (
    DATETIME,
    DURATION,
    file_argument,
    group_option,
    read_groups,
    read_offsets,
    starts_option,
)
from kspec.field.groups.groups import Group, headed
from kspec.field.groups.plan import (
    Plan,
    Target,
    in_scope,
    its_partition,
    parse_csv,
    plan_of,
    to_csv,
    with_others,
)
from kspec.spec.consumer.reset import (
    shift_by,
    to_current,
    to_earliest,
    to_found,
    to_latest,
    to_offset,
)
from kspec.spec.core import SpecError
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.source import read_with
from kspec.traces.text import printable


@click.command()
@file_argument
@flag("--to-earliest", "To the log start. Needs --starts.")
@flag("--to-latest", "To the end of the log.")
@flag("--to-current", "To the committed offset, or else the end.")
@option("--to-offset", "To this offset, within the log.", type=int, metavar="N")
@option("--shift-by", "Move by N offsets, within the log.", type=int, metavar="N")
@option(
    "--to-datetime",
    "To the first record since 2024-05-01T12:00:00.000 (UTC, or with +05:30). Needs --found.",
    type=DATETIME,
    metavar="T",
)
@option(
    "--by-duration",
    "To the first record of the last 7d or PT36H. Needs --found.",
    type=DURATION,
    metavar="D",
)
@reads("--from-file", "To the offsets of a CSV.")
@starts_option
@reads(
    "--ends",
    "Log ends (kafka-get-offsets --time latest): adds partitions of --topic that FILE lacks.",
)
@reads("--found", "The output of kafka-get-offsets for the time of --to-datetime or --by-duration.")
@group_option
@repeated(
    "--topic",
    "topics",
    "Only this topic, or orders:0,2. Repeatable. By default, all partitions with a commit.",
    metavar="T",
)
@flag("--export", "Print the CSV for --from-file and nothing else.")
@json_option
def reset(
    file: Path,
    starts: Path | None,
    ends: Path | None,
    found: Path | None,
    names: tuple[str, ...],
    topics: tuple[str, ...],
    export: bool,
    as_json: bool,
    **resets: Any,
) -> int:
    """Plan a reset of a group's offsets: where it moves, and what it skips and reads twice.

    FILE is the output of kafka-consumer-groups --describe (Kafka 2.0 to 4.x), or the JSON of
    kspec lag; `-` is standard input. Choose one of the resets of Kafka's tool. --export prints the
    plan as the CSV that kafka-consumer-groups --reset-offsets --from-file takes. Kafka resets a
    group only while it has no members.

    \b
    kspec reset now.txt --group billing --to-earliest --starts starts.txt
    kspec reset now.txt --group billing --shift-by -100 --starts starts.txt --export > plan.csv
    kspec reset now.txt --to-datetime 2024-05-01T12:00:00.000 --found found.txt --json

    Offsets are counted, not records: a compacted log has fewer, and markers of transactions are
    offsets too.
    """
    asked = {name: v for name, v in resets.items() if v is not None and v is not False}
    if len(asked) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in resets)
        raise click.UsageError(f"choose one of {options}")
    ((kind, value),) = asked.items()
    if export and as_json:
        raise click.UsageError("--export and --json exclude each other")
    if kind == "from_file" and topics:
        raise click.UsageError("--from-file lists the partitions: --topic excludes it")
    if ends and not topics:
        raise click.UsageError("--ends needs --topic")
    groups = [group for group in read_groups(file, starts, names) if group.state != "missing"]
    if ends:
        known = read_offsets(starts), read_offsets(ends)
        groups = [with_others(group, topics, *known) for group in groups]
    if kind == "from_file":
        plans = plans_from(value, groups)
    else:
        target = target_of(kind, value, found)
        plans = [plan_of(group, in_scope(group, topics), target) for group in groups]
    if not any(plan.moves for plan in plans):
        raise SpecError("there is nothing to reset: no partition has a committed offset")
    if kind == "to_earliest":
        assert_starts_known(plans)
    records = [plan.to_json() for plan in plans]
    if export:
        say_raw(to_csv(plans).removesuffix("\n"))
    elif as_json:
        say_json({"reset": kind.replace("_", "-"), "groups": records})
    else:
        print_plans(plans, records, topics_are_whole=not topics or ends is not None)
    return 0


def target_of(kind: str, value: Any, found: Path | None) -> Target:
    """The new offset of each partition, by one of the resets of `spec.consumer.reset`."""
    match kind:
        case "to_earliest":
            return lambda p, _: to_earliest(p)
        case "to_latest":
            return lambda p, _: to_latest(p)
        case "to_current":
            return lambda p, _: to_current(p)
        case "to_offset":
            return lambda p, _: to_offset(p, value)
        case "shift_by":
            return lambda p, _: shift_by(p, value)
        case "to_datetime":
            return target_found(value, found)
        case _:
            return target_found(int(time.time() * 1_000) - value, found)


def target_found(moment: int, found: Path | None) -> Target:
    """The reset to a moment, by the offsets that Kafka's tool finds for it."""
    if found is None:
        moment = max(0, moment)
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)
        raise click.UsageError(
            f"FILE has no timestamps: give --found the output of kafka-get-offsets --time {moment} "
            f"({at:%Y-%m-%d %H:%M:%S} UTC)"
        )
    offsets = read_offsets(found)
    return lambda p, partition: to_found(p, offsets.get(partition))


def plans_from(file: Path, groups: Sequence[Group]) -> list[Plan]:
    """The plans that a CSV has for these groups."""
    csv = read_with(file, lambda text: parse_csv(text, [group.name for group in groups]))
    by_name = {group.name: group for group in groups}
    plans = []
    for name, offsets in csv.items():
        if name not in by_name:
            raise SpecError(f"the plan has the group {printable(name or '')}, but FILE does not")
        group = by_name[name]
        moved = [its_partition(group, each) for each in offsets]
        plans.append(plan_of(group, moved, target_in(offsets)))
    return plans


def target_in(offsets: Mapping[TopicPartition, int]) -> Target:
    """The reset to the offsets of a CSV, which Kafka's tool clamps to the log."""
    return lambda p, partition: to_offset(p, offsets[partition])


def assert_starts_known(plans: Sequence[Plan]) -> None:
    """Refuse a reset to a log start that is not known."""
    for plan in plans:
        for move in plan.moves:
            if move.found.start is None:
                raise SpecError(
                    f"the log start of {move.found.partition} is unknown: give --starts the output "
                    "of kafka-get-offsets --time earliest"
                )


def print_plans(
    plans: Sequence[Plan], records: Sequence[dict[str, Any]], *, topics_are_whole: bool
) -> None:
    """Print a line for each partition, and what is remarkable."""
    columns = ("group", "topic", "partition", "committed", "new", "skipped", "repeated")
    rows = [
        [record["group"] or "–", each["topic"], *(or_dash(each[name]) for name in columns[2:])]
        for record in records
        for each in record["partitions"]
    ]
    say_table(columns, rows, right=range(2, 7))
    say()
    for plan, record in zip(plans, records, strict=True):
        skipped, repeated = record["skipped"], record["repeated"]
        say(f"{headed(plan.group)}: {skipped:,} skipped, {repeated:,} read twice.")
        for line in remarks(plan):
            say(f"  {line}")
    if not topics_are_whole:
        say("Partitions without a commit are missing if FILE does not list them: --ends adds them.")


def remarks(plan: Plan) -> list[str]:
    """What an operator may overlook."""
    lines = []
    if plan.group.has_members:
        lines.append("It has members, so Kafka refuses to reset it: stop them, then plan again.")
    unknown = sum(move.found.start is None for move in plan.moves)
    if unknown:
        what = "log start" if unknown == 1 else "log starts"
        lines.append(f"{unknown} unknown {what}, taken as 0: give --starts.")
    lines += [
        f"{move.found.partition}: {move.new} is outside the log; auto.offset.reset decides."
        for move in plan.moves
        if move.is_in_log is False
    ]
    return lines
