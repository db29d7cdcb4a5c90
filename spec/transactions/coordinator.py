"""The transaction coordinator: producer epochs, timeouts, markers and failover."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, rule
from kspec.spec.transactions.log import Entry
from kspec.spec.transactions.state import (
    COMPLETE,
    PREPARED,
    Application,
    Phase,
    Transaction,
    TxnState,
    at,
    ids,
    instances,
    partitions,
)

# -- producer epochs ------------------------------------------------------------------------------

SHARED = 0
"""The transactional id of both instances, in the way to use transactions before KIP-447."""


@rule(by="coordinator", instance=instances)
def coordinator_initializes_producer(s: Application, instance: int) -> Step[Application]:
    """A producer calls initTransactions and receives a new epoch, which fences earlier producers.

    Both instances have the same transactional id, since they process the same input (before
    KIP-447). Kafka: `TransactionCoordinator.handleInitProducerId`.
    """
    return (yield from initialized(s, instance, SHARED))


def initialized(s: Application, instance: int, tid: int) -> Step[Application]:
    """The guards and the effect of InitProducerId where no transaction is in progress."""
    yield from at("producer is not initialized", s, instance, Phase.STARTED)
    transaction = s.transactions[tid]
    yield "no transaction is ongoing", transaction.state is not TxnState.ONGOING
    yield "no end of a transaction is in progress", transaction.state not in PREPARED
    epoch = transaction.epoch + 1
    s = s.with_transaction(tid, state=TxnState.EMPTY, epoch=epoch)
    return s.with_instance(instance, phase=Phase.IDLE, id=tid, epoch=epoch)


@rule(by="coordinator", instance=instances)
def coordinator_fences_producer(s: Application, instance: int) -> Step[Application]:
    """A producer calls initTransactions while a transaction is ongoing, which is aborted.

    The epoch of the abort is given to no producer. The caller receives CONCURRENT_TRANSACTIONS and
    tries again. Kafka: `TransactionMetadata.prepareFenceProducerEpoch`. Simplification: 4.0.0
    adds 2 to the epoch here (KAFKA-19367): PrepareEpochFence and PrepareAbort each add 1.
    """
    return (yield from fenced(s, instance, SHARED))


def fenced(s: Application, instance: int, tid: int) -> Step[Application]:
    """The guards and the effect of InitProducerId while a transaction is ongoing."""
    yield from at("producer is not initialized", s, instance, Phase.STARTED)
    yield "a transaction is ongoing", s.transactions[tid].state is TxnState.ONGOING
    return with_end(s, tid, commits=False, epoch=s.transactions[tid].epoch + 1)


@rule(by="coordinator", tid=ids)
def coordinator_times_out(s: Application, tid: int) -> Step[Application]:
    """The coordinator aborts a transaction after `transaction.timeout.ms`, and fences its producer.

    Kafka: `TransactionCoordinator.abortTimedOutTransactions`. Simplification: the producer does not
    recover from it (KIP-588); the group assigns its input to another instance.
    """
    yield "a transaction is ongoing", s.transactions[tid].state is TxnState.ONGOING
    return with_end(s, tid, commits=False, epoch=s.transactions[tid].epoch + 1)


def with_end(s: Application, tid: int, *, commits: bool, epoch: int) -> Application:
    """The coordinator writes the outcome to `__transaction_state`; the markers follow.

    Kafka: `TransactionCoordinator.endTransaction`, `TransactionMetadata.prepareAbortOrCommit`.
    """
    state = TxnState.PREPARE_COMMIT if commits else TxnState.PREPARE_ABORT
    unmarked = s.transactions[tid].partitions
    return s.with_transaction(tid, state=state, epoch=epoch, unmarked=unmarked)


# -- markers --------------------------------------------------------------------------------------


def marker_of(s: Application, tid: int) -> Entry:
    """The marker that ends the transaction of a transactional id."""
    transaction: Transaction = s.transactions[tid]
    commits = transaction.state is TxnState.PREPARE_COMMIT
    return Entry(tid, transaction.epoch, commits, s.coordinator_epoch)


@rule(by="coordinator", tid=ids, partition=partitions)
def partition_appends_marker(s: Application, tid: int, partition: int) -> Step[Application]:
    """The coordinator sends a marker to a partition of the transaction, which appends it.

    Kafka: `TransactionMarkerChannelManager.addTxnMarkersToSend`,
    `ProducerAppendInfo.appendEndTxnMarker`.
    """
    yield "coordinator has to send the marker", partition in s.transactions[tid].unmarked
    marker = marker_of(s, tid)
    known = s.logs[partition].producers[tid]
    yield "marker has no older producer epoch", marker.epoch >= known.epoch
    is_recent = marker.coordinator_epoch >= known.coordinator_epoch
    yield "marker has no older coordinator epoch", is_recent
    return with_marker_written(s, tid, partition)


def with_marker_written(s: Application, tid: int, partition: int) -> Application:
    """A partition appends the marker, and the coordinator receives the response."""
    appended = s.with_marker(partition, marker_of(s, tid))
    return appended.with_transaction(tid, unmarked=s.transactions[tid].unmarked - {partition})


@rule(by="coordinator", tid=ids)
def coordinator_completes_transaction(s: Application, tid: int) -> Step[Application]:
    """Every marker is written, and the coordinator completes the transaction.

    Kafka: `TransactionMarkerChannelManager.maybeWriteTxnCompletion`,
    `TransactionMetadata.prepareComplete`.
    """
    transaction = s.transactions[tid]
    yield "the end of a transaction is in progress", transaction.state in PREPARED
    yield "every marker is written", not transaction.unmarked
    state = COMPLETE[PREPARED.index(transaction.state)]
    return s.with_transaction(tid, state=state, partitions=frozenset())


# -- failover -------------------------------------------------------------------------------------


@rule(by="coordinator")
def coordinator_fails_over(s: Application) -> Step[Application]:
    """Another broker loads `__transaction_state`, and sends the markers of prepared transactions.

    It sends each marker again, since the log does not tell which were written. Kafka:
    `TransactionStateManager.loadTransactionsForTxnTopicPartition`.
    """
    yield limit("a failover remains"), s.coordinator_epoch < s.bounds.failovers
    s = evolve(s, coordinator_epoch=s.coordinator_epoch + 1)
    for tid in ids(s):
        transaction = s.transactions[tid]
        if transaction.state in PREPARED:
            s = s.with_transaction(tid, unmarked=transaction.partitions)
    return s


RULES = (
    coordinator_initializes_producer,
    coordinator_fences_producer,
    coordinator_times_out,
    partition_appends_marker,
    coordinator_completes_transaction,
    coordinator_fails_over,
)
