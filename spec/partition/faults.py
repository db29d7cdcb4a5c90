"""The rules of deliberate faults: what Kafka did before an issue was resolved."""

from __future__ import annotations

from kspec.spec.core import Step, rule
from kspec.spec.leader_epochs import UNDEFINED, EpochEnd, truncation_for
from kspec.spec.partition.alter_partition import (
    divergence,
    isr_learned,
    joins_by_proposal,
    proposal,
    with_proposed_isr,
)
from kspec.spec.partition.elr import with_new_isr
from kspec.spec.partition.follower import answers, with_truncation
from kspec.spec.partition.leader import (
    counted,
    fetched,
    led,
    requests,
    with_advanced_hw,
    with_counted_fetch,
    with_written_isr,
)
from kspec.spec.partition.state import UNKNOWN, Broker, Cluster, brokers, epochs
from kspec.spec.partition.unfenced import joins_isr_at_hw

# -- KIP-279 --------------------------------------------------------------------------------------


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates_to_unnamed_epoch_end(
    s: Cluster, leader: Broker, follower: Broker
) -> Step[Cluster]:
    """A follower truncates at the offset of a response that does not name its epoch.

    If the leader does not know the follower's epoch, the offset is where another one ended, and
    records that diverge remain (KAFKA-6361). Kafka: `ReplicaFetcherThread.maybeTruncate`
    (0.11.0.0).
    """
    end = yield from answers(s, leader, follower)
    return with_truncation(s, follower, EpochEnd(UNDEFINED, end.offset))


# -- KAFKA-7128 -----------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_fetch_at_hw(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives, and expands the ISR as soon as the follower has reached the HW.

    A new leader's high watermark may be behind what its predecessor committed. Kafka:
    `Partition.maybeExpandIsr` (2.0.0).
    """
    yield from requests(s, leader, follower)
    joins = joins_isr_at_hw(s, leader, follower)
    s = yield from counted(s, leader, follower, joins, with_written_isr)
    return with_advanced_hw(s, leader)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches_and_joins_at_hw(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A follower fetches, and joins the ISR as soon as it has reached the high watermark.

    Kafka: `Partition.maybeExpandIsr` (2.0.0).
    """
    yield from requests(s, leader, follower)
    joins = joins_isr_at_hw(s, leader, follower)
    s = yield from fetched(s, leader, follower, joins, with_written_isr)
    return with_advanced_hw(s, leader)


# -- KAFKA-10706 ----------------------------------------------------------------------------------


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates_but_keeps_empty_epochs(
    s: Cluster, leader: Broker, follower: Broker
) -> Step[Cluster]:
    """A follower that has to truncate at its log end changes nothing, and asks the same again.

    A leader epoch without records stays in its cache, although the leader does not know that
    epoch. Kafka: `Log.truncateTo` (2.6.0).
    """
    end = yield from answers(s, leader, follower)
    own = s.replicas[follower]
    cut = truncation_for(end, own.epochs, own.log.end, own.hw)
    if cut.offset < own.log.end:
        s = s.with_log_cut(follower, cut.offset)
    return s.with_replica(follower, truncates=not cut.done)


# -- KAFKA-13141 ----------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_diverging_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """The leader counts the offset of a fetch although the follower's log diverges below it.

    Kafka: `ReplicaManager.updateFollowerFetchState` (2.7.0).
    """
    yield from requests(s, leader, follower)
    yield "logs diverge", divergence(s, leader, follower) is not None
    is_within = s.replicas[follower].log.end <= s.replicas[leader].log.end
    yield "fetch offset is within the leader's log", is_within
    joins = joins_by_proposal(s, leader, follower)
    s = with_counted_fetch(s, leader, follower, joins, with_proposed_isr)
    return with_advanced_hw(s, leader)


# -- KAFKA-14704 ----------------------------------------------------------------------------------


@rule(by="follower", leader=brokers, follower=brokers)
def follower_takes_hw_before_truncation(
    s: Cluster, leader: Broker, follower: Broker
) -> Step[Cluster]:
    """A follower takes over the high watermark of a response that says that its log diverges.

    Until it truncates, records that were never committed are below its high watermark. Kafka:
    `AbstractFetcherThread.processFetchRequest` (3.4.0).
    """
    yield from requests(s, leader, follower)
    yield "logs diverge", divergence(s, leader, follower) is not None
    own = s.replicas[follower]
    hw = min(s.replicas[leader].hw, own.log.end)
    yield "response brings news", hw != own.hw
    return s.with_replica(follower, hw=hw)


# -- KIP-841 and KIP-903 --------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_counts_fetch_of_fenced(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives, and expands the ISR even if the follower is fenced.

    Kafka: `Partition.canAddReplicaToIsr` (3.2.0).
    """
    yield from requests(s, leader, follower)
    yield "logs agree", divergence(s, leader, follower) is None
    joins = joins_by_proposal(s, leader, follower)
    s = yield from counted(s, leader, follower, joins, with_proposed_isr)
    return with_advanced_hw(s, leader, since_3_7=True)


@rule(by="controller", leader=brokers)
def controller_commits_fenced_isr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The controller commits an ISR with a member that is fenced.

    Kafka: `ReplicationControlManager.alterPartition` (3.2.0).
    """
    state, isr = yield from proposal(s, leader)
    yield "no member has restarted", not isr & state.restarted
    return with_new_isr(s, isr)


@rule(by="controller", leader=brokers)
def controller_commits_isr_of_old_broker_epoch(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The controller commits an ISR with a member that has restarted since its fetch.

    Kafka: `ReplicationControlManager.ineligibleReplicasForIsr` (3.4.0).
    """
    _, isr = yield from proposal(s, leader)
    yield "no member is fenced", not isr & s.fenced
    return with_new_isr(s, isr)


# -- KAFKA-13091 ----------------------------------------------------------------------------------


@rule(by="leader", leader=brokers)
def leader_learns_isr_and_keeps_hw(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The leader learns of a smaller ISR, and does not advance its high watermark.

    Kafka: `Partition.handleAlterIsrResponse` (2.7.0).
    """
    return (yield from isr_learned(s, leader))


# -- a repair, in no release ----------------------------------------------------------------------


@rule(by="leader", broker=brokers, epoch=epochs)
def broker_becomes_leader_and_forgets_ends(s: Cluster, broker: Broker, epoch: int) -> Step[Cluster]:
    """A leader that may have missed another leader's epoch forgets its followers' offsets.

    Not in Kafka: `Partition.makeLeader` forgets them only if the broker did not lead before.
    """
    replica = s.replicas[broker]
    is_next = epoch == replica.epoch + 1
    if replica.leadership is not None and not is_next:
        s = s.with_leadership(broker, ends=(UNKNOWN,) * s.bounds.brokers)
    s = yield from led(s, broker, epoch)
    return with_advanced_hw(s, broker, since_3_7=True)
