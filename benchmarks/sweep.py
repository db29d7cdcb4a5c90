"""Small models in many styles: the engine that `auto` chooses beside the reference engine, cold.

    python -m benchmarks.sweep [--only votes] [--repeat 3] [--limit 60] [--json]

Each model (`benchmarks/models`) is checked as at the prompt, by each engine in turn. Compiled code
is present, and nothing is learned before. Both engines must agree in verdict, counts and lengths of
counterexamples. The ratio is the time of the reference engine by that of `auto`, from the prompt to
its return: below 1, plain Python would have been faster. With `--repeat` the least time counts. A
run that exceeds the limit did not finish; of the ratio only a bound is known then.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from benchmarks.processes import Ran, ended, nothing_learned
from kspec.spec.core import Model

ROOT = Path(__file__).parents[1]
MODELS = Path("benchmarks/models")
STYLES = ("messages", "containers", "records", "shapes", "outcomes")
"""The modules of `benchmarks/models` of which every model is measured."""
ENGINES = ("auto", "reference")


@attrs.frozen
class Case:
    """A model, and bounds that are not its default."""

    name: str
    model: str
    """The file, and the name of the model in it."""
    bounds: Mapping[str, int] = attrs.field(factory=dict)


PROTOCOLS = (
    Case("paxos", "examples/paxos.py"),
    Case("paxos-plain", "benchmarks/models/paxos.py"),
    Case("raft", "examples/raft.py", {"restarts": 1}),
    Case("raft-plain", "benchmarks/models/raft.py", {"restarts": 1}),
    Case("raft-elections", "examples/raft.py", {"elections": 2, "entries": 0}),
    Case("raft-elections-plain", "benchmarks/models/raft.py", {"elections": 2, "entries": 0}),
    Case("snapshot", "examples/snapshot.py", {"coins": 3, "capacity": 3}),
    Case("two-phase-commit", "examples/two_phase_commit.py", {"managers": 6}),
    Case("replication", "spec/replication/__init__.py:REPLICATION", {"log_size": 1}),
)
"""Protocols that stand elsewhere."""


def cases() -> list[Case]:
    """Every model."""
    found = [
        Case(model.name, f"{MODELS / style}.py:{attribute}")
        for style in STYLES
        for attribute, model in vars(import_module(f"benchmarks.models.{style}")).items()
        if isinstance(model, Model)
    ]
    return [*found, *PROTOCOLS]


@attrs.frozen
class Run:
    """What an engine says of a model, and its cost."""

    engine: str
    """The engine that ran: `auto` chooses one."""
    says: Mapping[str, Any]
    """What both engines must agree in."""
    seconds: float
    """From the prompt to its return."""
    explore: float
    """Seconds of the exploration alone."""
    cpu: float
    """Processor seconds, from the prompt to its return."""
    peak_bytes: int


def run(
    case: Case, engine: str, limit: float, environment: Mapping[str, str], workers: int = 2
) -> Run | None:
    """`kspec check`, or None if it exceeds the limit. The reference engine takes one process."""
    given = [f"--set={name}={value}" for name, value in case.bounds.items()]
    command = [sys.executable, "-m", "kspec", "check", case.model, *given, f"--engine={engine}"]
    processes = 1 if engine == "reference" else workers
    ran, code = ended([*command, f"--workers={processes}", "--json"], limit, **environment)
    return None if ran is None else answer(ran, f"{case.name}, {engine}: exit code {code}")


def answer(ran: Ran, what: str) -> Run:
    """What the JSON of a run says."""
    try:
        found = json.loads(ran.said)
    except ValueError:
        raise SystemExit(f"{what}:\n{ran.said[-2000:]}") from None
    says = {name: found[name] for name in ("verdict", "distinct", "generated", "depth", "levels")}
    says["violations"] = sorted((v["property"], v["states"]) for v in found["violations"])
    says["witnesses"] = {name: length(trace) for name, trace in found["witnesses"].items()}
    explore = found["seconds"]["explore"]
    return Run(found["engine"], says, ran.seconds, explore, ran.cpu, ran.peak_bytes)


def length(witness: Any) -> Any:
    """The number of states of a witness, as the JSON gives it."""
    return witness["states"] if isinstance(witness, dict) else witness


@attrs.frozen
class Row:
    """One model: the best runs of both engines, None where none finished."""

    name: str
    auto: Run | None
    reference: Run | None
    limit: float

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the reference engine `auto` is; None if neither finished."""
        if self.auto is None and self.reference is None:
            return None
        return seconds(self.reference, self.limit) / seconds(self.auto, self.limit)

    @property
    def sign(self) -> str:
        """How the ratio is known: exactly, or as a bound."""
        if self.auto is None:
            return "<"
        return "" if self.reference else ">"


def seconds(run: Run | None, limit: float) -> float:
    """The seconds of a run; the limit, if it did not finish."""
    return run.seconds if run else limit


def measure(case: Case, repeat: int, limit: float) -> Row:
    """The best of several runs of each engine, which take turns."""
    best: dict[str, Run | None] = dict.fromkeys(ENGINES)
    for _ in range(repeat):
        for engine in ENGINES:
            with nothing_learned() as environment:
                found = run(case, engine, limit, {**environment, "PYTHONPATH": python_path()})
            known = best[engine]
            if found and (known is None or found.seconds < known.seconds):
                best[engine] = found
    auto, reference = (best[engine] for engine in ENGINES)
    if auto and reference and auto.says != reference.says:
        raise SystemExit(f"{case.name}: auto says {auto.says}, reference {reference.says}")
    return Row(case.name, auto, reference, limit)


def python_path() -> str:
    """Where the models find kspec and each other."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(ROOT / "src"), str(ROOT), *([given] if given else [])])


def show(rows: Sequence[Row], console: Console) -> None:
    """The table, the slowest first."""
    columns = ("states", "auto is", "auto", "reference", "ratio", "auto MiB", "reference MiB")
    table = Table("model", *columns)
    for row in rows:
        ran = row.auto or row.reference
        table.add_row(
            row.name,
            f"{ran.says['distinct']:,}" if ran else "-",
            row.auto.engine if row.auto else "-",
            shown(row.auto, row.limit),
            shown(row.reference, row.limit),
            "-" if row.ratio is None else f"{row.sign}{row.ratio:.2f}",
            mebibytes(row.auto),
            mebibytes(row.reference),
        )
    console.print(table)
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        below = sum(ratio < 0.9 for ratio in ratios)
        least = f"least {min(ratios):.2f}, median {median(ratios):.2f}"
        console.print(f"{len(rows)} models: {least}; below 0.9: {below}")


def shown(run: Run | None, limit: float) -> str:
    """The seconds of a run."""
    return f"{run.seconds:.2f} s" if run else f"not finished in {limit:.0f} s"


def mebibytes(run: Run | None) -> str:
    """The peak of a run's memory."""
    return f"{run.peak_bytes / 2**20:,.0f}" if run else "-"


def main() -> None:
    """Measure what was asked for."""
    parser = options_of(__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="this model only")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the best counts (1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each run (60)")
    options = parser.parse_args()
    console = Console(width=120, stderr=options.json)
    os.chdir(ROOT)  # files are named from here
    wanted = [case for case in cases() if not options.only or case.name in options.only]
    if not wanted:
        raise SystemExit(f"there is no such model; there are {', '.join(c.name for c in cases())}")
    ended([*START, "--json"], None, PYTHONPATH=python_path())  # later runs find compiled code
    rows = []
    for case in wanted:
        rows.append(measure(case, options.repeat, options.limit))
        print(f"{len(rows)} of {len(wanted)}: {case.name}", file=sys.stderr, flush=True)
    rows.sort(key=lambda row: -1 if row.ratio is None else row.ratio)
    if options.json:
        print_json(rows)
    else:
        show(rows, console)


START = (
    *(sys.executable, "-m", "kspec", "check", "examples/paxos.py"),
    *("--engine=learned", "--max-states=500"),
)

if __name__ == "__main__":
    main()
