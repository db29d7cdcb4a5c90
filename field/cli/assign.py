"""`kspec assign`: a consumer group's assignment, and what moves in a rebalance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from kspec.checkers.cli.options import FILE, json_option, option, pairs, reads, repeated
from kspec.checkers.cli.output import complain, say, say_json, say_table, say_wrapped
from kspec.checkers.engine.verdict import EXIT_INCONCLUSIVE
from kspec.field.groups.groupfile import parse_topics, read_group
from kspec.field.groups.rebalance import Rebalance, rebalances
from kspec.spec.assignors import ASSIGNORS, Member, kafka_order
from kspec.spec.assignors.properties import Round
from kspec.spec.core import SpecError, look_up
from kspec.traces.source import name_of
from kspec.traces.text import printable

MOST_MOVES = 20
"""How many moves are listed one by one for a reader."""

MOST_ROUNDS = 20
"""Cooperative rounds after which a group is considered never to settle."""


@click.command()
@click.argument("strategy")
@click.argument("file", type=FILE, metavar="[FILE]", required=False)
@repeated("--topic", "topics", "A topic with N partitions, instead of FILE.", metavar="NAME=N")
@repeated(
    "--member", "members", "A member with its subscription, instead of FILE.", metavar="ID=TOPIC,…"
)
@reads("--after", "The group at the next rebalance; members that stay own what they were assigned.")
@option(
    "--order",
    "Order of the members: that of Kafka's hash map after they joined as given, or as given.",
    type=click.Choice(["kafka", "given"]),
    default="kafka",
)
@json_option
def assign(
    strategy: str,
    file: Path | None,
    topics: tuple[str, ...],
    members: tuple[str, ...],
    after: Path | None,
    order: str,
    as_json: bool,
) -> int:
    """Assign partitions by STRATEGY: range, roundrobin, sticky or cooperative-sticky.

    FILE is JSON or YAML (`-`: standard input): topics with their numbers of partitions, and
    members, each a list of topics or an object with topics, owned, generation, instance_id and
    rack. The result is that of Kafka's own assignor, including the order of lists.

    \b
    kspec assign range --topic orders=6 --member c1=orders --member c2=orders
    kspec assign sticky group.yaml --after without-c2.yaml
    kspec assign cooperative-sticky group.json --json
    """
    look_up("strategy", strategy, ASSIGNORS)
    partitions, first = group_from(file, topics, members)
    second = None if after is None else read_group(after)
    arrange = kafka_order if order == "kafka" else dict[str, Member]
    done = rebalances(strategy, partitions, arrange(first), settle=False, limit=1)
    if second is not None:
        later = partitions if second.topics is None else second.topics
        joined = arrange(owning(second.members, done[-1].next_members()))
        cooperative = strategy == "cooperative-sticky"
        done += rebalances(strategy, later, joined, settle=cooperative, limit=MOST_ROUNDS)
    settled = second is None or strategy != "cooperative-sticky" or not done[-1].joins_again
    if as_json:
        say_json(record(strategy, order, done, settled=settled))
    else:
        print_rounds(strategy, order, done)
    missing = dict.fromkeys(topic for each in done for topic in missing_topics(each.round))
    if missing:
        complain(f"unknown topics, ignored as Kafka does: {some_of(map(printable, missing))}")
    if not settled:
        complain(f"the group has not settled after {MOST_ROUNDS} rounds")
        return EXIT_INCONCLUSIVE
    return 0


# -- what is asked -------------------------------------------------------------------------------


def group_from(
    file: Path | None, topics: Sequence[str], members: Sequence[str]
) -> tuple[Mapping[str, int | None], Mapping[str, Member]]:
    """The group, from a file or from options."""
    if file is None:
        if not topics and not members:
            raise click.UsageError("give a FILE, or --topic and --member")
        counts = {n: whole(n, count) for n, count in by_name("--topic", topics).items()}
        subscribed = by_name("--member", members)
        return parse_topics(counts), {
            name: Member([t for t in names.split(",") if t]) for name, names in subscribed.items()
        }
    if topics or members:
        raise click.UsageError("give a FILE, or --topic and --member, not both")
    found = read_group(file)
    if found.topics is None:
        raise SpecError(f"{name_of(file)}: it names no topics")
    return found.topics, found.members


def by_name(option: str, given: Sequence[str]) -> dict[str, str]:
    """The values of `name=value` options, by name, in which there may be another `=`."""
    found: dict[str, str] = {}
    for name, value in pairs(option, given, at_last=True):
        if name in found:
            raise SpecError(f"{option} {name!r} is given twice")
        found[name] = value
    return found


def whole(topic: str, count: str) -> int:
    """A number of partitions."""
    try:
        return int(count)
    except ValueError:
        raise SpecError(f"{topic} has a whole number of partitions, not {count!r}") from None


def owning(members: Mapping[str, Member], before: Mapping[str, Member]) -> dict[str, Member]:
    """The next members, each owning what it was assigned before, unless its file says otherwise."""
    return {
        name: attrs.evolve(
            member,
            owned=before[name].owned,
            generation=before[name].generation,
            subscription_generation=before[name].subscription_generation,
        )
        if name in before and not member.owned and member.generation is None
        else member
        for name, member in members.items()
    }


def missing_topics(of: Round) -> list[str]:
    """Topics in a subscription that the file does not name: likely a slip, but Kafka allows it."""
    subscribed = (topic for member in of.members.values() for topic in member.topics)
    return [topic for topic in subscribed if topic not in of.partitions]


# -- what is answered ----------------------------------------------------------------------------


def print_rounds(strategy: str, order: str, done: Sequence[Rebalance]) -> None:
    """Print every round as a table, with its balance and moves."""
    in_order = "in Kafka's order" if order == "kafka" else "as given"
    say(f"{strategy}, members {in_order}")
    for number, rebalance in enumerate(done, 1):
        say()
        if len(done) > 1:
            say(f"Round {number}")
        print_round(rebalance)


def print_round(rebalance: Rebalance) -> None:
    """Print a table of members, and what follows from it."""
    if not rebalance.changes:
        say("No members: nothing is assigned.")
        return
    columns = ["member", "partitions", "assigned"]
    had = any(change.kept or change.lost for change in rebalance.changes.values())
    if had:
        columns[2:2] = ["kept", "added", "revoked"]
    rows = []
    for name, change in rebalance.changes.items():
        numbers = [len(change.assigned)]
        if had:
            numbers += [len(change.kept), len(change.got), len(change.lost)]
        rows.append([printable(name), *map(str, numbers), ranges(change.assigned)])
    say_table(columns, rows, right=range(1, len(columns) - 1))
    say()
    for line in sentences(rebalance, had=had):
        say_wrapped(line)


def sentences(rebalance: Rebalance, *, had: bool) -> list[str]:
    """The balance, the moves, and what is withheld until the next round."""
    total = sum(len(change.assigned) for change in rebalance.changes.values())
    low, high = rebalance.least, rebalance.most
    each = f"{high} each" if low == high else f"{low} to {high} each"
    even = ": balanced" if high - low <= 1 else ": unbalanced"
    if rebalance.withheld:
        even = ", until the next round"
    lines = [f"Balance: {total} partitions for {len(rebalance.changes)} members, {each}{even}."]
    if not total and not rebalance.withheld:
        lines = ["No partitions: nothing is assigned."]
    if had:
        stay = sum(len(change.kept) for change in rebalance.changes.values())
        lines.append(f"Moves: {len(rebalance.moves)} partitions change owner, {stay} stay.")
        lines += listed([f"    {m.what}  {m.source} → {m.destination}" for m in rebalance.moves])
    if rebalance.withheld:
        count = len(rebalance.withheld)
        held = f"{count} partitions, until their owners revoke them; the next round assigns them."
        if count == 1:
            held = "1 partition, until its owner revokes it; the next round assigns it."
        lines.append(f"Withheld: {held}")
        lines += listed([f"    {tp}" for tp in rebalance.withheld])
    return lines


def listed(lines: list[str]) -> list[str]:
    """The first of many lines."""
    more = len(lines) - MOST_MOVES
    return lines[:MOST_MOVES] + ([f"    and {more} more; --json has them all"] if more > 0 else [])


def ranges(assigned: Sequence[tuple[str, int]]) -> str:
    """Partitions by topic, runs of them together: `orders 0-2 5, payments 1`."""
    indexes: dict[str, list[int]] = {}
    for topic, index in assigned:
        indexes.setdefault(topic, []).append(index)
    return some_of([f"{printable(topic)} {runs(sorted(some))}" for topic, some in indexes.items()])


def some_of(topics: Iterable[str]) -> str:
    """The first of many topics."""
    parts = [*topics]
    more = len(parts) - MOST_MOVES
    return ", ".join(parts[:MOST_MOVES] + ([f"and {more} more topics"] if more > 0 else []))


def runs(indexes: Sequence[int]) -> str:
    """Ascending numbers, with runs of them written as `0-2`."""
    found: list[list[int]] = []
    for index in indexes:
        if found and found[-1][-1] == index - 1:
            found[-1][1:] = [index]
        else:
            found.append([index])
    return " ".join("-".join(map(str, run)) for run in found)


def record(
    strategy: str, order: str, done: Sequence[Rebalance], *, settled: bool
) -> dict[str, Any]:
    """Every round, for a machine."""
    return {
        "strategy": strategy,
        "order": order,
        "settled": settled,
        "rounds": [
            {
                "members": {
                    name: {
                        "assigned": change.assigned,
                        "keeps": change.kept,
                        "gets": change.got,
                        "lets_go": change.lost,
                    }
                    for name, change in rebalance.changes.items()
                },
                "moves": [attrs.asdict(move) for move in rebalance.moves],
                "withheld": rebalance.withheld,
                "balance": {"least": rebalance.least, "most": rebalance.most},
            }
            for rebalance in done
        ],
    }
