"""The cost of checkpoints: an exploration without one, with one, and resumed near its end.

    python -m benchmarks.checkpoints [--repeat 3]

Everything is measured in one run; the table shows best times.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.spec.replication import REPLICATION

BOUNDS = {"log_size": 3, "max_records": 3, "max_epoch": 2}


def best(repeat: int, *tasks: Callable[[], object]) -> list[float]:
    """The best time of each task; tasks take turns, and the first turn warms up."""
    seconds: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeat + 1):
        for task, taken in zip(tasks, seconds, strict=True):
            begun = time.perf_counter()
            task()
            taken.append(time.perf_counter() - begun)
    return [min(taken[1:]) for taken in seconds]


def exploration(folder: Path, repeat: int) -> Table:
    """The same exploration without a checkpoint, with one, and resumed near its end."""
    system = REPLICATION.system("kip-320", BOUNDS)
    new, ended = folder / "new", folder / "ended"
    nearly_all = Options(max_depth=28, checkpoint=ended)
    found = explore_by_learning(system, nearly_all)
    cpu: dict[str, list[float]] = {"without": [], "with": []}

    def counted(name: str, checkpoint: Path | None) -> None:
        before = time.process_time()
        explore_by_learning(system, Options(checkpoint=checkpoint))
        cpu[name].append(time.process_time() - before)

    def keep_new() -> None:
        shutil.rmtree(new, ignore_errors=True)
        counted("with", new)

    def take_up() -> None:
        explore_by_learning(system, attrs.evolve(nearly_all, resume=True))

    without, kept, taken_up = best(repeat, lambda: counted("without", None), keep_new, take_up)
    table = Table(title=f"kip-320, {BOUNDS}: {found.distinct:,} states in 28 levels")
    for name in ("exploration", "seconds", "ratio", "processor seconds"):
        table.add_column(name, justify="left" if name == "exploration" else "right")
    table.add_row("without a checkpoint", f"{without:.2f}", "1.00", f"{min(cpu['without']):.2f}")
    ratio = f"{kept / without:.2f}"
    table.add_row("with a checkpoint", f"{kept:.2f}", ratio, f"{min(cpu['with']):.2f}")
    table.add_row("28 levels read again", f"{taken_up:.2f}", f"{taken_up / without:.2f}", "")
    return table


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        Console().print(exploration(Path(name), asked.repeat))


if __name__ == "__main__":
    main()
