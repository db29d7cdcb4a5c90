"""When a batch is sent; Kafka's own answers are in `test_kafka_cases`."""

from __future__ import annotations

import attrs
import pytest

from kspec.spec.producer.batching import (
    SENDS,
    Accumulator,
    Decision,
    PartitionQueue,
    Reason,
    first_batch,
    ready,
    retry_backoff_ms,
    sent,
)

ONE = PartitionQueue(leader=1, batches=1, waited_ms=2)
LINGERS = Accumulator(linger_ms=5)


@pytest.mark.parametrize(
    ("queue", "accumulator", "decision"),
    [
        (attrs.evolve(ONE, is_full=True), LINGERS, Decision(Reason.FULL)),
        (attrs.evolve(ONE, batches=2), LINGERS, Decision(Reason.FULL)),
        (attrs.evolve(ONE, waited_ms=5), LINGERS, Decision(Reason.LINGER_EXPIRED)),
        (ONE, Accumulator(0), Decision(Reason.LINGER_EXPIRED)),
        (ONE, Accumulator(5, is_exhausted=True), Decision(Reason.MEMORY_EXHAUSTED)),
        (ONE, Accumulator(5, is_closed=True), Decision(Reason.CLOSED)),
        (ONE, Accumulator(5, is_flushing=True), Decision(Reason.FLUSHING)),
        (ONE, Accumulator(5, is_completing=True), Decision(Reason.TRANSACTION_COMPLETING)),
        (attrs.evolve(ONE, batches=0), LINGERS, Decision(Reason.EMPTY)),
        (attrs.evolve(ONE, leader=None), LINGERS, Decision(Reason.NO_LEADER)),
        (attrs.evolve(ONE, is_muted=True, batches=2), LINGERS, Decision(Reason.MUTED)),
        (attrs.evolve(ONE, backoff_ms=9, batches=2), LINGERS, Decision(Reason.BACKS_OFF, 7)),
        (
            attrs.evolve(ONE, backoff_ms=9, batches=2, leader_has_changed=True),
            LINGERS,
            Decision(Reason.FULL),
        ),
        (ONE, LINGERS, Decision(Reason.LINGERS, 3)),
    ],
    ids=lambda value: value.reason if isinstance(value, Decision) else "",
)
def test_a_batch_is_sent_or_waits_for_a_reason(
    queue: PartitionQueue, accumulator: Accumulator, decision: Decision
) -> None:
    assert first_batch(queue, accumulator) == decision
    assert decision.sends == (decision.reason in SENDS)
    assert (ready([queue], accumulator).leaders == {1}) == decision.sends


def test_flush_does_not_shorten_a_backoff() -> None:
    failed = attrs.evolve(ONE, backoff_ms=100)
    assert first_batch(failed, Accumulator(0, is_flushing=True)).reason is Reason.BACKS_OFF


def test_a_lingering_batch_is_sent_along_with_another_of_its_leader() -> None:
    full = attrs.evolve(ONE, is_full=True)
    others = {
        0: ONE,
        1: full,
        2: attrs.evolve(ONE, is_muted=True),
        3: attrs.evolve(ONE, backoff_ms=9),
        4: attrs.evolve(ONE, leader=2),
        5: attrs.evolve(ONE, leader=None),
    }
    assert sent(others, LINGERS) == {1: {0, 1}}
    found = ready(list(others.values()), LINGERS)
    assert (found.leaders, found.wait_ms, found.leader_is_unknown) == ({1}, 3, True)


@pytest.mark.parametrize(
    ("initial", "most", "attempts", "jitter", "expected"),
    [
        (100, 1000, 1, 1.0, 100),
        (100, 1000, 1, 0.8, 80),
        (100, 1000, 2, 1.0, 200),
        (100, 1000, 4, 1.1, 880),
        (100, 1000, 5, 1.0, 1000),
        (100, 1000, 5, 0.9, 900),
        (100, 1000, 5, 1.2, 1000),
        (100, 100, 9, 1.2, 100),
        (100, 50, 9, 1.2, 50),
    ],
)
def test_the_backoff_doubles_up_to_its_maximum(
    initial: int, most: int, attempts: int, jitter: float, expected: int
) -> None:
    assert retry_backoff_ms(initial, most, attempts, jitter) == expected
