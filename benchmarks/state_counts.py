"""A model of kspec beside the same model in Murphi, on the same bounds in the same run.

`explore` is the exploration alone; for rumur it is the whole run of the verifier. Compiling, and
kspec's learning of the rules, are listed separately. Without rumur, its columns are empty.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from benchmarks.peers import rumur
from benchmarks.processes import check, measured

PEERS = Path(__file__).with_name("peers")


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


@attrs.frozen
class Peer:
    """A model of kspec, and the Murphi model with which it is compared."""

    model: str
    """Its name at the prompt."""
    murphi: Path
    """The file of the Murphi model."""
    constants: Mapping[str, Mapping[str, int]]
    """By variant: the constants of the Murphi model that choose it."""
    cases: Sequence[Case]
    """The variants and bounds that are compared."""

    def run_kspec(self, case: Case, workers: int) -> Found:
        """`kspec check` as at the prompt."""
        options = "--property=none", f"--variant={case.variant}"
        run, answer = check(self.model, case.bounds, workers, *options)
        explore = answer["seconds"]["explore"]
        return Found(answer["distinct"], answer["generated"], explore, run.seconds - explore)

    def run_rumur(self, case: Case, workers: int, folder: Path) -> Found:
        """Build rumur's verifier for these bounds, and run it."""
        bounds = {**case.bounds, **self.constants[case.variant]}
        verifier, built = rumur.build(bounds, workers, folder, self.murphi)
        run = measured([verifier])
        distinct, steps = rumur.counts(run.said)
        return Found(distinct, steps + 1, run.seconds, built)


def peer(model: str) -> Peer:
    """The Murphi model beside a model of kspec, with its cases; both are in `peers`."""
    murphi = PEERS / f"{model}.m"
    described = tomllib.loads(murphi.with_suffix(".toml").read_text("utf-8"))
    cases = [Case(**case) for case in described["cases"]]
    return Peer(model, murphi, described["constants"], cases)


def compare(peer: Peer, about: str | None) -> None:
    """Measure every case, and compare what both find; the command of a benchmark."""
    parser = options_of(about)
    parser.add_argument("--workers", type=int, default=2, help="cores for each (2)")
    options = parser.parse_args()
    console = Console(width=120, stderr=options.json)
    if not rumur.is_here():
        console.print(f"rumur is left out: needs {rumur.HOW_TO_GET}")
    table = Table("variant", "bounds", "states", "steps", "kspec", "prepare", "rumur", "compile")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(peer.cases):
            ours = peer.run_kspec(case, options.workers)
            theirs = None
            if rumur.is_here():
                theirs = peer.run_rumur(case, options.workers, Path(folder) / str(number))
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
        print_json(rows)
    else:
        console.print(table)
