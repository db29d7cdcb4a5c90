"""The mutation baseline of `idempotence`: its consistency invariants."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from kspec.spec.core import Baseline, Claims, always, reachable, reachable_within
from kspec.spec.idempotence.state import NO_OFFSET, Answer, Batch, Exchange, Phase

# -- consistency invariants -----------------------------------------------------------------------


@always
def RequestsMatchBatches(s: Exchange) -> Claims:
    """A batch that was sent has one request in flight; one that timed out has at most one."""
    flying = [request.record for requests in s.connections for request in requests]
    for record, batch in enumerate(s.batches):
        if batch.phase is Phase.SENT:
            yield f"record {record}", flying.count(record) == 1
        else:
            most = 1 if batch.phase is Phase.EXPIRED else 0
            yield f"record {record}", flying.count(record) <= most


@always
def ResponsesInOrder(s: Exchange) -> Claims:
    """A broker answers the requests on a connection in their order; a success has an offset."""
    for term, requests in enumerate(s.connections):
        answered = [request.answer is not None for request in requests]
        yield f"leader {term}", answered == sorted(answered, reverse=True)
        for request in requests:
            written = request.answer is Answer.SUCCESS
            in_log = 0 <= request.offset < len(s.log)
            yield f"leader {term}, offsets", in_log if written else request.offset == NO_OFFSET


@always
def RequestsMatchNumbers(s: Exchange) -> Claims:
    """A batch has the number of its request, unless it was renumbered since.

    Before 2.5 the new number may be the same, so only bumped epochs are checked.
    """
    for requests in s.connections:
        for request in requests:
            batch = s.batches[request.record]
            if batch.phase is Phase.SENT and batch.identity and batch.identity.epoch > 0:
                changed = request.identity != batch.identity
                yield f"record {request.record}", changed == batch.renumbered


@always
def BatchesAreNumbered(s: Exchange) -> Claims:
    """Batches in flight have ascending numbers, before the next one; a queued one has none."""
    for record, batch in enumerate(s.batches):
        where = f"record {record}"
        acknowledged = batch.phase is Phase.ACKNOWLEDGED
        yield f"{where}, its offset", acknowledged == (batch.offset != NO_OFFSET)
        if batch.phase is Phase.QUEUED:
            yield f"{where}, queued", batch == Batch()
        if acknowledged:
            yield f"{where}, acknowledged", batch == Batch(batch.phase, offset=batch.offset)
        if batch.phase is Phase.RETRIED:
            yield f"{where}, retried", batch.retried
        yield f"{where}, renumbered", batch.is_in_flight or not batch.renumbered
    current = [b for b in s.batches if b.is_in_flight and b.identity == s.producer.identity]
    numbers = [-1, *(batch.sequence for batch in current), s.producer.next_sequence]
    yield "producer", all(one < two for one, two in pairwise(numbers))


@always
def EpochBeginsAtZero(s: Exchange) -> Claims:
    """Until a batch is acknowledged in a bumped epoch, the batches have all numbers from 0 on."""
    producer = s.producer
    if producer.identity.epoch > 0 and producer.last_acknowledged < 0:
        numbers = [b.sequence for b in s.batches if b.identity == producer.identity]
        yield "producer", numbers == list(range(producer.next_sequence))


@always
def AcknowledgedNumbersWereGiven(s: Exchange) -> Claims:
    """The highest acknowledged number of a bumped epoch was assigned, and its batch is done.

    It may be a number of an earlier epoch once an acknowledged batch has timed out.
    """
    producer = s.producer
    yield "producer", producer.last_acknowledged >= -1
    if producer.identity.epoch > 0 and not s.timeouts:
        yield "producer, given", producer.last_acknowledged < max(1, producer.next_sequence)
        for record, batch in enumerate(s.batches):
            done = not batch.is_in_flight or batch.sequence != producer.last_acknowledged
            yield f"record {record}", done


@always
def BumpIsDueOnce(s: Exchange) -> Claims:
    """An epoch bump is due for a batch that was sent in the current epoch, or after a timeout."""
    flying = [batch for batch in s.batches if batch.is_in_flight]
    if s.producer.needs_bump and s.producer.unresolved is None and flying:
        yield "producer", not all(batch.renumbered for batch in flying)


@always
def TimeoutsAreResolved(s: Exchange) -> Claims:
    """While a batch that timed out may still be written, no new batch is sent.

    Up to 2.4, where two batches may have one number, this holds for one timeout only.
    """
    producer = s.producer
    for record, batch in enumerate(s.batches):
        doubtful = batch.phase is Phase.EXPIRED and batch.retried and batch.sequence >= 0
        doubtful = doubtful and batch.identity == producer.identity
        if doubtful and batch.sequence > producer.last_acknowledged:
            known = producer.unresolved is not None and batch.sequence < producer.unresolved
            yield f"record {record}", known or producer.needs_bump
    if producer.unresolved is not None:
        expired = [batch.sequence for batch in s.batches if batch.phase is Phase.EXPIRED]
        yield "producer", producer.unresolved - 1 in expired


@always
def OffsetsWithinLog(s: Exchange) -> Claims:
    """Only batches in the log are forgotten, and no request is sent to a future leader."""
    yield "log, forgotten", 0 <= s.forgotten <= len(s.log)
    yield "producer, its leader", 0 <= s.producer.leader <= s.term <= s.bounds.elections
    for term, requests in enumerate(s.connections):
        yield f"leader {term}", term <= s.term or not requests
        yield f"leader {term}, in flight", len(requests) <= s.bounds.in_flight + 1


@always
def AcknowledgedRecordsCommitted(s: Exchange) -> Claims:
    """Exactly the acknowledged batches are committed, unless an acknowledged batch timed out."""
    end = max(batch.offset for batch in s.batches) + 1
    yield "log", end == s.committed or (end < s.committed and s.timeouts > 0)


@reachable
def EveryRecordAcknowledged(s: Exchange) -> bool:
    """Every record can be acknowledged."""
    return all(batch.phase is Phase.ACKNOWLEDGED for batch in s.batches)


@reachable_within(lambda bounds: bounds.disconnects > 0)
def RequestIsLate(s: Exchange) -> bool:
    """A leader can have received a request whose connection is lost."""
    return bool(s.late)


@reachable_within(lambda bounds: bounds.expirations > 0)
def ProducerIsForgotten(s: Exchange) -> bool:
    """The brokers can forget a producer."""
    return s.forgotten == len(s.log) > 0 and s.term == 0


@reachable_within(lambda bounds: bounds.timeouts > 0 and bounds.elections > 0)
def ErrorIsIgnored(s: Exchange) -> bool:
    """An error can arrive for a batch that has timed out."""
    waits = {request.record for requests in s.connections for request in requests}
    return not s.disconnects and any(
        batch.phase is Phase.EXPIRED
        and batch.sequence >= 0
        and not batch.retried
        and record not in {*waits, *(entry.record for entry in s.log)}
        for record, batch in enumerate(s.batches)
    )


@reachable_within(
    lambda bounds: (
        bounds.timeouts > 0
        and bounds.disconnects > 0
        and bounds.records > 1
        and bounds.in_flight > 1
    )
)
def TimeoutIsResolved(s: Exchange) -> bool:
    """A producer can find that no number is missing after a batch timed out."""
    producer = s.producer
    return (
        producer.unresolved is None
        and not producer.needs_bump
        and any(
            batch.phase is Phase.EXPIRED and batch.retried and batch.identity == producer.identity
            for batch in s.batches
        )
    )


BASELINE = Baseline(
    invariants=(
        RequestsMatchBatches,
        RequestsMatchNumbers,
        ResponsesInOrder,
        BatchesAreNumbered,
        EpochBeginsAtZero,
        AcknowledgedNumbersWereGiven,
        BumpIsDueOnce,
        TimeoutsAreResolved,
        OffsetsWithinLog,
        AcknowledgedRecordsCommitted,
        EveryRecordAcknowledged,
        RequestIsLate,
        ProducerIsForgotten,
        ErrorIsIgnored,
        TimeoutIsResolved,
    ),
    mutants=Path(__file__).with_name("mutants.toml"),
)
