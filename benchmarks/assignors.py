"""kspec's assignors beside Kafka's and kafka-python's, at the sizes of Kafka's own benchmarks.

    python -m benchmarks.assignors [--kafka-clients JAR] [--picture growth.svg]

kspec's and Kafka's are warmed up and then measured alternately, a few calls at a time, so that
both share the noise of the machine. The tables show the best and the median time of each, and the
ratio of Kafka's time to kspec's by both. kafka-python is measured once. Fresh: no member owns a
partition. Again: the next round, in which all but one member own what they were assigned.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.peers.kafka_java import HOW_TO_GET, KafkaJava, find_jar
from benchmarks.picture import Line, log_log
from kspec.field.conform.assignors.findings import Hangs, at_most
from kspec.field.groups.clients import kafka_python
from kspec.field.groups.strategies import AssignorInput
from kspec.impl.assignors import ASSIGNORS
from kspec.spec.assignors import Member, kafka_order

Asked = tuple[Mapping[str, int | None], dict[str, Member]]


@attrs.frozen
class Times:
    """The time of one call, measured several times."""

    best: float
    median: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """The best and the median."""
        return cls(min(seconds), statistics.median(seconds))


# -- sizes ---------------------------------------------------------------------------------------


def one_subscription(topics: int = 500, size: int = 2000, members: int = 2000) -> Asked:
    """A million partitions; all subscribe to all topics."""
    partitions = {f"topic-{number:03d}": size for number in range(topics)}
    subscribed = tuple(partitions)
    return partitions, {f"consumer-{n:05d}": Member(subscribed) for n in range(members)}


def one_differs(topics: int = 500, size: int = 2000, members: int = 2000) -> Asked:
    """The same, but the last member subscribes to one topic only."""
    partitions, everybody = one_subscription(topics, size, members)
    last = max(everybody)
    return partitions, everybody | {last: Member([next(iter(partitions))])}


def half_and_half(topics: int = 100, size: int = 200, members: int = 500) -> Asked:
    """Every fourth member subscribes to the first half of the topics, the others to the rest."""
    partitions, everybody = one_subscription(topics, size, members)
    names = tuple(partitions)
    halves = Member(names[: topics // 2]), Member(names[topics // 2 :])
    return partitions, {name: halves[n % 4 != 0] for n, name in enumerate(everybody)}


def few_topics_each() -> Asked:
    """Forty small topics, and two hundred members with a few random topics each."""
    r = random.Random(1)
    partitions = {f"topic-{number:02d}": r.randint(1, 10) for number in range(40)}
    topics = list(partitions)
    return partitions, {
        f"consumer-{n:03d}": Member([r.choice(topics) for _ in range(r.randint(1, 19))])
        for n in range(200)
    }


SIZES: Mapping[str, Callable[[], Asked]] = {
    "one subscription": one_subscription,
    "one differs": one_differs,
    "half and half": half_and_half,
    "few topics each": few_topics_each,
}


def leave_some(members: dict[str, Member]) -> dict[str, Member]:
    """Fifty of the two hundred leave."""
    gone = set(random.Random(2).sample(sorted(members), 50))
    return {name: member for name, member in members.items() if name not in gone}


def again(strategy: str, asked: Asked) -> Asked:
    """The next round: all but the first member own what they were assigned in generation 1."""
    partitions, members = asked
    assignment = ASSIGNORS[strategy](partitions, members)
    first = min(members)
    owning = {
        name: Member(member.topics, () if name == first else assignment[name], 1)
        for name, member in members.items()
    }
    return partitions, owning


# -- measuring -----------------------------------------------------------------------------------


def timed(call: Callable[[], Any]) -> float:
    """The time of one call, without the time to free its result."""
    begin = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - begin
    del result
    return seconds


@attrs.define
class Peers:
    """The implementations that kspec is compared with."""

    java: KafkaJava | None
    python: Mapping[str, Any]
    repeat: int
    patience: float
    """The time limit of one call of kafka-python, in seconds."""
    given_up: set[tuple[str, str]] = attrs.field(factory=set)

    def measure(self, strategy: str, asked: Asked, size: str) -> dict[str, Times]:
        """The times of each, measured alternately; quick calls are measured more often."""
        ours = [timed(lambda: ASSIGNORS[strategy](*asked)) for _ in range(2)]
        calls = max(1, min(100, round(0.05 / min(ours))))
        if self.java is not None:
            self.java.seconds(strategy, *asked, measurements=3 * calls if calls > 1 else 1)
        ours, kafkas = [], []
        for _ in range(self.repeat):
            ours += [timed(lambda: ASSIGNORS[strategy](*asked)) for _ in range(calls)]
            if self.java is not None:
                kafkas += self.java.seconds_again(calls)
        times = {"kspec": Times.of(ours)}
        if kafkas:
            times["Kafka (Java)"] = Times.of(kafkas)
        if strategy in self.python and (strategy, size) not in self.given_up:
            try:
                with at_most(self.patience, AssignorInput(*asked)):  # type: ignore[arg-type]
                    python = timed(lambda: self.python[strategy](*asked))
                times["kafka-python"] = Times(python, python)
            except Hangs:
                self.given_up.add((strategy, size))
            except Exception:
                pass  # it raises on some of these: see `kspec conform kafka-python`
        return times


# -- what is printed -----------------------------------------------------------------------------


def in_words(seconds: float) -> str:
    """A time, to three digits."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def both(times: Times | None) -> str:
    """The best and the median, or that there are none."""
    return "-" if times is None else f"{in_words(times.best)} / {in_words(times.median)}"


def compare(peers: Peers, sizes: Mapping[str, Callable[[], Asked]], console: Console) -> None:
    """One row for each size, strategy and round."""
    table = Table("size", "strategy", "round", "kspec", "Kafka (Java)", "ratio", "kafka-python")
    for size, make in sizes.items():
        partitions, members = make()
        members = kafka_order(members)
        for strategy in ASSIGNORS:
            rounds = {"fresh": (partitions, members)}
            if "sticky" in strategy:
                rounds["again"] = again(strategy, (partitions, members))
                if size == "few topics each":
                    rounds["50 leave"] = partitions, leave_some(rounds["again"][1])
            for name, asked in rounds.items():
                got = peers.measure(strategy, asked, size)
                ours, java = got["kspec"], got.get("Kafka (Java)")
                python = got.get("kafka-python")
                slow = (strategy, size) in peers.given_up
                table.add_row(
                    size,
                    strategy,
                    name,
                    both(ours),
                    both(java),
                    "-"
                    if java is None
                    else f"{java.best / ours.best:.2g} / {java.median / ours.median:.2g}",
                    f"> {peers.patience:g} s" if slow else in_words(python.best) if python else "-",
                )
                print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    console.print(table)
    console.print("best / median; ratio: Kafka's time by kspec's.")


def growth(peers: Peers, console: Console, picture: Path) -> None:
    """Time against members, ten partitions each, as a table and a picture.

    All subscribe to the same topics: with halves, Kafka's sticky takes minutes long before
    10,000 members.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    counts = [100, 300, 1000, 3000, 10_000]
    for strategy in ("range", "sticky"):
        for members in counts:
            partitions, everybody = one_subscription(100, members // 10, members)
            asked = partitions, kafka_order(everybody)
            for peer, times in peers.measure(strategy, asked, f"{members} members").items():
                lines.setdefault(f"{peer}, {strategy}", []).append((members, times.best))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table = Table("members", *map(str, counts))
    for name, points in lines.items():
        best = dict(points)
        table.add_row(name, *(in_words(best[n]) if n in best else "-" for n in counts))
    console.print(table)
    drawn = [Line(name, points) for name, points in lines.items()]
    picture.write_text(log_log(drawn, across="members, ten partitions each", up="seconds"))
    console.print(f"drawn to {picture}")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kafka-clients", type=Path, metavar="JAR", help="Kafka's own classes")
    parser.add_argument("--size", action="append", choices=list(SIZES), help="only this size")
    parser.add_argument("--repeat", type=int, default=2, help="turns of each (2)")
    parser.add_argument("--patience", type=float, default=3, help="seconds for kafka-python (3)")
    parser.add_argument("--picture", type=Path, metavar="SVG", help="measure growth, and draw it")
    options = parser.parse_args()
    console = Console(width=130)
    jar = options.kafka_clients or find_jar()
    if jar is None:
        console.print(f"Kafka's own assignors are not here. To get them: {HOW_TO_GET}")
    python = kafka_python() if find_spec("kafka") else {}
    if not python:
        console.print("kafka-python is not here. To get it: pip install kafka-python")
    java = None if jar is None else KafkaJava(jar)
    peers = Peers(java, python, options.repeat, options.patience)
    try:
        compare(peers, {s: SIZES[s] for s in options.size or SIZES}, console)
        if options.picture:
            growth(peers, console, options.picture)
    finally:
        if java is not None:
            java.close()


if __name__ == "__main__":
    main()
