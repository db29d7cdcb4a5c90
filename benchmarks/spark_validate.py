"""A million events in a thousand traces, of which fifty are altered: which are rejected, how fast.

    python -m benchmarks.spark_validate [--traces 1000] [--events 1000] [--altered 50] [--cores 1,2]
        [--json]

The traces are recordings of `impl.partition`. Each broker writes files of its own, in which the
partitions are mingled, so that Spark puts a trace together from three files. An alteration changes
one event. The run fails unless exactly the altered traces are rejected, each at its altered event
or a later one that it makes impossible.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import attrs

from benchmarks.measuring import numbers, options_of, print_json
from benchmarks.recorded_partitions import BROKERS, recordings
from kspec.spark_check.session import session
from kspec.spark_check.validate import files_in, verdicts_of
from kspec.spark_check.verdicts import Question

HEADER = {"kspec_trace": 1, "mapping": "replica", "order": "total"}
QUESTION = Question({"mapping": "replica"}, ("topic", "partition"))
TOGETHER = 32
"""How many partitions a broker's file has."""


@attrs.frozen
class Figure:
    """A measured rate."""

    cores: int
    seconds: float
    events_per_second: float


def write(folder: Path, traces: int, events: int, altered: int) -> dict[int, int]:
    """Write the recordings; the altered event of each altered partition."""
    wanted: dict[int, int] = {}
    waiting: list[dict[str, Any]] = []
    for number, (found, at, _) in enumerate(recordings(traces, events, altered), 1):
        if at:
            wanted[number - 1] = at
        waiting += found
        if number % TOGETHER == 0 or number == traces:
            waiting.sort(key=itemgetter("time_ms"))
            for broker in BROKERS:
                lines = (e for e in waiting if e["node"] == broker)
                place = folder / f"broker{broker}" / f"events-{number:06}.ndjson"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("".join(json.dumps(x) + "\n" for x in (HEADER, *lines)))
            waiting = []
    return wanted


def rejected_on_spark(spark: Any, folder: Path, out: Path) -> dict[int, int]:
    """The rejected event of each rejected partition; every other trace must be accepted."""
    verdicts_of(files_in(spark, [str(folder)]), QUESTION).write.parquet(out.as_uri())
    rows = spark.read.parquet(out.as_uri()).where("verdict is null or verdict != 'accepted'")
    found = {}
    for row in rows.collect():
        if row["verdict"] != "rejected":
            sys.exit(f"{row['trace']}: {row['verdict']}, {row['report']}")
        found[json.loads(row["trace"])["partition"]] = row["event"]
    return found


def measure(traces: int, events: int, altered: int, cores: list[int]) -> list[Figure]:
    """The rate on each number of cores."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "small", 64, 50, 0)
        wanted = write(folder / "traces", traces, events, altered)
        for number in cores:
            with session(f"local[{number}]", "benchmark") as spark:
                rejected_on_spark(spark, folder / "small", folder / f"warm-{number}")
                begin = time.perf_counter()
                found = rejected_on_spark(spark, folder / "traces", folder / f"out-{number}")
                seconds = time.perf_counter() - begin
            if found.keys() != wanted.keys() or any(found[n] < wanted[n] for n in wanted):
                sys.exit(f"rejected {found}, but altered {wanted}")
            figures.append(Figure(number, seconds, traces * events / seconds))
    return figures


def main() -> None:
    """Print the figures."""
    parser = options_of(__doc__)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--altered", type=int, default=50)
    parser.add_argument("--cores", type=numbers, default="1,2", metavar="N,N…")
    given = parser.parse_args()
    figures = measure(given.traces, given.events, given.altered, given.cores)
    if given.json:
        print_json(figures)
        return
    print(
        f"{given.traces:,} traces of {given.events:,} events: exactly the {given.altered} altered"
    )
    print("traces are rejected, at the altered event or one that it makes impossible.")
    for figure in figures:
        seconds, rate = figure.seconds, figure.events_per_second
        print(f"Spark, local[{figure.cores}] {seconds:8.1f} s {rate:10,.0f} events/s")


if __name__ == "__main__":
    main()
