"""Without idempotence: batches have no sequence numbers, and the leader appends what it receives.

Also the settings that idempotence relies on: retries, acks=all, and few requests in flight.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, evolve, limit, present, rule
from kspec.spec.idempotence.failures import disconnected, elected
from kspec.spec.idempotence.leader import arrived, with_appended
from kspec.spec.idempotence.producer import (
    expired,
    first_in_queue,
    has_room,
    received,
    refused,
    sent,
    with_acknowledged,
    with_failed,
)
from kspec.spec.idempotence.state import (
    NO_SEQUENCE,
    Answer,
    Exchange,
    Phase,
    Request,
    Term,
    either,
    offsets,
    terms,
)


@rule(by="leader", late=either)
def leader_appends_unchecked(s: Exchange, late: bool) -> Step[Exchange]:
    """The leader appends a batch, whether or not it is written already.

    Kafka: `UnifiedLog.append`, for a batch without a producer id.
    """
    request = yield from arrived(s, late)
    return with_appended(s, request, late)


@rule(by="producer")
def producer_sends_unnumbered(s: Exchange) -> Step[Exchange]:
    """The producer sends the first batch in its queue, whatever else is in flight.

    Kafka: `RecordAccumulator.drainBatchesForOneNode`, with enable.idempotence=false.
    Simplification: of several batches that are retried, the oldest is sent first; Kafka sends the
    one that failed last.
    """
    return (yield from sent_unnumbered(s, s.bounds.in_flight))


@rule(by="producer")
def producer_sends_unnumbered_alone(s: Exchange) -> Step[Exchange]:
    """The producer sends the first batch in its queue once the one before is answered.

    Kafka: `Sender.guaranteeMessageOrder`, with max.in.flight.requests.per.connection=1.
    """
    return (yield from sent_unnumbered(s, 1))


def sent_unnumbered(s: Exchange, limit: int) -> Guarded[Exchange]:
    """The first batch in the queue is sent, with at most `limit` requests in flight."""
    record = yield from present("a batch is in the queue", first_in_queue(s))
    yield "another request may be in flight", has_room(s, limit)
    s = s.with_batch(record, evolve(s.batches[record], phase=Phase.SENT))
    return s.with_request(s.producer.leader, Request(record, None, NO_SEQUENCE))


@rule(by="producer", term=terms)
def producer_completes_unnumbered_batch(s: Exchange, term: Term) -> Step[Exchange]:
    """The batch is written, and its success is reported. Kafka: `Sender.completeBatch`."""
    s, request = yield from received(s, term)
    yield "response reports success", request.answer is Answer.SUCCESS
    return with_acknowledged(s, request)


@rule(by="producer")
def producer_expires_unnumbered_batch(s: Exchange) -> Step[Exchange]:
    """The oldest batch reaches delivery.timeout.ms, and its failure is reported.

    Kafka: `Sender.sendProducerData`.
    """
    s, _ = yield from expired(s)
    return s


# -- retries=0 ------------------------------------------------------------------------------------


@rule(by="producer", term=terms)
def producer_fails_batch(s: Exchange, term: Term) -> Step[Exchange]:
    """The broker is no longer the leader: the batch fails. Kafka: `Sender.canRetry`."""
    s, record, _ = yield from refused(s, term, "broker is not the leader", Answer.NOT_LEADER)
    return with_failed(s, record)


@rule(by="network", term=terms)
def connection_is_lost_for_good(s: Exchange, term: Term) -> Step[Exchange]:
    """A connection is lost: each batch on it fails. Kafka: `Sender.canRetry`."""
    s, lost = yield from disconnected(s, term)
    for record in lost:
        s = with_failed(s, record)
    return s


# -- acks=1, and too many requests in flight ------------------------------------------------------


@rule(by="controller", end=offsets)
def controller_elects_leader_without_last(s: Exchange, end: int) -> Step[Exchange]:
    """Another replica is elected; it may lack batches that only its predecessor had.

    Kafka: `ReplicationControlManager`, with acks=1.
    """
    yield limit("an election remains"), s.term < s.bounds.elections
    return elected(s, end)


@rule(by="producer")
def producer_sends_one_too_many(s: Exchange) -> Step[Exchange]:
    """The producer has one more request in flight than the leader remembers batches.

    Not in Kafka: `ProducerConfig.postProcessAndValidateIdempotenceConfigs` limits them to 5.
    """
    yield "no epoch bump is due", not s.producer.needs_bump
    return (yield from sent(s, s.bounds.in_flight + 1))
