"""The leader: it checks sequence numbers, appends batches, and answers.

Its producer state is what its log says: a new leader has built it from the batches that it
replicated. Kafka: `ProducerStateManager`, `ProducerAppendInfo`.
"""

from __future__ import annotations

import attrs

from kspec.spec.core import Guarded, Step, appended, evolve, limit, present, replaced, rule
from kspec.spec.idempotence.state import Answer, Entry, Exchange, Request, Term, either, terms

# -- producer state -------------------------------------------------------------------------------


NO_EPOCH = -1
"""The epoch of a producer that the leader does not know."""


@attrs.frozen
class ProducerState:
    """A leader's state of a producer id. Kafka: `ProducerStateEntry`."""

    epoch: int = NO_EPOCH
    """The latest epoch."""
    batches: tuple[tuple[int, int], ...] = ()
    """The sequence numbers and offsets of its last batches in that epoch."""

    def offset_of(self, request: Request) -> int | None:
        """Where the batch of a request is, if it is remembered (`findDuplicateBatch`)."""
        if request.epoch != self.epoch:
            return None
        return next((offset for number, offset in self.batches if number == request.sequence), None)

    def is_next(self, request: Request, *, without_state: bool) -> bool:
        """Whether the sequence number is the next one (`checkSequence`).

        A new epoch begins at 0. Without state any number is accepted, or only 0.
        """
        if self.epoch == NO_EPOCH:
            return request.sequence == 0 or without_state
        if request.epoch != self.epoch:
            return request.sequence == 0
        last_sequence, _ = self.batches[-1]
        return request.sequence == last_sequence + 1


def producer_state(s: Exchange, request: Request) -> ProducerState:
    """The leader's state of the producer that sent a request.

    It remembers the last batches (`NUM_BATCHES_TO_RETAIN`) of the latest epoch only.
    """
    assert request.identity is not None, "an idempotent producer"
    own = [
        (entry.identity.epoch, entry.sequence, offset)
        for offset, entry in enumerate(s.log)
        if offset >= s.forgotten
        and entry.identity is not None
        and entry.identity.id == request.identity.id
    ]
    if not own:
        return ProducerState()
    latest = own[-1][0]
    batches = [(sequence, offset) for epoch, sequence, offset in own if epoch == latest]
    return ProducerState(latest, tuple(batches[-s.bounds.in_flight :]))


def had_records(s: Exchange) -> bool:
    """Whether the leader's log has ever had a record (KAFKA-15591)."""
    return bool(s.log) or s.bounds.others > 0


# -- requests -------------------------------------------------------------------------------------


def next_request(s: Exchange, term: int) -> Request | None:
    """The first request on a connection that has no response."""
    return next((r for r in s.connections[term] if r.answer is None), None)


def with_answer(s: Exchange, term: int, answer: Answer, offset: int = -1) -> Exchange:
    """The first request without a response gets one."""
    requests = s.connections[term]
    index = next(i for i, request in enumerate(requests) if request.answer is None)
    answered = evolve(requests[index], answer=answer, offset=offset)
    requests = replaced(requests, index, answered)
    return evolve(s, connections=replaced(s.connections, term, requests))


def with_appended(s: Exchange, request: Request, late: bool) -> Exchange:
    """The leader appends a batch; the response to a late request is lost."""
    entry = Entry(request.record, request.identity, request.sequence)
    offset = len(s.log)
    s = evolve(s, log=appended(s.log, entry))
    if late:
        return evolve(s, late=s.late[1:])
    return with_answer(s, s.term, Answer.SUCCESS, offset)


def arrived(s: Exchange, late: bool) -> Guarded[Request]:
    """A request arrives at the leader: the next one on its connection, or a late one."""
    first = next(iter(s.late), None) if late else next_request(s, s.term)
    return (yield from present("a request has arrived", first))


@rule(by="leader", late=either)
def leader_appends(s: Exchange, late: bool) -> Step[Exchange]:
    """The leader appends a batch whose sequence number is the next one.

    If the leader has no state of the producer, it accepts any sequence number, but only 0 in a log
    that never had a record (KAFKA-15591). Kafka: `UnifiedLog.append`,
    `ProducerAppendInfo.checkSequence`.
    """
    request = yield from arrived(s, late)
    state = producer_state(s, request)
    yield "epoch is not old", request.epoch >= state.epoch
    yield "sequence is the next one", state.is_next(request, without_state=had_records(s))
    return with_appended(s, request, late)


@rule(by="leader")
def leader_answers_duplicate(s: Exchange) -> Step[Exchange]:
    """The batch is already written: the leader answers with its offset.

    Kafka: `UnifiedLog.analyzeAndValidateProducerState`, `ProducerStateEntry.findDuplicateBatch`.
    """
    request = yield from arrived(s, late=False)
    state = producer_state(s, request)
    offset = yield from present("batch is a duplicate", state.offset_of(request))
    return with_answer(s, s.term, Answer.SUCCESS, offset)


@rule(by="leader")
def leader_refuses_sequence(s: Exchange) -> Step[Exchange]:
    """The leader refuses a batch whose sequence number is not the next one.

    Kafka: `ProducerAppendInfo.checkSequence`.
    """
    request = yield from arrived(s, late=False)
    state = producer_state(s, request)
    yield "batch is no duplicate", state.offset_of(request) is None
    yield "sequence is not the next one", not state.is_next(request, without_state=had_records(s))
    return with_answer(s, s.term, Answer.OUT_OF_ORDER)


@rule(by="leader", term=terms)
def deposed_leader_refuses(s: Exchange, term: Term) -> Step[Exchange]:
    """A broker that is no longer the leader refuses a request.

    Kafka: `ReplicaManager.appendToLocalLog`.
    """
    yield "broker is deposed", term < s.term
    yield "a request has arrived", next_request(s, term) is not None
    return with_answer(s, term, Answer.NOT_LEADER)


@rule(by="leader")
def brokers_forget_producer(s: Exchange) -> Step[Exchange]:
    """The producer has been idle for producer.id.expiration.ms, and the brokers forget it.

    Kafka: `ProducerStateManager.removeExpiredProducers`. Simplification: all replicas forget it at
    once, and it may be idle while a request is late.
    """
    yield limit("an expiration remains"), s.expirations < s.bounds.expirations
    yield "brokers remember a batch", s.forgotten < len(s.log)
    return evolve(s, expirations=s.expirations + 1, forgotten=len(s.log))


RULES = (
    leader_appends,
    leader_answers_duplicate,
    leader_refuses_sequence,
    deposed_leader_refuses,
    brokers_forget_producer,
)
