"""Transactions version 2 (KIP-890, part 2; 4.0): each end of a transaction bumps the epoch.

So no request of an ended transaction has the current epoch. The leader of a partition adds it.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, present, rule
from kspec.spec.transactions.application import with_committed
from kspec.spec.transactions.coordinator import marker_of, with_end, with_marker_written
from kspec.spec.transactions.late import (
    delayed_offset_commit,
    delayed_produce,
    is_in_sequence,
    repeated_end,
)
from kspec.spec.transactions.log import Entry, ProducerState
from kspec.spec.transactions.state import (
    DATA,
    NO_TXN,
    OFFSETS,
    UNKNOWN,
    Application,
    Phase,
    at,
    ids,
    instances,
    is_current,
    partitions,
)
from kspec.spec.transactions.version_1 import is_appendable, with_partition

# -- transaction ----------------------------------------------------------------------------------


def joined(s: Application, partition: int, tid: int, epoch: int) -> Guarded[Application]:
    """The guards of a record: while no transaction is open, the leader adds its partition.

    Kafka: `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`, with the type
    `TransactionSupportedOperation.ADD_PARTITION`. Adding and appending are one step here, as in
    `verification`.
    """
    yield from is_appendable(s, partition, tid, epoch)
    if s.logs[partition].is_open(tid, epoch):
        return s
    yield from is_current(s, tid, epoch)
    return with_partition(s, tid, partition)


@rule(by="producer", instance=instances)
def producer_produces_v2(s: Application, instance: int) -> Step[Application]:
    """The producer sends the result, and the leader adds its partition to the transaction.

    Kafka: `ReplicaManager.handleProduceAppend` (4.0.0).
    """
    own = yield from at("producer has begun a transaction", s, instance, Phase.POLLED)
    s = yield from joined(s, DATA, own.id, own.epoch)
    return s.with_record(DATA, own.result).with_instance(instance, phase=Phase.PRODUCED)


@rule(by="producer", instance=instances)
def producer_sends_offsets_v2(s: Application, instance: int) -> Step[Application]:
    """The producer sends the next offset to read, and the leader adds the offsets partition.

    The request has no generation. Kafka: `KafkaApis.handleTxnOffsetCommitRequest` (4.0.0).
    """
    own = yield from at("result is produced", s, instance, Phase.PRODUCED)
    s = yield from joined(s, OFFSETS, own.id, own.epoch)
    return s.with_record(OFFSETS, own.offset).with_instance(instance, phase=Phase.OFFSETS_SENT)


# -- end ------------------------------------------------------------------------------------------


@rule(by="producer", instance=instances)
def producer_commits_v2(s: Application, instance: int) -> Step[Application]:
    """The producer commits, and receives the epoch of its next transaction.

    Kafka: `TransactionCoordinator.endTransaction`, `TransactionMetadata.prepareAbortOrCommit`.
    """
    own = yield from at("offsets are sent", s, instance, Phase.OFFSETS_SENT)
    yield from is_current(s, own.id, own.epoch)
    ended = with_end(s, own.id, commits=True, epoch=own.epoch + 1)
    return with_committed(ended, instance, own.epoch + 1)


@rule(by="producer", instance=instances)
def producer_aborts_v2(s: Application, instance: int) -> Step[Application]:
    """The application aborts, and its producer receives the epoch of its next transaction.

    It may abort a transaction that no partition has joined: this bumps the epoch too. Kafka:
    `TransactionCoordinator.endTransaction`, also in the states Empty and Complete.
    """
    own = yield from at(
        "a transaction is begun", s, instance, Phase.PRODUCED, Phase.OFFSETS_SENT, Phase.FAILED
    )
    yield from is_current(s, own.id, own.epoch)
    ended = with_end(s, own.id, commits=False, epoch=own.epoch + 1)
    return ended.with_instance(
        instance, phase=Phase.IDLE, txn=NO_TXN, epoch=own.epoch + 1, position=UNKNOWN
    )


# -- late requests --------------------------------------------------------------------------------


@rule(by="network", instance=instances)
def produce_is_delayed_v2(s: Application, instance: int) -> Step[Application]:
    """A Produce is not answered in time, before its partition is added.

    Kafka: `Sender.getExpiredInflightBatches`, `TransactionManager.handleFailedBatch`.
    """
    yield from at("producer has begun a transaction", s, instance, Phase.POLLED)
    return (yield from delayed_produce(s, instance))


@rule(by="network")
def late_produce_arrives_v2(s: Application) -> Step[Application]:
    """A late Produce adds its partition only while its epoch is current.

    Kafka: `ReplicaManager.handleProduceAppend` (4.0.0).
    """
    late = yield from present("a late Produce is in flight", s.late.produce)
    yield from is_in_sequence(s, late)
    s = yield from joined(s, DATA, late.id, late.record.epoch)
    return s.with_record(DATA, late.record).with_late(produce=None)


@rule(by="network", instance=instances)
def offset_commit_is_delayed_v2(s: Application, instance: int) -> Step[Application]:
    """A TxnOffsetCommit is not answered in time, before its partition is added.

    Kafka: `KafkaProducer.sendOffsetsToTransaction`, which throws TimeoutException.
    """
    yield from at("result is produced", s, instance, Phase.PRODUCED)
    return (yield from delayed_offset_commit(s, instance))


@rule(by="network")
def late_offset_commit_arrives_v2(s: Application) -> Step[Application]:
    """A late TxnOffsetCommit adds its partition only while its epoch is current.

    Kafka: `KafkaApis.handleTxnOffsetCommitRequest` (4.0.0).
    """
    late = yield from present("a late TxnOffsetCommit is in flight", s.late.commit)
    s = yield from joined(s, OFFSETS, late.id, late.record.epoch)
    return s.with_record(OFFSETS, late.record).with_late(commit=None)


@rule(by="network", instance=instances)
def end_txn_is_repeated_v2(s: Application, instance: int) -> Step[Application]:
    """A producer repeated an EndTxn: the request has the epoch from before the end.

    Kafka: `TransactionManager.TxnRequestHandler.reenqueue`.
    """
    own = yield from at("producer has no transaction", s, instance, Phase.IDLE)
    return (yield from repeated_end(s, instance, own.epoch - 1))


# -- markers, since 4.2 ---------------------------------------------------------------------------


def is_acceptable(marker: Entry, known: ProducerState) -> bool:
    """Whether a marker has a later epoch than each record of the transaction that it ends.

    A marker of the same epoch was written before; without an open transaction it is written again
    (KAFKA-19999). Kafka: `ProducerAppendInfo.checkProducerEpoch` (4.2.0).
    """
    repeats = marker.epoch == known.epoch and known.first < 0
    return marker.epoch > known.epoch or repeats


@rule(by="coordinator", tid=ids, partition=partitions)
def partition_appends_later_marker(s: Application, tid: int, partition: int) -> Step[Application]:
    """The coordinator sends a marker to a partition, which requires a later epoch (KAFKA-19446).

    Kafka: `ProducerAppendInfo.appendEndTxnMarker` (4.2.0).
    """
    yield "coordinator has to send the marker", partition in s.transactions[tid].unmarked
    marker, known = marker_of(s, tid), s.logs[partition].producers[tid]
    yield "marker ends no later transaction", is_acceptable(marker, known)
    is_recent = marker.coordinator_epoch >= known.coordinator_epoch
    yield "marker has no older coordinator epoch", is_recent
    return with_marker_written(s, tid, partition)


@rule(by="network")
def late_marker_arrives_v2(s: Application) -> Step[Application]:
    """A late marker is appended unless it would end a later transaction (KAFKA-19446).

    Kafka: `ProducerAppendInfo.checkProducerEpoch` (4.2.0).
    """
    late = yield from present("a late marker is in flight", s.late.marker)
    marker, known = late.marker, s.logs[late.partition].producers[late.marker.id]
    yield "marker ends no later transaction", is_acceptable(marker, known)
    is_recent = marker.coordinator_epoch >= known.coordinator_epoch
    yield "marker has no older coordinator epoch", is_recent
    return s.with_marker(late.partition, marker).with_late(marker=None)
