"""`kspec traces`: traces over every step, to every state, or all up to a length, as test vectors.

The parent process finds the graph and chooses the traces. Writing states and steps as text takes
minutes, and so do traces by the million: under `spark-submit` or with `--master`, Spark writes.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import (
    Asked,
    NewFile,
    flag,
    json_option,
    names_system,
    number_option,
    option,
)
from kspec.checkers.cli.output import OutputFile, progress_line, say, say_json
from kspec.checkers.cli.report import title
from kspec.checkers.graph import trace_sets
from kspec.checkers.graph.document import document, json_schema
from kspec.checkers.graph.graph import MAX_STATES, graph_of
from kspec.checkers.models.find import find_model
from kspec.checkers.models.named import Named
from kspec.checkers.needs import needs
from kspec.checkers.registered import SPARK, load
from kspec.spec.core import SpecError, System
from kspec.traces.trace import settings as bounds_of

LIMIT = 1_000_000
"""More traces than this are refused, unless it is raised."""


@click.command()
@names_system()
@flag("--to-states", "A shortest trace to every state.")
@flag(
    "--over-steps",
    "Traces that together take every step, with the fewest steps in all. The default.",
)
@number_option(
    "--all-up-to",
    "All traces of N steps, and those that end earlier. They are counted first.",
    low=0,
)
@number_option("--longest", "With --over-steps: no trace has more steps.", low=1)
@number_option("--limit", "With --all-up-to: refuse more traces than this.", low=1, default=LIMIT)
@option(
    "--out",
    "Write the tables to this new folder, or all to one JSON document.",
    type=NewFile(path_type=str, readable=False),
    metavar="DIR|FILE.json",
)
@flag("--itf", "Write each trace as an ITF document, too.")
@number_option("--max-states", "Refuse a larger graph.", low=1, default=MAX_STATES)
@flag("--by-rules", "Run the rules themselves, without learned rules.")
@flag("--schema", "Print the JSON Schema of FILE.json.")
@option("--master", "Write on this Spark master, such as local[4].", metavar="URL")
@json_option
def traces(
    asked: Asked,
    to_states: bool,
    over_steps: bool,
    all_up_to: int | None,
    longest: int | None,
    limit: int,
    out: str | None,
    itf: bool,
    max_states: int,
    by_rules: bool,
    schema: bool,
    master: str | None,
    as_json: bool,
) -> int:
    """Generate traces of MODEL within its bounds, as test vectors for your own system.

    Without --out, the traces are only counted.

    \b
    kspec traces replication --out vectors --itf
    kspec traces replication --set brokers=2 --to-states --out vectors
    kspec traces watermarks --out watermarks.json
    kspec traces replication --all-up-to 12
    """
    if sum((to_states, over_steps, all_up_to is not None)) > 1:
        raise click.UsageError("choose one of --to-states, --over-steps and --all-up-to")
    if longest and (to_states or all_up_to is not None):
        raise click.UsageError("--longest requires --over-steps")
    if itf and (not out or out.endswith(".json")):
        raise click.UsageError("--itf requires --out DIR")
    if schema:
        say_json(json_schema(find_model(asked.model)))
        return 0
    submitted = bool(master) or "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        load(SPARK, "needs")(master)
    file = None
    if out and out.endswith(".json"):
        if submitted:
            raise click.UsageError("Spark writes tables: give --out a folder")
        file = OutputFile(Path(out))
    elif out:
        prepare(out, submitted)
    name = Named.of(asked.model, asked.system())
    system = name.system()
    begun = time.perf_counter()
    with progress_line(f"{system.model.name}, {system.variant.name}") as on_progress:
        graph = graph_of(system, by_rules=by_rules, max_states=max_states, on_progress=on_progress)
    seconds = {"graph": time.perf_counter() - begun}
    begun = time.perf_counter()
    if to_states:
        found = trace_sets.to_every_state(graph)
    elif all_up_to is not None:
        found = trace_sets.all_up_to(graph, all_up_to, limit)
    else:
        found = trace_sets.over_every_step(graph, longest)
    seconds["choose"] = time.perf_counter() - begun
    about = {
        "model": name.model,
        "variant": name.variant,
        "bounds": bounds_of(system.bounds),
        "traces_are": found.says,
        "states": len(graph.keys),
        "steps": len(graph.to),
        "traces": found.traces,
        "steps_in_traces": found.steps,
        "longest": found.longest,
    }
    if out:
        begun = time.perf_counter()
        if file is not None:
            file.write(document(graph, found.pieces, about))
        elif submitted:
            load(SPARK, "traces")(master, out, name, graph, found.pieces, itf, about)
        else:
            from kspec.checkers.graph.vectors import write_here

            write_here(Path(out), graph, found.pieces, itf=itf)
        if file is None and "://" not in out:
            from kspec.checkers.graph.vectors import write_about

            write_about(Path(out), about)
        seconds["write"] = time.perf_counter() - begun
    if as_json:
        rounded = {n: round(s, 3) for n, s in seconds.items()}
        say_json({**about, "seconds": rounded, "out": out})
    else:
        show(system, about, seconds, out)
    return 0


def prepare(out: str, submitted: bool) -> None:
    """Create the folder, before the work begins."""
    needs("--out", "checkpoint", "pyarrow")
    from kspec.checkers.graph.vectors import make_folder

    if "://" not in out:
        make_folder(Path(out))
    elif not submitted:
        raise SpecError(f"{out} is not a local folder: only Spark can write there (--master)")


def show(
    system: System[Any], about: dict[str, Any], seconds: dict[str, float], out: str | None
) -> None:
    """Print how many traces there are."""
    say(title(system))
    say()
    say(f"{about['states']:,} states, {about['steps']:,} steps between them.")
    taken, steps = about["steps_in_traces"], about["steps"]
    ratio = f", {taken / steps:.2f} per step of the graph" if steps else ""
    say(
        f"{about['traces']:,} traces, {about['traces_are']}: {taken:,} steps in all{ratio}; "
        f"the longest has {about['longest']:,}."
    )
    spent = ", ".join(f"{name} {taken:.1f} s" for name, taken in seconds.items())
    say(f"{'Written: ' + out + '; ' if out else ''}{spent}.")
