"""Late requests: copies that arrive after their sender gave them up or repeated them.

A request is handled and answered in one step, or its sender gives it up: then it stays in flight,
and arrives later or never. These are the rules of transactions version 1, before KIP-890.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, limit, present, rule
from kspec.spec.transactions.coordinator import marker_of, with_end
from kspec.spec.transactions.state import (
    COMPLETE,
    DATA,
    OFFSETS,
    PREPARED,
    Application,
    EndTxn,
    OffsetCommit,
    Phase,
    Produce,
    TxnState,
    WriteMarker,
    at,
    ids,
    instances,
    is_current,
    partitions,
)
from kspec.spec.transactions.version_1 import is_appendable

# -- Produce --------------------------------------------------------------------------------------


@rule(by="network", instance=instances)
def produce_is_delayed(s: Application, instance: int) -> Step[Application]:
    """A Produce is not answered within delivery.timeout.ms, so its producer can only abort.

    Kafka: `Sender.getExpiredInflightBatches`, `TransactionManager.handleFailedBatch`.
    """
    yield from at("partition is added", s, instance, Phase.ADDED)
    return (yield from delayed_produce(s, instance))


def delayed_produce(s: Application, instance: int) -> Step[Application]:
    """A Produce stays in flight, and its producer has failed."""
    own = s.instances[instance]
    yield limit("no other Produce is late"), s.late.produce is None and s.bounds.late_produces > 0
    sequence = s.logs[DATA].count(own.id, own.epoch)
    late = s.with_late(produce=Produce(own.id, sequence, own.result))
    return late.with_instance(instance, phase=Phase.FAILED)


@rule(by="network")
def late_produce_arrives(s: Application) -> Step[Application]:
    """A late Produce arrives and is appended, also after the abort (KAFKA-12671, KAFKA-14402).

    Kafka: `ProducerAppendInfo.maybeValidateDataBatch` (2.5.0).
    """
    late = yield from present("a late Produce is in flight", s.late.produce)
    yield from is_in_sequence(s, late)
    return s.with_record(DATA, late.record).with_late(produce=None)


def is_in_sequence(s: Application, late: Produce) -> Guarded[None]:
    """The guards of a Produce in its partition: its epoch, and its sequence number."""
    record = late.record
    yield from is_appendable(s, DATA, late.id, record.epoch)
    expected = s.logs[DATA].count(late.id, record.epoch)
    yield "sequence number is the next", late.sequence == expected


# -- TxnOffsetCommit ------------------------------------------------------------------------------


@rule(by="network", instance=instances)
def offset_commit_is_delayed(s: Application, instance: int) -> Step[Application]:
    """A TxnOffsetCommit is not answered in time, and the application aborts.

    Kafka: `KafkaProducer.sendOffsetsToTransaction`, which throws TimeoutException. Simplification:
    the producer has failed as after a Produce.
    """
    yield from at("offsets partition is added", s, instance, Phase.OFFSETS_ADDED)
    return (yield from delayed_offset_commit(s, instance))


def delayed_offset_commit(s: Application, instance: int) -> Step[Application]:
    """A TxnOffsetCommit stays in flight, and its producer has failed."""
    own = s.instances[instance]
    may_be_late = s.late.commit is None and s.bounds.late_commits > 0
    yield limit("no other TxnOffsetCommit is late"), may_be_late
    late = s.with_late(commit=OffsetCommit(own.id, own.generation, own.offset))
    return late.with_instance(instance, phase=Phase.FAILED)


@rule(by="network")
def late_offset_commit_arrives(s: Application) -> Step[Application]:
    """A late TxnOffsetCommit arrives and is appended, also after the abort.

    Kafka: `GroupMetadataManager.storeOffsets` (3.6.0).
    """
    late = yield from present("a late TxnOffsetCommit is in flight", s.late.commit)
    yield from is_appendable(s, OFFSETS, late.id, late.record.epoch)
    return s.with_record(OFFSETS, late.record).with_late(commit=None)


# -- EndTxn ---------------------------------------------------------------------------------------


@rule(by="network", instance=instances)
def end_txn_is_repeated(s: Application, instance: int) -> Step[Application]:
    """A producer repeated an EndTxn whose response was late, and the repeated request is in flight.

    Kafka: `TransactionManager.TxnRequestHandler.reenqueue`.
    """
    own = yield from at("producer has no transaction", s, instance, Phase.IDLE)
    return (yield from repeated_end(s, instance, own.epoch))


def repeated_end(s: Application, instance: int, epoch: int) -> Step[Application]:
    """An EndTxn of this epoch is in flight although it was answered."""
    own, transaction = s.instances[instance], s.transaction(instance)
    yield "producer epoch is the coordinator's", own.epoch == transaction.epoch
    yield "producer has ended a transaction", transaction.state in (*PREPARED, *COMPLETE)
    yield limit("no other EndTxn is late"), s.late.end is None and s.bounds.late_ends > 0
    commits = transaction.state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT)
    return s.with_late(end=EndTxn(own.id, epoch, commits))


@rule(by="network")
def late_end_txn_arrives(s: Application) -> Step[Application]:
    """A late EndTxn ends the next transaction of its epoch.

    Kafka: `TransactionCoordinator.endTransaction` (2.5.0), which compares the epoch only.
    """
    late = yield from present("a late EndTxn is in flight", s.late.end)
    transaction = yield from is_current(s, late.id, late.epoch)
    yield "transaction to end is ongoing", transaction.state is TxnState.ONGOING
    ended = with_end(s, late.id, commits=late.commits, epoch=late.epoch)
    return ended.with_late(end=None)


# -- WriteTxnMarkers ------------------------------------------------------------------------------


@rule(by="network", tid=ids, partition=partitions)
def marker_is_repeated(s: Application, tid: int, partition: int) -> Step[Application]:
    """The coordinator sends a marker again, or another coordinator does, and one copy is late.

    Kafka: `TransactionMarkerRequestCompletionHandler.onComplete`, after a disconnect.
    """
    yield "coordinator has to send the marker", partition in s.transactions[tid].unmarked
    yield limit("no other marker is late"), s.late.marker is None
    yield limit("a late marker remains"), s.late.markers < s.bounds.late_markers
    repeated = WriteMarker(partition, marker_of(s, tid))
    return s.with_late(marker=repeated, markers=s.late.markers + 1)


@rule(by="network")
def late_marker_arrives(s: Application) -> Step[Application]:
    """A late marker is appended, and ends the next transaction if that has the same epoch.

    Kafka: `ProducerAppendInfo.checkProducerEpoch`, `checkCoordinatorEpoch` (4.1.0).
    """
    late = yield from present("a late marker is in flight", s.late.marker)
    marker, known = late.marker, s.logs[late.partition].producers[late.marker.id]
    yield "marker has no older producer epoch", marker.epoch >= known.epoch
    is_recent = marker.coordinator_epoch >= known.coordinator_epoch
    yield "marker has no older coordinator epoch", is_recent
    return s.with_marker(late.partition, marker).with_late(marker=None)


RULES = (
    produce_is_delayed,
    late_produce_arrives,
    offset_commit_is_delayed,
    late_offset_commit_arrives,
    end_txn_is_repeated,
    late_end_txn_arrives,
    marker_is_repeated,
    late_marker_arrives,
)
