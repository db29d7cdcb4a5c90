"""`kspec validate`: whether recorded traces are behaviours of the specification."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import (
    FILE,
    flag,
    json_option,
    model_argument,
    number_option,
    option,
    pairs,
    repeated,
    writes,
)
from kspec.checkers.cli.output import OutputFile, complain, say, say_json
from kspec.checkers.engine.verdict import EXIT_BAD_INPUT
from kspec.field.cli.timeline import log_options, read_logs, zone_of
from kspec.field.recorded.verdict import ACCEPTED, INCONCLUSIVE, REJECTED, Validation, counts
from kspec.spec.core import SpecError


@click.command()
@model_argument
@click.argument("files", metavar="[FILE]…", nargs=-1, type=FILE)
@option("--variant", "A variant of the model, instead of the header's.", metavar="V")
@repeated(
    "--set",
    "settings",
    "Set a bound of the model, or a setting of the mapping. Repeatable.",
    metavar="NAME=VALUE",
)
@repeated("--hidden", "A rule that the trace does not show, or `all`. Repeatable.", metavar="RULE")
@number_option("--most-hidden", "At most N hidden steps between two events (default 1).", low=1)
@flag("--merge", "The files are one trace, each written by a node.")
@option(
    "--clock-skew",
    "Clocks of nodes differ by at most MS milliseconds.",
    type=click.FloatRange(0),
    metavar="MS",
)
@flag("--complete", "The trace is whole: it must end where a behaviour may end.")
@number_option(
    "--max-states",
    "Keep at most N states that explain a trace at the same time.",
    low=1,
    default=10_000,
)
@option(
    "--from",
    "kind",
    "The FILEs are logs, and no MODEL is needed: kafka-log, kafka-request-log or consumer-log.",
    type=click.Choice(["kafka-log", "kafka-request-log", "consumer-log"]),
    metavar="KIND",
)
@log_options
@flag("--schema", "Print the JSON Schema of MODEL's traces.")
@writes("--html", "Write the verdicts as an HTML page.")
@json_option
def validate(
    model: str,
    files: tuple[Path, ...],
    variant: str | None,
    settings: tuple[str, ...],
    hidden: tuple[str, ...],
    most_hidden: int | None,
    merge: bool,
    clock_skew: float | None,
    complete: bool,
    max_states: int,
    kind: str | None,
    brokers: tuple[str, ...],
    zone: str | None,
    schema: bool,
    html: Path | None,
    as_json: bool,
) -> int:
    """Check recorded traces: whether the specification allows what a system did.

    MODEL is a model or a mapping, such as replica. Each FILE is a trace (NDJSON, Parquet or
    ITF; `-`: NDJSON on standard input). Events may lack variables, choices and rule names. A
    rejected trace is reported with its first impossible event, the guard that blocked it, and
    what would have been allowed.

    \b
    kspec validate replication trace.ndjson
    kspec validate group trace.ndjson --hidden session_expires --most-hidden 3
    kspec validate replica broker1.ndjson broker2.ndjson --merge
    kspec validate --from kafka-log broker1/ broker2/server.log.gz
    kspec validate group --schema

    Exit codes: 0 accepted, 3 a trace was rejected, 4 inconclusive, 151 a file cannot be read.
    """
    from kspec.checkers.registered import registered
    from kspec.field.recorded.checker import Limits
    from kspec.field.recorded.find import MAPPINGS

    if schema:
        from kspec.field.recorded.schema import event_schema

        say_json(event_schema(model))
        return 0
    if kind and (model not in registered(MAPPINGS) or Path(model).exists()):
        files, model = (Path(model), *files), ""
    if not files and not (kind and brokers):
        raise click.UsageError("name a FILE, or --schema")
    page = OutputFile(html) if html else None
    is_model = not kind and model not in registered(MAPPINGS)
    values = parsed(settings, model, is_model=is_model) if settings else None
    given = {
        "mapping": model or None,
        "variant": variant or None,
        "bounds" if is_model else "settings": values,
        "hidden": list(hidden) or None,
        "most_hidden": most_hidden,
        "clock_skew_ms": clock_skew,
        "complete": complete or None,
    }
    options = {name: value for name, value in given.items() if value is not None}
    started = time.perf_counter()
    if kind:
        from kspec.field.logs.validate import validate_logs

        reading = read_logs(files, brokers, zone_of(zone))
        found, unread = validate_logs(kind, reading, options, Limits(max_states)), list[str]()
    else:
        found, unread = answers(files, options, merge=merge, limits=Limits(max_states))
    if page:
        from kspec.field.recorded.page import validation_page

        page.write(validation_page(found))
    if as_json:
        say_json(as_record(found, unread, time.perf_counter() - started))
    else:
        from kspec.field.logs.validate import excuses
        from kspec.field.recorded.report import lines

        for validation in found:
            for line in lines(validation):
                say(line)
            for line in excuses(validation):
                say(line)
        if len(found) > 1:
            say(", ".join(f"{count} {verdict}" for verdict, count in counts(found).items()))
        if page:
            say(f"Written: {page.path}")
    worst = worst_of(found)
    if unread and (worst is None or worst.verdict != REJECTED):
        return EXIT_BAD_INPUT
    return 0 if worst is None else worst.exit_code


def answers(
    files: tuple[Path, ...], options: dict[str, Any], *, merge: bool, limits: Any
) -> tuple[list[Validation], list[str]]:
    """The verdicts, and the errors of files that cannot be read: none is fatal to the others."""
    from kspec.field.recorded.files import validate_files

    if merge or len(files) == 1:
        return list(validate_files(files, options, merge=merge, limits=limits)), []
    found: list[Validation] = []
    unread: list[str] = []
    for file in files:
        try:
            found += validate_files([file], options, limits=limits)
        except SpecError as error:
            unread.append(str(error))
            complain(str(error))
    return found, unread


def parsed(settings: tuple[str, ...], model: str, *, is_model: bool) -> dict[str, Any]:
    """Bounds or settings, from `name=value` pairs."""
    if is_model:
        from kspec.checkers.cli.options import parse_settings
        from kspec.checkers.models.find import find_model

        return dict(parse_settings(settings, find_model(model)))
    found: dict[str, Any] = {}
    for name, value in pairs("--set", settings):
        is_number = re.fullmatch(r"-?[0-9]{1,18}", value)
        found[name] = int(value) if is_number else WORDS.get(value.lower(), value)
    return found


WORDS = {"true": True, "false": False}
"""The settings that are no numbers."""


def worst_of(found: list[Validation]) -> Validation | None:
    """The first rejected trace, or the first inconclusive one, or the first."""
    order = (REJECTED, INCONCLUSIVE, ACCEPTED)
    return min(found, key=lambda v: order.index(v.verdict), default=None)


def as_record(found: list[Validation], unread: list[str], seconds: float) -> dict[str, Any]:
    """The verdicts for a machine: the worst one, and each."""
    worst = worst_of(found)
    return {
        **({"verdict": INCONCLUSIVE} if worst is None else worst.to_json()),
        "events": sum(validation.events for validation in found),
        "traces": [validation.to_json() for validation in found],
        "unreadable": unread,
        "seconds": round(seconds, 3),
    }
