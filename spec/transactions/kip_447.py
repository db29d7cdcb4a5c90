"""KIP-447: each instance has its own transactional id, and the group fences its offsets.

Producer epochs do not fence a zombie with another transactional id. The generation of the group
does, and the next owner of the input waits until no transaction with an offset is open.
"""

from __future__ import annotations

from kspec.spec.core import Step, present, rule
from kspec.spec.transactions.coordinator import fenced, initialized
from kspec.spec.transactions.state import OFFSETS, UNKNOWN, Application, Phase, at, instances
from kspec.spec.transactions.version_2 import joined


@rule(by="coordinator", instance=instances)
def coordinator_initializes_own_id(s: Application, instance: int) -> Step[Application]:
    """A producer with a transactional id of its own calls initTransactions.

    Kafka: `TransactionCoordinator.handleInitProducerId`.
    """
    return (yield from initialized(s, instance, instance))


@rule(by="coordinator", instance=instances)
def coordinator_fences_own_id(s: Application, instance: int) -> Step[Application]:
    """A restarted producer calls initTransactions while its last transaction is ongoing.

    Kafka: `TransactionMetadata.prepareFenceProducerEpoch`.
    """
    return (yield from fenced(s, instance, instance))


@rule(by="producer", instance=instances)
def producer_sends_offsets_in_generation(s: Application, instance: int) -> Step[Application]:
    """The producer sends the next offset to read, with the generation of its consumer.

    Otherwise the response is ILLEGAL_GENERATION, and the application aborts. Kafka:
    `OffsetMetadataManager.validateTransactionalOffsetCommit`. Simplification: the broker adds the
    partition of offsets to the transaction even if the group then refuses the offsets.
    """
    own = yield from at("result is produced", s, instance, Phase.PRODUCED)
    s = yield from joined(s, OFFSETS, own.id, own.epoch)
    yield "generation is current", own.generation == s.generation
    return s.with_record(OFFSETS, own.offset).with_instance(instance, phase=Phase.OFFSETS_SENT)


@rule(by="network")
def late_offset_commit_arrives_in_generation(s: Application) -> Step[Application]:
    """A late TxnOffsetCommit is appended only in its generation, and in its epoch.

    Kafka: `OffsetMetadataManager.validateTransactionalOffsetCommit`.
    """
    late = yield from present("a late TxnOffsetCommit is in flight", s.late.commit)
    s = yield from joined(s, OFFSETS, late.id, late.record.epoch)
    yield "generation is current", late.generation == s.generation
    return s.with_record(OFFSETS, late.record).with_late(commit=None)


@rule(by="consumer", instance=instances)
def consumer_fetches_offset(s: Application, instance: int) -> Step[Application]:
    """A consumer fetches the committed offset, also while a transaction with an offset is open.

    Kafka: OffsetFetch without require_stable, as clients before KIP-447 (2.5) and some others send
    it; `OffsetMetadataManager.fetchOffsets`.
    """
    own = yield from at("producer has no transaction", s, instance, Phase.IDLE)
    yield "position is unknown", own.position == UNKNOWN
    return s.with_instance(instance, position=s.committed_offset)
