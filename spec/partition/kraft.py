"""The rules with KRaft: the controller changes the ISR without a leader epoch, and checks more.

Brokers apply the metadata log at their own pace, several records at once: that is the rule for
decisions in every version. Since 3.7, nothing is committed while the ISR is smaller than
min.insync.replicas, or than the number of replicas if that is less.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, rule
from kspec.spec.partition.alter_partition import (
    divergence,
    isr_learned,
    joins_by_proposal,
    proposal,
    with_proposed_isr,
)
from kspec.spec.partition.controller import (
    eligible_leaders,
    fenced,
    may_lead,
    with_elected,
    with_unfenced,
)
from kspec.spec.partition.failures import restarted
from kspec.spec.partition.leader import (
    appended_record,
    counted,
    fetched,
    led,
    requests,
    with_advanced_hw,
)
from kspec.spec.partition.state import (
    Broker,
    Cluster,
    Leadership,
    brokers,
    epochs,
    offsets,
    successors,
)

# -- leader ---------------------------------------------------------------------------------------


@rule(by="leader", broker=brokers, epoch=epochs)
def broker_becomes_kraft_leader(s: Cluster, broker: Broker, epoch: int) -> Step[Cluster]:
    """A broker applies a record that names it leader, and notes where its epoch begins.

    Kafka: `Partition.makeLeader`.
    """
    s = yield from led(s, broker, epoch)
    return with_advanced_hw(s, broker, since_3_7=True)


@rule(by="producer", leader=brokers)
def leader_appends_at_effective_min_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """A presumed leader appends a record; with acks=0 or 1 it is acknowledged at once.

    Kafka: `Partition.appendRecordsToLeader`, `effectiveMinIsr`. Simplification: a batch has one
    record, and the producer does not send it again.
    """
    s = yield from appended_record(s, leader, s.bounds.effective_min_isr)
    return with_advanced_hw(s, leader, since_3_7=True)


def joins_unfenced(s: Cluster, leader: int, follower: int) -> bool:
    """Whether the leader proposes that the follower joins the ISR: it must not be fenced.

    Kafka: `Partition.isReplicaIsrEligible` (KIP-841). Simplification: the leader's metadata are
    current; a proposal made with older ones is refused.
    """
    return follower not in s.fenced and joins_by_proposal(s, leader, follower)


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_kraft_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives that the leader parks, or whose response is lost.

    The leader may propose that the follower joins the ISR (`joins_unfenced`). Kafka:
    `Partition.fetchRecords`, `updateFollowerFetchState`, which notes the broker epoch of the
    follower (KIP-903).
    """
    yield from requests(s, leader, follower)
    yield "logs agree", divergence(s, leader, follower) is None
    joins = joins_unfenced(s, leader, follower)
    s = yield from counted(s, leader, follower, joins, with_proposed_isr)
    return with_advanced_hw(s, leader, since_3_7=True)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches_from_kraft_leader(
    s: Cluster, leader: Broker, follower: Broker
) -> Step[Cluster]:
    """A follower whose log agrees appends what its leader returns, and learns its high watermark.

    The leader may propose that the follower joins the ISR (`joins_unfenced`).
    Kafka: `Partition.fetchRecords`, `ReplicaFetcherThread.processPartitionData`.
    """
    yield from requests(s, leader, follower)
    yield "logs agree", divergence(s, leader, follower) is None
    joins = joins_unfenced(s, leader, follower)
    s = yield from fetched(s, leader, follower, joins, with_proposed_isr)
    return with_advanced_hw(s, leader, since_3_7=True)


@rule(by="leader", leader=brokers)
def leader_applies_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The leader learns of the ISR, from a response or from the metadata log.

    A proposal in flight becomes void. Kafka: `Partition.handleAlterPartitionUpdate`, `makeLeader`.
    """
    s = yield from isr_learned(s, leader)
    return with_advanced_hw(s, leader, since_3_7=True)


# -- controller -----------------------------------------------------------------------------------


def eligible(s: Cluster, state: Leadership, isr: frozenset[Broker]) -> bool:
    """Whether every member of a proposed ISR may be in it.

    It must not be fenced (KIP-841), nor have restarted since the fetch that made the leader
    propose it (KIP-903: its broker epoch has changed). Kafka:
    `ReplicationControlManager.ineligibleReplicasForIsr`.
    """
    return not isr & (s.fenced | state.restarted)


@rule(by="controller", leader=brokers)
def controller_commits_eligible_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The controller commits the ISR that a leader proposes, if every member is eligible.

    Kafka: `ReplicationControlManager.alterPartition`.
    """
    state, isr = yield from proposal(s, leader)
    yield "every member is eligible", eligible(s, state, isr)
    return s.with_isr(isr)


@rule(by="controller", leader=brokers)
def controller_refuses_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The controller answers INELIGIBLE_REPLICA, and the leader drops its proposal.

    Kafka: `Partition.handleAlterPartitionError`. Simplification: both are one step.
    """
    state, isr = yield from proposal(s, leader)
    yield "a member is not eligible", not eligible(s, state, isr)
    return s.with_leadership(leader, pending=None)


@rule(by="controller", broker=brokers, successor=successors)
def controller_fences_kraft_broker(s: Cluster, broker: Broker, successor: Broker) -> Step[Cluster]:
    """The controller fences a broker that it considers failed, and elects a leader if it led.

    A fenced follower leaves the ISR unless it is the last member, and the leader epoch stays (since
    3.6). Kafka: `ReplicationControlManager.handleBrokerFenced`, `PartitionChangeBuilder`.
    """
    s = yield from fenced(s, broker)
    now = s.registration
    if now.leader == broker:
        yield from may_lead(successor, eligible_leaders(s))
        return with_elected(s, successor)
    yield "leader stays", successor == now.leader
    if broker not in now.isr or now.isr == {broker}:
        return s
    return s.with_isr(now.isr - {broker})


@rule(by="broker", broker=brokers, hw=offsets)
def broker_restarts_with_new_epoch(s: Cluster, broker: Broker, hw: int) -> Step[Cluster]:
    """A broker restarts with the high watermark of some earlier checkpoint.

    It gets a new broker epoch, so that offsets of its earlier fetches no longer count. Kafka:
    `ClusterControlManager.registerBroker` answers DUPLICATE_BROKER_REGISTRATION until the
    controller has noticed the failure; `ReplicaManager.checkpointHighWatermarks`.
    Simplification: it is unfenced in the same step. A fenced broker that fetches is modelled as one
    that is cut off.
    """
    return with_unfenced((yield from restarted_with_new_epoch(s, broker, hw)), broker)


def restarted_with_new_epoch(s: Cluster, broker: Broker, hw: int) -> Guarded[Cluster]:
    """A broker restarts, still fenced; the offsets that leaders know of it are out of date."""
    s = yield from restarted(s, broker, hw)
    for leader in brokers(s):
        state = s.replicas[leader].leadership
        if state is not None:
            s = s.with_leadership(leader, restarted=state.restarted | {broker})
    return s
