"""The state of one producer in a partition, and the batches of producers and coordinators.

Kafka: `ProducerStateEntry`, `BatchMetadata`, `VerificationStateEntry`, `CompletedTxn` [4.2.0].
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kspec.spec.producer.broker_rules import LATEST, BrokerRules

NO_EPOCH = -1
"""The epoch of an unknown producer, or of a coordinator before its first marker."""
NO_SEQUENCE = -1
"""The last sequence number if no batch of this epoch is remembered."""
NO_TIMESTAMP = -1
"""The time of an unknown producer's last activity."""
LAST_SEQUENCE = 2**31 - 1
"""The greatest sequence number; 0 follows it."""
LAST_EPOCH = 2**15 - 1
"""The greatest producer epoch."""


def sequence_before(sequence: int, by: int) -> int:
    """A sequence number that is smaller by some records; numbers wrap around.

    Kafka: `DefaultRecordBatch.decrementSequence`.
    """
    return sequence - by if sequence >= by else LAST_SEQUENCE - (by - sequence) + 1


def sequence_after(sequence: int, by: int) -> int:
    """A sequence number that is greater by some records; numbers wrap around.

    Kafka: `DefaultRecordBatch.incrementSequence`.
    """
    over = sequence + by - LAST_SEQUENCE
    return over - 1 if over > 0 else sequence + by


# -- what is appended -----------------------------------------------------------------------------


@attrs.frozen
class DataBatch:
    """A batch of an idempotent or transactional producer, with its offsets."""

    producer: int
    """The producer id."""
    epoch: int
    """The producer epoch."""
    first_sequence: int
    """The sequence number of its first record; -1 in a batch of a coordinator."""
    last_sequence: int
    """The sequence number of its last record; -1 in a batch of a coordinator."""
    first_offset: int
    """The offset of its first record."""
    last_offset: int
    """The offset of its last record."""
    timestamp: int = 0
    """The largest timestamp of its records."""
    is_transactional: bool = False
    """Whether it belongs to a transaction."""


@attrs.frozen
class EndMarker:
    """A control batch with the marker that ends a transaction in this partition."""

    producer: int
    """The producer id."""
    epoch: int
    """The producer epoch."""
    coordinator_epoch: int
    """The epoch of the transaction coordinator."""
    is_abort: bool
    """Whether it aborts the transaction; otherwise it commits it."""
    first_offset: int
    """Its offset."""
    timestamp: int = 0
    """When the coordinator wrote it."""
    transaction_version: int = 0
    """transaction.version; only its leader knows it (WriteTxnMarkers, since 4.2)."""

    @property
    def last_offset(self) -> int:
        """Its offset: a marker is one record."""
        return self.first_offset


Batch: TypeAlias = DataBatch | EndMarker
"""What is appended with a producer id."""


# -- what is kept ---------------------------------------------------------------------------------


@attrs.frozen
class BatchMetadata:
    """A batch that is remembered, so that its repetition is recognised."""

    last_sequence: int
    """The sequence number of its last record."""
    last_offset: int
    """The offset of its last record."""
    offset_delta: int
    """How much greater this is than the offset of its first record."""
    timestamp: int
    """The largest timestamp of its records."""

    @property
    def first_sequence(self) -> int:
        """The sequence number of its first record."""
        return sequence_before(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        """The offset of its first record, which answers a repetition."""
        return self.last_offset - self.offset_delta


@attrs.frozen
class ProducerEntry:
    """The state of one producer in a partition."""

    producer: int
    """The producer id."""
    epoch: int = NO_EPOCH
    """The epoch of its last batch or marker."""
    batches: tuple[BatchMetadata, ...] = ()
    """Its last batches in this epoch, oldest first."""
    coordinator_epoch: int = -1
    """The epoch of the coordinator that wrote its last marker."""
    last_timestamp: int = NO_TIMESTAMP
    """The time of its last batch or marker."""
    transaction_start: int | None = None
    """The first offset of its open transaction."""

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record in this epoch."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def duplicate_of(self, batch: DataBatch) -> BatchMetadata | None:
        """The remembered batch that this one repeats: same epoch, same sequence numbers.

        Kafka: `ProducerStateEntry.findDuplicateBatch`.
        """
        if batch.epoch != self.epoch:
            return None
        asked = batch.first_sequence, batch.last_sequence
        for known in self.batches:
            if (known.first_sequence, known.last_sequence) == asked:
                return known
        return None

    def in_epoch(self, epoch: int) -> ProducerEntry:
        """The entry in an epoch: a new one forgets the batches.

        Kafka: `ProducerStateEntry.maybeUpdateProducerEpoch`.
        """
        return self if epoch == self.epoch else attrs.evolve(self, epoch=epoch, batches=())

    def after(self, change: ProducerEntry, rules: BrokerRules = LATEST) -> ProducerEntry:
        """The entry after an append. Kafka: `ProducerStateEntry.update`."""
        batches = (*self.in_epoch(change.epoch).batches, *change.batches)[-rules.retained :]
        time = change.last_timestamp
        if not rules.marker_is_activity:
            time = batches[-1].timestamp if batches else NO_TIMESTAMP
        return attrs.evolve(change, batches=batches, last_timestamp=time)


@attrs.frozen
class Verification:
    """A transaction's first batch waits until the coordinator verifies the transaction.

    Kafka: `VerificationStateEntry` (KIP-890).
    """

    guard: int
    """What the request that asked for it has to present: the number of the verification."""
    lowest_sequence: int
    """The lowest sequence number that has asked; a batch beyond it would overtake that one."""
    epoch: int
    """The producer epoch that asked."""
    bumps_epochs: bool = False
    """Whether the producer bumps its epoch at the end of each transaction (version 2)."""
    started: int = 0
    """When it began."""

    def asked_again(self, sequence: int, epoch: int) -> Verification:
        """The verification after another batch has asked for it.

        Kafka: `VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch`.
        """
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            return attrs.evolve(self, lowest_sequence=sequence, epoch=epoch)
        return self


@attrs.frozen
class Transaction:
    """A transaction in this partition. Kafka: `TxnMetadata`."""

    producer: int
    """The producer id."""
    first_offset: int
    """The offset of its first record."""
    last_offset: int | None = None
    """The offset of its marker; None while it is open."""


@attrs.frozen
class CompletedTransaction:
    """A transaction that a marker ended. Kafka: `CompletedTxn`."""

    producer: int
    """The producer id."""
    first_offset: int
    """The offset of its first record."""
    last_offset: int
    """The offset of its marker."""
    is_aborted: bool
    """Whether it was aborted."""
