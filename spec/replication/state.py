"""The state of the model: each broker's log and view, the controller's state, and its requests.

Leadership is announced in LeaderAndIsr requests, which may be lost, delayed or repeated: every
request that was ever sent remains available. Interactions between replicas (fetching,
truncating, ISR changes) are single atomic steps against the leader's current state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NewType

import attrs

from kspec.spec.core import appended, bound, constant, evolve, replaced
from kspec.spec.log import Log
from kspec.spec.watermarks import follower_hw

Broker = NewType("Broker", int)
"""A broker's id. No rule depends on which broker has which id: brokers are interchangeable."""

NO_LEADER = Broker(-1)
"""In place of a broker id: there is no leader. Kafka: `LeaderAndIsr.NO_LEADER`."""
NO_EPOCH = -1
"""In place of a leader epoch: the broker has received no request yet."""


@attrs.frozen
class Bounds:
    """The constants of the model, and the limits that keep its state space finite."""

    brokers: int = bound(3, 1, 5, "brokers, each with one replica of the partition")
    log_size: int = bound(2, 1, 8, "largest number of records in a log")
    max_records: int = bound(2, 1, 8, "largest number of records that are ever written")
    max_epoch: int = bound(1, 0, 8, "last leader epoch; the first is 0")


@attrs.frozen
class LeaderAndIsr:
    """A decision of the controller: who leads, and who is in the ISR."""

    epoch: int
    """The leader epoch that begins with this decision."""
    leader: Broker
    """The leader's broker id, or NO_LEADER."""
    isr: frozenset[Broker]
    """The in-sync replicas: the brokers that must hold a record before it is committed."""


@attrs.frozen
class View:
    """What one broker knows of the partition: its last request, and its own high watermark."""

    hw: int = 0
    """High watermark: the records below it are committed, as far as this broker knows."""
    epoch: int = NO_EPOCH
    """The leader epoch of the last request that this broker accepted."""
    leader: Broker = NO_LEADER
    """The leader that this request names."""
    isr: frozenset[Broker] = frozenset()
    """The ISR of this request; a leader keeps its own up to date, a follower does not use it."""


@attrs.frozen(cache_hash=True)
class Cluster:
    """One partition on all its brokers."""

    logs: Annotated[tuple[Log, ...], Broker]
    """Each broker's log, by broker id."""
    views: Annotated[tuple[View, ...], Broker]
    """Each broker's view, by broker id."""
    quorum: LeaderAndIsr
    """The controller's state, as ZooKeeper or the metadata log stores it."""
    requests: tuple[LeaderAndIsr, ...]
    """Every request that was ever sent, by leader epoch; each decision has an epoch of its own."""
    next_record: int
    """The id of the next record that is written."""
    bounds: Bounds = constant()
    """The bounds of this run."""

    # -- predicates ---------------------------------------------------------------------------

    @property
    def next_epoch(self) -> int:
        """The leader epoch of the controller's next decision."""
        return len(self.requests)

    def presumes_leadership(self, broker: int) -> bool:
        """Whether the broker believes that it leads; several brokers may at the same time."""
        return self.views[broker].leader == broker

    def follows(self, follower: int, leader: int) -> bool:
        """Whether the follower believes that this broker leads, in whatever epoch."""
        return self.views[follower].leader == leader

    def follows_epoch(self, follower: int, leader: int) -> bool:
        """Whether both agree on who leads, and in which leader epoch: what KIP-320 fences on."""
        own, theirs = self.views[follower], self.views[leader]
        return own.leader == theirs.leader == leader and own.epoch == theirs.epoch

    def is_current_leader(self, broker: int) -> bool:
        """Whether the broker leads in the controller's current epoch, and knows that it does."""
        view, now = self.views[broker], self.quorum
        return view.leader == now.leader == broker and view.epoch == now.epoch

    # -- updates ------------------------------------------------------------------------------

    def with_view(self, broker: int, **changes: Any) -> Cluster:
        """The cluster with some fields of one broker's view changed."""
        view = evolve(self.views[broker], **changes)
        return evolve(self, views=replaced(self.views, broker, view))

    def with_log(self, broker: int, log: Log) -> Cluster:
        """The cluster with another log on one broker."""
        return evolve(self, logs=replaced(self.logs, broker, log))

    def with_truncated_log(self, broker: int, offset: int) -> Cluster:
        """The cluster after one broker truncated its log; its high watermark stays within it."""
        log = self.logs[broker].truncate_to(offset)
        hw = follower_hw(self.views[broker].hw, log.end)
        return self.with_log(broker, log).with_view(broker, hw=hw)

    def with_request(self, leader: Broker, isr: Iterable[Broker]) -> Cluster:
        """The cluster after the controller decided: the next leader epoch begins."""
        decision = LeaderAndIsr(self.next_epoch, leader, frozenset(isr))
        return evolve(self, quorum=decision, requests=appended(self.requests, decision))

    def with_isr(self, leader: int, isr: Iterable[Broker]) -> Cluster:
        """The cluster after the current leader changed the ISR; the leader epoch stays.

        Kafka: `Partition.submitAlterPartition` (KIP-497), before 2.7 a conditional write to
        ZooKeeper. Simplification: the change is committed at once, or not proposed.
        """
        changed = frozenset(isr)
        quorum = evolve(self.quorum, isr=changed)
        return evolve(self.with_view(leader, isr=changed), quorum=quorum)


def initial(bounds: Bounds) -> list[Cluster]:
    """Empty logs, every broker in the ISR, no leader, and no request sent."""
    return [
        Cluster(
            logs=(Log(),) * bounds.brokers,
            views=(View(),) * bounds.brokers,
            quorum=LeaderAndIsr(NO_EPOCH, NO_LEADER, frozenset(map(Broker, range(bounds.brokers)))),
            requests=(),
            next_record=0,
            bounds=bounds,
        )
    ]


def no_leader_can_be_elected(s: Cluster) -> bool:
    """Whether there is no leader and the ISR is empty: only an unclean election is left."""
    return s.quorum.leader == NO_LEADER and not s.quorum.isr


# -- choices ------------------------------------------------------------------------------------


def brokers(s: Cluster) -> range:
    """Every broker."""
    return range(len(s.logs))


def requests(s: Cluster) -> tuple[LeaderAndIsr, ...]:
    """Every request that was ever sent."""
    return s.requests
