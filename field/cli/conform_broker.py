"""`kspec conform broker`: compare a broker with the specification."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kspec.checkers.cli.options import (
    flag,
    json_option,
    number_option,
    option,
    pairs,
    reads,
    repeated,
    writes,
)
from kspec.checkers.cli.output import (
    OutputFile,
    as_json_text,
    say,
    say_json,
    say_table,
    status_line,
)
from kspec.checkers.engine.verdict import EXIT_INCONCLUSIVE, EXIT_REJECTED
from kspec.checkers.needs import needs
from kspec.spec.core import SpecError, evolve, look_up
from kspec.spec.messages import GROUP_SETTINGS, JAVA, SCALA

if TYPE_CHECKING:
    from kspec.field.conform.search import Searched

PROFILES = ("group", "offsets", "timers", "records")
COORDINATORS = {"java": JAVA, "scala": SCALA}


@click.command("broker")
@click.argument("addresses", metavar="HOST:PORT", nargs=1)
@option(
    "--profile",
    "profiles",
    "The requests in histories; group and offsets by default. Repeatable.",
    type=click.Choice(PROFILES),
    multiple=True,
)
@number_option("--histories", "Number of histories.", low=1, default=200)
@number_option("--steps", "Number of steps in each.", low=1, high=1000, default=40)
@option("--seed", "Seed of the histories.", type=int, default=0)
@option(
    "--coordinator",
    "Kafka's coordinator to compare with; scala was the default up to Kafka 3.9.",
    type=click.Choice(list(COORDINATORS)),
    default="java",
)
@repeated(
    "--set",
    "assignments",
    "A setting of the broker, instead of what DescribeConfigs reports. Repeatable.",
    metavar="NAME=VALUE",
)
@reads("--command-config", "Properties of a Kafka client: security.protocol, sasl.* and ssl.*.")
@option(
    "--prefix",
    "Prefix of the names of groups and of the topic; kspec- and a random word by default.",
    metavar="NAME",
)
@number_option(
    "--workers", "Number of histories to play at the same time.", low=1, high=200, default=4
)
@number_option("--max-differences", "Stop after N differences.", low=1, default=10)
@reads("--expect", "Accept the differences in this file, written by --save.")
@reads("--replay", "Play only the histories in this file, written by --save.")
@writes("--save", "Write the differences to this file.")
@writes("--junit", "Write a JUnit XML report.")
@flag("--coverage", "Show how often each guard was seen enabled and blocked.")
@json_option
def conform_broker(
    addresses: str,
    profiles: tuple[str, ...],
    histories: int,
    steps: int,
    seed: int,
    coordinator: str,
    assignments: tuple[str, ...],
    command_config: Path | None,
    prefix: str | None,
    workers: int,
    max_differences: int,
    expect: Path | None,
    replay: Path | None,
    save: Path | None,
    junit: Path | None,
    coverage: bool,
    as_json: bool,
) -> int:
    """Search for requests that the broker at HOST:PORT answers differently from Kafka.

    kspec generates histories of requests from the specification of the group coordinator, and
    sends them to the broker. It compares each response, and the group that DescribeGroups shows
    after each step, with what the specification allows. A difference is repeated, shortened and
    shown with the guard that decides.

    Only groups and topics whose names begin with the prefix are used; they are deleted at the
    end. The exit code is 3 if there is a difference that --expect does not accept.

    \b
    kspec conform broker localhost:9092
    kspec conform broker localhost:9092 --histories 2000 --save found.json
    kspec conform broker localhost:9092 --replay found.json
    kspec conform broker localhost:9092 --expect found.json --junit report.xml
    """
    needs("kspec conform broker", "broker", "kio")
    from kspec.field.conform.broker import Broker
    from kspec.field.conform.connection import Lost
    from kspec.field.conform.report import as_junit, as_text, read_known, to_file, to_record
    from kspec.field.conform.search import Search
    from kspec.field.conform.security import read_security
    from kspec.impl.background import Address

    known = read_known(expect) if expect else []
    again = read_known(replay) if replay else []
    if replay and not any(item.steps for item in again):
        raise SpecError(f"{replay}: no history to replay")
    given = parse_assignments(assignments)
    files = {kind: OutputFile(path) for kind, path in (("save", save), ("junit", junit)) if path}
    address = Address.parse(addresses)
    prefix = prefix or f"kspec-{secrets.token_hex(4)}"
    broker = Broker(address, read_security(command_config), prefix)
    what = f"conform {address}"
    with closing(broker), status_line(what) as update:

        def progress(text: str) -> None:
            update(f"{what}: {text}")

        try:
            settings = evolve(broker.settings(given), variant=COORDINATORS[coordinator])
            broker.create_topic()
            with closing(Search(broker, settings, seed, steps, workers, progress)) as search:
                if replay:
                    searched = search.replay([item.steps for item in again if item.steps])
                else:
                    searched = search.run(
                        profiles or ("group", "offsets"), histories, max_differences
                    )
        except Lost as lost:
            raise SpecError(f"{address}: {lost}") from None
    expected = [item.signature for item in known]
    new = [f for f in searched.found if f.difference.signature not in expected]
    records = [to_record(f, f.difference.signature in expected) for f in searched.found]
    if save:
        files["save"].write(as_json_text(to_file(records)))
    if junit:
        files["junit"].write(as_junit(searched, expected, str(address)))
    if as_json:
        about = {"broker": str(address), "coordinator": coordinator}
        say_json(about | as_record(searched, records, seed))
    else:
        for found in new:
            say(as_text(found))
            say()
        if coverage:
            say_coverage(searched)
        summarise(searched, len(new), str(address), coordinator, seed, replay is not None)
    if new:
        return EXIT_REJECTED
    return EXIT_INCONCLUSIVE if searched.undecided else 0


def as_record(searched: Searched, records: Sequence[Any], seed: int) -> dict[str, Any]:
    """The JSON of a search."""
    from kspec.field.conform.report import guards_of

    return {
        "histories": searched.histories,
        "steps": searched.steps,
        "seed": seed,
        "differences": records,
        "unsteady": searched.unsteady,
        "undecided": searched.undecided,
        "guards": guards_of(searched),
    }


def parse_assignments(assignments: Sequence[str]) -> dict[str, int]:
    """The settings that are given, by Kafka's names."""
    given = {}
    for name, value in pairs("--set", assignments, "NAME=NUMBER"):
        if not value.isascii() or not value.isdigit():
            raise click.UsageError(f"--set takes NAME=NUMBER, not {name}={value}")
        look_up("setting", name, GROUP_SETTINGS)
        given[name] = int(value)
    return given


def say_coverage(searched: Searched) -> None:
    """Print how often each guard was seen enabled and blocked."""
    rows = [
        [kind, guard, f"{passed:,}", f"{failed:,}"]
        for kind, guard, passed, failed in searched.coverage.rows()
    ]
    say_table(["request", "guard", "enabled", "blocked"], rows, right=(2, 3))
    say()


def summarise(
    searched: Searched, new: int, address: str, coordinator: str, seed: int, replayed: bool
) -> None:
    """Print the result in a few lines."""
    known = len(searched.found) - new
    rows = searched.coverage.rows()
    blocked = sum(1 for *_, failed in rows if failed)
    enabled = sum(1 for _, _, passed, _ in rows if passed)
    count = f"{new} difference{'' if new == 1 else 's'}" if new else "No difference"
    also = f", and {known} expected" if known else ""
    what = "replayed" if replayed else f"seed {seed}"
    say(
        f"{count}{also}: {address} against Kafka's {coordinator} coordinator; "
        f"{searched.histories:,} histories, {searched.steps:,} steps; {what}."
    )
    say(f"Guards seen: {len(rows)}, of which {enabled} enabled and {blocked} blocked.")
    if searched.unsteady:
        say(f"{searched.unsteady} histories differed once, but not when repeated.")
    if searched.undecided:
        say(f"{searched.undecided} histories ended early: the broker may be in too many states.")
