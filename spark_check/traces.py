"""Traces as test vectors: over every step, to every state, or all up to a length.

    kspec-traces replication --out vectors
    spark-submit spark_check/traces.py replication --all-up-to 12 --limit 100000000 --out URL

The graph is made in the driver, and so are the traces over every step, which need all of it at
once; both take seconds where telling states and steps as text takes minutes. That, and traces
by the million, is what goes to Spark, under `spark-submit` or with `--master`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

if __name__ == "__main__":  # as a script: its neighbours are no modules by themselves
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from checkers import trace_sets
from checkers.cli.main import main as run_command
from checkers.cli.options import (
    all_of,
    json_option,
    model_argument,
    set_option,
    variant_option,
)
from checkers.cli.output import progress_line, say, say_json
from checkers.graph import MAX_STATES, Graph, Key, Numbers, from_kernel, graph_of, taken
from checkers.named import Named, named
from checkers.trace_sets import Piece
from spark_check.needs import assert_can_begin
from spark_check.session import session
from spec.core import SpecError, Taken
from traces.trace import settings as bounds_of

if TYPE_CHECKING:
    import pyarrow as pa

LIMIT = 1_000_000
"""More traces than this are refused, unless it is raised."""


# -- on Spark --------------------------------------------------------------------------------------


@attrs.define(eq=False, slots=False)
class Shipped:
    """A graph on its way to another process, and what is to be told of it there."""

    name: Named
    taken: Sequence[Taken] | None
    """By label: the rule and its choices; None if the kernel is to be asked."""
    keys: Sequence[Key]
    """Keys of the kernel, or the states themselves."""
    levels: Numbers
    begins: Numbers
    to: Numbers
    labels: Numbers
    pieces: Sequence[Piece]

    @classmethod
    def of(cls, name: Named, graph: Graph[Any], pieces: Sequence[Piece]) -> Shipped:
        """A graph without its functions, and with keys that mean the same in every process."""
        arrays = graph.levels, graph.begins, graph.to, graph.labels
        if graph.acts is None:
            return cls(name, None, graph.keys, *arrays, pieces)
        states = [graph.state(number) for number in range(len(graph.keys))]
        return cls(name, [taken(act) for act in graph.acts], states, *arrays, pieces)

    @cached_property
    def graph(self) -> Graph[Any]:
        """The graph, made once in each process."""
        system = self.name.system()
        source = from_kernel(system) if self.taken is None else None
        told = self.taken or ()
        return Graph(
            system=system,
            keys=self.keys,
            levels=self.levels,
            begins=self.begins,
            to=self.to,
            labels=self.labels,
            as_state=source.as_state if source else lambda state: state,
            as_taken=source.as_taken if source else lambda label, before: told[label],
        )

    def states(self, place: int) -> pa.Table:
        """Some states."""
        from checkers.vectors import state_rows

        return state_rows(self.graph, *self.range(place))

    def steps(self, place: int) -> pa.Table:
        """The steps out of some states."""
        from checkers.vectors import step_rows

        return step_rows(self.graph, *self.range(place))

    def traces(self, place: int) -> pa.Table:
        """The traces of a piece."""
        from checkers.vectors import trace_rows

        return trace_rows(self.pieces[place].rows(self.graph))

    def itf(self, place: int) -> pa.Table:
        """The same as ITF documents, one a line."""
        import pyarrow as pa

        from checkers.vectors import documents

        rows = self.pieces[place].rows(self.graph)
        return pa.table({"value": [text for _, text in documents(self.graph, rows)]})

    def range(self, place: int) -> tuple[int, int]:
        """The states of a place."""
        from checkers.vectors import TOGETHER

        return place * TOGETHER, min((place + 1) * TOGETHER, len(self.keys))


def write_on_spark(
    master: str | None, folder: str, shipped: Shipped, itf: bool, about: dict[str, Any]
) -> None:
    """Write all tables by Spark; what is there already is not touched."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from checkers.vectors import STATES, STEPS, TOGETHER, TRACES, as_text

    app = f"kspec traces {about['model']}, {about['variant']}"
    with session(master, app) as spark:
        context = spark.sparkContext
        sent = context.broadcast(shipped)
        ranges, pieces = -(-len(shipped.keys) // TOGETHER), len(shipped.pieces)

        def table(make: Callable[[Shipped, int], pa.Table], places: int, schema: Any) -> Any:
            def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    for place in batch.column(0).to_pylist():
                        yield from make(sent.value, place).to_batches()

            slices = max(1, min(places, 4 * context.defaultParallelism))
            return spark.range(places, numPartitions=slices).mapInArrow(rows, schema)

        for name, make, places, schema in (
            ("states", Shipped.states, ranges, STATES),
            ("steps", Shipped.steps, ranges, STEPS),
            ("traces", Shipped.traces, pieces, TRACES),
        ):
            context.setJobDescription(f"{app}: {name}")
            found = table(make, places, from_arrow_schema(schema))
            found.write.parquet(f"{folder}/{name}.parquet")
        if itf:
            context.setJobDescription(f"{app}: ITF")
            table(Shipped.itf, pieces, "value string").write.text(f"{folder}/itf")
        if "://" in folder:
            text = spark.createDataFrame([(as_text(about),)], "value string")
            text.coalesce(1).write.text(f"{folder}/about.json")


# -- the command -----------------------------------------------------------------------------------


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@all_of(model_argument, variant_option, set_option)
@click.option("--to-states", is_flag=True, help="A shortest trace to every state.")
@click.option(
    "--over-steps",
    is_flag=True,
    help="Traces that take every step, in as few steps as there can be: what is made if nothing "
    "is said.",
)
@click.option(
    "--all-up-to",
    type=click.IntRange(min=0),
    metavar="N",
    help="All traces of N steps, and those that end earlier. They are counted first.",
)
@click.option(
    "--longest",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --over-steps: no trace has more steps.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="With --all-up-to: refuse more traces than this.",
)
@click.option("--out", metavar="DIR", help="Write the tables to this new folder.")
@click.option("--itf", is_flag=True, help="Write each trace as an ITF document, too.")
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    default=MAX_STATES,
    show_default=True,
    metavar="N",
    help="Refuse a larger graph.",
)
@click.option(
    "--by-rules", is_flag=True, help="Run the rules themselves, without a kernel or learned rules."
)
@click.option("--master", metavar="URL", help="Write on this Spark master, such as local[4].")
@json_option
def command(
    model: str,
    variant: str | None,
    settings: tuple[str, ...],
    to_states: bool,
    over_steps: bool,
    all_up_to: int | None,
    longest: int | None,
    limit: int,
    out: str | None,
    itf: bool,
    max_states: int,
    by_rules: bool,
    master: str | None,
    as_json: bool,
) -> int:
    """Make traces of MODEL within its bounds, as test vectors for a system of your own.

    Without --out they are only counted.

    \b
    kspec-traces replication --out vectors --itf
    kspec-traces replication --set brokers=2 --to-states --out vectors
    kspec-traces replication --all-up-to 12
    """
    if sum((to_states, over_steps, all_up_to is not None)) > 1:
        raise click.UsageError("--to-states, --over-steps and --all-up-to are three sets: say one")
    if longest and (to_states or all_up_to is not None):
        raise click.UsageError("--longest goes with --over-steps")
    if itf and not out:
        raise click.UsageError("--itf goes with --out")
    submitted = bool(master) or "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        assert_can_begin(master)
    if out:
        prepare(out, submitted)
    name = named(model, variant, settings)
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
        if submitted:
            shipped = Shipped.of(name, graph, found.pieces)
            write_on_spark(master, out, shipped, itf, about)
        else:
            from checkers.vectors import write_here

            write_here(Path(out), graph, found.pieces, itf=itf)
        if "://" not in out:
            from checkers.vectors import write_about

            write_about(Path(out), about)
        seconds["write"] = time.perf_counter() - begun
    if as_json:
        rounded = {n: round(s, 3) for n, s in seconds.items()}
        say_json({**about, "seconds": rounded, "out": out})
    else:
        show(about, seconds, out)
    return 0


def prepare(out: str, submitted: bool) -> None:
    """Make sure of the folder, before the work begins."""
    try:
        from checkers.vectors import make_folder
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise SpecError("--out needs pyarrow: pip install 'kspec[checkpoint]'") from None
    if "://" not in out:
        make_folder(Path(out))
    elif not submitted:
        raise SpecError(f"{out} is no folder here: run this on Spark, which can write there")


def show(about: dict[str, Any], seconds: dict[str, float], out: str | None) -> None:
    """What was made, as it is read."""
    bounds = ", ".join(f"{name} {value}" for name, value in about["bounds"].items())
    say(f"{about['model']}, {about['variant']}" + (f": {bounds}" if bounds else ""))
    say()
    say(f"{about['states']:,} states, {about['steps']:,} steps between them.")
    taken, steps = about["steps_in_traces"], about["steps"]
    ratio = f", {taken / steps:.2f} for each step there is" if steps else ""
    say(
        f"{about['traces']:,} traces, {about['traces_are']}: {taken:,} steps in all{ratio}; "
        f"the longest has {about['longest']:,}."
    )
    spent = ", ".join(f"{name} {taken:.1f} s" for name, taken in seconds.items())
    say(f"{'Written: ' + out + '; ' if out else ''}{spent}.")


def main() -> None:
    """Run it and leave with its exit code."""
    run_command(None, command, "kspec-traces")


if __name__ == "__main__":
    # Workers look for what they are sent in a module; they do not have the script.
    from spark_check.traces import main as main_of_module

    main_of_module()
