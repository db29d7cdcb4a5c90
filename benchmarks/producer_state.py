"""The producer state of a partition at real sizes: appends per second, memory, snapshots.

    python -m benchmarks.producer_state [--producers 1000000] [--batches 1000000]

Producers take turns to append batches of ten records, each checked and then remembered; every
second one is in a transaction, which ends after some batches. The table shows processor time of
one core, since others may use the machine.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from functools import partial

import attrs

from benchmarks.measuring import best
from kspec.impl.producer_state import ProducerState, decode

RECORDS = 10
"""How many records a batch has."""
TURNS = 4
"""How many batches a transaction has."""


@attrs.frozen
class Measured:
    """What was measured of a number of producers."""

    appends: float
    """Batches checked and remembered per second."""
    bytes_each: float
    """The memory of a producer with its batches."""
    snapshot_seconds: float
    """How long it takes to write a snapshot."""
    load_seconds: float
    """How long it takes to load it."""
    snapshot_bytes: int
    """The size of the snapshot."""


def append_batches(state: ProducerState, producers: int, batches: int) -> None:
    """Batches of producers that take turns; each one has to be accepted."""
    offset = state.end
    check, append = state.check, state.append
    for number in range(batches):
        producer, turn = number % producers, number // producers
        first, is_transactional = turn * RECORDS, producer % 2 == 1
        last, end = first + RECORDS - 1, offset + RECORDS - 1
        guard = None
        if is_transactional and turn % TURNS == 0:
            begun = state.start_verification(producer, first, 0)
            assert isinstance(begun, int)
            guard = begun
        found = check(producer, 0, first, last, is_transactional=is_transactional, guard=guard)
        assert found is None, found
        append(producer, 0, first, last, offset, end, number, is_transactional=is_transactional)
        offset = end + 1
        if is_transactional and turn % TURNS == TURNS - 1:
            assert state.check_marker(producer, 0, 0) is None
            state.append_marker(producer, 0, 0, offset, number, is_abort=turn % 8 == 7)
            offset += 1
        state.advance_high_watermark(offset)


def measure(producers: int, batches: int) -> Measured:
    """Append batches of some producers, then write and load a snapshot."""
    timed = ProducerState()
    append = partial(append_batches, timed, producers, batches)
    append_seconds, snapshot_seconds = best(1, append, timed.take_snapshot, clock=time.process_time)
    [data] = timed.snapshots.values()
    [load_seconds] = best(
        1, lambda: ProducerState().load(decode(data), now=0), clock=time.process_time
    )
    del timed
    tracemalloc.start()
    held = ProducerState()
    append_batches(held, producers, min(batches, 5 * producers))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return Measured(
        batches / append_seconds,
        size / len(held.producers),
        snapshot_seconds,
        load_seconds,
        len(data),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--producers", type=int, default=1_000_000)
    parser.add_argument("--batches", type=int, default=1_000_000)
    chosen = parser.parse_args()
    print(f"{chosen.batches:,} batches on one core")
    print("producers  batches/s  bytes a producer  snapshot MB  write s  load s")
    for producers in (1, 1_000, chosen.producers):
        found = measure(producers, chosen.batches)
        print(
            f"{producers:>9,}  {found.appends:>9,.0f}  {found.bytes_each:>16,.0f}"
            f"  {found.snapshot_bytes / 1e6:>11.1f}  {found.snapshot_seconds:>7.2f}"
            f"  {found.load_seconds:>6.2f}"
        )


if __name__ == "__main__":
    main()
