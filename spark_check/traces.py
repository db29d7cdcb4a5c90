"""`kspec traces` on Spark: tasks write the tables of states, steps and traces.

    spark-submit spark_check/traces.py replication --all-up-to 12 --limit 100000000 --out URL

The driver builds the graph and chooses the traces, which takes seconds and needs the whole graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

if __name__ == "__main__":
    del sys.path[0]  # the modules beside a script have common names

from kspec.checkers.engine.steps import Numbers
from kspec.checkers.graph.graph import Graph
from kspec.checkers.graph.trace_sets import Piece
from kspec.checkers.models.named import Named
from kspec.spark_check.session import session
from kspec.spec.core import Taken

if TYPE_CHECKING:
    import pyarrow as pa


@attrs.define(eq=False, slots=False)
class Shipped:
    """A graph to be sent to another process, with the traces to write there."""

    name: Named
    acts: Sequence[Taken]
    """By label: the rule and its choices."""
    keys: Sequence[Any]
    """The states themselves."""
    levels: Numbers
    begins: Numbers
    to: Numbers
    labels: Numbers
    pieces: Sequence[Piece]

    @classmethod
    def of(cls, name: Named, graph: Graph[Any], pieces: Sequence[Piece]) -> Shipped:
        """A graph without functions, and with keys that have the same meaning in every process."""
        arrays = graph.levels, graph.begins, graph.to, graph.labels
        states = [graph.state(number) for number in range(len(graph.keys))]
        return cls(name, graph.acts, states, *arrays, pieces)

    @cached_property
    def graph(self) -> Graph[Any]:
        """The graph, created once per process."""
        return Graph(
            system=self.name.system(),
            keys=self.keys,
            levels=self.levels,
            begins=self.begins,
            to=self.to,
            labels=self.labels,
            as_state=lambda state: state,
            acts=self.acts,
        )

    def states(self, place: int) -> pa.Table:
        """The states of a range."""
        from kspec.checkers.graph.vectors import state_rows

        return state_rows(self.graph, *self.range(place))

    def steps(self, place: int) -> pa.Table:
        """The steps from the states of a range."""
        from kspec.checkers.graph.vectors import step_rows

        return step_rows(self.graph, *self.range(place))

    def traces(self, place: int) -> pa.Table:
        """The traces of a piece."""
        from kspec.checkers.graph.vectors import trace_rows

        return trace_rows(self.pieces[place].rows(self.graph))

    def itf(self, place: int) -> pa.Table:
        """The same as ITF documents, one per line."""
        import pyarrow as pa

        from kspec.checkers.graph.vectors import documents

        rows = self.pieces[place].rows(self.graph)
        return pa.table({"value": [text for _, text in documents(self.graph, rows)]})

    def range(self, place: int) -> tuple[int, int]:
        """The range of states with a number."""
        from kspec.checkers.graph.vectors import TOGETHER

        return place * TOGETHER, min((place + 1) * TOGETHER, len(self.keys))


def write_on_spark(
    master: str | None,
    folder: str,
    name: Named,
    graph: Graph[Any],
    pieces: Sequence[Piece],
    itf: bool,
    about: dict[str, Any],
) -> None:
    """Write all tables with Spark, which never overwrites."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kspec.checkers.graph.document import as_text
    from kspec.checkers.graph.vectors import STATES, STEPS, TOGETHER, TRACES

    shipped = Shipped.of(name, graph, pieces)
    app = f"kspec traces {about['model']}, {about['variant']}"
    with session(master, app) as spark:
        context = spark.sparkContext
        sent = context.broadcast(shipped)
        ranges = -(-len(shipped.keys) // TOGETHER)

        def table(make: Callable[[Shipped, int], pa.Table], places: int, schema: Any) -> Any:
            def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    for place in batch.column(0).to_pylist():
                        yield from make(sent.value, place).to_batches()

            slices = max(1, min(places, 4 * context.defaultParallelism))
            return spark.range(places, numPartitions=slices).mapInArrow(rows, schema)

        for kind, make, places, schema in (
            ("states", Shipped.states, ranges, STATES),
            ("steps", Shipped.steps, ranges, STEPS),
            ("traces", Shipped.traces, len(pieces), TRACES),
        ):
            context.setJobDescription(f"{app}: {kind}")
            found = table(make, places, from_arrow_schema(schema))
            found.write.parquet(f"{folder}/{kind}.parquet")
        if itf:
            context.setJobDescription(f"{app}: ITF")
            table(Shipped.itf, len(pieces), "value string").write.text(f"{folder}/itf")
        if "://" in folder:
            text = spark.createDataFrame([(as_text(about),)], "value string")
            text.coalesce(1).write.text(f"{folder}/about.json")


if __name__ == "__main__":
    # The command imports this module: workers receive what has its name, and not the script's.
    from kspec.checkers.cli.main import main

    main(["traces", *sys.argv[1:]])
