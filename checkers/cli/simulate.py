"""`kspec simulate`: random walks, for bounds too large to explore."""

from __future__ import annotations

import time

import click

from kspec.checkers.cli.options import (
    Asked,
    all_of,
    flag,
    json_option,
    names_system,
    number_option,
    option,
    property_option,
)
from kspec.checkers.cli.output import print_compiling, progress_line, say_json
from kspec.checkers.cli.report import (
    TraceFiles,
    print_coverage,
    print_report,
    story_options,
)


@click.command()
@names_system(property_option)
@number_option("--walks", "Number of walks.", low=1, metavar=None, default=1000)
@number_option(
    "--max-depth", "Maximum number of states in a walk.", low=1, metavar=None, default=100
)
@option("--seed", "The same seed, the same walks.", type=int, default=0)
@flag("--coverage", "How often each rule was taken.")
@all_of(story_options, json_option)
def simulate(
    asked: Asked,
    coverage: bool,
    written: TraceFiles,
    as_json: bool,
    **sampling: int,
) -> int:
    """Walk through MODEL at random until a property is violated or all walks are done.

    Walks prefer states that are new. A walk that violates a property is shortened before it is
    shown, but not always to a shortest counterexample, as `kspec check` finds. Walks that find
    no violation prove nothing.

    \b
    kspec simulate replication --variant kip-101 --set brokers=4 --walks 5000
    kspec simulate replication --set max_epoch=5 --seed 7
    """
    from kspec.checkers.engine.interrupt import noted
    from kspec.checkers.engine.options import Options
    from kspec.checkers.engine.run import simulate as walk
    from kspec.checkers.engine.simulate import Sampling

    started = time.perf_counter()
    system = asked.system()
    with progress_line(f"{system.model.name}, {system.variant.name}") as on_progress:
        options = Options(use_cache=True, on_progress=on_progress, on_compiling=print_compiling)
        verdict = walk(system, Sampling(**sampling), options)
    with noted():  # the result is known: a signal does not discard it
        written.write(verdict)
        if as_json:
            say_json(verdict.to_json(time.perf_counter() - started))
            return verdict.exit_code
        print_report(verdict, asked.model, written)
        if coverage:
            print_coverage(verdict)
        written.print_where(verdict)
        return verdict.exit_code
