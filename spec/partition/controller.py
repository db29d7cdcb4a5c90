"""The controller's rules: it fences brokers that it considers failed, and elects leaders."""

from __future__ import annotations

from collections.abc import Callable

from kspec.spec.core import Guarded, Step, evolve, limit, rule
from kspec.spec.partition.state import NO_BROKER, Broker, Cluster, Decision, brokers, successors


@rule(by="controller", broker=brokers, successor=successors)
def controller_fences_broker(s: Cluster, broker: Broker, successor: Broker) -> Step[Cluster]:
    """The controller fences a broker that it considers failed, and elects a leader if it led.

    If the broker is up, it is cut off from the controller: it may exchange fetches with the other
    brokers, but takes no decision and writes no ISR. Kafka: `KafkaController.onBrokerFailure`,
    `ReplicaStateMachine.doRemoveReplicasFromIsr` (3.9.0), `PartitionStateMachine`. One decision
    removes the broker from the ISR and, if it led, elects another leader.
    """
    s = yield from fenced(s, broker)
    now = s.registration
    if now.leader == broker:
        yield from may_lead(successor, eligible_leaders(s))
        return with_elected(s, successor)
    yield "leader stays", successor == now.leader
    if broker not in now.isr or now.isr == {broker}:
        return s
    return s.with_decision(now.leader, now.isr - {broker})


def fenced(s: Cluster, broker: Broker) -> Guarded[Cluster]:
    """The controller holds a broker for dead; if it is up, it is cut off."""
    yield "broker is not fenced", broker not in s.fenced
    if s.replicas[broker].is_up:
        yield limit("a cut-off remains"), s.cut_offs < s.bounds.cut_offs
        s = evolve(s, cut_offs=s.cut_offs + 1)
    return evolve(s, fenced=s.fenced | {broker})


def may_lead(successor: Broker, eligible: frozenset[Broker]) -> Guarded[None]:
    """Guards of an election: the successor is eligible, or no broker is.

    Simplification: Kafka takes the first eligible broker in the order of the assignment, the model
    any.
    """
    if successor == NO_BROKER:
        yield "no broker is eligible", not eligible
    else:
        yield "successor is eligible", successor in eligible


def eligible_leaders(s: Cluster) -> frozenset[Broker]:
    """The brokers that may be elected now, as far as the controller knows.

    A live member of the ISR is eligible; if there is none, unclean elections take any live
    broker. Kafka: `PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection` (3.9.0),
    `PartitionChangeBuilder.electAnyLeader`.
    """
    live = s.registration.isr - s.fenced
    if live or not s.bounds.unclean:
        return live
    return frozenset(brokers(s)) - s.fenced


def with_elected(s: Cluster, leader: Broker) -> Cluster:
    """The cluster after an election, with the live members of the ISR, or its last one."""
    isr = s.registration.isr
    if leader == NO_BROKER:
        return s.with_decision(leader, isr)
    return s.with_decision(leader, isr - s.fenced if leader in isr else frozenset({leader}))


def with_unfenced(
    s: Cluster,
    broker: Broker,
    eligible: Callable[[Cluster], frozenset[Broker]] = eligible_leaders,
    elected: Callable[[Cluster, Broker], Cluster] = with_elected,
) -> Cluster:
    """The controller unfences a broker: it elects it if there is no leader, or informs it.

    A broker that has the current decision, or to which it is on its way, is not informed again.
    Kafka: `KafkaController.onBrokerStartup`, `ReplicationControlManager.handleBrokerUnfenced`.
    """
    s = evolve(s, fenced=s.fenced - {broker})
    now = s.registration
    if now.leader == NO_BROKER and broker in eligible(s):
        return elected(s, broker)
    is_sent = any(decision.epoch == now.epoch for decision in s.decisions[broker])
    if is_sent or s.replicas[broker].epoch >= now.epoch:
        return s
    return s.with_news(broker, Decision(now.epoch, now.leader, now.isr))


@rule(by="controller", broker=brokers)
def controller_unfences_broker(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker that was cut off reaches the controller again.

    Kafka: `KafkaController.onBrokerStartup`, `ReplicationControlManager.handleBrokerUnfenced`.
    """
    yield "broker is fenced", broker in s.fenced
    yield "broker is up", s.replicas[broker].is_up
    return with_unfenced(s, broker)


@rule(by="controller", successor=brokers)
def controller_moves_leadership(s: Cluster, successor: Broker) -> Step[Cluster]:
    """The controller replaces a leader that is alive.

    Kafka: a preferred leader election (`PartitionChangeBuilder.electPreferredLeader`) or a
    controlled shutdown.
    """
    yield limit("a move remains"), s.leader_moves < s.bounds.leader_moves
    now = s.registration
    yield "there is a leader", now.leader != NO_BROKER
    yield "successor is another broker", successor != now.leader
    yield "successor is a live member of the ISR", successor in now.isr - s.fenced
    return with_elected(evolve(s, leader_moves=s.leader_moves + 1), successor)
