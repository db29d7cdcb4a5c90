"""The follower's rules: it follows another leader, and truncates its log before it fetches."""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, rule
from kspec.spec.leader_epochs import UNDEFINED, EpochEnd, truncation_for
from kspec.spec.partition.leader import taken
from kspec.spec.partition.state import Broker, Cluster, brokers, epochs


@rule(by="follower", broker=brokers, epoch=epochs)
def broker_becomes_follower(s: Cluster, broker: Broker, epoch: int) -> Step[Cluster]:
    """A broker takes a decision that names another leader: it will truncate before it fetches.

    This holds in each new leader epoch, under the same leader as well. Kafka:
    `Partition.makeFollower`, `ReplicaManager.makeFollowers`. An empty log needs no truncation.
    """
    s = yield from followed(s, broker, epoch)
    truncates = s.replicas[broker].log.end > 0
    s = s.with_replica(broker, leadership=None, truncates=truncates)
    return s if truncates else s.with_log_cut(broker, 0)


def followed(s: Cluster, broker: int, epoch: int) -> Guarded[Cluster]:
    """A broker takes a decision that names another leader."""
    s, decision = yield from taken(s, broker, epoch)
    yield "decision names another broker", decision.leader != broker
    return s


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower asks its leader where the follower's latest epoch ended, and truncates there.

    It asks again until both know the epoch of the response. Kafka:
    `Partition.lastOffsetForLeaderEpoch` on the leader,
    `AbstractFetcherThread.getOffsetTruncationState` on the follower (KIP-101, KIP-279).
    """
    end = yield from answers(s, leader, follower)
    return with_truncation(s, follower, end)


def answers(s: Cluster, leader: int, follower: int) -> Guarded[EpochEnd]:
    """The leader's answer to a follower in its leader epoch: where the follower's latest one ended.

    Kafka: `Partition.lastOffsetForLeaderEpoch`.
    """
    yield from asks(s, leader, follower)
    own, theirs = s.replicas[follower], s.replicas[leader]
    yield "follower is in the leader's epoch", own.epoch == theirs.epoch
    latest = own.epochs.latest_epoch
    return theirs.epochs.end_of(UNDEFINED if latest is None else latest, theirs.log.end)


def asks(s: Cluster, leader: int, follower: int) -> Guarded[None]:
    """Guards of a follower that asks its leader where an epoch ended."""
    own = s.replicas[follower]
    yield "broker presumes leadership", s.replicas[leader].leadership is not None
    yield "follower follows the leader", own.leader == leader
    yield "follower truncates", own.truncates


def with_truncation(s: Cluster, follower: int, end: EpochEnd) -> Cluster:
    """The cluster after a follower truncated as the response says; it fetches next, or asks again.

    Kafka: `AbstractFetcherThread.getOffsetTruncationState`.
    """
    own = s.replicas[follower]
    cut = truncation_for(end, own.epochs, own.log.end, own.hw)
    return s.with_log_cut(follower, cut.offset).with_replica(follower, truncates=not cut.done)
