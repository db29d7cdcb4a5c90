"""What there is: the logs, what each broker believes, and the controller's truth.

Leadership travels in LeaderAndIsr requests, which may be lost, late or repeated: every request
ever sent stays there to be taken. Everything between replicas (fetching, truncating, watching
who lags) happens in one atomic step, with the leader's state as it is at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from spec.core import (
    appended,
    bound,
    constant,
    evolve,
    replaced,
)
from spec.log import Log

NO_LEADER = -1
"""Where a broker id is expected and there is no leader; as Kafka writes it."""
NO_EPOCH = -1
"""Where a leader epoch is expected and none was heard of yet."""


@attrs.frozen
class Bounds:
    """How large the world is in which every state is looked at."""

    brokers: int = bound(3, 1, 5, "replicas of the partition, one on each broker")
    log_size: int = bound(2, 1, 8, "records that a log holds at the most")
    max_records: int = bound(2, 1, 8, "records that are ever written")
    max_epoch: int = bound(1, 0, 8, "the last leader epoch; epochs begin with 0")


@attrs.frozen
class LeaderAndIsr:
    """Who leads and who is in sync, by the controller's word (LeaderAndIsr request)."""

    epoch: int
    """The leader epoch that this decision began."""
    leader: int
    """The leader's broker id, or NO_LEADER."""
    isr: frozenset[int]
    """The brokers that must hold a record before it counts as committed."""


@attrs.frozen
class View:
    """What one broker last heard about the partition, and its own high watermark."""

    hw: int = 0
    """High watermark: the records below it are committed, as far as this broker knows."""
    epoch: int = NO_EPOCH
    """The newest leader epoch that this broker acted on."""
    leader: int = NO_LEADER
    """The broker that it takes for the leader."""
    isr: frozenset[int] = frozenset()
    """The ISR it last heard of; only a leader uses its own."""


@attrs.frozen(cache_hash=True)
class Cluster:
    """One partition on all its brokers."""

    logs: tuple[Log, ...]
    """Each broker's log, by broker id."""
    views: tuple[View, ...]
    """Each broker's view, by broker id."""
    quorum: LeaderAndIsr
    """The controller's truth, as ZooKeeper or the metadata log has it."""
    requests: tuple[LeaderAndIsr, ...]
    """Every request ever sent, by leader epoch: each epoch is sent once, and none is unsent."""
    next_record: int
    """The id that the next written record gets."""
    bounds: Bounds = constant()
    """How large this world is."""

    # -- words that the rules are told in ---------------------------------------------------

    @property
    def next_epoch(self) -> int:
        """The leader epoch that the controller's next decision gets."""
        return len(self.requests)

    def presumes_leadership(self, broker: int) -> bool:
        """Whether the broker believes that it leads. Several may, at one moment."""
        return self.views[broker].leader == broker

    def follows(self, follower: int, leader: int) -> bool:
        """Whether the follower takes that broker for the leader, whatever the epoch."""
        return self.views[follower].leader == leader

    def follows_epoch(self, follower: int, leader: int) -> bool:
        """Whether both agree on who leads, and in which epoch: what KIP-320 fences by."""
        return (
            self.presumes_leadership(leader)
            and self.follows(follower, leader)
            and self.views[follower].epoch == self.views[leader].epoch
        )

    def is_true_leader(self, broker: int) -> bool:
        """Whether the controller would accept an ISR change from this broker."""
        return (
            self.quorum.leader == broker
            and self.presumes_leadership(broker)
            and self.views[broker].epoch == self.quorum.epoch
        )

    # -- updates that several rules share -----------------------------------------------------

    def with_view(self, broker: int, **changes: Any) -> Cluster:
        """The cluster with a changed view of one broker."""
        view = evolve(self.views[broker], **changes)
        return evolve(self, views=replaced(self.views, broker, view))

    def with_log(self, broker: int, log: Log) -> Cluster:
        """The cluster with another log on one broker."""
        return evolve(self, logs=replaced(self.logs, broker, log))

    def sends(self, leader: int, isr: Iterable[int]) -> Cluster:
        """The controller decides: the next epoch begins, and the brokers are told."""
        decision = LeaderAndIsr(self.next_epoch, leader, frozenset(isr))
        return evolve(self, quorum=decision, requests=appended(self.requests, decision))

    def changes_isr(self, leader: int, isr: Iterable[int]) -> Cluster:
        """The true leader changes the ISR: no new epoch, and nobody else is told.

        Kafka: `Partition.expandIsr`, `shrinkIsr`; a conditional write to ZooKeeper, since
        KIP-497 the AlterPartition request. Simplification: it succeeds at once or not at all.
        """
        changed = frozenset(isr)
        quorum = evolve(self.quorum, isr=changed)
        return evolve(self.with_view(leader, isr=changed), quorum=quorum)


def initial(bounds: Bounds) -> list[Cluster]:
    """Empty logs, nobody has heard anything, and every broker is in the ISR."""
    return [
        Cluster(
            logs=(Log(),) * bounds.brokers,
            views=(View(),) * bounds.brokers,
            quorum=LeaderAndIsr(NO_EPOCH, NO_LEADER, frozenset(range(bounds.brokers))),
            requests=(),
            next_record=0,
            bounds=bounds,
        )
    ]


def nobody_is_left(s: Cluster) -> bool:
    """Whether the ISR is empty and nobody leads: only an unclean election would go on."""
    return s.quorum.leader == NO_LEADER and not s.quorum.isr


# -- what rules choose from -----------------------------------------------------------------


def brokers(s: Cluster) -> range:
    """Every broker."""
    return range(len(s.logs))


def requests(s: Cluster) -> tuple[LeaderAndIsr, ...]:
    """Every request that was ever sent."""
    return s.requests
