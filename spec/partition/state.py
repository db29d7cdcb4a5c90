"""The state: the replicas, the decisions on their way to them, and the controller's state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NewType

import attrs

from kspec.spec.core import appended, bound, constant, evolve, replaced, tally
from kspec.spec.in_sync import effective_min_isr
from kspec.spec.leader_epochs import EpochEnd, LeaderEpochs
from kspec.spec.log import Log, Record
from kspec.spec.watermarks import follower_hw

Broker = NewType("Broker", int)
"""A broker's id. Each broker has one replica of the partition."""

NO_BROKER = Broker(-1)
"""Instead of a broker id: there is no leader. Kafka: `LeaderAndIsr.NO_LEADER`."""
NO_EPOCH = -1
"""Instead of a leader epoch: the broker knows of no decision yet."""
UNKNOWN = -1
"""Instead of an end offset: the follower has not fetched from this leader yet."""
ALL = -1
"""acks=all."""


@attrs.frozen
class Bounds:
    """The settings of the cluster and of the producer, and the failures that may happen."""

    brokers: int = bound(3, 1, 4, "brokers, each with one replica (replication.factor)")
    records: int = bound(1, 1, 4, "records that producers send")
    acks: int = bound(-1, -1, 1, "acks of the producer; -1 is all")
    min_insync: int = bound(2, 1, 4, "min.insync.replicas")
    unclean: int = bound(0, 0, 1, "unclean.leader.election.enable; 1 is true")
    flush_each_record: int = bound(0, 0, 1, "1: log.flush.interval.messages is 1; 0: the default")
    crashes: int = bound(1, 0, 3, "processes that end without a shutdown; the log stays intact")
    power_losses: int = bound(0, 0, 3, "machines that lose power; unflushed records are lost")
    disk_losses: int = bound(0, 0, 3, "brokers that lose their log")
    cut_offs: int = bound(0, 0, 3, "brokers that lose contact with the controller")
    leader_moves: int = bound(0, 0, 3, "elections of another leader while one is alive")
    slow_followers: int = bound(1, 0, 1, "1: a follower that is up may be found out of sync")

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas, but at most the number of replicas."""
        return effective_min_isr(self.min_insync, self.brokers)


@attrs.frozen
class Decision:
    """A decision of the controller that begins a leader epoch."""

    epoch: int
    """The leader epoch."""
    leader: Broker
    """The leader's broker id, or NO_BROKER."""
    isr: frozenset[Broker]
    """The in-sync replicas."""


@attrs.frozen
class Leadership:
    """What a broker knows while it presumes that it leads."""

    isr: frozenset[Broker]
    """The ISR that it last learned or wrote."""
    ends: Annotated[tuple[int, ...], Broker]
    """By follower: the offset of its last counted fetch, or UNKNOWN."""
    since: int
    """The leader epoch in which it became leader; later decisions may have confirmed it."""
    pending: frozenset[Broker] | None = None
    """The ISR that it proposed in AlterPartition, until it learns the outcome (KIP-497)."""
    restarted: frozenset[Broker] = frozenset()
    """Followers that restarted after their last counted fetch, whose broker epoch is now old."""

    @property
    def maximal_isr(self) -> frozenset[Broker]:
        """The ISR and the follower that may be joining it. Kafka: `PartitionState.maximalIsr`."""
        return self.isr if self.pending is None else self.isr | self.pending


@attrs.frozen
class Replica:
    """One broker's replica. The log, the epochs and, roughly, the high watermark are on disk."""

    log: Log = attrs.field(factory=Log)
    """The records."""
    epochs: LeaderEpochs = attrs.field(factory=LeaderEpochs)
    """The leader-epoch cache."""
    hw: int = 0
    """High watermark; of a broker that is down, the last one, which may not be in a checkpoint."""
    is_up: bool = True
    """Whether the broker's process runs."""
    epoch: int = NO_EPOCH
    """The leader epoch of the last decision that it took."""
    leader: Broker = NO_BROKER
    """The leader that this decision names."""
    truncates: bool = False
    """Whether it is a follower that asks where an epoch ended and does not fetch yet."""
    leadership: Leadership | None = None
    """What it knows as a leader; None of a broker that does not presume leadership.

    Several brokers may presume leadership at the same time.
    """


@attrs.frozen(order=True)
class Request:
    """A Fetch or OffsetsForLeaderEpoch request, with the state of its sender at that time."""

    follower: Broker
    """The broker that sent it."""
    leader: Broker
    """The broker to which it was sent."""
    epoch: int
    """The leader epoch in which it was sent (currentLeaderEpoch, KIP-320)."""
    latest: int
    """The epoch of the sender's last record, or NO_EPOCH (leaderEpoch, lastFetchedEpoch)."""
    offset: int
    """The sender's log end offset (fetchOffset)."""
    truncates: bool
    """True: it asks where the latest epoch ended; false: it fetches."""
    is_parked: bool = False
    """Whether it is a fetch that the leader has counted and parked (`DelayedFetch`)."""
    is_late: bool = False
    """Whether the process that sent it has ended since."""


@attrs.frozen(order=True)
class Response:
    """A leader's response to a follower's request."""

    request: Request
    """The request."""
    records: tuple[Record, ...] = ()
    """The records from the fetch offset on."""
    hw: int = 0
    """The leader's high watermark, in the response to a fetch."""
    end: EpochEnd | None = None
    """Where the follower's latest epoch ended, if it asked; since 2.7, if it diverges."""


@attrs.frozen
class Registration:
    """The controller's state of the partition, in ZooKeeper or in the metadata log."""

    epoch: int
    """The leader epoch."""
    leader: Broker
    """The leader, or NO_BROKER."""
    isr: frozenset[Broker]
    """The in-sync replicas."""
    elr: frozenset[Broker] = frozenset()
    """Eligible leader replicas: outside the ISR, but they hold all committed records (KIP-966)."""
    last_leader: Broker = NO_BROKER
    """The last leader, once the ISR is empty: it may lead if no other broker may (lastKnownElr)."""


@attrs.frozen
class Ghosts:
    """What clients have seen; no rule reads it."""

    acknowledged: frozenset[int] = frozenset()
    """The ids of the records that a producer considers written."""
    readable: tuple[int, ...] = ()
    """By offset: the id of the first record that a consumer could read there."""
    listed_end_went_back: bool = False
    """Whether a leader listed a lower end offset than an earlier leader could."""


@attrs.frozen(cache_hash=True)
class Cluster:
    """One partition on all its brokers."""

    replicas: Annotated[tuple[Replica, ...], Broker]
    """Each broker's replica."""
    decisions: Annotated[tuple[tuple[Decision, ...], ...], Broker]
    """By broker: the decisions that it may still take, oldest first."""
    registration: Registration
    """The controller's state of the partition."""
    fenced: frozenset[Broker]
    """The brokers that the controller considers failed."""
    requests: frozenset[Request] = frozenset()
    """Requests of followers that are in flight or parked, if the model has messages."""
    responses: frozenset[Response] = frozenset()
    """Responses to followers that are in flight, if the model has messages."""
    ghosts: Ghosts = attrs.field(factory=Ghosts)
    """What producers and consumers have seen."""
    sent: int = tally()
    """The number of records that producers sent, and the id of the next one."""
    crashes: int = tally()
    """The number of crashes so far."""
    power_losses: int = tally()
    """The number of brokers that lost power so far."""
    disk_losses: int = tally()
    """The number of lost disks so far."""
    cut_offs: int = tally()
    """The number of brokers that were cut off from the controller so far."""
    leader_moves: int = tally()
    """The number of elections so far that replaced a leader that was alive."""
    bounds: Bounds = constant()
    """The bounds of this run."""

    # -- predicates -------------------------------------------------------------------------------

    def leads(self, broker: int) -> bool:
        """Whether the controller has the broker as leader, and the broker knows it."""
        replica, now = self.replicas[broker], self.registration
        is_current = now.leader == broker and now.epoch == replica.epoch
        return replica.leadership is not None and is_current

    def fetches_from(self, follower: int, leader: int) -> bool:
        """Whether the follower follows this leader, and fetches from it."""
        replica = self.replicas[follower]
        return replica.leader == leader and follower != leader and not replica.truncates

    # -- updates ----------------------------------------------------------------------------------

    def with_replica(self, broker: int, **changes: Any) -> Cluster:
        """The cluster with some fields of one replica changed."""
        replica = evolve(self.replicas[broker], **changes)
        return evolve(self, replicas=replaced(self.replicas, broker, replica))

    def with_leadership(self, leader: int, **changes: Any) -> Cluster:
        """The cluster with some fields of one broker's leadership changed."""
        return self.with_replica(
            leader, leadership=evolve(self.replicas[leader].leadership, **changes)
        )

    def with_log_cut(self, broker: int, offset: int) -> Cluster:
        """The cluster after a broker truncated its log, and limited its high watermark to it.

        Kafka: `UnifiedLog.truncateTo`.
        """
        replica = self.replicas[broker]
        log = replica.log.truncate_to(offset)
        epochs = replica.epochs.truncate_from_end(log.end)
        return self.with_replica(
            broker, log=log, epochs=epochs, hw=follower_hw(replica.hw, log.end)
        )

    def with_isr(self, isr: frozenset[Broker]) -> Cluster:
        """The cluster after the controller's ISR changed; the leader epoch stays."""
        return evolve(self, registration=evolve(self.registration, isr=isr))

    def with_decision(self, leader: Broker, isr: frozenset[Broker]) -> Cluster:
        """The cluster after a decision that begins a leader epoch, sent to the live brokers."""
        epoch = self.registration.epoch + 1
        registration = evolve(self.registration, epoch=epoch, leader=leader, isr=isr)
        s = evolve(self, registration=registration)
        for broker in range(len(s.replicas)):
            if s.replicas[broker].is_up and broker not in s.fenced:
                s = s.with_news(broker, Decision(epoch, leader, isr))
        return s

    def with_news(self, broker: int, decision: Decision) -> Cluster:
        """The cluster with one more decision on its way to a broker.

        A decision without a leader has no effect on a broker, and is not sent: Kafka,
        `ReplicaManager.makeFollowers` (3.9.0) skips a partition whose leader is not alive.
        """
        if decision.leader == NO_BROKER:
            return self
        inbox = appended(self.decisions[broker], decision)
        return evolve(self, decisions=replaced(self.decisions, broker, inbox))


def initial(bounds: Bounds) -> list[Cluster]:
    """Empty logs; every broker is up and in the ISR; broker 0 leads, and all know it."""
    brokers = range(bounds.brokers)
    isr = frozenset(map(Broker, brokers))
    leader = Replica(
        epochs=LeaderEpochs().assign(0, 0),
        epoch=0,
        leader=Broker(0),
        leadership=Leadership(isr=isr, ends=(UNKNOWN,) * bounds.brokers, since=0),
    )
    follower = Replica(epoch=0, leader=Broker(0))
    return [
        Cluster(
            replicas=(leader, *[follower] * (bounds.brokers - 1)),
            decisions=((),) * bounds.brokers,
            registration=Registration(0, Broker(0), isr),
            fenced=frozenset(),
            bounds=bounds,
        )
    ]


# -- choices --------------------------------------------------------------------------------------


def brokers(s: Cluster) -> Iterable[Broker]:
    """Every broker."""
    return map(Broker, range(s.bounds.brokers))


def successors(s: Cluster) -> Iterable[Broker]:
    """Every broker, and none."""
    return map(Broker, range(NO_BROKER, s.bounds.brokers))


def epochs(s: Cluster) -> range:
    """Every leader epoch: the first one, and those that failures, their ends and elections begin.

    A broker that restarts may still be in the first one: it takes the current decision again.
    """
    b = s.bounds
    failures = b.crashes + b.power_losses + b.disk_losses + b.cut_offs
    return range(2 * failures + b.leader_moves + 1)


def offsets(s: Cluster) -> range:
    """Every log end offset, and every high watermark."""
    return range(s.bounds.records + 1)
