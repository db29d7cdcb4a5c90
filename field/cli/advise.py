"""`kspec advise`: which failures lose data or stop writes, with the settings in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from kspec.checkers.cli.options import FILE, F, all_of, json_option, option, reads, repeated
from kspec.checkers.cli.output import (
    OutputFile,
    complain,
    print_compiling,
    progress_line,
    say,
    say_json,
    say_table,
)
from kspec.checkers.cli.report import TraceFiles, story_options
from kspec.checkers.engine.verdict import EXIT_ALWAYS, EXIT_BAD_INPUT, EXIT_INCONCLUSIVE
from kspec.field.advice.advice import Advice, settings_from
from kspec.field.advice.advice import advise as advise_on
from kspec.field.advice.catalogue import Catalogue, catalogue, find_release, releases
from kspec.field.advice.matrix import SAME, Cell, acks_text, cell_text, questions, rows
from kspec.field.advice.questions import (
    BUDGETS,
    Answer,
    Budget,
    Durability,
    answer,
    loss_of,
    says,
    system_of,
    variant_of,
)
from kspec.field.advice.settings import Refused, Settings, shown
from kspec.field.advice.sources import from_option, read_source
from kspec.spec.core import look_up
from kspec.traces.trace import Trace

OPTIONS = ("broker", "topic", "producer", "consumer")
"""The options that name files of one kind, in the order of the help."""


def of_kind(kind: str) -> Callable[[F], F]:
    """An option that names a file whose settings are of one kind."""
    return reads(
        f"--{kind}",
        f"{kind}_files",
        f"Read FILE as settings of a {kind}. Repeatable.",
        multiple=True,
    )


@click.command()
@click.argument("files", metavar="[FILE]…", nargs=-1, type=FILE)
@all_of(*map(of_kind, OPTIONS))
@repeated(
    "--set",
    "options",
    "Override a setting, such as acks=all or replication.factor=3. Repeatable.",
    metavar="KEY=VALUE",
)
@option(
    "--kafka",
    "The release whose defaults and protocol apply, such as 2.8.",
    default=lambda: releases()[-1],
    show_default="the newest known",
    metavar="VERSION",
)
@repeated(
    "--budget",
    "budgets",
    f"A failure that may happen: {', '.join(BUDGETS)}; all by default. Repeatable.",
    metavar="B",
)
@option(
    "--ms-per-record",
    "The time that the consumer needs for a record, in milliseconds.",
    type=click.FloatRange(0, 86_400_000, min_open=True),
    metavar="N",
)
@json_option
@story_options
def advise(
    files: tuple[Path, ...],
    options: tuple[str, ...],
    kafka: str,
    budgets: tuple[str, ...],
    ms_per_record: float | None,
    as_json: bool,
    written: TraceFiles,
    **files_of_kind: tuple[Path, ...],
) -> int:
    """Find out which failures lose acknowledged records or stop writes, with your settings.

    Without any settings, print the matrix of all combinations; --html writes it as a page.

    Each FILE is a properties file of a broker, a topic, a producer or a consumer, or the output
    of `kafka-configs --describe` or `kafka-topics --describe`. For each failure budget, kspec
    explores every behaviour of the replication protocol with these settings, and finds the
    shortest loss. It also checks time limits, retries, idempotence and offsets.

    \b
    kspec advise server.properties producer.properties --kafka 2.8
    kspec advise --set acks=1 --budget one-crash --html lost.html
    kspec advise --html matrix.html

    Exit codes: 0 if no record is lost, 12 if a record is lost within a budget, 4 if a search was
    stopped, 151 if a file cannot be read, or Kafka would not start with the settings.
    """
    known = catalogue(find_release(kafka))
    asked = [look_up("budget", name, BUDGETS) for name in budgets] or list(BUDGETS.values())
    named = {kind: files_of_kind[f"{kind}_files"] for kind in OPTIONS}
    if not (files or any(named.values()) or options):
        if written.itf or ms_per_record:
            raise click.UsageError("--out-itf and --ms-per-record need a FILE or --set")
        return print_matrix(known, asked, written.html, as_json=as_json)
    sources = [read_source(file, None, known) for file in files]
    sources += [read_source(file, kind, known) for kind in named for file in named[kind]]
    try:
        settings = settings_from(known, sources, [from_option(one, known) for one in options])
    except Refused as error:
        for problem in error.problems:
            complain(f"{problem}: Kafka {known.release} does not start with it")
        return EXIT_BAD_INPUT
    advice = advise_on(
        settings,
        sources,
        asked,
        ask_with_progress,
        ms_per_record=ms_per_record,
        asked=[kind for kind in named if named[kind]],
    )
    loss = first_loss(advice)
    if loss:
        written.write_trace(loss[1], says(loss[0]), violated=True)
    else:
        written.complain_about_nothing("no loss was found")
    if as_json:
        say_json(advice.to_json())
    else:
        print_advice(advice, loss)
        written.print_names()
    if advice.not_starting():
        return EXIT_BAD_INPUT
    if any(one.kept is False for one in advice.answers):
        return EXIT_ALWAYS
    return EXIT_INCONCLUSIVE if any(one.kept is None for one in advice.answers) else 0


def ask_with_progress(settings: Durability, budget: Budget, which: str = "") -> Answer:
    """The answer to a question, with a line of progress on a terminal."""
    with progress_line(f"{which}{budget.name}") as on_progress:
        return answer(settings, budget, on_progress=on_progress, on_compiling=print_compiling)


def first_loss(advice: Advice) -> tuple[Answer, Trace] | None:
    """The shortest loss of the first budget that has one, and its answer."""
    lost = next((one for one in advice.answers if one.kept is False), None)
    return None if lost is None else (lost, loss_of(advice.durability, lost))


# -- the matrix -----------------------------------------------------------------------------------


def print_matrix(
    known: Catalogue, budgets: Sequence[Budget], html: OutputFile | None, *, as_json: bool
) -> int:
    """Print every combination, under every budget."""
    protocol = variant_of(Settings(known, []))
    asked = list(questions(protocol, budgets))
    cells = [
        Cell(s, b, ask_with_progress(s, b, f"{number} of {len(asked)}: "))
        for number, (s, b) in enumerate(asked, 1)
    ]
    left_out = system_of(cells[0].settings, cells[0].budget).model.not_modelled
    if html:
        from kspec.field.advice.page import matrix_page

        html.write(matrix_page(cells, protocol, left_out))
    if as_json:
        record = {
            "kafka": known.release,
            "protocol": protocol,
            "cells": [cell.to_json() for cell in cells],
            "same": list(SAME),
            "not_modelled": list(left_out),
        }
        say_json(record)
        return 0
    table = rows(cells)
    columns = list(dict.fromkeys(name for row in table.values() for name in row))
    lines = [
        [str(s.factor), acks_text(s.acks), str(s.min_insync), shown(s.unclean)]
        + [cell_text(row[name].answer) for name in columns]
        for s, row in table.items()
    ]
    say(f"Protocol: {protocol}. LOST n: an acknowledged record can be lost, in n steps or more.")
    say("STOP: after the failure has been handled, writes stop until the broker is back.")
    say()
    say_table(("factor", "acks", "min.insync", "unclean", *columns), lines, right=(0, 2))
    say()
    for line in (*SAME, f"Not modelled: {'; '.join(left_out)}."):
        say(line)
    if html:
        say(f"Written: {html.path}")
    return 0


# -- printing -------------------------------------------------------------------------------------


def print_advice(advice: Advice, loss: tuple[Answer, Trace] | None) -> None:
    """Print the verdict, the table, the change, the findings, and what is not modelled."""
    for line in headline(advice):
        say(line)
    say()
    print_verdicts(advice.answers)
    print_change(advice)
    if loss:
        print_loss(*loss)
    print_findings(advice)
    print_settings(advice)
    say()
    print_protocol(advice)
    say(f"Not modelled: {'; '.join(advice.not_modelled)}.")


def headline(advice: Advice) -> Iterator[str]:
    """The verdict in a sentence or two."""
    lost = [one for one in advice.answers if one.kept is False]
    halted = [one for one in advice.answers if one.available is False]
    unknown = [one for one in advice.answers if one.kept is None]
    factor = advice.assumed()
    these = "these settings"
    if factor:
        these = f"assuming {factor.name}={factor.value}, which no source gives, {these}"
    for kind, names in advice.not_starting().items():
        yield f"The {kind} does not start with these settings: {', '.join(names)}. See below."
    if advice.not_starting():
        these = f"apart from that, {these}"
    these = these[0].upper() + these[1:]
    if unknown:
        yield "There is no verdict on some failures; see below."
    if lost:
        first = BUDGETS[lost[0].budget].says
        yield f"{these} can lose acknowledged records if {first}."
    elif not unknown:
        yield f"{these} keep every acknowledged record, whichever of these failures happens."
    if halted:
        first = BUDGETS[halted[0].budget].says
        yield f"Writes stop if {first}."
    elif not unknown:
        yield "Writes go on after each of these failures."


def print_verdicts(answers: Sequence[Answer]) -> None:
    """Print a line for each budget."""
    rows = []
    for one in answers:
        steps = (one.states or 1) - 1
        kept = {True: "kept", False: f"LOST in {steps} steps", None: "unknown"}[one.kept]
        writes = {True: "go on", False: "STOP", None: "unknown"}[one.available]
        rows.append([BUDGETS[one.budget].says, kept, writes, f"{one.searched:,}"])
    columns = ("failure", "acknowledged records", "writes", "states searched")
    say_table(columns, rows, right=(3,))


def print_change(advice: Advice) -> None:
    """Print the change that improves most, and what an upgrade would improve after it."""
    if advice.change:
        say()
        say(f"Change this: {', '.join(advice.change.settings)}. Then:")
        say()
        print_verdicts(advice.change.answers)
    if advice.upgrade:
        before = advice.change.answers if advice.change else advice.answers
        pairs = list(zip(before, advice.upgrade.answers, strict=True))
        kept = [BUDGETS[new.budget].says for old, new in pairs if new.kept and not old.kept]
        writes = [
            BUDGETS[new.budget].says for old, new in pairs if new.available and not old.available
        ]
        better = [f"no acknowledged record is lost if {' or '.join(kept)}"] if kept else []
        better += [f"writes go on if {' or '.join(writes)}"] if writes else []
        say()
        say(f"With {', '.join(advice.upgrade.settings)}, {', and '.join(better)}.")


def print_loss(one: Answer, trace: Trace) -> None:
    """Print the steps of the shortest loss, each with its rule's summary."""
    from kspec.traces.story import choice_text

    rules = {rule.name: rule for rule in trace.system.rules}
    say()
    say(f"The shortest loss, if {BUDGETS[one.budget].says}:")
    for number, step in enumerate(trace.steps, 1):
        choices = ", ".join(f"{name} {choice_text(v)}" for name, v in step.choices.items())
        say(f"  {number}. {rules[step.rule].summary}" + (f" ({choices})" if choices else ""))
    say(f"  Now the leader's log lacks an acknowledged record ({one.where}).")


def print_findings(advice: Advice) -> None:
    """Print each finding: the problem, the remedy, the reason."""
    if not advice.findings:
        return
    say()
    say("Findings:")
    for finding in advice.findings:
        say(f"  {finding.setting}: {finding.problem}.")
        say(f"    Remedy: {finding.fix}. See {finding.because}.")


def print_protocol(advice: Advice) -> None:
    """Print which protocol was explored, and how it differs from that of the release."""
    explored, release = advice.durability.variant, advice.settings.known.release
    if explored == f"kafka-{release}":
        say(f"Explored: {explored}.")
        return
    say(f"Explored: {explored}, the nearest modelled protocol to that of Kafka {release}.")
    if advice.beyond_release():
        say(f"Kafka {release} lacks some of it: {'; '.join(advice.beyond_release())}.")


def print_settings(advice: Advice) -> None:
    """Print the values that were considered, and the source of each."""
    say()
    say(f"Settings that were considered, for Kafka {advice.settings.known.release}:")
    rows = [[f"  {v.name}", shown(v.value), v.origin] for v in advice.settings.read.values()]
    say_table(("  setting", "value", "from"), rows, right=())
    for source in advice.sources:
        say(f"{source.name} was read as {source.taken_as}.")
        if source.not_kafkas:
            listed = ", ".join(source.not_kafkas)
            say(
                f"  Not Kafka's own settings ({len(source.not_kafkas)}); a plugin may read them: "
                f"{listed}."
            )
    count = advice.settings.not_asked()
    if count:
        others = "1 other setting" if count == 1 else f"{count} other settings"
        makes = "makes" if count == 1 else "make"
        say(f"{others} of these files {makes} no difference here.")
