"""The controller's rules: it removes failed brokers from the ISR, and elects leaders."""

from __future__ import annotations

from kspec.spec.core import Step, limit, rule
from kspec.spec.replication.state import NO_LEADER, Broker, Cluster, brokers


@rule(by="controller", broker=brokers)
def controller_shrinks_isr(s: Cluster, broker: int) -> Step[Cluster]:
    """A broker fails: it leaves the ISR, and if it led, the partition has no leader.

    A leader that is the last member stays in the ISR, so that its records are not lost. Kafka:
    `ReplicaStateMachine.doRemoveReplicasFromIsr` (3.9.0), `PartitionChangeBuilder.build`. In
    Kafka the last member stays whether it leads or not: here the ISR can become empty.
    Simplification: the broker is not stopped. It may act on what it knows, like a broker that
    is cut off from the controller only; restarts and the loss of a log are not modelled.
    """
    yield limit("an epoch remains"), s.next_epoch <= s.bounds.max_epoch
    leads = s.quorum.leader == broker
    yield "broker leads or is in the ISR", leads or broker in s.quorum.isr
    is_last = leads and s.quorum.isr == {broker}
    isr = s.quorum.isr if is_last else s.quorum.isr - {broker}
    return s.with_request(NO_LEADER if leads else s.quorum.leader, isr)


@rule(by="controller", broker=brokers)
def controller_elects_leader(s: Cluster, broker: Broker) -> Step[Cluster]:
    """The controller elects a member of the ISR; there is no unclean election.

    Kafka: `PartitionLeaderElectionAlgorithms` in PartitionStateMachine.scala (3.9.0),
    `PartitionChangeBuilder.electLeader`. Simplification: it elects any member at any time, which
    includes preferred leader elections and controlled shutdown.
    """
    yield limit("an epoch remains"), s.next_epoch <= s.bounds.max_epoch
    yield "broker is in the ISR", broker in s.quorum.isr
    yield "broker is not the leader", s.quorum.leader != broker
    return s.with_request(broker, s.quorum.isr)
