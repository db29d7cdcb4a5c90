"""`kspec oracle`: the specification, asked in JSON line by line."""

from __future__ import annotations

import sys

import click

from kspec.checkers.cli.options import flag
from kspec.checkers.cli.output import complain, discard_output, say_json, say_raw, say_table
from kspec.checkers.engine.verdict import EXIT_BAD_INPUT
from kspec.field.oracle.questions import (
    MOST_BYTES,
    ORACLES,
    answer,
    as_line,
    find_oracle,
    json_schema,
)
from kspec.traces.source import numbered_lines


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@flag("--list", "listed", "List the oracles.")
@flag("--schema", "Print the JSON Schema of requests and answers.")
@flag("--strict", "End at the first invalid request.")
def oracle(name: str | None, listed: bool, schema: bool, strict: bool) -> int:
    """Answer requests on standard input, one line of JSON each, as the specification does.

    A request is {"id": 1, "method": "murmur2", "params": {"key": "a2V5"}}, and its answer
    {"id": 1, "result": …}. An invalid request is answered with an error, and the session
    continues. Use one process for all requests.

    \b
    kspec oracle --list
    kspec oracle epochs --schema
    echo '{"method": "hashCode", "params": {"text": "my-group"}}' | kspec oracle placement
    """
    if listed:
        if name or schema or strict:
            raise click.UsageError("--list takes no NAME and no other option")
        say_table(["oracle", "answers"], list(ORACLES.items()), right=())
        return 0
    if not name:
        raise click.UsageError("missing NAME: kspec oracle --list prints the names")
    if schema:
        say_json(json_schema(name))
        return 0
    found = find_oracle(name)
    for number, line in numbered_lines(MOST_BYTES):
        answered = answer(found, line, number)
        try:
            say_raw(as_line(answered))
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()
            return 0
        if strict and "error" in answered:
            complain(f"line {number}: {answered['error']['message']}")
            return EXIT_BAD_INPUT
    return 0
