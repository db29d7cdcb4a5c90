"""Missing ingredients: the rules of applications and brokers that lack one."""

from __future__ import annotations

from kspec.spec.core import Step, appended, evolve, rule
from kspec.spec.transactions.application import with_committed
from kspec.spec.transactions.coordinator import SHARED, marker_of, with_end, with_marker_written
from kspec.spec.transactions.log import NO_EPOCH, NO_ID, ProducerState
from kspec.spec.transactions.state import (
    DATA,
    NO_TXN,
    OFFSETS,
    PREPARED,
    UNKNOWN,
    Application,
    Instance,
    Phase,
    Reader,
    TxnState,
    at,
    ids,
    instances,
    is_current,
    partitions,
)
from kspec.spec.transactions.version_1 import ABORTABLE, with_partition
from kspec.spec.transactions.version_2 import joined

# -- no transactions ------------------------------------------------------------------------------


@rule(by="producer", instance=instances)
def producer_starts_without_id(s: Application, instance: int) -> Step[Application]:
    """A producer without a transactional id needs no initTransactions.

    Kafka: `KafkaProducer.initTransactions` is not called.
    """
    yield from at("producer is not initialized", s, instance, Phase.STARTED)
    return s.with_instance(instance, phase=Phase.IDLE)


@rule(by="producer", instance=instances)
def producer_produces_at_once(s: Application, instance: int) -> Step[Application]:
    """A result outside any transaction is readable as soon as it is appended.

    Kafka: `ProducerAppendInfo.appendDataBatch`, where the batch is not transactional.
    """
    own = yield from at("producer has begun a transaction", s, instance, Phase.POLLED)
    produced = s.with_record(DATA, evolve(own.result, id=NO_ID, epoch=NO_EPOCH))
    return produced.with_instance(instance, phase=Phase.PRODUCED)


@rule(by="consumer", instance=instances)
def consumer_commits_offset(s: Application, instance: int) -> Step[Application]:
    """The consumer commits its offset after the result is appended, in a request of its own.

    Kafka: `KafkaConsumer.commitSync`, which the group refuses from another generation.
    """
    own = yield from at("result is produced", s, instance, Phase.PRODUCED)
    yield "generation is current", own.generation == s.generation
    s = with_plain_offset(s, own)
    return s.with_instance(instance, phase=Phase.IDLE, txn=NO_TXN, position=own.position + 1)


def with_plain_offset(s: Application, own: Instance) -> Application:
    """The offset is committed at once, outside any transaction."""
    return s.with_record(OFFSETS, evolve(own.offset, id=NO_ID, epoch=NO_EPOCH))


# -- offsets outside the transaction --------------------------------------------------------------


@rule(by="producer", instance=instances)
def producer_commits_result(s: Application, instance: int) -> Step[Application]:
    """The producer commits a transaction with the result only; the offset follows.

    Kafka: `KafkaProducer.commitTransaction` without `sendOffsetsToTransaction`.
    """
    own = yield from at("result is produced", s, instance, Phase.PRODUCED)
    yield from is_current(s, own.id, own.epoch)
    s = with_end(s, own.id, commits=True, epoch=own.epoch + 1)
    s = with_committed(s, instance, own.epoch + 1)
    return s.with_instance(instance, phase=Phase.OFFSETS_SENT, txn=own.txn, position=own.position)


@rule(by="consumer", instance=instances)
def consumer_commits_offset_after(s: Application, instance: int) -> Step[Application]:
    """The consumer commits its offset after the transaction.

    Kafka: `KafkaConsumer.commitSync`.
    """
    own = yield from at("transaction is committed", s, instance, Phase.OFFSETS_SENT)
    yield "generation is current", own.generation == s.generation
    s = with_plain_offset(s, own)
    return s.with_instance(instance, phase=Phase.IDLE, txn=NO_TXN, position=own.position + 1)


@rule(by="consumer", instance=instances)
def consumer_commits_offset_before(s: Application, instance: int) -> Step[Application]:
    """The consumer commits its offset before the transaction.

    Kafka: `KafkaConsumer.commitSync`.
    """
    own = yield from at("result is produced", s, instance, Phase.PRODUCED)
    yield "generation is current", own.generation == s.generation
    return with_plain_offset(s, own).with_instance(instance, phase=Phase.OFFSETS_SENT)


# -- the application ------------------------------------------------------------------------------


@rule(by="reader")
def reader_reads_uncommitted(s: Application) -> Step[Application]:
    """A `read_uncommitted` consumer, the default, reads every record up to the high watermark.

    Kafka: `UnifiedLog.read` with `FetchIsolation.HIGH_WATERMARK`.
    """
    log, position = s.logs[DATA], s.reader.position
    yield "the high watermark is ahead", position < log.end
    read = (entry.value for entry in log.entries[position:] if not entry.is_marker)
    return evolve(s, reader=Reader(log.end, appended(s.reader.read, *read)))


@rule(by="producer", instance=instances)
def producer_aborts_and_keeps_position(s: Application, instance: int) -> Step[Application]:
    """The application aborts and polls the next input, without seeking to the committed offset.

    Kafka: `KafkaProducer.abortTransaction`, which does not move the consumer.
    """
    own = yield from at("a transaction is begun", s, instance, *ABORTABLE)
    yield from is_current(s, own.id, own.epoch)
    ended = with_end(s, own.id, commits=False, epoch=own.epoch + 1)
    return ended.with_instance(
        instance, phase=Phase.IDLE, txn=NO_TXN, epoch=own.epoch + 1, position=own.position + 1
    )


@rule(by="producer", instance=instances)
def producer_sends_offsets_after_failure(s: Application, instance: int) -> Step[Application]:
    """The application ignores that its result was not produced, and sends the offset.

    Not in Kafka: `KafkaProducer.sendOffsetsToTransaction` and `commitTransaction` throw then.
    """
    own = yield from at(
        "result is produced, or has failed", s, instance, Phase.PRODUCED, Phase.FAILED
    )
    s = yield from joined(s, OFFSETS, own.id, own.epoch)
    return s.with_record(OFFSETS, own.offset).with_instance(instance, phase=Phase.OFFSETS_SENT)


# -- the coordinator ------------------------------------------------------------------------------


@rule(by="coordinator", instance=instances)
def coordinator_keeps_epoch(s: Application, instance: int) -> Step[Application]:
    """A producer calls initTransactions and receives the epoch of the previous producer.

    Not in Kafka: `TransactionMetadata.prepareIncrementProducerEpoch` adds one.
    """
    yield from at("producer is not initialized", s, instance, Phase.STARTED)
    transaction = s.transactions[SHARED]
    yield "no end of a transaction is in progress", transaction.state not in PREPARED
    epoch = max(0, transaction.epoch)
    s = s.with_transaction(SHARED, epoch=epoch)
    return s.with_instance(instance, phase=Phase.IDLE, id=SHARED, epoch=epoch)


# -- partitions -----------------------------------------------------------------------------------


@rule(by="coordinator", tid=ids, partition=partitions)
def partition_appends_only_later_marker(
    s: Application, tid: int, partition: int
) -> Step[Application]:
    """A partition appends no marker of the epoch that it knows, even if it only repeats one.

    Not in Kafka: no release has `ProducerAppendInfo.checkProducerEpoch` without KAFKA-19999.
    """
    yield "coordinator has to send the marker", partition in s.transactions[tid].unmarked
    marker, known = marker_of(s, tid), s.logs[partition].producers[tid]
    yield "marker has a later producer epoch", marker.epoch > known.epoch
    is_recent = marker.coordinator_epoch >= known.coordinator_epoch
    yield "marker has no older coordinator epoch", is_recent
    return with_marker_written(s, tid, partition)


@rule(by="partition", tid=ids, partition=partitions)
def partition_expires_producer(s: Application, tid: int, partition: int) -> Step[Application]:
    """A partition forgets a producer whose epoch was bumped by a marker: it has no timestamp.

    Kafka: `ProducerStateManager.isProducerExpired`, `ProducerStateEntry.lastTimestamp` (2.4.0).
    """
    log = s.logs[partition]
    known = log.producers[tid]
    yield "partition knows the producer", known != ProducerState()
    yield "no transaction is open", not log.is_open(tid, known.epoch)
    yield "partition has no record of the epoch", log.count(tid, known.epoch) == 0
    producers = tuple(ProducerState() if i == tid else p for i, p in enumerate(log.producers))
    return s.with_log(partition, evolve(log, producers=producers))


@rule(by="producer", instance=instances)
def producer_produces_to_any_open(s: Application, instance: int) -> Step[Application]:
    """The partition is not added while a transaction of an earlier epoch is open there.

    Not in Kafka: `UnifiedLog.hasOngoingTransaction` compares the epoch.
    """
    own = yield from at("producer has begun a transaction", s, instance, Phase.POLLED)
    known = s.logs[DATA].producers[own.id]
    yield "producer epoch is not older", own.epoch >= known.epoch
    if known.first < 0:
        yield from is_current(s, own.id, own.epoch)
        s = with_partition(s, own.id, DATA)
    produced = s.with_record(DATA, own.result)
    return produced.with_instance(instance, phase=Phase.PRODUCED)


@rule(by="producer", instance=instances)
def producer_aborts_and_keeps_epoch(s: Application, instance: int) -> Step[Application]:
    """The application aborts after a failed request, and its producer keeps its epoch.

    Kafka: `TransactionManager.beginAbort` (2.4.0), and other clients without KIP-360.
    """
    own = yield from at("a transaction is begun", s, instance, *ABORTABLE)
    transaction = yield from is_current(s, own.id, own.epoch)
    yield "transaction to end is ongoing", transaction.state is TxnState.ONGOING
    ended = with_end(s, own.id, commits=False, epoch=own.epoch)
    return ended.with_instance(instance, phase=Phase.IDLE, txn=NO_TXN, position=UNKNOWN)
