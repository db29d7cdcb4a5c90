"""Two-phase commit in kspec, Stateright and rumur, on the same bounds in the same run.

    python -m benchmarks.two_phase_commit [--managers 8] [--threads 2] [--engine auto]

The model for kspec is plain Python as a user writes it (`examples/two_phase_commit.py`). Those of
the peers are compact: bit sets in Rust, enumerations and arrays in Murphi. All check one property.
`explore` is the exploration alone, as kspec and Stateright report it; for rumur it is the whole
run of the verifier. `shell` is from the shell's prompt to its return. The ratios compare with
kspec: 2 is twice its time. Compiling is listed separately: cargo compiles once for all bounds (and
not again in a later run), rumur for each. The time in which kspec loads compiled code is part of
its `shell`. Peers that are not installed are left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from benchmarks.peers import rumur, stateright
from benchmarks.processes import Measured, check, least

MODEL = Path(__file__).parents[1] / "examples" / "two_phase_commit.py"


@attrs.frozen(kw_only=True)
class Compiled(Measured):
    """A run of one checker, and what it took to compile."""

    compiling: float = 0
    """Seconds of compiling before the run; of kspec, of preparing compiled code in the run."""


def run_kspec(managers: int, threads: int, engine: str) -> Compiled:
    """`kspec check` as at the prompt."""
    ran, answer = check(str(MODEL), {"managers": managers}, threads, f"--engine={engine}")
    assert answer["verdict"] == "holds", answer["verdict"]
    spent = answer["seconds"]
    compiling = sum(spent.get(name, 0) for name in ("compile", "prepare"))
    who = f"kspec, {answer['engine']} engine"
    return Compiled.of(who, answer["distinct"], spent["explore"], ran, compiling=compiling)


def run_stateright(managers: int, threads: int, release: str, compiling: float) -> Compiled:
    """One run of one release, which is already compiled."""
    bounds = {"managers": managers}
    run = stateright.run(stateright.TWO_PHASE_COMMIT, bounds, threads, release)
    who = f"Stateright {release}"
    return Compiled.of(who, run.states, run.seconds, run.process, compiling=compiling)


def best(runs: Sequence[Compiled]) -> Compiled:
    """The least of each figure; all of them wait for the longest compilation."""
    return attrs.evolve(least(runs), compiling=max(run.compiling for run in runs))


def measure(
    managers: int, threads: int, engine: str, repeat: int, folder: Path, console: Console
) -> list[Compiled]:
    """The best runs of each installed checker, measured alternately, kspec first."""
    checkers = [partial(run_kspec, managers, threads, engine)]
    if stateright.is_here():
        compiling = stateright.build()
        checkers += [
            partial(run_stateright, managers, threads, release, compiling)
            for release in stateright.RELEASES
        ]
    else:
        console.print(f"Stateright is left out: needs cargo ({stateright.HOW_TO_GET})")
    if rumur.is_here():
        bounds = {"managers": managers}
        verifier, compiling = rumur.build(bounds, threads, folder, rumur.TWO_PHASE_COMMIT)
        checkers.append(partial(Compiled.of_rumur, verifier, compiling=compiling))
    else:
        console.print(f"rumur is left out: needs {rumur.HOW_TO_GET}")
    turns = [[run() for run in checkers] for _ in range(repeat)]
    runs = [best(runs) for runs in zip(*turns, strict=True)]
    for run in runs:
        assert run.states == runs[0].states, f"{run.who} explores another model"
    return runs


def show(runs: Sequence[Compiled], console: Console) -> None:
    """The table, with ratios to the first run."""
    ours = runs[0]
    times = ("explore", "ratio", "shell", "ratio", "CPU")
    table = Table("checker", "states", "states/s", *times, "peak MiB", "compiling")
    for run in runs:
        table.add_row(
            run.who,
            f"{run.states:,}",
            f"{run.states / run.explore:,.0f}",
            f"{run.explore:.3f} s",
            f"{run.explore / ours.explore:.3g}",
            f"{run.shell:.2f} s",
            f"{run.shell / ours.shell:.3g}",
            f"{run.cpu:.2f} s",
            f"{run.peak_bytes / 2**20:,.0f}",
            f"{run.compiling:.1f} s",
        )
    console.print(table)


def main() -> None:
    """Measure what was asked for."""
    parser = options_of(__doc__)
    parser.add_argument("--managers", type=int, default=8, help="resource managers (8)")
    parser.add_argument("--threads", type=int, default=2, help="cores for each checker (2)")
    parser.add_argument("--engine", default="auto", help="kspec's engine (auto)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the best counts (1)")
    options = parser.parse_args()
    console = Console(width=120, stderr=options.json)
    asked = options.managers, options.threads, options.engine, options.repeat
    with tempfile.TemporaryDirectory() as folder:
        runs = measure(*asked, Path(folder), console)
    if options.json:
        print_json(runs)
    else:
        show(runs, console)


if __name__ == "__main__":
    main()
