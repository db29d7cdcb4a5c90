"""The producer, since KIP-360 (2.5): it sends, handles responses, and bumps its epoch.

Between the responses that it handles in one `NetworkClient.poll` the producer does nothing else;
before it sends again, it resolves sequences and bumps its epoch (`Sender.runOnce`).
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, evolve, limit, present, replaced, rule
from kspec.spec.idempotence.state import (
    Answer,
    Batch,
    Exchange,
    Identity,
    Phase,
    Request,
    Term,
    terms,
)

# -- sending --------------------------------------------------------------------------------------


def first_in_queue(s: Exchange) -> int | None:
    """The batch that is sent next: one to retry, otherwise one that was never sent.

    Kafka: `RecordAccumulator.insertInSequenceOrder`.
    """
    for phase in (Phase.RETRIED, Phase.QUEUED):
        for record, batch in enumerate(s.batches):
            if batch.phase == phase:
                return record
    return None


def has_room(s: Exchange, limit: int) -> bool:
    """Whether another request may be sent to the producer's leader.

    Kafka: `InFlightRequests.canSendMore`. If the limit is 1, the partition is muted until the
    response arrives, from whichever broker (`Sender.guaranteeMessageOrder`).
    """
    if limit == 1:
        return not any(s.connections)
    return len(s.connections[s.producer.leader]) < limit


def with_sent(s: Exchange, record: int) -> Exchange:
    """The batch is sent; if for the first time, it gets the next sequence number.

    Kafka: `RecordAccumulator.drainBatchesForOneNode`.
    """
    batch, producer = s.batches[record], s.producer
    if batch.phase is Phase.QUEUED:
        batch = evolve(batch, identity=producer.identity, sequence=producer.next_sequence)
        s = s.with_producer(next_sequence=producer.next_sequence + 1)
    s = s.with_batch(record, evolve(batch, phase=Phase.SENT, renumbered=False))
    return s.with_request(producer.leader, Request(record, batch.identity, batch.sequence))


@rule(by="producer")
def producer_sends(s: Exchange) -> Step[Exchange]:
    """The producer sends the first batch in its queue.

    While a batch is retried, only the first in flight is sent, so their order is kept. Kafka:
    `Sender.sendProducerData`, `RecordAccumulator.shouldStopDrainBatchesForPartition`.
    """
    yield "no epoch bump is due", not s.producer.needs_bump
    return (yield from sent(s, s.bounds.in_flight))


def sent(s: Exchange, limit: int) -> Guarded[Exchange]:
    """The first batch in the queue is sent, with at most `limit` requests in flight.

    A retried batch waits while an earlier one of its producer id and epoch is in flight. Kafka:
    `RecordAccumulator.shouldStopDrainBatchesForPartition`, `firstInFlightSequence`.
    """
    record = yield from present("a batch is in the queue", first_in_queue(s))
    is_new, identity = s.batches[record].phase is Phase.QUEUED, s.producer.identity
    waits = any(b.is_in_flight and b.identity == identity for b in s.batches[:record])
    yield "batch is new or the first in flight", is_new or not waits
    is_resolved = s.producer.unresolved is None
    yield "batch is retried or every sequence is resolved", is_resolved or not is_new
    yield "another request may be in flight", has_room(s, limit)
    return with_sent(s, record)


# -- responses ------------------------------------------------------------------------------------


def received(s: Exchange, term: int) -> Guarded[tuple[Exchange, Request]]:
    """The response to the first request on a connection; the state without it, and the request."""
    requests = s.connections[term]
    is_answered = bool(requests) and requests[0].answer is not None
    yield "the first request in flight has a response", is_answered
    return evolve(s, connections=replaced(s.connections, term, requests[1:])), requests[0]


def refused(
    s: Exchange, term: int, guard: str, answer: Answer
) -> Guarded[tuple[Exchange, int, Batch]]:
    """The response reports this error; the state without the request, and its batch."""
    s, request = yield from received(s, term)
    batch = s.batches[request.record]
    yield "batch has not timed out", batch.phase is Phase.SENT
    yield guard, request.answer is answer
    return s, request.record, batch


def with_retry(s: Exchange, record: int) -> Exchange:
    """The batch is back in the queue. Kafka: `Sender.reenqueueBatch`."""
    return s.with_batch(record, evolve(s.batches[record], phase=Phase.RETRIED, retried=True))


def with_failed(s: Exchange, record: int) -> Exchange:
    """The failure of the batch is reported to the application. Kafka: `Sender.failBatch`."""
    return s.with_batch(record, Batch(Phase.FAILED))


def with_acknowledged(s: Exchange, request: Request) -> Exchange:
    """The success of the batch is reported to the application, unless it has timed out.

    An acknowledgement also shows that every replica has the log up to and including the batch.
    """
    s = evolve(s, committed=max(s.committed, request.offset + 1))
    if s.batches[request.record].phase is not Phase.SENT:
        return s
    return s.with_batch(request.record, Batch(Phase.ACKNOWLEDGED, offset=request.offset))


@rule(by="producer", term=terms)
def producer_completes_batch(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is written, and its success is reported to the application.

    Kafka: `Sender.completeBatch`, `TransactionManager.handleCompletedBatch`, also for a batch that
    has timed out.
    """
    s, request = yield from received(s, term)
    yield "response reports success", request.answer is Answer.SUCCESS
    highest = max(s.producer.last_acknowledged, s.batches[request.record].sequence)
    return with_acknowledged(s, request).with_producer(last_acknowledged=highest)


@rule(by="producer", term=terms)
def producer_retries_batch(s: Exchange, term: Term) -> Step[Exchange]:
    """The broker is no longer the leader: the batch will be sent again.

    Kafka: `Sender.canRetry`, for a `RetriableException`.
    """
    s, record, _ = yield from refused(s, term, "broker is not the leader", Answer.NOT_LEADER)
    return with_retry(s, record)


def is_missing_before(s: Exchange, batch: Batch) -> bool:
    """Whether an earlier batch is not acknowledged yet, or the number is no longer the one sent.

    Kafka: `TransactionManager.isNextSequence`, `ProducerBatch.sequenceHasBeenReset`.
    """
    return batch.renumbered or batch.sequence != s.producer.last_acknowledged + 1


@rule(by="producer", term=terms)
def producer_retries_out_of_order_batch(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is out of order, since an earlier one is missing: it will be sent again.

    Kafka: `TransactionManager.canRetry`.
    """
    s, record, batch = yield from refused(s, term, "sequence is out of order", Answer.OUT_OF_ORDER)
    yield "an earlier batch is missing", not is_gap(s, batch)
    return with_retry(s, record)


@rule(by="producer", term=terms)
def producer_finds_gap(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is out of order although it is the next one: the producer will bump its epoch.

    Kafka: `TransactionManager.canRetry`, `requestEpochBumpForPartition` (KIP-360).
    """
    s, record, batch = yield from refused(s, term, "sequence is out of order", Answer.OUT_OF_ORDER)
    yield "no earlier batch is missing", is_gap(s, batch)
    return with_retry(s, record).with_producer(needs_bump=True)


def is_gap(s: Exchange, batch: Batch) -> bool:
    """Whether the broker expects a number that the producer will never send."""
    if s.producer.unresolved is not None:
        return batch.sequence == s.producer.unresolved
    return not is_missing_before(s, batch)


@rule(by="producer", term=terms)
def producer_ignores_error(s: Exchange, term: Term) -> Step[Exchange]:
    """The response reports an error for a batch that has timed out.

    Kafka: `ProducerBatch.completeExceptionally` returns false.
    """
    s, request = yield from received(s, term)
    yield "response reports an error", request.answer is not Answer.SUCCESS
    yield "batch has timed out", s.batches[request.record].phase is Phase.EXPIRED
    return s


# -- timeouts, and the epoch ----------------------------------------------------------------------


@rule(by="producer")
def producer_expires_batch(s: Exchange) -> Step[Exchange]:
    """The oldest batch reaches delivery.timeout.ms, and its failure is reported.

    If one of its requests had failed, the producer cannot know whether the batch is written, and
    its sequence is unresolved. Kafka: `Sender.sendProducerData`, `getExpiredInflightBatches`,
    `TransactionManager.markSequenceUnresolved` (KIP-91).
    """
    yield "no epoch bump is due", not s.producer.needs_bump
    s, batch = yield from expired(s)
    if not batch.retried:
        return s
    after = batch.sequence + 1
    known = s.producer.unresolved
    return s.with_producer(unresolved=after if known is None else max(known, after))


def expired(s: Exchange) -> Guarded[tuple[Exchange, Batch]]:
    """The oldest batch that is not done times out; the state after it, and the batch before."""
    yield limit("a timeout remains"), s.timeouts < s.bounds.timeouts
    undone = (record for record, batch in enumerate(s.batches) if not batch.is_done)
    record = yield from present("a batch is not done", next(undone, None))
    batch = s.batches[record]
    s = evolve(s, timeouts=s.timeouts + 1)
    return s.with_batch(record, evolve(batch, phase=Phase.EXPIRED, renumbered=False)), batch


@rule(by="producer")
def producer_resolves_sequences(s: Exchange) -> Step[Exchange]:
    """Nothing is in flight: either the last number is acknowledged, or the epoch will be bumped.

    Kafka: `TransactionManager.maybeResolveSequences`.
    """
    yield "a sequence is unresolved", s.producer.unresolved is not None
    yield "no batch is in flight", not any(batch.is_in_flight for batch in s.batches)
    lost = s.producer.next_sequence != s.producer.last_acknowledged + 1
    return s.with_producer(unresolved=None, needs_bump=lost or s.producer.needs_bump)


@rule(by="producer")
def producer_bumps_epoch(s: Exchange) -> Step[Exchange]:
    """The producer bumps its epoch, and renumbers the batches in flight from 0.

    Kafka: `TransactionManager.bumpIdempotentProducerEpoch` (KIP-360). Simplification: the epoch is
    never exhausted.
    """
    yield "an epoch bump is due", s.producer.needs_bump
    known = s.producer.identity
    identity = Identity(known.id, known.epoch + 1)
    s = with_numbers_from_zero(s, identity)
    return s.with_producer(identity=identity, unresolved=None, needs_bump=False)


def with_numbers_from_zero(s: Exchange, identity: Identity) -> Exchange:
    """The batches in flight get new numbers. Kafka: `startSequencesAtBeginning`."""
    sequence = 0
    for record, batch in enumerate(s.batches):
        if batch.is_in_flight:
            renumbered = evolve(batch, identity=identity, sequence=sequence, renumbered=True)
            s = s.with_batch(record, renumbered)
            sequence += 1
    return s.with_producer(next_sequence=sequence, last_acknowledged=-1)


@rule(by="producer")
def producer_learns_leader(s: Exchange) -> Step[Exchange]:
    """The producer learns from the metadata which broker leads.

    Kafka: `ProducerMetadata`; since 3.7 also from the response (KIP-951).
    """
    yield "producer knows an earlier leader", s.producer.leader < s.term
    return s.with_producer(leader=s.term)


RULES = (
    producer_sends,
    producer_completes_batch,
    producer_retries_batch,
    producer_retries_out_of_order_batch,
    producer_finds_gap,
    producer_ignores_error,
    producer_expires_batch,
    producer_resolves_sequences,
    producer_bumps_epoch,
    producer_learns_leader,
)
