"""What a leader answers to Produce, and when.

>>> from kspec.spec.core import decide
>>> from kspec.spec.producer.entries import ProducerEntry
>>> from kspec.spec.serving.partition import Partition
>>> from kspec.spec.serving.produce import Produce, produce
>>> known = Partition(producer=ProducerEntry(0, epoch=3))
>>> print(decide(produce(known, Produce(epoch=2, sequence=0))).failed)
producer epoch is not older: INVALID_PRODUCER_EPOCH
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kspec.spec.core import Check
from kspec.spec.log import Record
from kspec.spec.producer.entries import DataBatch, sequence_after
from kspec.spec.producer.sequences import Append, sequence_checks
from kspec.spec.serving.partition import PARTITION, Handler, Partition, exists
from kspec.spec.vocabulary import PartitionError, ProducerError, TopicPartition

ACKS = (-1, 0, 1)
"""Which replicas have to have a record: all in sync, none, or the leader."""
FLAWS = ("none", "two", "old format", "too large", "checksum", "count", "control")
"""What may be wrong with the batch of a request: there is none, there are two, it has an older
format, it is too large, its checksum or its number of records is wrong, or it has control records.
"""


@attrs.frozen
class Produce:
    """A producer sends a batch."""

    partition: TopicPartition = PARTITION
    """The partition."""
    times: tuple[int, ...] = (0,)
    """The times of its records."""
    flaw: str = ""
    """What is wrong with the batch, if anything: one of `FLAWS`."""
    acks: int = -1
    """Which replicas have to have it: -1 for all in sync, 1 for the leader; others are refused."""
    epoch: int = -1
    """The epoch of the idempotent producer, or -1."""
    sequence: int = -1
    """The sequence number of its first record, or -1."""


@attrs.frozen
class ProduceResponse:
    """The response to Produce."""

    error: str = "NONE"
    """NONE, or why the batch was not appended."""
    base_offset: int = -1
    """The offset of its first record."""


def produce(partition: Partition, request: Produce, number: int = 0) -> Handler[ProduceResponse]:
    """Append a batch; `number` is that of the request, and the id of its records.

    The request has no leader epoch, so none can be old: a leader that does not know yet that it is
    deposed appends the batch, and one that knows answers as `append_error` says.

    An idempotent producer's batch has to follow its last one (`spec.producer.sequences`); one of
    its last five batches is not appended again.

    Kafka: `ReplicaManager.appendRecords`, `UnifiedLog.append`. Simplification: the batch is of no
    transaction, and names at most one flaw.
    """
    yield exists(request.partition)
    yield Check(
        "there is one batch of the current format",
        request.flaw not in ("none", "two", "old format"),
        PartitionError.INVALID_RECORD,
    )
    yield Check("acks are valid", request.acks in ACKS, PartitionError.INVALID_REQUIRED_ACKS)
    too_large, corrupt = PartitionError.MESSAGE_TOO_LARGE, PartitionError.CORRUPT_MESSAGE
    invalid = PartitionError.INVALID_RECORD
    yield Check("batch is not too large", request.flaw != "too large", too_large)
    yield Check("checksum is right", request.flaw != "checksum", corrupt)
    yield Check("number of records is right", request.flaw != "count", invalid)
    yield Check("batch has no control records", request.flaw != "control", invalid)
    log, size, producer = partition.log, len(request.times), partition.producer
    if request.epoch >= 0:
        last = sequence_after(request.sequence, size - 1)
        batch = DataBatch(0, request.epoch, request.sequence, last, log.end, log.end + size - 1)
        is_current = request.epoch >= producer.epoch
        fenced = ProducerError.INVALID_PRODUCER_EPOCH
        yield Check("producer epoch is not older", is_current, fenced)
        duplicate = producer.duplicate_of(batch)
        if duplicate is not None:
            return partition, ProduceResponse(base_offset=duplicate.first_offset)
        yield from sequence_checks(Append(producer), batch)
        producer = producer.after(Append(producer).after(batch).updated)
    base_offset = log.end
    for _ in range(size):
        log = log.append(Record(number, partition.leader_epoch))
    times = (*partition.times, *request.times)
    appended = attrs.evolve(partition, log=log, times=times, producer=producer)
    return appended, ProduceResponse(base_offset=base_offset)


def append_error(
    leads: bool, acks: int, isr_size: int, effective_min_isr: int
) -> PartitionError | None:
    """Why a leader does not append a producer's records; None if it does.

    `isr_size` is that of the committed ISR, `effective_min_isr` that of `spec.in_sync`. With
    acks 0 and 1 the size of the ISR does not matter. Kafka: `ReplicaManager.appendRecords`,
    `Partition.appendRecordsToLeader`.
    """
    if acks not in ACKS:
        return PartitionError.INVALID_REQUIRED_ACKS
    if not leads:
        return PartitionError.NOT_LEADER_OR_FOLLOWER
    if acks == -1 and isr_size < effective_min_isr:
        return PartitionError.NOT_ENOUGH_REPLICAS
    return None


# -- when a produce is answered -------------------------------------------------------------------

Acknowledged: TypeAlias = bool | PartitionError
"""True: acknowledged. False: not yet. Otherwise the error."""


def is_acknowledged(
    leads: bool, end: int, hw: int, maximal_isr_size: int, effective_min_isr: int
) -> Acknowledged:
    """Whether records that end at offset `end` are acknowledged with acks=all, or the error.

    The producer waits for the HW, not for the ISR. Once the HW is reached, the size of the ISR is
    checked again; the records stay in the log whatever the response. The leader counts its pending
    ISR members here (KIP-497). If it is deposed meanwhile, the producer gets an error. Kafka:
    `Partition.checkEnoughReplicasReachOffset`, called by `DelayedProduce.tryComplete` whenever
    the HW advances or the leader changes; after request.timeout.ms the answer is
    REQUEST_TIMED_OUT.
    """
    if not leads:
        return PartitionError.NOT_LEADER_OR_FOLLOWER
    if hw < end:
        return False
    if maximal_isr_size < effective_min_isr:
        return PartitionError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True


def waits_for_replicas(acks: int, was_appended: bool) -> bool:
    """Whether a produce is parked: acks=all, and at least one partition took its records.

    With acks=1 the response follows the append; with acks=0 there is none, and an error closes the
    connection (`KafkaApis.handleProduceRequest`). Kafka:
    `ReplicaManager.delayedProduceRequestRequired`.
    """
    return acks == -1 and was_appended
