"""`kspec conform`: compare a client's assignors with Kafka's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from kspec.checkers.cli.options import flag, json_option, number_option, option, repeated
from kspec.checkers.cli.output import say, say_json, say_table, say_wrapped
from kspec.checkers.engine.verdict import EXIT_ALWAYS
from kspec.checkers.needs import needs
from kspec.spec.core import look_up

if TYPE_CHECKING:
    from kspec.field.conform.assignors import Searched


@click.command()
@click.argument("reference", metavar="TARGET")
@repeated("--strategy", "strategies", "Test only this strategy. Repeatable.", metavar="S")
@number_option(
    "--max-examples", "Groups and histories to try for each strategy.", low=1, default=300
)
@option("--seed", "Seed of the search; the same seed tries the same groups.", type=int, default=0)
@flag("--any-order", "Ignore the order in which a member's partitions are listed.")
@json_option
def conform(
    reference: str,
    strategies: tuple[str, ...],
    max_examples: int,
    seed: int,
    any_order: bool,
    as_json: bool,
) -> int:
    """Search for groups that TARGET assigns differently from Kafka, and show the smallest.

    TARGET is kafka-python, aiokafka, or your own `module:attribute`: a mapping from names of
    strategies to functions of partitions and members, like spec.assignors.ASSIGNORS, or a
    function that returns such a mapping. It is imported, and so executed.

    A difference is WRONG if it breaks a property that the strategy guarantees, DIFFERENT if the
    assignment is valid but not Kafka's, or a CRASH. Each is shown with Python code that
    reproduces it. The exit code is 12 if there is any.

    `kspec conform broker HOST:PORT` compares a broker instead.

    \b
    kspec conform kafka-python --strategy range
    kspec conform my_client:ASSIGNORS --max-examples 2000
    """
    needs("kspec conform", "conform", "hypothesis")
    from kspec.field.conform.assignors import find_target, search
    from kspec.field.conform.assignors.findings import quiet
    from kspec.field.conform.assignors.report import as_text, to_json
    from kspec.field.conform.assignors.target import installed_version

    started = time.perf_counter()
    with quiet():
        target = find_target(reference)
    for strategy in strategies:
        look_up(f"strategy of {reference}", strategy, target)
    results = []
    for strategy in strategies or target:
        searched = search(
            target, strategy, max_examples=max_examples, seed=seed, any_order=any_order
        )
        results.append(searched)
        for finding in () if as_json else searched.findings:
            say(as_text(finding, reference))
            say()
    installed = None if ":" in reference else installed_version(reference)
    found = any(searched.findings for searched in results)
    seconds = time.perf_counter() - started
    if as_json:
        say_json(
            {
                "target": reference,
                "version": installed,
                "conforms": not found,
                "seed": seed,
                "max_examples": max_examples,
                "any_order": any_order,
                "strategies": [
                    {
                        "strategy": searched.strategy,
                        "groups": searched.groups,
                        "findings": [to_json(f, reference) for f in searched.findings],
                    }
                    for searched in results
                ],
                "seconds": round(seconds, 3),
            }
        )
    else:
        summarise(results)
        say(f"{reference}{f' {installed}' if installed else ''}; seed {seed}; {seconds:.0f} s.")
    return EXIT_ALWAYS if found else 0


def summarise(results: list[Searched]) -> None:
    """Print the number of differences."""
    from kspec.field.conform.assignors.judgement import CRASH, DIFFERENT, WRONG

    kinds = (WRONG, DIFFERENT, CRASH)
    rows = [
        [
            searched.strategy,
            f"{searched.groups:,}",
            *(str(sum(f.disagreement.kind == k for f in searched.findings)) for k in kinds),
        ]
        for searched in results
    ]
    say_table(["strategy", "groups", *kinds], rows, right=(1, 2, 3, 4))
    say()
    names = ", ".join(s.strategy for s in results if not s.findings)
    if names:
        say_wrapped(f"No difference found for {names}.")
