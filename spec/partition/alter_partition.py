"""The rules since 2.7: fetches find divergence (KIP-595), and the controller commits ISR changes.

A leader proposes an ISR in an AlterPartition request (KIP-497, first named AlterIsr). The request
in flight always matches the leader's proposal, so it needs no field. The leader repeats it until
it is answered; a late response has the effect that it would have had at once.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, limit, present, rule
from kspec.spec.leader_epochs import UNDEFINED, EpochEnd, truncation_for
from kspec.spec.partition.follower import followed
from kspec.spec.partition.leader import (
    counted,
    fetched,
    may_join,
    may_lag,
    requests,
    with_advanced_hw,
)
from kspec.spec.partition.state import Broker, Cluster, Leadership, brokers, epochs
from kspec.spec.serving import Fetch, FetchIsolation, diverges

# -- divergence -----------------------------------------------------------------------------------


def divergence(s: Cluster, leader: int, follower: int) -> EpochEnd | None:
    """Where the follower's log diverges from the leader's, or None if its last epoch agrees.

    Kafka: `Partition.readRecords`, by the epoch of the follower's last record (lastFetchedEpoch).
    """
    own, theirs = s.replicas[follower], s.replicas[leader]
    latest = own.epochs.latest_epoch
    end = theirs.epochs.end_of(UNDEFINED if latest is None else latest, theirs.log.end)
    fetch = Fetch(own.log.end, FetchIsolation.LOG_END, last_epoch=latest)
    return end if diverges(fetch, end) else None


@rule(by="follower", broker=brokers, epoch=epochs)
def broker_becomes_fetching_follower(s: Cluster, broker: Broker, epoch: int) -> Step[Cluster]:
    """A broker takes a decision that names another leader, and fetches at once.

    Kafka: `Partition.makeFollower`, `AbstractFetcherThread.partitionFetchState`. Its log may
    diverge from the leader's until a fetch finds out.
    """
    s = yield from followed(s, broker, epoch)
    s = s.with_replica(broker, leadership=None)
    return s.with_log_cut(broker, 0) if s.replicas[broker].log.end == 0 else s


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates_on_divergence(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower truncates where the response says that its log diverges.

    The leader does not count such a fetch, and the follower does not take over its high watermark
    (KAFKA-14704). Kafka: `Partition.fetchRecords`, `AbstractFetcherThread.truncateOnFetchResponse`.
    """
    yield from requests(s, leader, follower)
    end = yield from present("logs diverge", divergence(s, leader, follower))
    own = s.replicas[follower]
    cut = truncation_for(end, own.epochs, own.log.end, own.hw)
    return s.with_log_cut(follower, cut.offset)


# -- fetches --------------------------------------------------------------------------------------


def joins_by_proposal(s: Cluster, leader: int, follower: int) -> bool:
    """Whether the leader proposes that the follower joins the ISR; one proposal at a time.

    The follower's log must have reached the leader's high watermark and the start of its epoch.
    Kafka: `Partition.needsExpandIsr`, `isFollowerInSync`.
    """
    replica = s.replicas[leader]
    is_idle = replica.leadership is not None and replica.leadership.pending is None
    return is_idle and may_join(s, leader, follower, replica.epochs.entries[-1].start)


def with_proposed_isr(s: Cluster, leader: int, isr: frozenset[Broker]) -> Cluster:
    """The leader proposes an ISR to the controller.

    Kafka: `Partition.submitAlterPartition` (`sendAlterIsrRequest` in 2.7).
    """
    return s.with_leadership(leader, pending=isr)


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_agreeing_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives that the leader parks, or whose response is lost.

    It is counted only if the logs agree (KAFKA-13141). The leader may propose that the follower
    joins the ISR (`joins_by_proposal`). Kafka: `Partition.fetchRecords`,
    `updateFollowerFetchState`.
    """
    yield from requests(s, leader, follower)
    yield "logs agree", divergence(s, leader, follower) is None
    joins = joins_by_proposal(s, leader, follower)
    s = yield from counted(s, leader, follower, joins, with_proposed_isr)
    return with_advanced_hw(s, leader)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches_what_agrees(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower whose log agrees appends what its leader returns, and learns its high watermark.

    The leader may propose that the follower joins the ISR (`joins_by_proposal`).
    Kafka: `Partition.fetchRecords`, `ReplicaFetcherThread.processPartitionData`.
    """
    yield from requests(s, leader, follower)
    yield "logs agree", divergence(s, leader, follower) is None
    joins = joins_by_proposal(s, leader, follower)
    s = yield from fetched(s, leader, follower, joins, with_proposed_isr)
    return with_advanced_hw(s, leader)


# -- the ISR --------------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_proposes_shrink(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """The leader proposes an ISR without a follower that is out of sync.

    The follower counts until the controller has agreed. Kafka: `Partition.maybeShrinkIsr`,
    `PendingShrinkIsr`. Simplification: there are no clocks; a follower whose last fetch was not at
    the leader's log end may be found out of sync at any time.
    """
    replica = s.replicas[leader]
    state = yield from present("broker presumes leadership", replica.leadership)
    yield "no proposal is in flight", state.pending is None
    yield "follower is in the ISR", follower in state.isr
    yield "follower is another broker", follower != leader
    yield "follower is out of sync", state.ends[follower] != replica.log.end
    yield limit("follower may be slow"), may_lag(s, follower)
    return with_proposed_isr(s, leader, state.isr - {follower})


def proposal(s: Cluster, leader: Broker) -> Guarded[tuple[Leadership, frozenset[Broker]]]:
    """Guards of a proposal that reaches the controller and is not out of date.

    It returns what the leader knows, and the ISR that it proposes.

    Kafka: `ReplicationControlManager.validateAlterPartitionData`, `KafkaController.alterPartition`
    (3.9.0). Simplification: Kafka compares partition epochs; here leader epochs and ISRs. An ISR
    that changes and changes back needs a proposal of the same leader in between.
    """
    replica = s.replicas[leader]
    state = yield from present("broker presumes leadership", replica.leadership)
    isr = yield from present("proposal is in flight", state.pending)
    now = s.registration
    yield "leader's epoch is current", now.epoch == replica.epoch
    yield "leader's view of the ISR is current", now.isr == state.isr
    return state, isr


@rule(by="controller", leader=brokers)
def controller_commits_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The controller commits the ISR that a leader proposes; the leader epoch stays.

    Kafka: `KafkaController.processAlterIsr` (2.7.0).
    """
    _, isr = yield from proposal(s, leader)
    return s.with_isr(isr)


@rule(by="leader", leader=brokers)
def leader_learns_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The leader learns of a change of the ISR; the high watermark may advance.

    Kafka: `Partition.handleAlterPartitionUpdate`; it advances the high watermark since
    KAFKA-13091 (3.1).
    """
    s = yield from isr_learned(s, leader)
    return with_advanced_hw(s, leader)


def isr_learned(s: Cluster, leader: int) -> Guarded[Cluster]:
    """A leader learns of a change of the ISR within its epoch; its proposal in flight is void."""
    replica, now = s.replicas[leader], s.registration
    state = yield from present("broker presumes leadership", replica.leadership)
    yield "leader's epoch is current", now.epoch == replica.epoch
    yield "ISR changed", now.isr != state.isr
    return s.with_leadership(leader, isr=now.isr, pending=None)
