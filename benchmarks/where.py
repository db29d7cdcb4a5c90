"""Where learned rules spend their time: replication (kip-320), with everything learned.

    python -m benchmarks.where [--repeat 7] [--json]

One worker explores. The time of each compiled part is the processor time of its calls; the rest
is Python. The table shows the least time of each.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from benchmarks.learned import explored
from benchmarks.measuring import options_of, print_json
from kspec.checkers.engine.learned import walk, worker
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.packed.table import Table
from kspec.checkers.models.find import find_model

PARTS: tuple[tuple[str, Any, str], ...] = (
    ("unpack states", worker, "decode"),
    ("evaluate properties", walk, "mark"),
    ("look up successors", walk, "expand"),
    ("pack and hash", worker, "encode"),
    ("send", worker, "send"),
    ("insert", worker, "insert"),
    ("enlarge the table", Table, "grow"),
)
REST, ALL = "Python", "all"


def timed(function: Callable[..., Any], what: str, spent: Counter[str]) -> Callable[..., Any]:
    """The function; the processor time of its calls is added up."""

    def call(*arguments: Any) -> Any:
        begun = time.thread_time_ns()
        try:
            return function(*arguments)
        finally:
            spent[what] += time.thread_time_ns() - begun

    return call


def main() -> None:
    """Measure, and print a table."""
    parser = options_of(__doc__)
    parser.add_argument("--repeat", type=int, default=7, help="runs (7)")
    options = parser.parse_args()
    system = find_model("replication").system("kip-320", {"max_epoch": 2})
    learned = Learnable()
    verdict = explored(system, learned, 1)
    spent: Counter[str] = Counter()
    for what, place, name in PARTS:
        setattr(place, name, timed(getattr(place, name), what, spent))
    runs: list[dict[str, int]] = []
    for _ in range(options.repeat):
        spent.clear()
        begun = time.thread_time_ns()
        explored(system, learned, 1)
        everything = time.thread_time_ns() - begun
        runs.append({**spent, REST: everything - spent.total(), ALL: everything})
    parts = [what for what, _, _ in PARTS] + [REST, ALL]
    least = {what: min(run[what] for run in runs) for what in parts}
    if options.json:
        print_json({"distinct": verdict.distinct, "generated": verdict.generated, "ns": least})
        return
    table = Printed("", "ms", "share", "ns per state", "ns per successor")
    for what, spent_in in least.items():
        table.add_row(
            what, f"{spent_in / 1e6:.0f}", f"{spent_in / least[ALL]:.0%}",
            f"{spent_in / verdict.distinct:.0f}", f"{spent_in / verdict.generated:.0f}",
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
