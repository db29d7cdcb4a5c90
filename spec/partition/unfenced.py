"""The rules before 2.1: requests of followers carry no leader epoch, and nothing is fenced.

Classes and methods are named as in 0.10.2.1, 0.11.0.0 and 2.0.0.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, rule
from kspec.spec.leader_epochs import NOWHERE, UNDEFINED, EpochEnd, LeaderEpochs
from kspec.spec.partition.follower import asks, followed, with_truncation
from kspec.spec.partition.leader import (
    can_write_isr,
    counted,
    fetched,
    led,
    lower_end_listed,
    may_join,
    with_advanced_hw,
    with_written_isr,
)
from kspec.spec.partition.state import Broker, Cluster, brokers, epochs

# -- leader ---------------------------------------------------------------------------------------


@rule(by="leader", broker=brokers, epoch=epochs)
def broker_becomes_leader_without_epoch_entry(
    s: Cluster, broker: Broker, epoch: int
) -> Step[Cluster]:
    """A broker takes a decision that names it leader; its epoch begins with its first record.

    Kafka: `Partition.makeLeader`, `LeaderEpochFileCache.assign` (2.0.0; before KAFKA-7415).
    """
    s = yield from led(s, broker, epoch, is_noted=False)
    return with_advanced_hw(s, broker)


@rule(by="consumer", leader=brokers)
def leader_lists_lower_end_at_once(s: Cluster, leader: Broker) -> Step[Cluster]:
    """A new leader lists its high watermark, which may be lower than its predecessor's.

    Kafka: `Partition.fetchOffsetForTimestamp` (2.1.0; KAFKA-2334).
    """
    yield "leadership is current", s.leads(leader)
    return (yield from lower_end_listed(s, leader))


def requests_unfenced(s: Cluster, leader: int, follower: int) -> Guarded[None]:
    """Guards of a fetch that carries no leader epoch.

    Kafka: `ReplicaManager.getLeaderReplicaIfLocal`.
    """
    yield "broker presumes leadership", s.replicas[leader].leadership is not None
    yield "follower fetches from the leader", s.fetches_from(follower, leader)


def answered_requests(s: Cluster, leader: int, follower: int) -> Guarded[None]:
    """Guards of a fetch that is not answered with OFFSET_OUT_OF_RANGE.

    Kafka: `ReplicaManager.readFromLocalLog`, `Log.read`.
    """
    yield from requests_unfenced(s, leader, follower)
    is_within = s.replicas[follower].log.end <= s.replicas[leader].log.end
    yield "fetch offset is within the leader's log", is_within


def joins_isr_at_hw(s: Cluster, leader: int, follower: int) -> bool:
    """Whether a fetch expands the ISR: the follower's log must have reached the HW.

    Kafka: `Partition.maybeExpandIsr` (2.0.0; before KAFKA-7128).
    """
    return may_join(s, leader, follower, 0) and can_write_isr(s, leader)


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_any_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives that the leader parks, or whose response is lost.

    The leader does not notice that the follower is in another leader epoch. Kafka:
    `Partition.updateReplicaLogReadResult`.
    """
    yield from answered_requests(s, leader, follower)
    joins = joins_isr_at_hw(s, leader, follower)
    s = yield from counted(s, leader, follower, joins, with_written_isr)
    return with_advanced_hw(s, leader)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches_in_any_epoch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower appends what its leader returns, and learns the leader's high watermark.

    Kafka: `ReplicaManager.readFromLocalLog`, `ReplicaFetcherThread.processPartitionData`.
    """
    yield from answered_requests(s, leader, follower)
    joins = joins_isr_at_hw(s, leader, follower)
    s = yield from fetched(s, leader, follower, joins, with_written_isr)
    return with_advanced_hw(s, leader)


# -- follower -------------------------------------------------------------------------------------

# Under the same leader `Partition.makeFollower` returns false (up to 2.0.0; in 2.0.1, for the same
# or the next epoch only), and `ReplicaManager.makeFollowers` skips the partition.


@rule(by="follower", broker=brokers, epoch=epochs)
def broker_becomes_follower_and_truncates_to_hw(
    s: Cluster, broker: Broker, epoch: int
) -> Step[Cluster]:
    """A broker takes a decision that names another leader, and truncates to its high watermark.

    The high watermark may be one fetch old. Kafka: `ReplicaManager.makeFollowers` (0.10.2.1).
    """
    before = s.replicas[broker].leader
    s = yield from followed(s, broker, epoch)
    if s.replicas[broker].leader == before:
        return s
    return s.with_replica(broker, leadership=None).with_log_cut(broker, s.replicas[broker].hw)


@rule(by="follower", broker=brokers, epoch=epochs)
def broker_becomes_follower_of_new_leader(s: Cluster, broker: Broker, epoch: int) -> Step[Cluster]:
    """A broker takes a decision that names another leader: it will truncate before it fetches.

    Under the same leader it continues to fetch. Kafka: `Partition.makeFollower` (0.11.0.0, 2.0.0).
    """
    before = s.replicas[broker].leader
    s = yield from followed(s, broker, epoch)
    if s.replicas[broker].leader == before:
        return s
    truncates = s.replicas[broker].log.end > 0
    return s.with_replica(broker, leadership=None, truncates=truncates)


def known_end(cache: LeaderEpochs, epoch: int | None, log_end: int) -> EpochEnd:
    """Where an epoch ended; an epoch older than the first entry is unknown.

    Kafka: `LeaderEpochFileCache.endOffsetFor` (0.11.0.0, 2.0.0).
    """
    if epoch is None or not cache.entries or epoch < cache.entries[0].epoch:
        return NOWHERE
    return cache.end_of(epoch, log_end)


def answered(s: Cluster, leader: int, follower: int) -> Guarded[EpochEnd]:
    """A follower asks where its latest epoch ended, in a request without a leader epoch."""
    yield from asks(s, leader, follower)
    own, theirs = s.replicas[follower], s.replicas[leader]
    return known_end(theirs.epochs, own.epochs.latest_epoch, theirs.log.end)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates_to_epoch_end(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower truncates where its latest epoch ended in the leader's log (KIP-101).

    The response is an offset without the epoch that it belongs to. Kafka:
    `LeaderEpochFileCache.endOffsetFor`, `ReplicaFetcherThread.maybeTruncate` (0.11.0.0).
    """
    end = yield from answered(s, leader, follower)
    return with_truncation(s, follower, EpochEnd(UNDEFINED, end.offset))


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates_to_agreed_epoch(
    s: Cluster, leader: Broker, follower: Broker
) -> Step[Cluster]:
    """A follower truncates where its latest epoch ended; it asks again until both know the epoch.

    Where the follower does not know the epoch of the response, which is older than its first, it
    truncates by the offset alone. Kafka: `AbstractFetcherThread.getOffsetTruncationState` (2.0.0,
    KIP-279).
    """
    end = yield from answered(s, leader, follower)
    own = s.replicas[follower]
    if known_end(own.epochs, end.epoch, own.log.end) == NOWHERE:
        end = EpochEnd(UNDEFINED, end.offset)
    return with_truncation(s, follower, end)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates_to_leader_end(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower whose fetch offset is beyond the leader's log end truncates to it.

    Kafka: the leader answers OFFSET_OUT_OF_RANGE, and the follower asks for its log end offset:
    `ReplicaFetcherThread.handleOffsetOutOfRange`. Simplification: both are one step; where unclean
    elections are not allowed, the broker exits instead.
    """
    yield from requests_unfenced(s, leader, follower)
    end = s.replicas[leader].log.end
    yield "fetch offset is beyond the leader's log", s.replicas[follower].log.end > end
    return s.with_log_cut(follower, end)
