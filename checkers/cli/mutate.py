"""`kspec mutate`: break each rule in turn, and see which property notices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
import click

from checkers.cli.options import (
    all_of,
    json_option,
    model_argument,
    parse_settings,
    set_option,
    variant_option,
)
from checkers.cli.output import say, say_json, say_wrapped
from checkers.models import find_model
from checkers.verdict import EXIT_ALWAYS, EXIT_INCONCLUSIVE, EXIT_OK
from spec.core import look_up

if TYPE_CHECKING:
    from checkers.mutate import Outcome, Report


@click.command()
@all_of(model_argument, variant_option, set_option)
@click.option(
    "--rule", "rules", metavar="R", multiple=True, help="Only mutants of this rule. Repeatable."
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes; all cores.")
@click.option("--all", "everything", is_flag=True, help="List the mutants that were caught, too.")
@json_option
def mutate(
    model: str,
    variant: str | None,
    settings: tuple[str, ...],
    rules: tuple[str, ...],
    workers: int | None,
    everything: bool,
    as_json: bool,
) -> int:
    """Break each rule of MODEL in turn, and see which property notices.

    Each guard is dropped, and each effect made to forget a field or to get a number wrong. A
    mutant that no property catches is a survivor: the model says why it is harmless, or a
    property is missing (exit code 12). Bounds are the model's own for mutation, unless --set.

    \b
    kspec mutate replication
    kspec mutate replication --rule leader_advances_hw
    """
    from checkers.mutate import mutate as judge

    found = find_model(model)
    chosen = found.variant(variant)
    for name in rules:
        look_up(f"rule of {chosen.name}", name, {rule.name: rule for rule in chosen.rules})
    bounds = [parse_settings(settings)] if settings else found.mutation_bounds
    for given in bounds:
        found.system(chosen.name, given)
    with counting(f"mutants of {found.name}, {chosen.name}") as on_progress:
        report = judge(
            found,
            chosen,
            bounds,
            rules=rules,
            workers=workers or len(os.sched_getaffinity(0)),
            on_progress=on_progress,
        )
    survivors = report.having("survived")
    if as_json:
        say_json(attrs.asdict(report))
    else:
        tell(report, everything=everything)
    if survivors or report.stale:
        return EXIT_ALWAYS
    return EXIT_INCONCLUSIVE if report.stopped_by else EXIT_OK


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """How many are done, where there is a terminal to say it on."""
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


def tell(report: Report, *, everything: bool) -> None:
    """The report, as it is read."""
    killed, explained, survived = (
        report.having(fate) for fate in ("killed", "explained", "survived")
    )
    if report.not_asked:
        names = ", ".join(report.not_asked)
        say_wrapped(f"Not asked, since they fail in the rules as they stand: {names}.")
    for o in killed:
        needs_its_own = o.bounds not in report.bounds
        if everything or needs_its_own:
            say(f"caught{' in bounds of its own' if needs_its_own else ''}: {o.mutant}")
            in_states = f" in {o.states} states" if o.states else ""
            say_wrapped(f"    by {o.killed_by}{in_states}, with {in_words(o.bounds)}")
    for o in explained:
        say(f"explained: {o.mutant}")
        say_wrapped(f"    {o.reason}")
    for o in survived:
        say(f"SURVIVED: {o.mutant}")
        say_wrapped(f"    {remark(o)}")
    for name in report.stale:
        say(f"STALE: {name}")
        say("    The model explains this survivor, but it does not exist, or it was caught.")
    say()
    if report.stopped_by:
        looked_at = f"{len(report.outcomes)} of {report.mutants} mutants were looked at"
        say(f"Inconclusive, {report.stopped_by}: {looked_at}.")
    say(
        f"{report.model}, {report.variant}: {len(report.outcomes)} mutants, {len(killed)} caught, "
        f"{len(explained)} explained, {len(survived)} unexplained; {report.seconds:.0f} s."
    )
    caught_by = Counter(
        "an error in the rule" if " raised " in o.killed_by else o.killed_by for o in killed
    )
    caught_with = Counter(in_words(o.bounds) for o in killed)
    for what, counts in (("by", caught_by), ("with", caught_with)):
        if set(counts) - {""}:
            told = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
            say_wrapped(f"    Caught {what}: {told}.")


def in_words(bounds: Mapping[str, int]) -> str:
    """Bounds, as they are set."""
    return " ".join(f"{name}={value}" for name, value in bounds.items())


def remark(survivor: Outcome) -> str:
    """What is known of a survivor that nobody has explained."""
    if survivor.reason:
        return f"Its exploration was {survivor.reason}: choose other bounds."
    if survivor.changes_graph:
        return "It behaves differently, and no property notices: which one is missing?"
    return "Within these bounds it behaves as the original: is it equivalent, or are they small?"
