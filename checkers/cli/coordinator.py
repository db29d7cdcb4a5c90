"""`kspec coordinator`: which partition, and which broker, a consumer group belongs to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import click

from checkers.cli.options import FILE, json_option
from checkers.cli.output import printable, say, say_table
from checkers.leaders import OFFSETS_TOPIC, Leaders, parse_leaders
from checkers.textfile import read_text
from spec.core import SpecError, look_up
from spec.placement import OFFSETS_PARTITIONS, PLACEMENT_RULES

RULES = dict(zip(("kafka", "remainder-first", "abs-first"), PLACEMENT_RULES, strict=True))
"""What each rule is called at the prompt, and what it says in Java."""


@attrs.frozen
class Placed:
    """Where a group belongs."""

    group: str
    hash_code: int
    partition: int
    told: tuple[int, ...]
    """What each rule says, where they may differ."""
    broker: int | None = None


@click.command()
@click.argument("groups", metavar="GROUP…", nargs=-1)
@click.option(
    "--file",
    "file",
    type=FILE,
    metavar="FILE",
    help="Groups, one a line; `-` is standard input, as it is in place of GROUP.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1, 2**31 - 1),
    metavar="N",
    help=f"Partitions of {OFFSETS_TOPIC}; {OFFSETS_PARTITIONS}, or as many as --leaders lists.",
)
@click.option(
    "--leaders",
    type=FILE,
    metavar="FILE",
    help="Who leads them: output of kafka-topics --describe, or JSON, partition to broker.",
)
@click.option(
    "--rule",
    default="kafka",
    show_default=True,
    metavar="RULE",
    help="kafka, or as it is often told: " + ", ".join(list(RULES)[1:]) + ".",
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
    """Find the partition of __consumer_offsets that each GROUP belongs to, from its id alone.

    The broker that leads it coordinates the group. Kafka computes Utils.abs(hash) % n; two other
    rules are often told, and where one of them says something else, that is said. Transactional
    ids belong to partitions of __transaction_state by the same rule.

    \b
    kspec coordinator my-group polygenelubricants
    kafka-topics --bootstrap-server :9092 --describe --topic __consumer_offsets > leaders.txt
    kafka-consumer-groups --bootstrap-server :9092 --list |
        kspec coordinator - --leaders leaders.txt
    """
    look_up("rule", rule, RULES)
    if not groups and not file:
        raise click.UsageError("name a group, or give --file")
    if "-" in groups and not file:
        groups, file = tuple(group for group in groups if group != "-"), Path("-")
    names = [*groups, *(lines_of(file) if file else ())]
    known = leaders_from(leaders) if leaders else None
    if known and partitions not in (None, known.partitions):
        raise SpecError(
            f"{leaders} lists {known.partitions} partitions of {OFFSETS_TOPIC}, not {partitions}"
        )
    count = partitions or (known.partitions if known else OFFSETS_PARTITIONS)
    placed = place(names, count, PLACEMENT_RULES[RULES[rule]], known)
    if as_json:
        say_as_json(placed, count, rule, with_broker=known is not None)
    else:
        tell(placed, count, rule, with_broker=known is not None)
    return 0


def lines_of(file: Path) -> list[str]:
    """The groups that a file lists; blank lines are none."""
    lines = (line.removesuffix("\r") for line in read_text(file).split("\n"))
    return [line for line in lines if line]


def leaders_from(file: Path) -> Leaders:
    """Who leads which partition, by a file."""
    text = read_text(file)
    try:
        return parse_leaders(text)
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from None


def place(
    names: list[str], count: int, rule: Callable[[int, int], int], leaders: Leaders | None
) -> list[Placed]:
    """Where each group belongs, by one rule, and whether the others say the same."""
    from impl.assignors.java import string_hash
    from spec.java import INT_MIN, int32

    brokers = leaders.brokers if leaders else {}
    placed = []
    for name in names:
        hash_code = int32(string_hash(name))
        partition = rule(hash_code, count)
        told: tuple[int, ...] = ()
        if hash_code == INT_MIN:  # the one hash on which they may differ
            told = tuple(each(hash_code, count) for each in PLACEMENT_RULES.values())
        placed.append(Placed(name, hash_code, partition, told, brokers.get(partition)))
    return placed


def tell(placed: list[Placed], count: int, rule: str, *, with_broker: bool) -> None:
    """A line for each group, and a word on those where the rules differ."""
    columns = ["group", "hash", "partition"] + (["broker"] if with_broker else [])
    rows = []
    for p in placed:
        broker = [str(p.broker) if p.broker is not None else "none"] if with_broker else []
        rows.append([printable(p.group), str(p.hash_code), str(p.partition), *broker])
    say_table(columns, rows, right=(1, 2, 3))
    say()
    say(f"By {RULES[rule]}, n = {count}{' (the default)' if count == OFFSETS_PARTITIONS else ''}.")
    for p in placed:
        if len(set(p.told)) > 1:
            by_rule = zip(PLACEMENT_RULES, p.told, strict=True)
            says = ", ".join(f"{name} says {told}" for name, told in by_rule)
            say(f"The rules differ on {printable(p.group)}: {says}.")
    if with_broker and any(p.broker is None for p in placed):
        say("none: nobody leads that partition now, so the group has no coordinator.")


def say_as_json(placed: list[Placed], count: int, rule: str, *, with_broker: bool) -> None:
    """One object, with a group a line, as there may be many."""
    head = {"partitions": count, "rule": rule, "java": RULES[rule]}
    say(json.dumps(head, ensure_ascii=False)[:-1] + ', "groups": [')
    for number, p in enumerate(placed, 1):
        record: dict[str, Any] = {
            "group": p.group,
            "hash": p.hash_code,
            "partition": p.partition,
        }
        if with_broker:
            record["broker"] = p.broker
        if len(set(p.told)) > 1:
            record["rules"] = dict(zip(RULES, p.told, strict=True))
        say(json.dumps(record, ensure_ascii=False) + ("," if number < len(placed) else ""))
    say("]}")
