"""The native engine on the model of a consumer group, beside the reference engine.

    python -m benchmarks.group [--workers 2] [--large]

Both explore the same bounds where the reference engine can finish; what is printed is the best
time of the native engine, in states per second of the clock and of the processor: on a machine
that does other work the second says more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.processes import measured

SMALL: Mapping[str, int] = {"consumers": 1}
"""What the reference engine can finish in some seconds."""
SIZES: tuple[Mapping[str, int], ...] = (SMALL, {"failovers": 0}, {})
LARGE: tuple[Mapping[str, int], ...] = ({"static": 1}, {"losses": 1}, {"early": 1})


@attrs.frozen
class Explored:
    """What an engine said of some bounds."""

    answer: Mapping[str, Any]
    cpu: float
    """Seconds of all cores together, from the prompt to its return."""

    @property
    def seconds(self) -> float:
        """The exploration alone."""
        return float(self.answer["seconds"]["explore"])

    @property
    def distinct(self) -> int:
        """The states found."""
        return int(self.answer["distinct"])


def explored(size: Mapping[str, int], engine: str, *options: str) -> Explored:
    """`kspec check group` as at the prompt."""
    given = [f"--set={name}={value}" for name, value in size.items()]
    command = [sys.executable, "-m", "checkers.cli", "check", "group", *given]
    run = measured([*command, f"--engine={engine}", "--json", *options])
    return Explored(json.loads(run.said), run.cpu)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2, help="cores (2)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--large", action="store_true", help="also larger bounds; minutes")
    options = parser.parse_args()
    workers = f"--workers={options.workers}"
    explored(SMALL, "native", workers)  # so that all later runs find compiled code
    table = Table("bounds", "states", "generated", "depth", "seconds", "states/s", "bytes/state")
    for size in (*SIZES, *(LARGE if options.large else ())):
        runs = [explored(size, "native", workers) for _ in range(options.repeat)]
        best = min(runs, key=lambda run: run.seconds)
        answer = best.answer
        table.add_row(
            " ".join(f"{name}={value}" for name, value in size.items()) or "the defaults",
            f"{best.distinct:,}",
            f"{answer['generated']:,}",
            str(answer["depth"]),
            f"{best.seconds:.2f}",
            f"{best.distinct / best.seconds:,.0f}",
            str(answer["bytes_per_state"]),
        )
        if size == SMALL:
            reference = explored(size, "reference")
            assert reference.distinct == best.distinct, "not the same model"
            ratio = reference.seconds / best.seconds
    console = Console(width=110)
    console.print(table)
    console.print(f"{SMALL}: the reference engine takes {ratio:.0f} times as long.")


if __name__ == "__main__":
    main()
