"""`kspec vectors`: requests to an oracle at random, with its answers, as test vectors."""

from __future__ import annotations

from pathlib import Path

import click

from kspec.checkers.cli.options import flag, number_option, reads, writes
from kspec.checkers.cli.output import OutputFile, say, say_json, say_raw
from kspec.checkers.engine.verdict import EXIT_REJECTED
from kspec.field.oracle.questions import as_line
from kspec.field.oracle.vectors import MOST, differences, document, json_schema
from kspec.traces.source import name_of, parse_json, read_with

MOST_SHOWN = 20
"""How many differences are listed."""


@click.command()
@click.argument("name")
@number_option(
    "--count", "Number of vectors, or of histories of `group`.", low=1, high=MOST, default=1000
)
@number_option("--seed", "Seed of all random choices.", low=0, high=2**32 - 1, default=1)
@writes("--out", "Write to this file.")
@flag("--schema", "Print the JSON Schema of the file.")
@reads("--check", "Compare the results in a file of vectors with the specification.")
def vectors(
    name: str, count: int, seed: int, out: Path | None, schema: bool, check: Path | None
) -> int:
    """Print random requests to the oracle NAME, with its answers.

    The same seed gives the same vectors on every machine and with every version of Python, and
    a larger count begins with the same vectors. With --check, kspec compares the results in a
    file: replace those that it wrote with your own.

    \b
    kspec vectors epochs --count 1000 --seed 1 --out epochs.json
    kspec vectors group --schema
    kspec vectors epochs --check mine.json
    """
    if check and (out or schema):
        raise click.UsageError(f"--check excludes {'--out' if out else '--schema'}")
    if schema:
        say_json(json_schema(name))
        return 0
    if check:
        return compare(name, check)
    file = OutputFile(out) if out else None
    text = document(name, count, seed)
    if file is None:
        say_raw(text.rstrip("\n"))
        return 0
    file.write(text)
    say(f"Written: {out}.")
    return 0


def compare(name: str, path: Path) -> int:
    """Print the results in a file that differ from the specification's."""
    found = read_with(path, lambda text: list(differences(name, parse_json(text))))
    if not found:
        say(f"{name_of(path)}: every result agrees with the specification.")
        return 0
    for each in found[:MOST_SHOWN]:
        say(as_line(each))
    say(f"{len(found):,} {'vector differs' if len(found) == 1 else 'vectors differ'}.")
    return EXIT_REJECTED
