"""The sequence check: whether a partition accepts a batch of a producer, or a marker.

Each batch of an idempotent producer has a producer id, an epoch, and consecutive sequence numbers.
The leader accepts the batch that follows the last one, and recognises a repetition of the last
five (`ProducerEntry.duplicate_of`); any other sequence number means that a batch is missing.

    >>> from kspec.spec.producer.entries import BatchMetadata, DataBatch, ProducerEntry
    >>> from kspec.spec.producer.sequences import Append, rejection
    >>> last = BatchMetadata(last_sequence=2, last_offset=12, offset_delta=2, timestamp=0)
    >>> known = ProducerEntry(7, epoch=0, batches=(last,))
    >>> print(rejection(Append(known), DataBatch(7, 0, 4, 4, first_offset=13, last_offset=13)))
    sequence number follows the last one: OUT_OF_ORDER_SEQUENCE_NUMBER

Kafka: `ProducerAppendInfo` [4.2.0; older rules at their tags] (KIP-98, KIP-360, KIP-890).
Before 2.7, Java clients call the error INVALID_PRODUCER_EPOCH a ProducerFencedException; its code
is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from kspec.spec.core import Check
from kspec.spec.producer.broker_rules import LATEST, BrokerRules
from kspec.spec.producer.entries import (
    LAST_EPOCH,
    LAST_SEQUENCE,
    NO_EPOCH,
    NO_SEQUENCE,
    Batch,
    BatchMetadata,
    CompletedTransaction,
    DataBatch,
    EndMarker,
    ProducerEntry,
    Transaction,
    Verification,
)
from kspec.spec.vocabulary import AppendOrigin, ProducerError

OUT_OF_ORDER = ProducerError.OUT_OF_ORDER_SEQUENCE_NUMBER


@attrs.frozen
class Append:
    """One producer's part of an append. Kafka: `ProducerAppendInfo`.

    A follower appends all batches of a response at once, and checks each after the ones before it.
    """

    current: ProducerEntry
    """The state of the producer before the append."""
    origin: AppendOrigin = AppendOrigin.CLIENT
    """Where the append comes from."""
    verification: Verification | None = None
    """The verification that the producer waits for, or has just received."""
    rules: BrokerRules = LATEST
    """The rules."""
    updated: ProducerEntry = attrs.field(
        default=attrs.Factory(lambda self: attrs.evolve(self.current, batches=()), takes_self=True)
    )
    """The state of the producer after the append, with the appended batches only."""
    started: tuple[Transaction, ...] = ()
    """The transactions that begin with the append."""
    completed: tuple[CompletedTransaction, ...] = ()
    """The transactions that end with it."""

    def after(self, batch: Batch) -> Append:
        """The append with one more batch, which has passed the checks.

        Kafka: `ProducerAppendInfo.appendDataBatch`, `appendEndTxnMarker`.
        """
        return self._marked(batch) if isinstance(batch, EndMarker) else self._appended(batch)

    def _appended(self, batch: DataBatch) -> Append:
        """A transactional batch begins a transaction unless one is open."""
        delta = batch.last_offset - batch.first_offset
        if not self.rules.counts_offsets:
            delta = batch.last_sequence - batch.first_sequence
        entry = self.updated.in_epoch(batch.epoch)
        metadata = BatchMetadata(batch.last_sequence, batch.last_offset, delta, batch.timestamp)
        batches = (*entry.batches, metadata)[-self.rules.retained :]
        entry = attrs.evolve(entry, batches=batches, last_timestamp=batch.timestamp)
        if entry.transaction_start is not None or not batch.is_transactional:
            return attrs.evolve(self, updated=entry)
        start = batch.last_offset - delta
        begun = Transaction(batch.producer, start)
        entry = attrs.evolve(entry, transaction_start=start)
        return attrs.evolve(self, updated=entry, started=(*self.started, begun))

    def _marked(self, marker: EndMarker) -> Append:
        """A marker ends the transaction, and may begin an epoch.

        Without a transaction it changes no stable offset. Before 2.8 it began
        and ended an empty one.
        """
        started, start = self.started, self.updated.transaction_start
        if start is None and self.rules.completes_empty:
            start = marker.first_offset
            started = (*started, Transaction(marker.producer, start))
        completed = self.completed
        if start is not None:
            ended = CompletedTransaction(
                marker.producer, start, marker.last_offset, marker.is_abort
            )
            completed = (*completed, ended)
        entry = attrs.evolve(
            self.updated.in_epoch(marker.epoch),
            coordinator_epoch=marker.coordinator_epoch,
            last_timestamp=marker.timestamp,
            transaction_start=None,
        )
        return attrs.evolve(self, updated=entry, started=started, completed=completed)


# -- checks ---------------------------------------------------------------------------------------


def rejection(append: Append, batch: Batch) -> Check | None:
    """The first check that fails; None if the batch is accepted."""
    return next((check for check in checks(append, batch) if not check.holds), None)


def checks(append: Append, batch: Batch) -> Iterator[Check]:
    """The guards of an append, in Kafka's order."""
    if isinstance(batch, EndMarker):
        yield from marker_checks(append, batch)
        return
    is_replica = append.origin is AppendOrigin.REPLICATION
    yield Check(
        "producer epoch is not older",
        is_replica or batch.epoch >= append.updated.epoch,
        ProducerError.INVALID_PRODUCER_EPOCH,
    )
    if append.origin is AppendOrigin.CLIENT:
        if append.verification is not None:
            yield from verification_checks(append, append.verification, batch)
        yield from sequence_checks(append, batch)
    yield Check(
        "batch of an open transaction is transactional",
        append.updated.transaction_start is None or batch.is_transactional,
        ProducerError.INVALID_TXN_STATE,
    )


def verification_checks(
    append: Append, verification: Verification, batch: DataBatch
) -> Iterator[Check]:
    """The guards of a batch whose transaction was just verified (KIP-890).

    While a batch with a lower sequence number is retried, because its verification failed, a
    later one must not overtake it: the lower one could never be appended (since 3.6). A producer
    that bumps its epoch at the end of each transaction has to begin with 0 where it is unknown
    (since 4.1): nothing else tells that no batch is missing.
    """
    first = batch.first_sequence
    if append.rules.bumping_starts_at_zero:
        is_new = verification.bumps_epochs and not append.current.batches
        yield Check("bumped epoch begins with 0", first == 0 or not is_new, OUT_OF_ORDER)
    yield Check(
        "no earlier batch awaits verification",
        first <= verification.lowest_sequence,
        OUT_OF_ORDER,
    )


def sequence_checks(append: Append, batch: DataBatch) -> Iterator[Check]:
    """The guard of a batch's first sequence number. Kafka: `ProducerAppendInfo.checkSequence`.

    A new epoch begins with 0. A producer that the partition does not know may have been forgotten
    (retention before 2.4, expiry, DeleteRecords): 1.0 to 2.4 answer UNKNOWN_PRODUCER_ID, and the
    producer finds out by itself whether a record is missing; since 2.5 any number is accepted
    (KIP-360).
    """
    rules, first = append.rules, batch.first_sequence
    if append.updated.epoch == NO_EPOCH:
        error = rules.without_state
        yield Check("producer is known", first == 0 or error is None, error or OUT_OF_ORDER)
    elif batch.epoch != append.updated.epoch:
        yield Check("new epoch begins with 0", first == 0, OUT_OF_ORDER)
    elif rules.without_state is None and append.current.epoch == NO_EPOCH:
        pass  # a later batch of an append by an unknown producer
    elif (last := last_sequence(append, batch)) == NO_SEQUENCE:
        yield Check("epoch of a marker begins with 0", first == 0, rules.without_sequence)
    else:
        yield Check("sequence number follows the last one", follows(last, first), OUT_OF_ORDER)


def last_sequence(append: Append, batch: DataBatch) -> int:
    """The sequence number that a batch of the entry's epoch has to follow."""
    if append.updated.batches:
        return append.updated.last_sequence
    return append.current.last_sequence if batch.epoch == append.current.epoch else NO_SEQUENCE


def follows(last: int, first: int) -> bool:
    """Whether a sequence number is the next one; 0 follows the greatest.

    Kafka: `ProducerAppendInfo.inSequence`.
    """
    return first == last + 1 or (first == 0 and last == LAST_SEQUENCE)


def marker_checks(append: Append, marker: EndMarker) -> Iterator[Check]:
    """The guards of a marker: neither its producer epoch nor its coordinator epoch is older.

    With transaction version 2 the coordinator bumps the producer epoch before it writes markers,
    so that a marker with the entry's epoch is late, and would end the producer's next transaction.
    Since 4.2 it is rejected unless no transaction is open: then it is a repetition. A replica
    accepts what its leader accepted, since 2.4.1. Kafka: `ProducerAppendInfo.appendEndTxnMarker`.
    """
    rules, known = append.rules, append.updated
    is_trusted = append.origin is AppendOrigin.REPLICATION and rules.trusts_replicated_markers
    is_current = marker.epoch >= known.epoch
    if rules.marker_bumps and marker.transaction_version >= 2:
        repeats = marker.epoch == known.epoch and (
            known.transaction_start is None
            or (rules.repeats_at_last_epoch and marker.epoch == LAST_EPOCH)
        )
        is_current = marker.epoch > known.epoch or repeats
    yield Check(
        "producer epoch of the marker is current",
        is_trusted or is_current,
        ProducerError.INVALID_PRODUCER_EPOCH,
    )
    yield Check(
        "coordinator epoch is not older",
        is_trusted or marker.coordinator_epoch >= known.coordinator_epoch,
        ProducerError.TRANSACTION_COORDINATOR_FENCED,
    )
