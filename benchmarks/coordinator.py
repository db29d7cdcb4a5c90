"""How much a coordinator can take: heartbeats, a rebalance of many members, memory for each.

    python -m benchmarks.coordinator [--members 1000] [--rounds 7] [--json]

Everything goes through `GroupCoordinator.handle`, `fire` and `stored`, under real timers. What is
counted is processor time of one core, as others may use the machine; of several rounds, the best
and the median. Making the requests is not counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial

import attrs
from rich.console import Console
from rich.table import Table

from impl.coordinator import Deadlines, GroupCoordinator, Outcome
from spec.messages import Heartbeat, Joined, JoinGroup, Protocol, Settings, SyncGroup

GROUP = "readers"
PROTOCOLS = (Protocol("range", b"range"), Protocol("cooperative-sticky", b"sticky"))


@attrs.frozen
class Figure:
    """One thing that was measured."""

    what: str
    unit: str
    best: float
    median: float

    @classmethod
    def of(cls, what: str, unit: str, values: Sequence[float], *, most: bool = False) -> Figure:
        """The best and the median; the most is best of a rate, the least of all else."""
        return cls(what, unit, max(values) if most else min(values), statistics.median(values))


class Members:
    """A coordinator, and clients that do what it says."""

    def __init__(self, number: int) -> None:
        self.timers = Deadlines()
        self.coordinator = GroupCoordinator(Settings(), self.timers)
        self.number = number
        self.spent = 0.0
        """Seconds of processor time that the coordinator took."""
        self.joined: dict[object, Joined] = {}
        """What each client was answered last."""

    def timed(self, calls: Callable[[], list[Outcome]]) -> list[Outcome]:
        """Count what the coordinator does here."""
        start = time.process_time()
        outcomes = calls()
        self.spent += time.process_time() - start
        return outcomes

    def ask_all(self, requests: Sequence[JoinGroup | SyncGroup]) -> list[Outcome]:
        """Each client asks one thing."""
        handle = self.coordinator.handle
        outcomes = self.timed(lambda: [handle(GROUP, i, r) for i, r in enumerate(requests)])
        self._read(outcomes)
        return outcomes

    def _read(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            for caller, answer in outcome.answers:
                if isinstance(answer, Joined):
                    self.joined[caller] = answer

    def come(self) -> None:
        """All join, with an id that they are given first; then the initial delay passes."""
        self.ask_all([JoinGroup(protocols=PROTOCOLS) for _ in range(self.number)])
        self.rejoin()
        advance = self.timers.advance
        for now in range(0, 300_001, 3_000):
            self._read(self.timed(partial(advance, now, self.coordinator.fire)))
            if self.joined[0].generation > 0:
                return
        raise AssertionError("the initial delay does not end")

    def rejoin(self) -> None:
        """All join, under the ids that they have."""
        self.ask_all([JoinGroup(self.joined[i].member, protocols=PROTOCOLS) for i in self.everyone])

    @property
    def everyone(self) -> range:
        """The clients."""
        return range(self.number)

    def sync(self) -> None:
        """All sync, the leader with the assignments, and those are stored."""
        ids = [self.joined[i].member for i in self.everyone]
        leader, generation = self.joined[0].leader, self.joined[0].generation
        assigned = tuple((member, member.encode()) for member in ids)
        outcomes = self.ask_all(
            [SyncGroup(m, generation, assigned if m == leader else ()) for m in ids]
        )
        tickets = [outcome.pending for outcome in outcomes if outcome.pending is not None]
        (ticket,) = tickets
        (stored,) = self.timed(lambda: [self.coordinator.stored(ticket)])
        assert len(stored.answers) == self.number

    def beat(self, times: int) -> float:
        """Heartbeats a second, of all members in turn."""
        handle = self.coordinator.handle
        beats = [Heartbeat(a.member, a.generation) for a in self.joined.values()]
        start = time.process_time()
        for _ in range(times):
            for caller, request in enumerate(beats):
                handle(GROUP, caller, request)
        return times * len(beats) / (time.process_time() - start)


def memory(number: int) -> float:
    """Bytes for each member of a stable group, its timers and assignment included."""
    gc.collect()
    tracemalloc.start()
    try:
        members = Members(number)
        before = tracemalloc.get_traced_memory()[0]
        members.come()
        members.sync()
        members.joined.clear()  # what the clients know is not the coordinator's
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / number
    finally:
        tracemalloc.stop()


def measure(number: int, rounds: int) -> list[Figure]:
    """All figures."""
    first, again, beats = [], [], []
    for _ in range(rounds):
        gc.collect()
        members = Members(number)
        members.come()
        members.sync()
        first.append(1000 * members.spent)
        members.spent = 0
        members.rejoin()
        members.sync()
        again.append(1000 * members.spent)
        beats.append(members.beat(max(1, 200_000 // number)))
    return [
        Figure.of("heartbeats", "a second", beats, most=True),
        Figure.of(f"{number:,} members come, from joins to syncs", "ms", first),
        Figure.of(f"{number:,} members rebalance, from joins to syncs", "ms", again),
        Figure.of("memory for a member", "bytes", [memory(number)]),
    ]


def in_words(value: float) -> str:
    """A number, as precisely as it can be read."""
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--members", type=int, default=1000, help="in the group (1000)")
    parser.add_argument("--rounds", type=int, default=7, help="how often all is measured (7)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    options = parser.parse_args()
    figures = measure(options.members, options.rounds)
    if options.json:
        print(json.dumps([attrs.asdict(figure) for figure in figures], indent=1))
        return
    table = Table("", "best", "median", "")
    for figure in figures:
        table.add_row(figure.what, in_words(figure.best), in_words(figure.median), figure.unit)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
