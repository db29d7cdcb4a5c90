"""The cost of checkpoints: two shapes of their rows, and an exploration with and without one.

    python -m benchmarks.checkpoints [--states 10000000] [--repeat 3]

Everything is measured in one run; the tables show best times. One state per row, with a column
for each word, is the shape of a plain table; one block per row is that of checkpoints.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from kspec.checkers.engine.packed.by_kernel import explore_by_kernel
from rich.console import Console
from rich.table import Table

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.blocks import as_rows, assert_whole, read_part, write_rows
from kspec.checkers.engine.packed.codes import SHARDS
from kspec.impl.compiled import Words
from kspec.spec.replication import REPLICATION

BOUNDS = {"log_size": 3, "max_records": 3, "max_epoch": 2}
PIECES = 1


def best(repeat: int, *tasks: Callable[[], object]) -> list[float]:
    """The best time of each task; tasks take turns, and the first turn warms up."""
    seconds: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeat + 1):
        for task, taken in zip(tasks, seconds, strict=True):
            begun = time.perf_counter()
            task()
            taken.append(time.perf_counter() - begun)
    return [min(taken[1:]) for taken in seconds]


def shapes(folder: Path, states: int, repeat: int) -> Table:
    """Write and read the same number of states in both shapes, synced and checked."""
    rng = np.random.default_rng(0)
    codes: Words = rng.integers(-(1 << 63), (1 << 63) - 1, states)
    pieces = rng.integers(0, 1 << 6, (states, PIECES)).astype(np.uint16)
    plain = folder / "rows.parquet"

    def write_states() -> None:
        rows = pa.table({"low": codes, "high": pieces[:, 0].astype(np.int64)})
        with plain.open("wb") as file:
            pq.write_table(rows, file, compression="none", use_dictionary=False)
            os.fsync(file.fileno())

    def read_states() -> None:
        for column in pq.read_table(plain).columns:
            column.to_numpy()

    def write_blocks() -> None:
        write_rows(folder, "blocks.parquet", as_rows(codes, pieces), len(codes))

    def read_blocks() -> None:
        for _ in read_part(folder / "blocks.parquet", range(SHARDS), PIECES):
            pass

    write_blocks()
    part = write_rows(folder, "blocks.parquet", as_rows(codes, pieces), len(codes))
    times = best(
        repeat,
        write_states,
        read_states,
        write_blocks,
        read_blocks,
        lambda: assert_whole(folder, part),
    )
    table = Table(title=f"{states:,} states")
    for name in ("rows", "write, s", "read, s", "check, s", "bytes a state"):
        table.add_column(name, justify="left" if name == "rows" else "right")
    for name, path, (write, read), check in [
        ("a state a row", plain, times[:2], "no checksum"),
        ("a block a row", folder / "blocks.parquet", times[2:4], f"{times[4]:.2f}"),
    ]:
        size = path.stat().st_size / states
        table.add_row(name, f"{write:.2f}", f"{read:.2f}", check, f"{size:.1f}")
    return table


def exploration(folder: Path, repeat: int) -> Table:
    """The same exploration without a checkpoint, with one, and resumed near its end."""
    system = REPLICATION.system("kip-320", BOUNDS)
    new, ended = folder / "new", folder / "ended"
    nearly_all = Options(max_depth=28, checkpoint=ended)
    found = explore_by_kernel(system, nearly_all)
    cpu: dict[str, list[float]] = {"without": [], "with": []}

    def counted(name: str, checkpoint: Path | None) -> None:
        before = time.process_time()
        explore_by_kernel(system, Options(checkpoint=checkpoint))
        cpu[name].append(time.process_time() - before)

    def keep_new() -> None:
        shutil.rmtree(new, ignore_errors=True)
        counted("with", new)

    def take_up() -> None:
        explore_by_kernel(system, attrs.evolve(nearly_all, resume=True))

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
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--states", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        console.print(shapes(Path(name), asked.states, asked.repeat))
        console.print(exploration(Path(name), asked.repeat))


if __name__ == "__main__":
    main()
