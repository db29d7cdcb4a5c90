"""Recordings of `kspec.impl.partition`: what the replicas of a partition report, step by step.

Three replicas write, fetch, leave and join the ISR, and elect leaders, at random. A deposed leader
goes on writing until it learns of the election, so that it truncates. Brokers learn of every
decision of the controller, in order: a leader that is elected again without having learned of the
leader in between would count what a follower held before it truncated, as Kafka does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from kspec.impl.partition import Follower, Leader, Replica, Settings

Event: TypeAlias = dict[str, Any]
Alteration: TypeAlias = Callable[[list[Event], int], None]
Place: TypeAlias = Callable[[list[Event], int], bool]

BROKERS = (0, 1, 2)
LAG_MS = 300


class Decision(NamedTuple):
    """What the controller decided; its partition epoch is its place among all decisions."""

    epoch: int
    leader: int
    isr: frozenset[int]


class Partition:
    """A partition, its controller, and the events so far."""

    def __init__(self, keys: Event, seed: int) -> None:
        self.keys = keys
        self.draw = random.Random(seed)
        self.replicas = {b: Replica(b, Settings(replica_lag_ms=LAG_MS)) for b in BROKERS}
        self.decisions = [Decision(0, 0, frozenset(BROKERS))]
        self.learned = dict.fromkeys(BROKERS, 0)
        """By broker: of how many decisions it has learned."""
        self.now, self.records = 0, 0
        self.events: list[Event] = []
        for broker in BROKERS:
            self.notify(broker)

    def run(self, events: int) -> list[Event]:
        """Go on until there are this many events."""
        steps: list[Callable[[], None]] = [self.write, self.fetch, self.fetch, self.fetch]
        while len(self.events) < events:
            self.now += self.draw.randrange(1, 30)
            if self.draw.random() < 0.01:
                self.elect()
            elif self.draw.random() < 0.1:
                self.notify(self.draw.choice(BROKERS))
            else:
                self.draw.choice(steps)()
        return self.events[:events]

    def write(self) -> None:
        """A producer writes to a replica that takes itself for the leader."""
        leaders = [r for r in self.replicas.values() if isinstance(r.role, Leader)]
        replica = self.draw.choice(leaders)
        count = self.draw.randrange(1, 6)
        replica.append(range(self.records, self.records + count), now=self.now)
        self.records += count
        self.report(replica)

    def fetch(self) -> None:
        """A follower fetches; the leader's ISR may change."""
        replica = self.replicas[self.draw.choice(BROKERS)]
        if not isinstance(replica.role, Follower):
            return
        leader = self.replicas[replica.role.leader]
        request = replica.role.next_request(at_most=10)
        if request is None:
            return
        answer = leader.answer(request, self.now)
        before = replica.log.end
        replica.role.take(answer)
        if replica.log.end < before:
            self.add(replica, event="truncated", offset=replica.log.end)
        self.report(replica)
        if isinstance(leader.role, Leader):
            leader.role.want_shrink(self.now)
            self.decide(leader, leader.role)
            self.report(leader)

    def decide(self, replica: Replica, role: Leader) -> None:
        """The controller accepts what the leader of its own epoch proposes."""
        if role.wanted is None:
            return
        latest = self.decisions[-1]
        if replica.leader_epoch == latest.epoch:
            self.decisions.append(Decision(latest.epoch, latest.leader, role.wanted))
            role.isr_is(role.wanted, len(self.decisions) - 1, self.now)
        else:
            role.isr_stays()

    def elect(self) -> None:
        """The controller elects a member of the ISR, which learns of it first."""
        latest = self.decisions[-1]
        others = sorted(latest.isr - {latest.leader})
        if others:
            leader = self.draw.choice(others)
            self.decisions.append(Decision(latest.epoch + 1, leader, latest.isr))
            self.notify(leader)

    def notify(self, broker: int) -> None:
        """A broker learns of the controller's decisions."""
        replica = self.replicas[broker]
        for version in range(self.learned[broker], len(self.decisions)):
            epoch, leader, isr = self.decisions[version]
            if broker == leader:
                replica.become_leader(epoch, version, isr, BROKERS, self.now)
            else:
                replica.become_follower(epoch, version, leader, isr)
            self.report(replica)
        self.learned[broker] = len(self.decisions)

    def report(self, replica: Replica) -> None:
        """A replica reports its state."""
        role = replica.role
        leads = isinstance(role, Leader)
        self.add(
            replica,
            event="state",
            leader=replica.broker if leads else getattr(role, "leader", None),
            partition_epoch=replica.partition_epoch,
            log_end_offset=replica.log.end,
            high_watermark=replica.hw,
            **({"isr": sorted(role.isr)} if isinstance(role, Leader) else {}),
        )

    def add(self, replica: Replica, **event: Any) -> None:
        """Record an event."""
        self.now += 1
        where = {"time_ms": self.now, "node": replica.broker, "leader_epoch": replica.leader_epoch}
        self.events.append({**self.keys, **where, **event})


# -- alterations ----------------------------------------------------------------------------------


def high_watermark_beyond_the_log(events: list[Event], at: int) -> None:
    """A replica reports a high watermark beyond its log end offset."""
    events[at]["high_watermark"] = events[at]["log_end_offset"] + 1


def second_leader(events: list[Event], at: int) -> None:
    """Another replica leads in the same leader epoch."""
    events[at]["leader"] = (events[at]["leader"] + 1) % len(BROKERS)


def truncation_too_far(events: list[Event], at: int) -> None:
    """A follower truncates committed records."""
    node = events[at]["node"]
    before = next(e for e in reversed(events[:at]) if e["node"] == node)
    events[at]["offset"] = before.get("high_watermark", 1) - 1


def lost_epoch(events: list[Event], at: int) -> None:
    """A replica returns to an earlier leader epoch."""
    events[at]["leader_epoch"] -= 1


def swapped(events: list[Event], at: int) -> None:
    """A replica's first report of a leader epoch changes places with its report before."""
    node = events[at]["node"]
    before = next(n for n in range(at - 1, -1, -1) if events[n]["node"] == node)
    times = events[before]["time_ms"], events[at]["time_ms"]
    events[before], events[at] = events[at], events[before]
    events[before]["time_ms"], events[at]["time_ms"] = times


def is_report(events: list[Event], at: int) -> bool:
    """Whether the event is a report of a replica's state."""
    return bool(events[at]["event"] == "state")


def is_truncation(events: list[Event], at: int) -> bool:
    """Whether the event is a truncation by a replica that had committed records."""
    if events[at]["event"] != "truncated":
        return False
    own = [e for e in events[:at] if e["node"] == events[at]["node"]]
    return bool(own and own[-1].get("high_watermark", 0) > 0)


def is_first_of_epoch(events: list[Event], at: int) -> bool:
    """Whether the event is a replica's first of its leader epoch, and not its first at all."""
    own = [e for e in events[:at] if e["node"] == events[at]["node"]]
    return bool(own and own[-1]["leader_epoch"] < events[at]["leader_epoch"])


ALTERATIONS: dict[str, tuple[Alteration, Place]] = {
    "high watermark beyond the log": (high_watermark_beyond_the_log, is_report),
    "second leader": (second_leader, is_report),
    "committed records truncated": (truncation_too_far, is_truncation),
    "earlier leader epoch": (lost_epoch, is_report),
    "swapped order": (swapped, is_first_of_epoch),
}
"""Alterations of an event, and where each makes sense."""


def alter(events: list[Event], name: str, seed: int) -> int:
    """Alter an event in the second half of a trace; its number, from 1.

    A short trace may have no place for an alteration; then its high watermark is altered.
    """
    change, makes_sense = ALTERATIONS[name]
    places = [at for at in range(len(events) // 2, len(events)) if makes_sense(events, at)]
    if not places:
        return alter(events, next(iter(ALTERATIONS)), seed)
    at = random.Random(seed).choice(places)
    change(events, at)
    return at + 1


def recordings(traces: int, events: int, bad: int) -> Iterator[tuple[list[Event], int, str]]:
    """Recordings, each with the number of its altered event, or 0, and the alteration."""
    names = list(ALTERATIONS)
    every = traces // bad if bad else traces + 1
    altered = 0
    for number in range(traces):
        keys = {"topic": "orders", "partition": number}
        found = Partition(keys, number).run(events)
        if altered < bad and number % every == 0:
            name = names[altered % len(names)]
            altered += 1
            yield found, alter(found, name, number), name
        else:
            yield found, 0, ""
