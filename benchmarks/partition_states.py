"""The model `partition` beside rumur, on the same bounds in the same run.

    python -m benchmarks.partition_states [--workers 2] [--json]

The Murphi model (`benchmarks/peers/partition.m`) has the same fields of the state, and formulates
guards and updates anew: equal numbers of states and steps are evidence that neither has a slip
that the other lacks. It has the versions 0.10 and 2.1. `explore` is the exploration alone; for
rumur it is the whole run of the verifier. Compiling, and kspec's learning of the rules, are listed
separately. Without rumur, its columns are empty.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.peers import rumur
from benchmarks.processes import measured

FENCED = {"kafka-0.10": 0, "kafka-2.1": 1}
"""By variant: the constant of the Murphi model that chooses it."""


@attrs.frozen
class Case:
    """A variant and bounds, with what both checkers find."""

    variant: str
    bounds: Mapping[str, int]
    """Those that are not the default."""
    distinct: int
    """Distinct states."""
    generated: int
    """Initial states and steps; rumur counts the steps only."""


CASES = (
    Case("kafka-2.1", {"brokers": 2, "cut_offs": 1}, 3_533, 6_637),
    Case("kafka-2.1", {}, 6_521, 16_211),
    Case("kafka-2.1", {"crashes": 0, "power_losses": 1}, 8_831, 22_262),
    Case("kafka-2.1", {"brokers": 2, "leader_moves": 1, "records": 2}, 10_312, 18_633),
    Case("kafka-0.10", {}, 7_465, 22_324),
    Case("kafka-0.10", {"brokers": 2, "leader_moves": 1, "records": 2}, 10_023, 19_053),
)


@attrs.frozen
class Found:
    """What one checker found, and the seconds that this took."""

    distinct: int
    """Distinct states."""
    generated: int
    """Initial states and steps."""
    explore: float
    """Seconds of the exploration."""
    prepare: float
    """Seconds of compiling; of kspec, of all else from the prompt to its return."""


def run_kspec(case: Case, workers: int) -> Found:
    """`kspec check` as at the prompt."""
    command = [sys.executable, "-m", "checkers", "check", "partition", "--property=none", "--json"]
    given = [f"--set={name}={value}" for name, value in case.bounds.items()]
    run = measured([*command, f"--variant={case.variant}", f"--workers={workers}", *given])
    answer = json.loads(run.said)
    explore = answer["seconds"]["explore"]
    return Found(answer["distinct"], answer["generated"], explore, run.seconds - explore)


def run_rumur(case: Case, workers: int, folder: Path) -> Found:
    """Build rumur's verifier for these bounds, and run it."""
    bounds = {**case.bounds, "fenced": FENCED[case.variant]}
    verifier, built = rumur.build(bounds, workers, folder, rumur.PARTITION)
    run = measured([verifier])
    distinct, steps = rumur.counts(run.said)
    return Found(distinct, steps + 1, run.seconds, built)


def main() -> None:
    """Measure every case, and compare what both find."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2, help="cores for each (2)")
    parser.add_argument("--json", action="store_true", help="print one JSON array, no table")
    options = parser.parse_args()
    console = Console(width=120, stderr=options.json)
    if not rumur.is_here():
        console.print(f"rumur is left out: needs {rumur.HOW_TO_GET}")
    table = Table("variant", "bounds", "states", "steps", "kspec", "prepare", "rumur", "compile")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            ours = run_kspec(case, options.workers)
            theirs = None
            if rumur.is_here():
                theirs = run_rumur(case, options.workers, Path(folder) / str(number))
                same = (ours.distinct, ours.generated) == (theirs.distinct, theirs.generated)
                assert same, f"not the same model: {case}"
            rows.append({"case": case, "kspec": ours, "rumur": theirs})
            table.add_row(
                case.variant,
                " ".join(f"{name}={value}" for name, value in case.bounds.items()) or "default",
                f"{ours.distinct:,}",
                f"{ours.generated - 1:,}",
                f"{ours.explore:.2f} s",
                f"{ours.prepare:.1f} s",
                f"{theirs.explore:.2f} s" if theirs else "-",
                f"{theirs.prepare:.1f} s" if theirs else "-",
            )
    if options.json:
        print(json.dumps(rows, default=attrs.asdict, indent=1))
    else:
        console.print(table)


if __name__ == "__main__":
    main()
