"""How fast groups are read from `__consumer_offsets`, and in how much memory.

    python -m benchmarks.offsets [--megabytes 256] [--groups 200] [--json]

Writes a partition in which each group commits ten offsets again and again, as where the log cleaner
is dead: half of the bytes are batches of ten commits, half are batches of one. Then reads it from
the page cache on one core, as `kspec offsets` does. The rate is by processor time, which other work
on the machine changes little, and the best of three runs; the memory is the most that Python
objects and arrays took, without the segments, which are mapped.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path

import attrs

from benchmarks.measuring import best, options_of, print_json
from kspec.field.disk.folders import find_partitions
from kspec.field.offsets.partition import OffsetsPartition, read_partition
from kspec.impl.storage.writer import SegmentWriter, encode_batch
from kspec.spec.storage.coordinator_records import GROUP_RECORDS, CoordinatorRecord, write_record

SEGMENT_BYTES = 100 * 2**20
"""`offsets.topic.segment.bytes`."""
COMMITS = 10
RUNS = 3


@attrs.frozen
class Figure:
    """What was measured."""

    megabytes: float
    records: int
    live_keys: int
    gigabytes_per_second: float
    peak_megabytes: float


def commit(group: int, partition: int) -> tuple[int, bytes | None, bytes | None]:
    """A commit, as a record of the log."""
    key = {"group": f"group-{group}", "topic": "orders", "partition": partition}
    value = {"offset": 1, "metadata": "", "commitTimestamp": 1}
    return (1, *write_record(GROUP_RECORDS, CoordinatorRecord(1, key, 3, value)))


def write_partition(root: Path, size: int, groups: int) -> Path:
    """A folder with about this many bytes."""
    folder = root / "__consumer_offsets-0"
    folder.mkdir()
    rows = [[commit(group, partition) for partition in range(COMMITS)] for group in range(groups)]
    batches = [encode_batch(some) for some in rows]
    batches += [encode_batch([row]) for some in rows for row in some]
    written = base = 0
    while written < size:
        writer = SegmentWriter(folder, base)
        in_segment = 0
        while in_segment < min(SEGMENT_BYTES, size - written):
            for batch in batches:
                writer.append(batch)
            in_segment += sum(map(len, batches))
        writer.close()
        base, written = writer.next_offset, written + in_segment
    return folder


def read(folder: Path) -> OffsetsPartition:
    """What `kspec offsets` reads."""
    _, (partition,) = find_partitions([folder])
    return read_partition(partition, 1)


def measure(megabytes: int, groups: int) -> Figure:
    """Write a partition and read it."""
    with tempfile.TemporaryDirectory() as root:
        folder = write_partition(Path(root), megabytes * 2**20, groups)
        [seconds] = best(RUNS, partial(read, folder), clock=time.process_time)
        tracemalloc.start()
        found = read(folder)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    rate = found.bytes / seconds / 1e9
    return Figure(found.bytes / 1e6, found.records, found.keys, rate, peak / 1e6)


def main() -> None:
    """Measure and print."""
    parser = options_of(__doc__)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--groups", type=int, default=200)
    options = parser.parse_args()
    figure = measure(options.megabytes, options.groups)
    if options.json:
        print_json(figure)
        return
    print(
        f"{figure.megabytes:,.0f} MB, {figure.records:,} records, {figure.live_keys:,} live keys:"
    )
    print(f"{figure.gigabytes_per_second:.2f} GB/s, {figure.peak_megabytes:,.0f} MB of memory")


if __name__ == "__main__":
    main()
