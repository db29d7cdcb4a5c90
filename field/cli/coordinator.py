"""`kspec coordinator`: the partition and the broker that a consumer group belongs to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import json_option, names_from, number_option, option, reads
from kspec.checkers.cli.output import say, say_json_lines, say_table
from kspec.field.groups.leaders import OFFSETS_TOPIC, Leaders, parse_leaders
from kspec.spec.core import SpecError, look_up
from kspec.spec.placement import OFFSETS_PARTITIONS, PLACEMENT_RULES
from kspec.traces.source import read_with
from kspec.traces.text import printable

RULES = dict(zip(("kafka", "remainder-first", "abs-first"), PLACEMENT_RULES, strict=True))
"""Each rule's name at the prompt, and its formula in Java."""


@click.command()
@click.argument("groups", metavar="GROUP…", nargs=-1)
@reads(
    "--file",
    "file",
    "A list of groups, one on each line; `-`, here or as GROUP, is standard input.",
)
@number_option(
    "--partitions",
    f"Partitions of {OFFSETS_TOPIC}; by default {OFFSETS_PARTITIONS}, or those of --leaders.",
    low=1,
    high=2**31 - 1,
)
@reads(
    "--leaders",
    "Their leaders: the output of kafka-topics --describe, or JSON, partition to broker.",
)
@option(
    "--rule",
    "Kafka's rule, or one that is often mistaken for it: " + ", ".join(list(RULES)[1:]) + ".",
    default="kafka",
    metavar="RULE",
)
@json_option
def coordinator(
    groups: tuple[str, ...],
    file: Path | None,
    partitions: int | None,
    leaders: Path | None,
    rule: str,
    as_json: bool,
) -> int:
    """Find the partition of __consumer_offsets that each GROUP belongs to.

    The leader of that partition coordinates the group. Kafka computes Utils.abs(hash) % n from
    the group's id. Two other formulas are often mistaken for this one; if they give another
    partition, the report says so. Transactional ids belong to partitions of __transaction_state
    by the same rule.

    \b
    kspec coordinator my-group polygenelubricants
    kafka-topics --bootstrap-server :9092 --describe --topic __consumer_offsets > leaders.txt
    kafka-consumer-groups --bootstrap-server :9092 --list |
        kspec coordinator - --leaders leaders.txt
    """
    look_up("rule", rule, RULES)
    if not groups and not file:
        raise click.UsageError("missing GROUP or --file")
    names = names_from(groups, file, "group")
    if "" in names:
        raise SpecError("a group id is not empty")
    known = read_with(leaders, lambda text: parse_leaders(text, partitions)) if leaders else None
    count = partitions or (known.partitions if known else OFFSETS_PARTITIONS)
    placed = place(names, count, PLACEMENT_RULES[RULES[rule]], known)
    if as_json:
        head = {"partitions": count, "rule": rule, "java": RULES[rule]}
        say_json_lines(head, "groups", placed)
    else:
        print_table(placed, count, rule, with_broker=known is not None)
    return 0


def place(
    names: list[str], count: int, rule: Callable[[int, int], int], leaders: Leaders | None
) -> list[dict[str, Any]]:
    """The place of each group by one rule, and its partition by all rules if they differ."""
    from kspec.impl.assignors.java import string_hash
    from kspec.spec.java import INT_MIN, int32

    placed = []
    for name in names:
        hash_code = int32(string_hash(name))
        record: dict[str, Any] = {
            "group": name,
            "hash": hash_code,
            "partition": rule(hash_code, count),
        }
        if leaders:
            record["broker"] = leaders.brokers.get(record["partition"])
        if hash_code == INT_MIN:  # the one hash on which they may differ
            by_rule = {
                each: PLACEMENT_RULES[java](hash_code, count) for each, java in RULES.items()
            }
            if len(set(by_rule.values())) > 1:
                record["rules"] = by_rule
        placed.append(record)
    return placed


def print_table(placed: list[dict[str, Any]], count: int, rule: str, *, with_broker: bool) -> None:
    """Print a line for each group, and the groups for which the rules differ."""
    columns = ["group", "hash", "partition"] + (["broker"] if with_broker else [])
    rows = []
    for p in placed:
        broker = ["none" if p["broker"] is None else str(p["broker"])] if with_broker else []
        rows.append([printable(p["group"]), str(p["hash"]), str(p["partition"]), *broker])
    say_table(columns, rows, right=(1, 2, 3))
    say()
    default = " (the default)" if count == OFFSETS_PARTITIONS else ""
    say(f"Rule: {RULES[rule]}, n = {count}{default}.")
    for p in placed:
        if "rules" in p:
            each = p["rules"].items()
            results = ", ".join(f"{RULES[name]} gives {partition}" for name, partition in each)
            say(f"The rules differ for {printable(p['group'])}: {results}.")
    if with_broker and any(p["broker"] is None for p in placed):
        say("none: the partition has no leader, so the group has no coordinator.")
