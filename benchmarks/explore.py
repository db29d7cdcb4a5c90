"""Learned rules beside rumur (Murphi compiled to C), on the same bounds in the same run.

    python -m benchmarks.explore [--large] [--json] [--picture growth.svg]

Both explore Kafka's replication (kip-320) alternately, equally often; the tables show the best
time of each. Ratios mean little on a machine that does other work. rumur checks one property,
kspec all three. `shell` is from the shell's prompt to its return; `explore` is the exploration
alone. Compiling is listed separately: kspec compiles once for all bounds, rumur for each.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from benchmarks.peers import rumur
from benchmarks.picture import Line, log_log
from benchmarks.processes import Measured, Ran, check, least

Bounds = Mapping[str, int]


def bounds(*values: int) -> Bounds:
    """All bounds, in the order in which the tables name them."""
    return dict(zip(("brokers", "log_size", "max_records", "max_epoch"), values, strict=True))


SIZES = (bounds(3, 2, 2, 1), bounds(3, 2, 2, 2), bounds(3, 3, 3, 2))
LARGE = bounds(3, 3, 3, 3)
GROWTH = (bounds(2, 3, 3, 3), bounds(3, 1, 1, 2), bounds(3, 2, 2, 1), bounds(3, 1, 1, 3))
"""Further sizes for the picture."""
PATIENCE = 60
"""A size that has taken this many seconds is not run again."""


# -- running --------------------------------------------------------------------------------------


def kspec(size: Bounds, workers: int, *options: str, **environment: str) -> tuple[Ran, Any]:
    """The native engine, as at the prompt."""
    return check("replication", size, workers, "--engine=learned", *options, **environment)


@attrs.frozen(kw_only=True)
class OfSize(Measured):
    """A run of one checker on one size."""

    size: Bounds
    load: float
    """Seconds of reading compiled code, and what was learned before."""
    workers: int

    @property
    def per_second(self) -> float:
        """Distinct states a second."""
        return self.states / self.explore

    @property
    def bytes_per_state(self) -> float:
        """Peak resident memory, all included, by the states found."""
        return self.peak_bytes / self.states


def best(runs: Sequence[OfSize]) -> OfSize:
    """The least of each figure."""
    return least(runs, "load")


def run_kspec(size: Bounds, workers: int, *options: str) -> OfSize:
    """One run of kspec."""
    ran, answer = kspec(size, workers, *options)
    assert answer["verdict"] == "holds", answer["verdict"]
    who, spent = " ".join(["kspec", *options]), answer["seconds"]
    about = {"size": size, "load": spent["prepare"], "workers": workers}
    return OfSize.of(who, answer["distinct"], spent["explore"], ran, **about)


@attrs.frozen
class Size:
    """The measurements of one size."""

    ours: OfSize
    theirs: OfSize | None
    seconds_to_build: float
    """Seconds in which rumur and the C compiler build the verifier."""
    reduced: OfSize | None = None
    """kspec up to symmetry, if requested."""


def measure(size: Bounds, workers: int, repeat: int, folder: Path, *, reduce: bool) -> Size:
    """Measure both on one size, alternately."""
    verifier, to_build = None, 0.0
    if rumur.is_here():
        verifier, to_build = rumur.build(size, workers, folder / name_of(size))
    ours: list[OfSize] = []
    reduced: list[OfSize] = []
    theirs: list[OfSize] = []
    begun = time.perf_counter()
    while len(ours) < repeat and time.perf_counter() - begun < PATIENCE:
        ours.append(run_kspec(size, workers))
        if reduce:
            reduced.append(run_kspec(size, workers, "--symmetry"))
        if verifier:
            theirs.append(OfSize.of_rumur(verifier, size=size, load=0, workers=workers))
        print(".", end="", file=sys.stderr, flush=True)
    for run in theirs:
        assert run.states == ours[0].states, "not the same model"
    return Size(
        best(ours), best(theirs) if theirs else None, to_build, best(reduced) if reduced else None
    )


# -- what is printed ------------------------------------------------------------------------------


def name_of(size: Bounds) -> str:
    """The bounds in short."""
    return "-".join(str(value) for value in size.values())


def show(sizes: Sequence[Size], seconds_first_run: float | None, console: Console) -> None:
    """The tables."""
    measures = ("states", "explore", "ratio", "states/s", "B/state", "cores", "CPU", "shell")
    table = Table("bounds", "checker", *measures)
    for size in sizes:
        ours = size.ours
        for run in (ours, size.reduced, size.theirs):
            if run:
                table.add_row(
                    name_of(run.size) if run is ours else "",
                    run.who,
                    f"{run.states:,}",
                    f"{run.explore:.2f} s",
                    f"{run.explore / ours.explore:.3g}",
                    f"{run.per_second:,.0f}",
                    f"{run.bytes_per_state:.1f}",
                    str(run.workers),
                    f"{run.cpu:.2f} s",
                    f"{run.shell:.2f} s",
                )
        table.add_section()
    console.print(table)
    console.print("bounds: brokers-log_size-max_records-max_epoch; ratio: to kspec's exploration.")
    apart = Table("apart from exploring", "kspec", "rumur")
    builds = [size.seconds_to_build for size in sizes if size.theirs]
    built = f"{min(builds):.1f} to {max(builds):.1f} s, for each bounds" if builds else "-"
    first = "-" if seconds_first_run is None else f"{seconds_first_run:.1f} s, once for all bounds"
    apart.add_row("compiling", first, built)
    ours = min((size.ours for size in sizes), key=lambda run: run.states)
    apart.add_row("reading compiled code", f"{ours.load:.2f} s", "-")
    apart.add_row("imports, start and end", f"{ours.shell - ours.explore - ours.load:.2f} s", "-")
    console.print(apart)


def draw(sizes: Sequence[Size], file: Path, console: Console) -> None:
    """Draw how time and memory grow with the number of states, side by side."""
    seconds: dict[str, list[tuple[float, float]]] = {}
    memory: dict[str, list[tuple[float, float]]] = {}
    for size in sizes:
        for run in (size.ours, size.theirs):
            if run:
                seconds.setdefault(f"{run.who}, exploration", []).append((run.states, run.explore))
                memory.setdefault(run.who, []).append((run.states, run.peak_bytes / 2**20))
        shell = seconds.setdefault("kspec, from the prompt", [])
        shell.append((size.ours.states, size.ours.shell))
    for lines, what, up in ((seconds, "seconds", "seconds"), (memory, "memory", "MiB")):
        drawn = [Line(name, points) for name, points in lines.items()]
        picture = file.with_name(f"{file.stem}-{what}{file.suffix}")
        picture.write_text(log_log(drawn, across="distinct states", up=up), "utf-8")
        console.print(f"drawn to {picture}")


def first_run(workers: int) -> float:
    """Seconds that a first run takes longer than exploring, with nothing compiled."""
    with tempfile.TemporaryDirectory() as empty:
        _, answer = kspec(SIZES[0], workers, XDG_CACHE_HOME=empty)
    return float(answer["seconds"]["prepare"])


def main() -> None:
    """Measure what was asked for."""
    parser = options_of(__doc__)
    parser.add_argument("--workers", type=int, default=2, help="cores for each (2)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, if quick (3)")
    parser.add_argument("--large", action="store_true", help="also 64,739,578 states; minutes")
    parser.add_argument("--symmetry", action="store_true", help="ours up to symmetry as well")
    parser.add_argument("--no-compile", action="store_true", help="leave out the first run")
    parser.add_argument("--picture", type=Path, metavar="SVG", help="more sizes, and draw growth")
    options = parser.parse_args()
    console = Console(width=110, stderr=options.json)
    if not rumur.is_here():
        console.print(f"rumur is not here. To get it: {rumur.HOW_TO_GET}")
    wanted = [*SIZES, *([LARGE] if options.large else [])]
    if options.picture:
        wanted = [*wanted, *(size for size in GROWTH if size not in wanted)]
    seconds_first_run = None if options.no_compile else first_run(options.workers)
    kspec(SIZES[0], options.workers)  # so that all later runs find compiled code
    with tempfile.TemporaryDirectory() as folder:
        sizes = [
            measure(size, options.workers, options.repeat, Path(folder), reduce=options.symmetry)
            for size in wanted
        ]
    print(file=sys.stderr)
    if options.json:
        runs = [r for size in sizes for r in (size.ours, size.reduced, size.theirs) if r]
        print_json(runs)
    else:
        show(sizes, seconds_first_run, console)
    if options.picture:
        draw(sizes, options.picture, console)


if __name__ == "__main__":
    main()
