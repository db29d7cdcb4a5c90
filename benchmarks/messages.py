"""Protocols with messages in kspec, Stateright and TLC, on the same bounds in the same run.

    python -m benchmarks.messages [--only raft] [--large] [--threads 2] [--json]

Paxos and Raft have a set of messages in flight, and the snapshot of Chandy and Lamport has queues.
For kspec they are written twice: `plain`, as a newcomer writes Python (`benchmarks/models`), with
comprehensions over all messages and choices among all of them; and with the words for parts of sets
(`examples`). The models for Stateright are compact: bit sets, packed queues, sorted vectors. Those
for TLC are TLA+ as it is usually written. All check the same invariants; kspec also checks that a
state of interest is reached.

Cold: compiled code is present, and nothing is learned before. Warm: everything was learned in a run
before. `explore` is the exploration alone, as kspec and Stateright report it; for TLC it is the
whole run. `shell` is from the prompt to its return. The ratios compare with the cold run of kspec
with words: 2 is twice its time. B/state is the peak of memory by the number of states, which means
little for few states. A run that exceeds the limit did not finish, and peers that are not installed
are left out.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from benchmarks.peers import stateright, tlc
from benchmarks.processes import Measured, ended, least, nothing_learned
from benchmarks.sweep import ROOT, START, Case, python_path
from benchmarks.sweep import Run as Found
from benchmarks.sweep import run as run_check


@attrs.frozen
class Protocol:
    """A protocol: its models, and bounds with the number of states."""

    name: str
    words: str
    """The file of the model for kspec with words."""
    plain: str | None
    """The one in plain Python; None if there is no difference."""
    sizes: Sequence[tuple[Mapping[str, int], int]]
    large: Sequence[tuple[Mapping[str, int], int]] = ()


PROTOCOLS = (
    Protocol(
        stateright.PAXOS,
        "examples/paxos.py",
        "benchmarks/models/paxos.py",
        [({"acceptors": 3, "ballots": 2, "values": 2}, 3_921), ({"ballots": 3}, 185_369)],
        [({"acceptors": 5}, 701_505), ({"ballots": 4}, 8_220_065)],
    ),
    Protocol(
        stateright.RAFT,
        "examples/raft.py",
        "benchmarks/models/raft.py",
        [
            ({"elections": 2, "entries": 0, "restarts": 1}, 68_906),
            ({"entries": 2, "losses": 1}, 163_900),
        ],
        [({"elections": 2}, 1_839_058)],
    ),
    Protocol(
        stateright.SNAPSHOT,
        "examples/snapshot.py",
        None,
        [({"coins": 3, "capacity": 3}, 15_311), ({"nodes": 3}, 415_630)],
        [({"coins": 9, "capacity": 9}, 6_120_841)],
    ),
)


@attrs.frozen(kw_only=True)
class Row(Measured):
    """One run of one checker, or the best of several."""

    model: str
    bounds: Mapping[str, int]

    @property
    def bytes_per_state(self) -> float:
        """The peak of memory, by the number of states."""
        return self.peak_bytes / self.states


Checker = Callable[[], Row | None]


def runs_of(protocol: Protocol, bounds: Mapping[str, int], options: Options) -> dict[str, Checker]:
    """The checkers of a protocol, by name; a run is None if it exceeds the limit."""
    made: dict[str, Checker] = {}
    forms = {"kspec, words" if protocol.plain else "kspec": protocol.words}
    if protocol.plain:
        forms["kspec, plain"] = protocol.plain
    for name, file in forms.items():
        case = Case(protocol.name, file, bounds)
        for heat in ("cold", "warm"):
            who = f"{name}, {heat}"
            made[who] = partial(run_kspec, case, who, options, is_warm=heat == "warm")
    if stateright.is_here():
        for release in stateright.RELEASES:
            who = f"Stateright {release}"
            made[who] = partial(run_stateright, protocol.name, bounds, options, release)
    if tlc.is_here():
        made["TLC"] = partial(run_tlc, protocol.name, bounds, options)
    return made


@attrs.frozen
class Options:
    """What was asked for."""

    threads: int
    engine: str
    limit: float
    repeat: int
    folder: Path


def run_kspec(case: Case, who: str, options: Options, *, is_warm: bool) -> Row | None:
    """`kspec check`, with nothing learned before, or with everything."""
    with nothing_learned() as environment:
        environment = {**environment, "PYTHONPATH": python_path()}
        found = None
        for _ in range(1 + is_warm):
            found = run_check(case, options.engine, options.limit, environment, options.threads)
            if found is None:
                return None
    assert found is not None
    assert found.says["verdict"] == "holds", found.says["verdict"]
    return row_of(case, f"{who}, {found.engine}", found)


def row_of(case: Case, who: str, found: Found) -> Row:
    """A run of kspec."""
    return Row(
        who=who,
        states=found.says["distinct"],
        explore=found.explore,
        shell=found.seconds,
        cpu=found.cpu,
        peak_bytes=found.peak_bytes,
        model=case.name,
        bounds=case.bounds,
    )


def run_stateright(
    model: str, bounds: Mapping[str, int], options: Options, release: str
) -> Row | None:
    """One run of one release, which is already compiled."""
    run = stateright.run(model, bounds, options.threads, release)
    who = f"Stateright {release}"
    return Row.of(who, run.states, run.seconds, run.process, model=model, bounds=bounds)


def run_tlc(model: str, bounds: Mapping[str, int], options: Options) -> Row | None:
    """One run of TLC."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        states, ran = tlc.run(model, bounds, options.threads, Path(folder))
    return Row.of("TLC", states, ran.seconds, ran, model=model, bounds=bounds)


def measure(
    protocol: Protocol, bounds: Mapping[str, int], states: int, options: Options
) -> list[Row | str]:
    """The best run of each checker, which take turns; a name where none finished."""
    checkers = runs_of(protocol, bounds, options)
    found: dict[str, list[Row]] = {name: [] for name in checkers}
    for _ in range(options.repeat):
        for name, checker in checkers.items():
            row = checker()
            if row is not None:
                assert row.states == states, f"{name}: {row.states:,} states, not {states:,}"
                found[name].append(row)
    return [least(rows) if rows else name for name, rows in found.items()]


def show(
    protocol: Protocol, bounds: Mapping[str, int], rows: Sequence[Row | str], console: Console
) -> None:
    """The table, with ratios to the first run."""
    first = rows[0]
    ours = first if isinstance(first, Row) else None
    given = " ".join(f"{name}={value}" for name, value in bounds.items())
    columns = ("states", "states/s", "explore", "ratio", "shell", "ratio", "MiB", "B/state")
    table = Table(f"{protocol.name} {given}", *columns)
    for row in rows:
        if isinstance(row, str):
            table.add_row(row, "not finished")
            continue
        table.add_row(
            row.who,
            f"{row.states:,}",
            f"{row.states / row.explore:,.0f}" if row.explore >= 0.01 else "-",
            f"{row.explore:.3f} s",
            f"{row.explore / max(ours.explore, 0.001):.3g}" if ours else "-",
            f"{row.shell:.2f} s",
            f"{row.shell / ours.shell:.3g}" if ours else "-",
            f"{row.peak_bytes / 2**20:,.0f}",
            f"{row.bytes_per_state:,.0f}",
        )
    console.print(table)


def main() -> None:
    """Measure what was asked for."""
    parser = options_of(__doc__)
    names = [protocol.name for protocol in PROTOCOLS]
    parser.add_argument("--only", choices=names, action="append", help="this protocol only")
    parser.add_argument("--large", action="store_true", help="also millions of states")
    parser.add_argument("--threads", type=int, default=2, help="cores for each checker (2)")
    parser.add_argument("--engine", default="auto", help="kspec's engine (auto)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the best counts (1)")
    parser.add_argument("--limit", type=float, default=300, help="seconds for kspec (300)")
    asked = parser.parse_args()
    console = Console(width=120, stderr=asked.json)
    os.chdir(ROOT)  # files are named from here
    if stateright.is_here():
        stateright.build()
    else:
        console.print(f"Stateright is left out: needs cargo ({stateright.HOW_TO_GET})")
    if not tlc.is_here():
        console.print(f"TLC is left out: needs {tlc.HOW_TO_GET}")
    ended([*START, "--json"], None, PYTHONPATH=python_path())  # later runs find compiled code
    every = []
    with tempfile.TemporaryDirectory() as folder:
        options = Options(asked.threads, asked.engine, asked.limit, asked.repeat, Path(folder))
        for protocol in PROTOCOLS:
            if asked.only and protocol.name not in asked.only:
                continue
            for bounds, states in [*protocol.sizes, *(protocol.large if asked.large else ())]:
                rows = measure(protocol, bounds, states, options)
                every += rows
                if not asked.json:
                    show(protocol, bounds, rows, console)
                print(f"{protocol.name} {dict(bounds)}", file=sys.stderr, flush=True)
    if asked.json:
        print_json(every)


if __name__ == "__main__":
    main()
