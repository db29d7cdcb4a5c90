"""Learned rules beside the reference engine, on every model: cold, warm, with one and two workers.

    python -m benchmarks.learned [--only group] [--reference-states 20000] [--json]

Cold: nothing is learned yet; compiled code is loaded. Warm: everything was learned in the run
before, in the same process. The reference engine explores only the nearest states
(--reference-states), and its rate is taken for the whole graph. That flatters it, since later
states tend to be larger. Ratios mean little on a machine that does other work, least of all the
one of two workers to one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of
from kspec.checkers.engine.learned.backend import warm_up_learning
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.search import backend_for
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.search import Search
from kspec.checkers.engine.verdict import Verdict
from kspec.checkers.models.find import find_model
from kspec.spec.core import System

CASES: Sequence[tuple[str, str | None, Mapping[str, int]]] = (
    ("replication", "kip-320", {"max_epoch": 2}),
    ("group", "eager", {"crashes": 0}),
    ("group", "eager", {}),
    ("group", "cooperative", {"crashes": 0}),
    ("delivery", None, {"partitions": 2}),
    ("offsets-topic", None, {"writes": 4}),
    ("examples/two_phase_commit.py", None, {"managers": 8}),
)


@attrs.frozen
class Row:
    """One model, with bounds."""

    model: str
    variant: str
    bounds: Mapping[str, int]
    distinct: int
    generated: int
    runs: int
    """The number of runs of rules to learn them."""
    reference_rate: float
    """Distinct states a second by the reference engine, among the nearest."""
    cold: float
    learning: float
    """Seconds of the cold run in which rules were run."""
    warm_one: float
    warm_two: float
    table_bytes: int
    bytes_per_state: int

    @property
    def speedup(self) -> float:
        """How many times as fast as the reference engine a cold run is."""
        return self.distinct / self.cold / self.reference_rate


def explored(system: System[Any], learned: Learnable, workers: int) -> Verdict:
    """Explore to the end, with what is already learned."""
    learning = learned.of(system)
    warm_up_learning(learning)
    options = Options(keep_going=True, workers=workers)
    with backend_for(learning, options, None) as backend:
        return Search(system, backend, options).run()


def measure(model: str, variant: str | None, bounds: Mapping[str, int], states: int) -> Row:
    """One case."""
    system = find_model(model).system(variant, bounds)
    explored(find_model("counter").system(), Learnable(), 2)  # compiled code is loaded
    reference = explore(system, Options(keep_going=True, max_states=states))
    learned = Learnable()
    cold = explored(system, learned, 2)
    learning = cold.seconds["learn"]
    two = min(explored(system, learned, 2).seconds["explore"] for _ in range(2))
    one = explored(system, learned, 1).seconds["explore"]
    assert learned.tables is not None
    return Row(
        model,
        system.variant.name,
        bounds,
        cold.distinct,
        cold.generated,
        cold.statistics["learned"]["runs"],
        reference.distinct / reference.seconds["explore"],
        cold.seconds["explore"],
        learning,
        one,
        two,
        learned.tables.bytes,
        cold.bytes_per_state,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every case, and print a table."""
    parser = options_of(__doc__)
    parser.add_argument("--only", metavar="MODEL", help="this model only")
    parser.add_argument("--reference-states", type=int, default=20_000, metavar="N")
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    rows = [
        measure(*case, options.reference_states)
        for case in CASES
        if options.only in (None, case[0])
    ]
    if options.json:
        print(json.dumps([attrs.asdict(row) | {"speedup": row.speedup} for row in rows]))
        return
    table = Table(box=None, pad_edge=False)
    for column in (
        "model", "states", "generated", "runs", "reference/s", "cold s", "of it learning",
        "cold/reference", "warm s", "warm states/s", "2 workers/1", "tables MB",
    ):  # fmt: skip
        table.add_column(column, justify="left" if column == "model" else "right")
    for row in rows:
        bounds = "".join(f" {name}={value}" for name, value in row.bounds.items())
        table.add_row(
            f"{row.model.rpartition('/')[2]}, {row.variant}{bounds}",
            f"{row.distinct:,}", f"{row.generated:,}", f"{row.runs:,}",
            f"{row.reference_rate:,.0f}", f"{row.cold:.2f}", f"{row.learning:.2f}",
            f"{row.speedup:.0f} ×", f"{row.warm_two:.2f}",
            f"{row.distinct / row.warm_two:,.0f}", f"{row.warm_one / row.warm_two:.2f} ×",
            f"{row.table_bytes / 1e6:.0f}",
        )  # fmt: skip
    console = Console(width=200)
    console.print(table)
    print(f"{time.perf_counter() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
