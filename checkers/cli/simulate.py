"""`kspec simulate`: walk at random, where there are too many states to look at each."""

from __future__ import annotations

import time
from pathlib import Path

import click

from checkers.cli.check import (
    StoryFiles,
    say_what_is_expected,
    show,
    show_coverage,
    show_failure,
)
from checkers.cli.options import (
    all_of,
    find_system,
    json_option,
    model_argument,
    property_option,
    set_option,
    story_options,
    variant_option,
)
from checkers.cli.output import progress_line, say_json
from checkers.verdict import EXIT_BAD_INPUT


@click.command()
@all_of(model_argument, variant_option, set_option, property_option)
@click.option(
    "--walks", type=click.IntRange(min=1), default=1000, show_default=True, help="How many walks."
)
@click.option(
    "--max-depth",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="States in a walk, at the most.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The same seed, the same walks."
)
@click.option("--coverage", is_flag=True, help="How often each rule happened.")
@all_of(story_options, json_option)
def simulate(
    model: str,
    variant: str | None,
    settings: tuple[str, ...],
    properties: tuple[str, ...],
    walks: int,
    max_depth: int,
    seed: int,
    coverage: bool,
    out_itf: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Walk through MODEL at random until a property is violated or all walks are done.

    A walk that violates a property is made shorter before it is shown; it is not always the
    shortest there is, as that of `kspec check` is. Walks that find nothing prove nothing.

    \b
    kspec simulate replication --variant kip-101 --set brokers=4 --walks 5000
    kspec simulate replication --set max_epoch=5 --seed 7
    """
    from checkers.search import RuleFailed
    from checkers.simulate import Sampling
    from checkers.simulate import simulate as walk

    started = time.perf_counter()
    system = find_system(model, variant, settings, properties)
    files = StoryFiles(out_itf, html)
    try:
        with progress_line(f"{system.model.name}, {system.variant.name}") as on_progress:
            verdict = walk(system, Sampling(walks, max_depth, seed), on_progress)
    except RuleFailed as error:
        show_failure(error, files, drawn=not as_json)
        return EXIT_BAD_INPUT
    files.write(verdict)
    if as_json:
        say_json(verdict.to_json(time.perf_counter() - started))
        return verdict.exit_code
    show(verdict)
    say_what_is_expected(verdict, model)
    if coverage:
        show_coverage(verdict)
    files.say_where(verdict)
    return verdict.exit_code
