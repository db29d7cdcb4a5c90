"""The coordinator's speed and memory: heartbeats, rebalances of many members, bytes per member.

    python -m benchmarks.coordinator [--members 1000] [--rounds 7] [--json]

Every call goes through `GroupCoordinator.handle`, `fire` and `stored`, with real timers. The
figures are processor time of one core, best and median of several rounds, without the time to
create the requests.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from kspec.impl.coordinator import Deadlines, GroupCoordinator, Outcome
from kspec.spec.messages import (
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    Protocol,
    Settings,
    SyncGroup,
)

GROUP = "readers"
PROTOCOLS = (Protocol("range", b"range"), Protocol("cooperative-sticky", b"sticky"))


@attrs.frozen
class Figure:
    """One measured figure."""

    what: str
    unit: str
    best: float
    median: float

    @classmethod
    def of(cls, what: str, unit: str, values: Sequence[float], *, most: bool = False) -> Figure:
        """Best and median; the best rate is the highest, the best of anything else the lowest."""
        return cls(what, unit, max(values) if most else min(values), statistics.median(values))


class Members:
    """A coordinator, and clients that follow the protocol."""

    def __init__(self, number: int) -> None:
        self.timers = Deadlines()
        self.coordinator = GroupCoordinator(Settings(), self.timers)
        self.number = number
        self.spent = 0.0
        """The coordinator's processor time, in seconds."""
        self.joined: dict[object, JoinGroupResponse] = {}
        """The latest response to each client."""

    def timed(self, calls: Callable[[], list[Outcome]]) -> list[Outcome]:
        """Call the coordinator, and count its processor time."""
        start = time.process_time()
        outcomes = calls()
        self.spent += time.process_time() - start
        return outcomes

    def ask_all(self, requests: Sequence[JoinGroup | SyncGroup]) -> list[Outcome]:
        """Each client sends one request."""
        handle = self.coordinator.handle
        outcomes = self.timed(lambda: [handle(GROUP, i, r) for i, r in enumerate(requests)])
        self._read(outcomes)
        return outcomes

    def _read(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            for caller, answer in outcome.responses:
                if isinstance(answer, JoinGroupResponse):
                    self.joined[caller] = answer

    def join(self) -> None:
        """All clients join, with ids issued first, and the initial delay ends."""
        self.ask_all([JoinGroup(protocols=PROTOCOLS) for _ in range(self.number)])
        self.rejoin()
        advance = self.timers.advance
        for now in range(0, 300_001, 3_000):
            self._read(self.timed(partial(advance, now, self.coordinator.fire)))
            if self.joined[0].generation > 0:
                return
        raise AssertionError("the initial delay does not end")

    def rejoin(self) -> None:
        """All members join again."""
        self.ask_all([JoinGroup(self.joined[i].member, protocols=PROTOCOLS) for i in self.everyone])

    @property
    def everyone(self) -> range:
        """The clients."""
        return range(self.number)

    def sync(self) -> None:
        """All members sync, the leader with the assignments, which are stored."""
        ids = [self.joined[i].member for i in self.everyone]
        leader, generation = self.joined[0].leader, self.joined[0].generation
        assigned = tuple((member, member.encode()) for member in ids)
        outcomes = self.ask_all(
            [SyncGroup(m, generation, assigned if m == leader else ()) for m in ids]
        )
        tickets = [outcome.pending for outcome in outcomes if outcome.pending is not None]
        (ticket,) = tickets
        (stored,) = self.timed(lambda: [self.coordinator.stored(ticket)])
        assert len(stored.responses) == self.number

    def beat(self, times: int) -> float:
        """Heartbeats per second, one from each member in turn."""
        handle = self.coordinator.handle
        beats = [Heartbeat(a.member, a.generation) for a in self.joined.values()]
        start = time.process_time()
        for _ in range(times):
            for caller, request in enumerate(beats):
                handle(GROUP, caller, request)
        return times * len(beats) / (time.process_time() - start)


def memory(number: int) -> float:
    """Bytes per member of a stable group, including its timers and assignment."""
    gc.collect()
    tracemalloc.start()
    try:
        members = Members(number)
        before = tracemalloc.get_traced_memory()[0]
        members.join()
        members.sync()
        members.joined.clear()  # the clients' memory does not count
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
        members.join()
        members.sync()
        first.append(1000 * members.spent)
        members.spent = 0
        members.rejoin()
        members.sync()
        again.append(1000 * members.spent)
        beats.append(members.beat(max(1, 200_000 // number)))
    return [
        Figure.of("heartbeats", "a second", beats, most=True),
        Figure.of(f"{number:,} members join a new group", "ms", first),
        Figure.of(f"{number:,} members rebalance", "ms", again),
        Figure.of("memory per member", "bytes", [memory(number)]),
    ]


def in_words(value: float) -> str:
    """A number, with a sensible precision."""
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def main() -> None:
    """Measure, and print."""
    parser = options_of(__doc__)
    parser.add_argument("--members", type=int, default=1000, help="in the group (1000)")
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds (7)")
    options = parser.parse_args()
    figures = measure(options.members, options.rounds)
    if options.json:
        print_json(figures)
        return
    table = Table("", "best", "median", "")
    for figure in figures:
        table.add_row(figure.what, in_words(figure.best), in_words(figure.median), figure.unit)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
