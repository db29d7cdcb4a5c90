"""The last stable offset, aborted transactions, verification, and what consumers deliver."""

from __future__ import annotations

import attrs
import pytest

from kspec.spec.producer.broker_rules import BrokerRules, rules_of
from kspec.spec.producer.entries import DataBatch, EndMarker
from kspec.spec.producer.producer_state import ProducerState
from kspec.spec.producer.read_committed import deliver
from kspec.spec.producer.stable_offset import TransactionLog
from kspec.spec.vocabulary import AppendOrigin

FOLLOWER = AppendOrigin.REPLICATION


def write(log: TransactionLog, producer: int, count: int = 1) -> TransactionLog:
    """A transactional batch, as a follower appends it."""
    last = log.end + count - 1
    batch = DataBatch(producer, 0, 0, count - 1, log.end, last, is_transactional=True)
    return log.append(batch, FOLLOWER).log


def end(log: TransactionLog, producer: int, *, abort: bool = False) -> TransactionLog:
    """A marker, as a follower appends it."""
    return log.append(EndMarker(producer, 0, 0, abort, log.end), FOLLOWER).log


def log_of(version: str = "4.3") -> TransactionLog:
    return TransactionLog(state=ProducerState(rules_of(version)))


def test_the_lso_stops_at_the_first_open_transaction() -> None:
    log = write(write(log_of().skip_to(2), 1), 2).advance_high_watermark(4)
    assert log.last_stable_offset == 2
    log = end(log, 1).advance_high_watermark(5)
    assert log.last_stable_offset == 3
    assert end(log, 2).advance_high_watermark(6).last_stable_offset == 6


def test_the_lso_waits_for_the_replication_of_the_marker() -> None:
    log = end(write(log_of(), 1, 2), 1).advance_high_watermark(2)
    assert log.last_stable_offset == 0
    assert log.advance_high_watermark(3).last_stable_offset == 3


def test_the_lso_is_not_below_the_log_start() -> None:
    log = write(write(log_of(), 1), 1).advance_high_watermark(2)
    assert log.advance_start(1).last_stable_offset == 1


def test_the_index_names_what_was_stable_when_a_transaction_was_aborted() -> None:
    log = write(write(log_of(), 1), 2)
    log = end(end(log, 1, abort=True), 2, abort=True)
    found = [attrs.astuple(entry) for entry in log.aborted]
    assert found == [(1, 0, 2, 1), (2, 1, 3, 4)]
    assert [each.producer for each in log.aborted_between(0, 1)] == [1]
    assert [each.producer for each in log.aborted_between(3, 4)] == [2]


def test_a_consumer_leaves_out_the_aborted_transaction_and_nothing_else() -> None:
    log = write(log_of(), 1, 2)
    log = end(write(end(log, 1, abort=True), 1), 1)
    named = [(each.producer, each.first_offset) for each in log.aborted_between(0, log.end)]
    assert deliver(log.batches, 0, True, named) == ((3,), 5)
    assert deliver(log.batches, 0) == ((0, 1, 3), 5)
    assert deliver(log.batches[:1], 1) == ((1,), 2)


# -- verification (KIP-890) -----------------------------------------------------------------------

FIRST = DataBatch(1, 0, 0, 0, 0, 0, is_transactional=True)


def test_a_transaction_begins_with_a_verification() -> None:
    log = log_of()
    refused = log.append(FIRST).rejected
    assert refused is not None
    assert refused.error == "INVALID_TXN_STATE"
    state, guard = log.state.start_verification(1, 0, 0)
    assert isinstance(guard, int)
    assert state.start_verification(1, 0, 0)[1] == guard  # joins the one that has begun
    verified = attrs.evolve(log, state=state)
    assert verified.append(FIRST, guard=guard + 1).rejected is not None
    opened = verified.append(FIRST, guard=guard).log
    assert opened.state.verifications == {}
    assert opened.state.start_verification(1, 1, 0)[1] is None
    assert log_of("3.5").append(FIRST).rejected is None


def test_a_marker_ends_the_verification_of_a_late_batch() -> None:
    """The batch comes after the abort of its transaction: it would hang (KAFKA-14402)."""
    log = log_of()
    state, guard = log.state.start_verification(1, 0, 0)
    assert isinstance(guard, int)
    aborted = end(attrs.evolve(log, state=state), 1, abort=True)
    late = attrs.evolve(FIRST, first_offset=1, last_offset=1)
    assert aborted.append(late, guard=guard).rejected is not None


@pytest.mark.parametrize(("version", "kept"), [("2.3.1", 0), ("2.4.0", 1)])
def test_retention_forgets_producers_before_2_4(version: str, kept: int) -> None:
    log = log_of(version).append(DataBatch(1, 0, 0, 0, 0, 0), FOLLOWER).log
    log = log.advance_high_watermark(1).advance_start(1)
    assert len(log.state.producers) == kept


# -- time, restarts, truncation -------------------------------------------------------------------


def test_idle_producers_are_forgotten_unless_they_have_a_transaction() -> None:
    state = write(log_of().append(DataBatch(1, 0, 0, 0, 0, 0), FOLLOWER).log, 2).state
    assert set(state.expire(state.expiration - 1).producers) == {1, 2}
    assert set(state.expire(state.expiration).producers) == {2}


def test_after_a_restart_only_the_last_batch_in_the_snapshot_is_recognised() -> None:
    log = log_of()
    for number in range(3):
        log = log.append(DataBatch(1, 0, number, number, number, number), FOLLOWER).log
    assert len(log.restart().state.producers[1].batches) == 3
    saved = attrs.evolve(log, state=log.state.take_snapshot())
    assert len(saved.restart().state.producers[1].batches) == 1


def test_a_truncation_takes_back_transactions() -> None:
    log = write(log_of(), 1).advance_high_watermark(1)
    longer = write(end(log, 1, abort=True), 2)
    shorter = longer.truncate(1)
    assert shorter.state.ongoing == log.state.ongoing
    assert shorter.aborted == ()
    assert shorter.last_stable_offset == 0


def test_a_transaction_that_is_open_for_long_is_late() -> None:
    batch = DataBatch(1, 0, 0, 0, 0, 0, timestamp=10, is_transactional=True)
    state = log_of().append(batch, FOLLOWER).log.state
    assert not state.has_late_transaction(300_070, largest_timeout=60)
    assert state.has_late_transaction(300_071, largest_timeout=60)


def test_a_log_begins_anew() -> None:
    state = write(log_of(), 1).state.take_snapshot().truncate_fully(9)
    assert (state.end, dict(state.producers), dict(state.snapshots)) == (9, {}, {})
    assert isinstance(state.rules, BrokerRules)
