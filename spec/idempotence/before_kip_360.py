"""Idempotence before KIP-360: from 0.11, with one request in flight, to 2.4, with five.

The broker refuses a producer that it does not know, and a producer that cannot continue takes a new
producer id. Batches that have the old id are sent at most once more. Classes and methods are named
as in 2.4.0, or 0.11.0.0. From 1.0 to 2.0, batches in flight did not time out.
"""

from __future__ import annotations

from kspec.spec.core import Step, evolve, rule
from kspec.spec.idempotence.failures import disconnected
from kspec.spec.idempotence.leader import (
    NO_EPOCH,
    arrived,
    producer_state,
    with_answer,
    with_appended,
)
from kspec.spec.idempotence.producer import (
    expired,
    is_missing_before,
    received,
    refused,
    sent,
    with_acknowledged,
    with_failed,
    with_numbers_from_zero,
    with_retry,
)
from kspec.spec.idempotence.state import (
    Answer,
    Batch,
    Exchange,
    Identity,
    Phase,
    Term,
    either,
    terms,
)

# -- the leader -----------------------------------------------------------------------------------


@rule(by="leader", late=either)
def leader_appends_known(s: Exchange, late: bool) -> Step[Exchange]:
    """The leader appends a batch whose number is the next one; without state, only 0 is.

    Kafka: `ProducerAppendInfo.checkSequence` (2.4.0).
    """
    request = yield from arrived(s, late)
    state = producer_state(s, request)
    yield "epoch is not old", request.epoch >= state.epoch
    yield "sequence is the next one", state.is_next(request, without_state=False)
    return with_appended(s, request, late)


@rule(by="leader")
def leader_refuses_known(s: Exchange) -> Step[Exchange]:
    """The leader refuses a number that is not the next one of a producer that it knows.

    Kafka: `ProducerAppendInfo.checkSequence` (2.4.0).
    """
    request = yield from arrived(s, late=False)
    state = producer_state(s, request)
    yield "producer is known", state.epoch != NO_EPOCH
    yield "batch is no duplicate", state.offset_of(request) is None
    yield "sequence is not the next one", not state.is_next(request, without_state=False)
    return with_answer(s, s.term, Answer.OUT_OF_ORDER)


@rule(by="leader")
def leader_refuses_unknown_producer(s: Exchange) -> Step[Exchange]:
    """The leader does not know the producer, and the batch is not its first one.

    Kafka: `ProducerAppendInfo.checkSequence` throws `UnknownProducerIdException` (1.0 to 2.4.1).
    """
    request = yield from arrived(s, late=False)
    state = producer_state(s, request)
    yield "producer is unknown", state.epoch == NO_EPOCH
    yield "sequence is not the first one", request.sequence != 0
    return with_answer(s, s.term, Answer.UNKNOWN_PRODUCER)


@rule(by="leader")
def leader_refuses_any_gap(s: Exchange) -> Step[Exchange]:
    """The leader refuses a number that is not the next one, even of a producer it does not know.

    Kafka: `ProducerAppendInfo.validateAppend` (0.11.0.0).
    """
    request = yield from arrived(s, late=False)
    state = producer_state(s, request)
    yield "batch is no duplicate", state.offset_of(request) is None
    yield "sequence is not the next one", not state.is_next(request, without_state=False)
    return with_answer(s, s.term, Answer.OUT_OF_ORDER)


# -- the producer ---------------------------------------------------------------------------------


def has_current_id(s: Exchange, batch: Batch) -> bool:
    """Whether the batch has the producer's id (`hasProducerIdAndEpoch`)."""
    return batch.identity == s.producer.identity


def with_new_id(s: Exchange) -> Exchange:
    """The producer takes a new producer id, and forgets what is in flight.

    Kafka: `TransactionManager.resetProducerId`. Simplification: it gets the new id at once.
    """
    identity = Identity(s.producer.identity.id + 1)
    return s.with_producer(
        identity=identity, next_sequence=0, last_acknowledged=-1, unresolved=None
    )


def with_retry_or_failure(s: Exchange, record: int) -> Exchange:
    """The batch is sent again, if it has the producer's id.

    Kafka: `Sender.completeBatch`: "the producer id changed in the mean time".
    """
    same = has_current_id(s, s.batches[record])
    return with_retry(s, record) if same else with_failed(s, record)


@rule(by="producer")
def producer_sends_by_id(s: Exchange) -> Step[Exchange]:
    """The producer sends the first batch in its queue, even if it has an old producer id.

    Kafka: `RecordAccumulator.shouldStopDrainBatchesForPartition`.
    """
    return (yield from sent(s, s.bounds.in_flight))


@rule(by="producer")
def producer_sends_alone(s: Exchange) -> Step[Exchange]:
    """The producer sends the first batch in its queue once the one before is answered.

    Kafka: `Sender.guaranteeMessageOrder`: 0.11 requires max.in.flight.requests.per.connection=1
    (`KafkaProducer.configureInflightRequests`).
    """
    return (yield from sent(s, 1))


@rule(by="producer", term=terms)
def producer_completes_batch_of_id(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is written, and its success is reported to the application.

    Kafka: `TransactionManager.handleCompletedBatch` ignores a batch that has an old producer id.
    """
    s, request = yield from received(s, term)
    yield "response reports success", request.answer is Answer.SUCCESS
    batch = s.batches[request.record]
    done = with_acknowledged(s, request)
    if not has_current_id(s, batch):
        return done
    highest = max(s.producer.last_acknowledged, batch.sequence)
    return done.with_producer(last_acknowledged=highest)


@rule(by="producer", term=terms)
def producer_retries_batch_of_id(s: Exchange, term: Term) -> Step[Exchange]:
    """The broker is no longer the leader: the batch is sent again, or fails if its id is old.

    Kafka: `Sender.completeBatch`.
    """
    s, record, _ = yield from refused(s, term, "broker is not the leader", Answer.NOT_LEADER)
    return with_retry_or_failure(s, record)


@rule(by="producer", term=terms)
def producer_retries_batch_before_gap(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is out of order, since an earlier one is missing: it will be sent again.

    Kafka: `TransactionManager.canRetry` (KAFKA-5494).
    """
    s, record, batch = yield from refused(s, term, "sequence is out of order", Answer.OUT_OF_ORDER)
    yield "batch has the current producer id", has_current_id(s, batch)
    yield "every sequence is resolved", s.producer.unresolved is None
    yield "an earlier batch is missing", is_missing_before(s, batch)
    return with_retry(s, record)


@rule(by="producer", term=terms)
def producer_fails_batch_at_gap(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is out of order although it is the next one: it fails, and its id is abandoned.

    Kafka: `TransactionManager.handleFailedBatch`.
    """
    s, record, batch = yield from refused(s, term, "sequence is out of order", Answer.OUT_OF_ORDER)
    has_id = has_current_id(s, batch)
    waits = s.producer.unresolved is None and is_missing_before(s, batch)
    yield "no earlier batch is missing", not (has_id and waits)
    failed = with_failed(s, record)
    return with_new_id(failed) if has_id else failed


@rule(by="producer", term=terms)
def producer_fails_batch_out_of_order(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is out of order: it fails, and the producer takes a new id.

    Kafka: `Sender.failBatch` (0.11.0.0); the error is not retriable.
    """
    s, record, batch = yield from refused(s, term, "sequence is out of order", Answer.OUT_OF_ORDER)
    failed = with_failed(s, record)
    return with_new_id(failed) if has_current_id(s, batch) else failed


@rule(by="producer", term=terms)
def producer_begins_again(s: Exchange, term: Term) -> Step[Exchange]:
    """The broker does not know the producer, and nothing is acknowledged: it starts again at 0.

    Kafka: `TransactionManager.canRetry`, `startSequencesAtBeginning`: the last acknowledged offset
    is below the log start offset, which is 0 here.
    """
    s, record, batch = yield from refused(s, term, "producer is unknown", Answer.UNKNOWN_PRODUCER)
    yield "batch has the current producer id", has_current_id(s, batch)
    yield "nothing is acknowledged", batch.renumbered or s.producer.last_acknowledged < 0
    s = with_retry(s, record)
    return s if batch.renumbered else with_numbers_from_zero(s, s.producer.identity)


@rule(by="producer", term=terms)
def producer_fails_batch_of_unknown_id(s: Exchange, term: Term) -> Step[Exchange]:
    """The broker has lost its state of the producer: the batch fails, and later ones move up.

    Kafka: `TransactionManager.handleFailedBatch`, `adjustSequencesDueToFailedBatch`.
    """
    s, record, batch = yield from refused(s, term, "producer is unknown", Answer.UNKNOWN_PRODUCER)
    begins_again = batch.renumbered or s.producer.last_acknowledged < 0
    has_id = has_current_id(s, batch)
    yield "batch has an old id, or one is acknowledged", not (has_id and begins_again)
    failed = with_failed(s, record)
    return with_one_less(failed, batch.sequence) if has_id else failed


def with_one_less(s: Exchange, failed: int) -> Exchange:
    """The batches after one that failed are renumbered, each to one less."""
    for record, batch in enumerate(s.batches):
        if batch.is_in_flight and has_current_id(s, batch) and batch.sequence > failed:
            moved = evolve(batch, sequence=batch.sequence - 1, renumbered=True)
            s = s.with_batch(record, moved)
    return s.with_producer(next_sequence=s.producer.next_sequence - 1)


@rule(by="producer")
def producer_expires_queued_batch(s: Exchange) -> Step[Exchange]:
    """The oldest batch has waited for request.timeout.ms, and no request of it is in flight.

    If it was sent before, the producer takes a new id. Kafka: `Sender.sendProducerData`,
    `RecordAccumulator.expiredBatches` (0.11.0.0).
    """
    s, batch = yield from expired(s)
    yield "no request of it is in flight", batch.phase is not Phase.SENT
    return with_new_id(s) if batch.retried else s


@rule(by="producer")
def producer_resolves_sequences_or_id(s: Exchange) -> Step[Exchange]:
    """Nothing is in flight: either the last number is acknowledged, or the producer takes a new id.

    Kafka: `TransactionManager.resetProducerIdIfNeeded`.
    """
    yield "a sequence is unresolved", s.producer.unresolved is not None
    tracked = (b for b in s.batches if b.is_in_flight and has_current_id(s, b))
    yield "no batch is in flight", not any(tracked)
    lost = s.producer.next_sequence != s.producer.last_acknowledged + 1
    return with_new_id(s) if lost else s.with_producer(unresolved=None)


@rule(by="network", term=terms)
def connection_is_lost_by_id(s: Exchange, term: Term) -> Step[Exchange]:
    """A connection is lost: each batch is sent again, or fails if its producer id is old.

    Kafka: `NetworkClient.processDisconnection`, `Sender.completeBatch`.
    """
    s, lost = yield from disconnected(s, term)
    for record in lost:
        s = with_retry_or_failure(s, record)
    return s


FAIR = (
    leader_appends_known,
    leader_refuses_known,
    leader_refuses_unknown_producer,
    leader_refuses_any_gap,
    producer_sends_by_id,
    producer_sends_alone,
    producer_completes_batch_of_id,
    producer_retries_batch_of_id,
    producer_retries_batch_before_gap,
    producer_fails_batch_at_gap,
    producer_fails_batch_out_of_order,
    producer_begins_again,
    producer_fails_batch_of_unknown_id,
    producer_resolves_sequences_or_id,
)
"""The rules that a producer and a leader take by themselves."""
