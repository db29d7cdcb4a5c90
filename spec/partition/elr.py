"""The controller's rules with eligible leader replicas (KIP-966), on by default since 4.1.

While the ISR is smaller than min.insync.replicas, nothing is committed. So a replica that leaves
the ISR then holds every committed record, until an unclean shutdown. The controller remembers such
replicas, and the ISR may become empty. Each rule follows `PartitionChangeBuilder.build`.
"""

from __future__ import annotations

from kspec.spec.core import Step, evolve, rule
from kspec.spec.partition.alter_partition import proposal
from kspec.spec.partition.controller import fenced, may_lead, with_unfenced
from kspec.spec.partition.kraft import eligible, restarted_with_new_epoch
from kspec.spec.partition.state import NO_BROKER, Broker, Cluster, brokers, offsets, successors

# -- changes of the ISR ---------------------------------------------------------------------------


def with_new_isr(s: Cluster, isr: frozenset[Broker]) -> Cluster:
    """The controller changes the ISR; members that leave it while it is too small stay eligible.

    Kafka: `PartitionChangeBuilder.maybePopulateTargetElr`.
    """
    now = s.registration
    is_enough = len(isr) >= s.bounds.effective_min_isr
    elr = frozenset() if is_enough else (now.elr | now.isr) - isr
    return evolve(s, registration=evolve(now, isr=isr, elr=elr))


@rule(by="controller", leader=brokers)
def controller_commits_isr_and_elr(s: Cluster, leader: Broker) -> Step[Cluster]:
    """The controller commits the ISR that a leader proposes, if every member is eligible.

    Kafka: `ReplicationControlManager.alterPartition`,
    `PartitionChangeBuilder.maybePopulateTargetElr`.
    """
    state, isr = yield from proposal(s, leader)
    yield "every member is eligible", eligible(s, state, isr)
    return with_new_isr(s, isr)


# -- elections ------------------------------------------------------------------------------------


def possible_leaders(s: Cluster) -> frozenset[Broker]:
    """The brokers that may be elected now.

    These are the live members of the ISR or, if it is empty, the live eligible leader replicas. If
    ISR and ELR are both empty, the last leader is elected if it is alive, even if unclean
    elections are off. Kafka: `PartitionChangeBuilder.isValidNewLeader`, `electAnyLeader`,
    `canElectLastKnownLeader` (4.1.0). Simplification: 4.0.0 elects the last leader even if it is
    fenced.
    """
    now = s.registration
    clean = (now.isr or now.elr) - s.fenced
    if clean:
        return clean
    live = frozenset(brokers(s)) - s.fenced
    if not now.isr and not now.elr and now.last_leader in live:
        return frozenset({now.last_leader})
    return live if s.bounds.unclean else frozenset()


def with_leader(s: Cluster, leader: Broker) -> Cluster:
    """The cluster after an election, which may have found no leader.

    Kafka: `PartitionChangeBuilder.tryElection`, `maybeUpdateLastKnownLeader`.
    """
    now = s.registration
    if leader == NO_BROKER:
        if not now.isr and now.last_leader == NO_BROKER:
            s = evolve(s, registration=evolve(now, last_leader=now.leader))
        return s.with_decision(NO_BROKER, now.isr)
    isr = now.isr if leader in now.isr else frozenset({leader})
    elr = now.elr - {leader} if leader in now.isr | now.elr else frozenset()
    s = evolve(s, registration=evolve(now, elr=elr, last_leader=NO_BROKER))
    return s.with_decision(leader, isr)


@rule(by="controller", broker=brokers, successor=successors)
def controller_fences_broker_with_elr(
    s: Cluster, broker: Broker, successor: Broker
) -> Step[Cluster]:
    """The controller fences a broker that it considers failed, and elects a leader if it led.

    The broker leaves the ISR even if it is the last member. Kafka:
    `ReplicationControlManager.handleBrokerFenced`, `PartitionChangeBuilder.tryElection`.
    """
    s = yield from fenced(s, broker)
    was_leader = s.registration.leader == broker
    if not was_leader:
        yield "leader stays", successor == s.registration.leader
    if broker in s.registration.isr:
        s = with_new_isr(s, s.registration.isr - {broker})
    if not was_leader:
        return s
    yield from may_lead(successor, possible_leaders(s))
    return with_leader(s, successor)


@rule(by="controller", broker=brokers)
def controller_unfences_eligible_broker(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker that was cut off reaches the controller again; it is still eligible.

    Kafka: `ReplicationControlManager.handleBrokerUnfenced`.
    """
    yield "broker is fenced", broker in s.fenced
    yield "broker is up", s.replicas[broker].is_up
    return with_unfenced(s, broker, possible_leaders, with_leader)


@rule(by="broker", broker=brokers, hw=offsets)
def broker_restarts_ineligible(s: Cluster, broker: Broker, hw: int) -> Step[Cluster]:
    """A broker restarts after a failure: it may have lost records, and is not eligible.

    After an unclean shutdown, its registration names no previous broker epoch. Kafka:
    `ClusterControlManager.registerBroker`, `ReplicationControlManager.handleBrokerShutdown`,
    `ReplicaManager.checkpointHighWatermarks`. Simplification: it is unfenced in the same step.
    """
    s = yield from restarted_with_new_epoch(s, broker, hw)
    now = s.registration
    s = evolve(s, registration=evolve(now, elr=now.elr - {broker}))
    return with_unfenced(s, broker, possible_leaders, with_leader)
