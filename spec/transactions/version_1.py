"""Transactions version 1, up to 3.9: the client adds partitions, and the epoch stays at an end."""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, rule
from kspec.spec.transactions.application import with_committed
from kspec.spec.transactions.coordinator import with_end
from kspec.spec.transactions.state import (
    DATA,
    NO_TXN,
    OFFSETS,
    UNKNOWN,
    Application,
    Phase,
    TxnState,
    at,
    instances,
    is_current,
)

# -- transaction ----------------------------------------------------------------------------------


@rule(by="producer", instance=instances)
def producer_adds_partition(s: Application, instance: int) -> Step[Application]:
    """Before its first record, the producer adds the partition of the results (AddPartitionsToTxn).

    Kafka: `TransactionCoordinator.handleAddPartitionsToTransaction`.
    """
    own = yield from at("producer has begun a transaction", s, instance, Phase.POLLED)
    yield from is_current(s, own.id, own.epoch)
    return with_partition(s, own.id, DATA).with_instance(instance, phase=Phase.ADDED)


@rule(by="producer", instance=instances)
def producer_adds_offsets(s: Application, instance: int) -> Step[Application]:
    """Before it sends offsets, the producer adds their partition (AddOffsetsToTxn).

    Kafka: `KafkaApis.handleAddOffsetsToTxnRequest`.
    """
    own = yield from at("result is produced", s, instance, Phase.PRODUCED)
    yield from is_current(s, own.id, own.epoch)
    return with_partition(s, own.id, OFFSETS).with_instance(instance, phase=Phase.OFFSETS_ADDED)


def with_partition(s: Application, tid: int, partition: int) -> Application:
    """The coordinator adds a partition to the transaction, and begins it if none is ongoing.

    Kafka: `TransactionMetadata.prepareAddPartitions`.
    """
    joined = s.transactions[tid].partitions | {partition}
    return s.with_transaction(tid, state=TxnState.ONGOING, partitions=joined)


@rule(by="producer", instance=instances)
def producer_produces(s: Application, instance: int) -> Step[Application]:
    """The producer sends the result; the partition compares its epoch with the latest one.

    Kafka: `ProducerAppendInfo.checkProducerEpoch`.
    """
    own = yield from at("partition is added", s, instance, Phase.ADDED)
    yield from is_appendable(s, DATA, own.id, own.epoch)
    return s.with_record(DATA, own.result).with_instance(instance, phase=Phase.PRODUCED)


@rule(by="producer", instance=instances)
def producer_sends_offsets(s: Application, instance: int) -> Step[Application]:
    """The producer sends the next offset to read (TxnOffsetCommit), without a generation.

    Kafka: `GroupCoordinator.handleTxnCommitOffsets`, where neither member nor generation is
    compared if the request has none.
    """
    own = yield from at("offsets partition is added", s, instance, Phase.OFFSETS_ADDED)
    yield from is_appendable(s, OFFSETS, own.id, own.epoch)
    return s.with_record(OFFSETS, own.offset).with_instance(instance, phase=Phase.OFFSETS_SENT)


def is_appendable(s: Application, partition: int, tid: int, epoch: int) -> Guarded[None]:
    """The guard of every record of a producer: no later epoch was appended.

    Otherwise the response is INVALID_PRODUCER_EPOCH (PRODUCER_FENCED before 2.7).
    """
    yield "producer epoch is not older", epoch >= s.logs[partition].producers[tid].epoch


# -- end ------------------------------------------------------------------------------------------


@rule(by="producer", instance=instances)
def producer_commits(s: Application, instance: int) -> Step[Application]:
    """The producer commits (EndTxn). The response does not wait for the markers.

    Kafka: `TransactionCoordinator.endTransaction` (2.5.0).
    """
    own = yield from at("offsets are sent", s, instance, Phase.OFFSETS_SENT)
    transaction = yield from is_current(s, own.id, own.epoch)
    yield "transaction to end is ongoing", transaction.state is TxnState.ONGOING
    ended = with_end(s, own.id, commits=True, epoch=own.epoch)
    return with_committed(ended, instance, own.epoch)


ABORTABLE = (
    Phase.ADDED,
    Phase.PRODUCED,
    Phase.OFFSETS_ADDED,
    Phase.OFFSETS_SENT,
    Phase.FAILED,
)
"""The steps at which a producer may abort a transaction that the coordinator knows."""


@rule(by="producer", instance=instances)
def producer_aborts(s: Application, instance: int) -> Step[Application]:
    """The application aborts (EndTxn) after an exception; after a failed request it has to.

    After a failed request, its producer bumps its epoch next. Kafka:
    `TransactionManager.beginAbort`, `maybeTransitionToErrorState` (KIP-360).
    """
    own = yield from at("a transaction is begun", s, instance, *ABORTABLE)
    transaction = yield from is_current(s, own.id, own.epoch)
    yield "transaction to end is ongoing", transaction.state is TxnState.ONGOING
    phase = Phase.ABORTED if own.phase is Phase.FAILED else Phase.IDLE
    ended = with_end(s, own.id, commits=False, epoch=own.epoch)
    return ended.with_instance(instance, phase=phase, txn=NO_TXN, position=UNKNOWN)


@rule(by="producer", instance=instances)
def producer_bumps_epoch(s: Application, instance: int) -> Step[Application]:
    """After a failed request and the abort, the producer asks for a new epoch (KIP-360).

    The request has the current epoch, so a fenced producer cannot use it to fence others. Kafka:
    `TransactionMetadata.prepareIncrementProducerEpoch`.
    """
    own = yield from at("producer has aborted after a failure", s, instance, Phase.ABORTED)
    transaction = yield from is_current(s, own.id, own.epoch)
    epoch = transaction.epoch + 1
    s = s.with_transaction(own.id, state=TxnState.EMPTY, epoch=epoch)
    return s.with_instance(instance, phase=Phase.IDLE, epoch=epoch)


RULES = (
    producer_adds_partition,
    producer_produces,
    producer_adds_offsets,
    producer_sends_offsets,
    producer_commits,
    producer_aborts,
    producer_bumps_epoch,
)
