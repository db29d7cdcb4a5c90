"""Failures, and restarts after them. Each kind of failure has a budget, which is a bound.

What cannot be observed before a failure is chosen late: how much of the log was flushed, when the
machine loses power, and which high watermark the last checkpoint has, when the broker restarts.
This is equivalent to steps that flush and write checkpoints at any time, since a running broker
never reads what is on its disk. Only a high watermark that skips values, as after a fetch of
several records, has more choices here.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, evolve, limit, replaced, rule
from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.log import Log
from kspec.spec.partition.controller import with_unfenced
from kspec.spec.partition.state import (
    NO_BROKER,
    NO_EPOCH,
    Broker,
    Cluster,
    brokers,
    offsets,
)


def with_stopped(s: Cluster, broker: Broker) -> Cluster:
    """The broker's process ends, and loses what is only in memory."""
    s = s.with_replica(
        broker, is_up=False, epoch=NO_EPOCH, leader=NO_BROKER, truncates=False, leadership=None
    )
    return evolve(s, decisions=replaced(s.decisions, broker, ()))


@rule(by="machine", broker=brokers)
def broker_crashes(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker's process ends without a shutdown; the operating system still writes its log.

    Kafka: `LogLoader.recoverLog` recovers the log at the restart.
    """
    yield limit("a crash remains"), s.crashes < s.bounds.crashes
    yield "broker is up", s.replicas[broker].is_up
    return with_stopped(evolve(s, crashes=s.crashes + 1), broker)


@rule(by="machine", broker=brokers, flushed=offsets)
def broker_loses_power(s: Cluster, broker: Broker, flushed: int) -> Step[Cluster]:
    """A machine loses power: the records that were not flushed are lost.

    Kafka: `LogLoader.recoverLog` keeps what is on disk. If log.flush.interval.messages is 1, each
    record is flushed (`UnifiedLog.append`).
    """
    yield limit("a power loss remains"), s.power_losses < s.bounds.power_losses
    replica = s.replicas[broker]
    yield "broker is up", replica.is_up
    yield "log has the flushed records", flushed <= replica.log.end
    all_flushed = flushed == replica.log.end
    yield "every record is flushed at once", all_flushed or s.bounds.flush_each_record == 0
    s = with_stopped(evolve(s, power_losses=s.power_losses + 1), broker)
    return s.with_log_cut(broker, flushed)


@rule(by="machine", broker=brokers)
def broker_loses_disk(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker stops and loses its log; it restarts with an empty disk.

    Kafka: `LogManager.handleLogDirFailure`; `LogManager.getOrCreateLog` creates a new folder.
    """
    yield limit("a disk loss remains"), s.disk_losses < s.bounds.disk_losses
    yield "broker is up", s.replicas[broker].is_up
    s = with_stopped(evolve(s, disk_losses=s.disk_losses + 1), broker)
    return s.with_replica(broker, log=Log(), epochs=LeaderEpochs(), hw=0)


@rule(by="broker", broker=brokers, hw=offsets)
def broker_restarts(s: Cluster, broker: Broker, hw: int) -> Step[Cluster]:
    """A broker restarts with the high watermark of some earlier checkpoint.

    It can register only after the controller has noticed its failure. Kafka:
    `KafkaZkClient.registerBroker` fails while the old session lasts (3.9.0), and
    `ClusterControlManager.registerBroker` answers DUPLICATE_BROKER_REGISTRATION until then;
    `ReplicaManager.checkpointHighWatermarks`. Simplification: it is unfenced in the same step,
    and takes no decision from before its restart.
    """
    return with_unfenced((yield from restarted(s, broker, hw)), broker)


def restarted(s: Cluster, broker: Broker, hw: int) -> Guarded[Cluster]:
    """A broker that is down starts with the high watermark of a checkpoint; it is still fenced."""
    replica = s.replicas[broker]
    yield "broker is down", not replica.is_up
    yield "broker is fenced", broker in s.fenced
    yield "high watermark may be in a checkpoint", hw <= replica.hw
    return s.with_replica(broker, is_up=True, hw=hw)
