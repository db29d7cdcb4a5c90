"""Verification (KIP-890, part 1): a record may open a transaction only if the coordinator knows it.

The leader asks the coordinator whether the partition is in an ongoing transaction of this epoch.
Asking and appending are one step here: Kafka refuses the append if a marker was written in between
(`VerificationGuard`).
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, present, rule
from kspec.spec.transactions.late import is_in_sequence
from kspec.spec.transactions.state import (
    DATA,
    OFFSETS,
    PREPARED,
    Application,
    Phase,
    at,
    instances,
)
from kspec.spec.transactions.version_1 import is_appendable


def is_verified(s: Application, partition: int, tid: int, epoch: int) -> Guarded[None]:
    """The guards of a record without an open transaction: the coordinator knows of one.

    Kafka: `UnifiedLog.maybeStartTransactionVerification`,
    `TransactionCoordinator.handleVerifyPartitionsInTransaction`.
    """
    transaction = s.transactions[tid]
    is_open = s.logs[partition].is_open(tid, epoch)
    yield "coordinator verifies the epoch", is_open or transaction.epoch == epoch
    is_added = partition in transaction.partitions and transaction.state not in PREPARED
    yield "coordinator verifies the partition", is_open or is_added


@rule(by="producer", instance=instances)
def producer_produces_verified(s: Application, instance: int) -> Step[Application]:
    """The producer sends the result, and the leader verifies that it is part of a transaction.

    Kafka: `ReplicaManager.maybeStartTransactionVerificationForPartitions` (3.6.0).
    """
    own = yield from at("partition is added", s, instance, Phase.ADDED)
    yield from is_appendable(s, DATA, own.id, own.epoch)
    yield from is_verified(s, DATA, own.id, own.epoch)
    return s.with_record(DATA, own.result).with_instance(instance, phase=Phase.PRODUCED)


@rule(by="network")
def late_produce_arrives_verified(s: Application) -> Step[Application]:
    """A late Produce is appended only as part of a transaction that the coordinator knows.

    Kafka: `UnifiedLog.analyzeAndValidateProducerState` (3.6.0), INVALID_TXN_STATE otherwise.
    """
    late = yield from present("a late Produce is in flight", s.late.produce)
    yield from is_in_sequence(s, late)
    yield from is_verified(s, DATA, late.id, late.record.epoch)
    return s.with_record(DATA, late.record).with_late(produce=None)


@rule(by="producer", instance=instances)
def producer_sends_offsets_verified(s: Application, instance: int) -> Step[Application]:
    """The producer sends the next offset to read, which is verified like a result since 3.7.

    Kafka: `GroupCoordinator.handleTxnCommitOffsets` (3.7.0).
    """
    own = yield from at("offsets partition is added", s, instance, Phase.OFFSETS_ADDED)
    yield from is_appendable(s, OFFSETS, own.id, own.epoch)
    yield from is_verified(s, OFFSETS, own.id, own.epoch)
    return s.with_record(OFFSETS, own.offset).with_instance(instance, phase=Phase.OFFSETS_SENT)


@rule(by="network")
def late_offset_commit_arrives_verified(s: Application) -> Step[Application]:
    """A late TxnOffsetCommit is appended only as part of a transaction that the coordinator knows.

    Kafka: `GroupCoordinator.handleTxnCommitOffsets` (3.7.0).
    """
    late = yield from present("a late TxnOffsetCommit is in flight", s.late.commit)
    yield from is_appendable(s, OFFSETS, late.id, late.record.epoch)
    yield from is_verified(s, OFFSETS, late.id, late.record.epoch)
    return s.with_record(OFFSETS, late.record).with_late(commit=None)
