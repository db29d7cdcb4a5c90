"""How fast Spark audits logs, with one core and with more.

    python -m benchmarks.spark_logs [--gigabytes 4] [--partitions 32] [--cores 1,2] [--json]

Writes partitions of two replicas to a temporary folder, in records of 1 KiB, and audits them from
the page cache: `kspec log` in one process, then `spark_check.logs` on `local[N]`. A first job on a
small folder has started the workers and loaded the compiled code, so that what is measured is work.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import attrs

from benchmarks.measuring import best, numbers, options_of, print_json
from kspec.checkers.cli.main import run
from kspec.field.disk.folders import with_directories
from kspec.impl.storage.writer import SegmentWriter, encode_batch
from kspec.spark_check.logs import audit_on_spark, find_below
from kspec.spark_check.session import session

BATCH = encode_batch([(1, b"key%05d" % number, b"v" * 1000) for number in range(16)])
SEGMENT = 1 << 28
RUNS = 3


@attrs.frozen
class Figure:
    """A measured rate."""

    by: str
    seconds: float
    gigabytes_per_second: float


def write_cluster(root: Path, partitions: int, size: int) -> int:
    """Two brokers' log directories; how many bytes they have."""
    for broker in ("broker1", "broker2"):
        for partition in range(partitions):
            folder = root / broker / f"events-{partition}"
            folder.mkdir(parents=True)
            batches = range(size // partitions // 2 // len(BATCH))
            for first in batches[:: SEGMENT // len(BATCH)]:
                writer = SegmentWriter(folder, first * 16)
                for _ in batches[first : first + SEGMENT // len(BATCH)]:
                    writer.append(BATCH)
                writer.close()
    return sum(file.stat().st_size for file in root.rglob("*.log"))


def by_one_process(root: Path) -> None:
    """`kspec log`."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["log", *map(str, sorted(root.iterdir())), "--json"]) == 0


@contextlib.contextmanager
def on_cores(cores: int, small: Path) -> Iterator[Callable[[Path], None]]:
    """The audit on Spark with this many cores, which have begun to work."""
    with session(f"local[{cores}]", "benchmark") as spark:

        def audit(root: Path) -> None:
            _, folders = with_directories(find_below([root])[0])
            table = audit_on_spark(spark, folders)
            assert table.selectExpr("sum(size(problems))").collect()[0][0] == 0

        audit(small)
        yield audit


def timed(by: str, work: Callable[[Path], None], root: Path, size: int) -> Figure:
    """How long an audit takes: the best of some runs, since other work disturbs it."""
    [seconds] = best(RUNS, partial(work, root))
    return Figure(by, seconds, size / seconds / 1e9)


def measure(gigabytes: float, partitions: int, cores: list[int]) -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        small, root = Path(folder, "small"), Path(folder, "cluster")
        write_cluster(small, 8, 1 << 22)
        size = write_cluster(root, partitions, int(gigabytes * 1e9))
        by_one_process(small)
        figures = [timed("kspec log", by_one_process, root, size)]
        for number in cores:
            with on_cores(number, small) as audit:
                figures.append(timed(f"Spark, local[{number}]", audit, root, size))
    return figures


def main() -> None:
    """Print the figures."""
    parser = options_of(__doc__)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--partitions", type=int, default=32)
    parser.add_argument("--cores", type=numbers, default="1,2", metavar="N,N…")
    given = parser.parse_args()
    figures = measure(given.gigabytes, given.partitions, given.cores)
    if given.json:
        print_json(figures)
        return
    for figure in figures:
        print(f"{figure.by:20} {figure.seconds:8.1f} s {figure.gigabytes_per_second:8.2f} GB/s")


if __name__ == "__main__":
    main()
