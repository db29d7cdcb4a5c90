"""`kspec assign`: who in a consumer group gets which partitions, and what moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from checkers.cli.options import FILE, json_option
from checkers.cli.output import complain, printable, say, say_json, say_table, say_wrapped
from checkers.verdict import EXIT_INCONCLUSIVE
from spec.assignors import ASSIGNORS, Member, kafka_order
from spec.core import SpecError, look_up

if TYPE_CHECKING:
    from checkers.rebalance import Rebalance
    from spec.assignors.properties import Round

MOST_MOVES = 20
"""How many moves are listed one by one, where a person reads."""

MOST_ROUNDS = 20
"""Cooperative rounds after which a group is taken never to settle."""


@click.command()
@click.argument("strategy")
@click.argument("file", type=FILE, metavar="[FILE]", required=False)
@click.option(
    "--topic", "topics", metavar="NAME=N", multiple=True, help="A topic, instead of FILE."
)
@click.option(
    "--member",
    "members",
    metavar="ID=TOPIC,…",
    multiple=True,
    help="A member and what it subscribes to, instead of FILE.",
)
@click.option(
    "--after",
    type=FILE,
    metavar="FILE",
    help="Who is in the group next: members come and go, and own what they got before.",
)
@click.option(
    "--order",
    type=click.Choice(["kafka", "given"]),
    default="kafka",
    show_default=True,
    help="Members in the order of Kafka's hash map, having joined as given; or just as given.",
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

    FILE is JSON or YAML (`-` is standard input): topics with their numbers of partitions, and
    members, each a list of topics or an object with topics, owned, generation, instance_id and
    rack. The result is what Kafka's own assignor computes, list order included.

    \b
    kspec assign range --topic orders=6 --member c1=orders --member c2=orders
    kspec assign sticky group.yaml --after without-c2.yaml
    kspec assign cooperative-sticky group.json --json
    """
    from checkers.rebalance import rebalances

    look_up("strategy", strategy, ASSIGNORS)
    partitions, first = group_from(file, topics, members)
    second = None if after is None else then(after, partitions)
    arrange = kafka_order if order == "kafka" else dict[str, Member]
    done = rebalances(strategy, partitions, arrange(first), settle=False, limit=1)
    if second is not None:
        later, told = second
        joined = arrange(owning(told, done[-1].next_members()))
        cooperative = strategy == "cooperative-sticky"
        done += rebalances(strategy, later, joined, settle=cooperative, limit=MOST_ROUNDS)
    settled = second is None or strategy != "cooperative-sticky" or not done[-1].joins_again
    if as_json:
        say_json(record(strategy, order, done, settled=settled))
    else:
        tell(strategy, order, done)
    missing = dict.fromkeys(topic for each in done for topic in missing_topics(each.round))
    if missing:
        complain(
            f"not among the topics, and left out as with Kafka: {some_of(map(printable, missing))}"
        )
    if not settled:
        complain(f"the group has not settled in {MOST_ROUNDS} rounds")
        return EXIT_INCONCLUSIVE
    return 0


# -- what is asked -------------------------------------------------------------------------------


def group_from(
    file: Path | None, topics: Sequence[str], members: Sequence[str]
) -> tuple[Mapping[str, int | None], Mapping[str, Member]]:
    """The group, from a file or from options."""
    from checkers.groupfile import parse_topics, read_group
    from checkers.textfile import name_of

    if file is None:
        if not topics and not members:
            raise click.UsageError("give a FILE, or --topic and --member")
        counts = {n: whole(n, count) for n, count in pairs("--topic", topics).items()}
        subscribed = pairs("--member", members)
        return parse_topics(counts), {
            name: Member([t for t in told.split(",") if t]) for name, told in subscribed.items()
        }
    if topics or members:
        raise click.UsageError("give a FILE, or --topic and --member, not both")
    found = read_group(file)
    if found.topics is None:
        raise SpecError(f"{name_of(file)}: there are no topics")
    return found.topics, found.members


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """`name=value` options by name."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.rpartition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} takes name=value, not {each!r}")
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


def then(
    file: Path, topics: Mapping[str, int | None]
) -> tuple[Mapping[str, int | None], Mapping[str, Member]]:
    """The group that is there next; where its file has no topics, those stay as they are."""
    from checkers.groupfile import read_group

    found = read_group(file)
    return (topics if found.topics is None else found.topics), found.members


def owning(told: Mapping[str, Member], before: Mapping[str, Member]) -> dict[str, Member]:
    """The next members, each owning what it got before, unless it says itself what it owns."""
    return {
        name: attrs.evolve(
            member,
            owned=before[name].owned,
            generation=before[name].generation,
            subscription_generation=before[name].subscription_generation,
        )
        if name in before and not member.owned and member.generation is None
        else member
        for name, member in told.items()
    }


def missing_topics(of: Round) -> list[str]:
    """What members subscribe to and nothing is said of: likely a slip, though Kafka allows it."""
    subscribed = (topic for member in of.members.values() for topic in member.topics)
    return [topic for topic in subscribed if topic not in of.partitions]


# -- what is answered ----------------------------------------------------------------------------


def tell(strategy: str, order: str, done: Sequence[Rebalance]) -> None:
    """Every round as a table, and what it means."""
    in_order = "in Kafka's order" if order == "kafka" else "as given"
    say(f"{strategy}, members {in_order}")
    for number, rebalance in enumerate(done, 1):
        say()
        if len(done) > 1:
            say(f"Round {number}")
        tell_round(rebalance)


def tell_round(rebalance: Rebalance) -> None:
    """A table of members, and a few sentences."""
    if not rebalance.changes:
        say("No members: nothing is assigned.")
        return
    columns = ["member", "partitions", "assigned"]
    had = any(change.kept or change.lost for change in rebalance.changes.values())
    if had:
        columns[2:2] = ["keeps", "gets", "lets go"]
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
    """How even it is, what moved and what has to wait."""
    total = sum(len(change.assigned) for change in rebalance.changes.values())
    low, high = rebalance.least, rebalance.most
    each = f"{high} each" if low == high else f"{low} to {high} each"
    even = ": as even as can be" if high - low <= 1 else ": uneven"
    if rebalance.withheld:
        even = ", until the next round"
    lines = [f"Balance: {total} partitions to {len(rebalance.changes)} members, {each}{even}."]
    if not total and not rebalance.withheld:
        lines = ["No partitions: nothing is assigned."]
    if had:
        stay = sum(len(change.kept) for change in rebalance.changes.values())
        lines.append(
            f"Moves: {len(rebalance.moves)} from one member to another; {stay} stay where they are."
        )
        lines += listed([f"    {m.what}  {m.source} → {m.destination}" for m in rebalance.moves])
    if rebalance.withheld:
        lines.append(
            f"Withheld: {len(rebalance.withheld)}, until whoever reads them has let go of them; "
            "the next round hands them out."
        )
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
