"""`kspec mutate`: mutation testing of a model's rules and properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
import click

from kspec.checkers.cli.options import (
    Asked,
    flag,
    json_option,
    names_system,
    number_option,
    parse_settings,
    repeated,
)
from kspec.checkers.cli.output import say, say_json, say_wrapped
from kspec.checkers.engine.options import cores
from kspec.checkers.engine.verdict import EXIT_ALWAYS, EXIT_INCONCLUSIVE, EXIT_OK
from kspec.checkers.models.find import find_model
from kspec.spec.core import look_up

if TYPE_CHECKING:
    from kspec.checkers.mutation.mutate import Outcome, Report


@click.command()
@names_system()
@repeated("--rule", "rules", "Only mutants of this rule. Repeatable.", metavar="R")
@number_option("--workers", "Processes; all cores.", low=1)
@flag("--all", "everything", "List killed mutants, too.")
@json_option
def mutate(
    asked: Asked,
    rules: tuple[str, ...],
    workers: int | None,
    everything: bool,
    as_json: bool,
) -> int:
    """Break each rule of MODEL in turn, and check whether a property fails.

    A mutant lacks one guard, or its effect leaves a field as it was or gets a number wrong. A
    property that fails kills the mutant. A mutant that survives is listed as equivalent in the
    model's baseline, with a reason, or a property is missing (exit code 12). Bounds are those of
    the baseline, unless --set is given.

    \b
    kspec mutate replication
    kspec mutate replication --rule leader_advances_hw
    """
    from kspec.checkers.mutation.mutate import mutate as judge

    found = find_model(asked.model)
    chosen = found.variant(asked.variant)
    for name in rules:
        look_up(f"rule of {chosen.name}", name, {rule.name: rule for rule in chosen.rules})
    bounds = [parse_settings(asked.settings, found)] if asked.settings else found.baseline.bounds
    for given in bounds:
        found.system(chosen.name, given)
    with counting(f"mutants of {found.name}, {chosen.name}") as on_progress:
        report = judge(
            found,
            chosen,
            bounds,
            rules=rules,
            workers=workers or cores(),
            on_progress=on_progress,
        )
    if as_json:
        say_json({**attrs.asdict(report), "mutation_score": report.score})
    else:
        print_report(report, everything=everything)
    if report.having("survived") or report.stale:
        return EXIT_ALWAYS
    return EXIT_INCONCLUSIVE if report.stopped_by else EXIT_OK


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar, if standard error is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_report(report: Report, *, everything: bool) -> None:
    """Print the outcome of every mutant that a reader may have to act on, and the score."""
    killed, equivalent, survived = (
        report.having(fate) for fate in ("killed", "equivalent", "survived")
    )
    if report.not_asked:
        names = ", ".join(report.not_asked)
        say_wrapped(f"Not checked, since they fail without any mutation: {names}.")
    for o in killed:
        needs_its_own = o.bounds not in report.bounds
        if everything or needs_its_own:
            say(f"killed{' in bounds of its own' if needs_its_own else ''}: {o.mutant}")
            in_states = f" in {o.states} states" if o.states else ""
            say_wrapped(f"    by {o.killed_by}{in_states}, with {in_words(o.bounds)}")
    for o in equivalent:
        say(f"equivalent: {o.mutant}")
        say_wrapped(f"    {o.reason}")
    for o in survived:
        say(f"SURVIVED: {o.mutant}")
        say_wrapped(f"    {remark(o)}")
    for name in report.stale:
        say(f"STALE: {name}")
        say_wrapped(
            "    The baseline lists this mutant as equivalent, but it was killed, or the rule has "
            "no such guard or effect any more."
        )
    say()
    if report.stopped_by:
        explored = f"{len(report.outcomes)} of {report.mutants} mutants were explored"
        say(f"Inconclusive, {report.stopped_by}: {explored}.")
    score = "" if report.score is None else f" Mutation score {report.score:.1%}; "
    say(
        f"{report.model}, {report.variant}: {len(report.outcomes)} mutants, {len(killed)} killed, "
        f"{len(equivalent)} equivalent, {len(survived)} survived.{score or ' '}"
        f"{report.seconds:.0f} s."
    )
    killed_by = Counter(
        "an exception in the rule" if " raised " in o.killed_by else o.killed_by for o in killed
    )
    killed_with = Counter(in_words(o.bounds) for o in killed)
    for what, counts in (("by", killed_by), ("with", killed_with)):
        if set(counts) - {""}:
            listed = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
            say_wrapped(f"    Killed {what}: {listed}.")


def in_words(bounds: Mapping[str, int]) -> str:
    """Bounds, as the user sets them."""
    return " ".join(f"{name}={value}" for name, value in bounds.items())


def remark(survivor: Outcome) -> str:
    """What is known of a mutant that survived."""
    if survivor.reason:
        return f"Its exploration {survivor.reason}: choose other bounds."
    if survivor.changes_graph:
        return "It behaves differently, but no property fails: is a property missing?"
    return "Within these bounds it behaves as the original: is it equivalent, or are they small?"
