"""How fast segments are read and verified, beside kafka-dump-log.

    python -m benchmarks.storage [--megabytes 256] [--kafka CLASSPATH] [--json]

Writes a segment of each shape to a temporary folder, and reads it from the page cache on one core:
checksums and the structure of every record. With `--kafka`, the class path of Kafka's jars
(`mvn dependency:build-classpath`), Kafka's `DumpLogSegments` reads the segment of the first shape
in the same run, with records (`--deep-iteration`) and without; its output goes to /dev/null.

All figures are by processor time, which other work on the machine changes little, and the best of
three runs; of Java's time, that for a small segment is subtracted.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

import attrs

from benchmarks.measuring import best, options_of, print_json
from kspec.field.disk.audit import audit
from kspec.field.disk.folders import find_partitions
from kspec.impl.storage.segment import Segment
from kspec.impl.storage.writer import SegmentWriter, encode_batch

SHAPES = {
    "100-byte records, 16 KiB batches": (150, 90),
    "1 KiB records, 16 KiB batches": (16, 1000),
    "one 100-byte record in a batch": (1, 90),
}
"""Records in a batch, and bytes of a value."""

RUNS = 3


@attrs.frozen
class Figure:
    """A measured rate."""

    what: str
    shape: str
    megabytes: float
    gigabytes_per_second: float


def write_segment(folder: Path, records: int, value: int, size: int) -> Path:
    """A segment of about this size; the batches differ in their offsets alone."""
    folder.mkdir()
    batch = encode_batch([(1, b"key%05d" % number, b"v" * value) for number in range(records)])
    writer = SegmentWriter(folder, 0)
    for _ in range(size // len(batch)):
        writer.append(batch)
    writer.close()
    return folder / f"{0:020}.log"


def read(file: Path) -> None:
    """Verify a segment."""
    with Segment(file) as segment:
        for rows in segment.batches():
            assert not rows["fault"].any()
        assert not segment.ended_by


def check(file: Path) -> None:
    """All that `kspec log` checks."""
    _, (folder,) = find_partitions([file.parent])
    assert not audit(folder).problems


def childrens_time() -> float:
    """The processor time of processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def dump(classpath: str, file: Path, *options: str) -> float:
    """The least processor time that kafka-dump-log takes."""
    tool = ["java", "-XX:+UseSerialGC", "-cp", classpath, "kafka.tools.DumpLogSegments"]
    command = [*tool, *options, "--files", str(file)]
    null = subprocess.DEVNULL
    run = partial(subprocess.run, command, stdout=null, stderr=null, check=True)
    return best(RUNS, run, clock=childrens_time)[0]


def measure(megabytes: float, classpath: str | None) -> list[Figure]:
    """Every figure."""
    figures = []
    with tempfile.TemporaryDirectory() as root:
        warm = write_segment(Path(root, "warm-0"), 3, 10, 10_000)
        read(warm)
        check(warm)
        for number, (shape, (records, value)) in enumerate(SHAPES.items()):
            folder = Path(root, f"shape-{number}")
            file = write_segment(folder, records, value, int(megabytes * 1e6))
            size = file.stat().st_size
            for what, work in (("kspec.impl.storage", read), ("kspec log", check)):
                [seconds] = best(RUNS, partial(work, file), clock=time.process_time)
                figures.append(Figure(what, shape, size / 1e6, size / 1e9 / seconds))
            if classpath and number == 0:
                for what, options in (
                    ("kafka-dump-log, records", ["--deep-iteration"]),
                    ("kafka-dump-log, batches", []),
                ):
                    took = dump(classpath, file, *options) - dump(classpath, warm, *options)
                    figures.append(Figure(what, shape, size / 1e6, size / 1e9 / took))
            for path in folder.iterdir():
                path.unlink()
    return figures


def main() -> None:
    """Measure and print."""
    parser = options_of(__doc__)
    parser.add_argument("--megabytes", type=float, default=256, help="size of each segment")
    parser.add_argument("--kafka", metavar="CLASSPATH", help="Kafka's jars")
    asked = parser.parse_args()
    figures = measure(asked.megabytes, asked.kafka)
    if asked.json:
        print_json(figures)
        return
    for figure in figures:
        rate = f"{figure.gigabytes_per_second:6.3f} GB/s"
        print(f"{rate}  {figure.what:24}  {figure.shape} ({figure.megabytes:,.0f} MB)")


if __name__ == "__main__":
    main()
