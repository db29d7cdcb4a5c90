"""A leader that has no state of the producer: from 2.5 to 4.4, and in two proposals."""

from __future__ import annotations

from kspec.spec.core import Step, rule
from kspec.spec.idempotence.before_kip_360 import leader_appends_known, leader_refuses_any_gap
from kspec.spec.idempotence.leader import (
    arrived,
    producer_state,
    with_answer,
    with_appended,
)
from kspec.spec.idempotence.producer import refused, with_retry
from kspec.spec.idempotence.state import Answer, Exchange, Term, either, terms

# -- any number is accepted -----------------------------------------------------------------------


@rule(by="leader", late=either)
def leader_appends_any_first(s: Exchange, late: bool) -> Step[Exchange]:
    """The leader appends a batch whose number is the next one; without state, any number is.

    Kafka: `ProducerAppendInfo.checkSequence` (2.5.0 to 4.2.0; KIP-360).
    """
    request = yield from arrived(s, late)
    state = producer_state(s, request)
    yield "epoch is not old", request.epoch >= state.epoch
    yield "sequence is the next one", state.is_next(request, without_state=True)
    return with_appended(s, request, late)


@rule(by="leader")
def leader_refuses_known_sequence(s: Exchange) -> Step[Exchange]:
    """The leader refuses a number that is not the next one of a producer that it knows.

    Kafka: `ProducerAppendInfo.checkSequence` (2.5.0 to 4.2.0; KIP-360).
    """
    request = yield from arrived(s, late=False)
    state = producer_state(s, request)
    yield "batch is no duplicate", state.offset_of(request) is None
    yield "sequence is not the next one", not state.is_next(request, without_state=True)
    return with_answer(s, s.term, Answer.OUT_OF_ORDER)


# -- only 0 is accepted ---------------------------------------------------------------------------


@rule(by="leader", late=either)
def leader_appends_zero_first(s: Exchange, late: bool) -> Step[Exchange]:
    """The leader appends a batch whose number is the next one; without state, only 0 is.

    Kafka: `ProducerAppendInfo.checkSequence`, as KAFKA-18202 does for transactions of
    version 2 (4.1).
    """
    after: Exchange = yield from leader_appends_known.body(s, late)
    return after


@rule(by="leader")
def leader_refuses_other_first(s: Exchange) -> Step[Exchange]:
    """The leader refuses a number that is not the next one; without state, any but 0.

    Kafka: `ProducerAppendInfo.checkSequence`, as KAFKA-18202 does for transactions of
    version 2 (4.1).
    """
    after: Exchange = yield from leader_refuses_any_gap.body(s)
    return after


@rule(by="producer", term=terms)
def producer_bumps_epoch_of_unknown_id(s: Exchange, term: Term) -> Step[Exchange]:
    """The broker does not know the producer: the batch is sent again, in the next epoch.

    Kafka: `TransactionManager.canRetry`, for UNKNOWN_PRODUCER_ID, which brokers up to 2.4 send.
    """
    s, record, batch = yield from refused(s, term, "producer is unknown", Answer.UNKNOWN_PRODUCER)
    s = with_retry(s, record)
    return s if batch.renumbered else s.with_producer(needs_bump=True)
