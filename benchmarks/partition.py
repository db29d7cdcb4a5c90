"""A replica at real sizes: appends and fetches per second, and bytes per record.

    python -m benchmarks.partition

A leader writes a million records in batches, over a number of epochs; a follower then fetches all
of them, and the leader checks each fetch against its epoch cache. The table shows processor time
of one core, since others may use the machine.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Sequence
from functools import partial

from benchmarks.measuring import best
from kspec.impl.partition import Follower, Leader, Replica


def lead(replica: Replica, epoch: int) -> Leader:
    """The replica leads in this epoch."""
    replica.become_leader(epoch, epoch, {0, 1}, {0, 1})
    assert isinstance(replica.role, Leader)
    return replica.role


def write(replica: Replica, batches: Sequence[range], epochs: int) -> None:
    """A leader appends the batches, over a number of epochs."""
    role = lead(replica, 0)
    for number, ids in enumerate(batches):
        if number * epochs // len(batches) > replica.leader_epoch:
            role = lead(replica, replica.leader_epoch + 1)
        role.append(ids)


def measure(records: int, epochs: int, batch: int) -> tuple[float, float, float]:
    """Appends per second, fetches per second, and bytes per record."""
    leader, follower = Replica(0), Replica(1)
    batches = [range(n * batch, (n + 1) * batch) for n in range(records // batch)]
    tracemalloc.start()
    write(leader, batches, epochs)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    [append_seconds] = best(1, partial(write, Replica(0), batches, epochs), clock=time.process_time)

    last = leader.leader_epoch
    follower.become_follower(last, last, 0, {0, 1})
    assert isinstance(follower.role, Follower)
    fetches = 0
    started = time.process_time()
    while follower.log.end < leader.log.end:
        request = follower.role.next_request(at_most=batch)
        assert request is not None
        follower.role.take(leader.answer(request, fetches))
        fetches += 1
    fetch_seconds = time.process_time() - started
    return len(batches) / append_seconds, fetches / fetch_seconds, held / records


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    chosen = parser.parse_args()
    print(f"{chosen.records:,} records on one core")
    print("epochs  records a batch  appends/s  fetches/s  records fetched/s  bytes a record")
    for epochs in (1, 5_000):
        for batch in (1, 100):
            appends, fetches, size = measure(chosen.records, epochs, batch)
            print(
                f"{epochs:>6,}  {batch:>15,}  {appends:>9,.0f}  {fetches:>9,.0f}"
                f"  {fetches * batch:>17,.0f}  {size:>14.1f}"
            )


if __name__ == "__main__":
    main()
