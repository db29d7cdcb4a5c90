"""Producers in the models `transactions` and `idempotence` are those of `spec.producer`."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import product
from typing import Any

import attrs
import pytest

from kspec.checkers.graph.graph import states_of
from kspec.checkers.models.find import find_model
from kspec.spec.core import Blocked, Rule
from kspec.spec.idempotence.leader import next_request
from kspec.spec.idempotence.state import Exchange, Request
from kspec.spec.producer.broker_rules import BrokerRules, rules_of
from kspec.spec.producer.entries import Batch, DataBatch, EndMarker
from kspec.spec.producer.sequences import rejection
from kspec.spec.producer.stable_offset import TransactionLog
from kspec.spec.transactions.late import late_marker_arrives, late_produce_arrives
from kspec.spec.transactions.log import NO_EPOCH, NO_OFFSET, Entry, Log
from kspec.spec.transactions.state import DATA, Application, Late, Produce, WriteMarker
from kspec.spec.transactions.version_2 import late_marker_arrives_v2
from kspec.spec.vocabulary import AppendOrigin

TRANSACTIONS, IDEMPOTENCE = find_model("transactions"), find_model("idempotence")


def is_enabled(rule: Rule[Any], state: object, *choice: object) -> bool:
    return not isinstance(rule.attempt(state, choice), Blocked)


# -- transactions -------------------------------------------------------------------------------


def batch_of(entry: Entry, offset: int, sequence: int) -> Batch:
    if entry.is_marker:
        return EndMarker(
            entry.id,
            entry.epoch,
            entry.coordinator_epoch,
            is_abort=not entry.commits,
            first_offset=offset,
            transaction_version=2,
        )
    return DataBatch(
        entry.id, entry.epoch, sequence, sequence, offset, offset, is_transactional=True
    )


def replicated(log: Log, rules: BrokerRules) -> TransactionLog:
    """The same log at a replica, which appends what its leader has appended."""
    replica = TransactionLog.of(rules)
    for offset, entry in enumerate(log.entries):
        sequence = Log(log.entries[:offset]).count(entry.id, entry.epoch)
        batch = batch_of(entry, offset, sequence)
        replica = replica.append(batch, AppendOrigin.REPLICATION).log
    return replica.advance_high_watermark(log.end)


@cache
def logs_reached() -> Collection[tuple[Application, int]]:
    """A state for each log that a partition of the model ever has."""
    known: dict[Any, tuple[Application, int]] = {}
    for variant, bounds in product(("kafka-4.2", "kip-447"), TRANSACTIONS.baseline.bounds):
        for state in states_of(TRANSACTIONS.system(variant, bounds)):
            for partition, log in enumerate(state.logs):
                known.setdefault((log, partition), (state, partition))
    return known.values()


def accepts(replica: TransactionLog, batch: Batch) -> bool:
    origin = AppendOrigin.COORDINATOR if isinstance(batch, EndMarker) else AppendOrigin.CLIENT
    return rejection(replica.state.prepare(batch.producer, origin), batch) is None


def test_a_log_of_transactions_knows_of_producers_what_a_replica_knows() -> None:
    compared = 0
    for state, partition in logs_reached():
        log = state.logs[partition]
        replica = replicated(log, rules_of("4.2.0"))
        assert log.stable == replica.last_stable_offset
        for tid, known in enumerate(log.producers):
            entry = replica.state.prepare(tid, AppendOrigin.CLIENT).current
            first = NO_OFFSET if entry.transaction_start is None else entry.transaction_start
            coordinator_epoch = max(0, entry.coordinator_epoch)
            expected = (entry.epoch, first, coordinator_epoch)
            assert (known.epoch, known.first, known.coordinator_epoch) == expected
            for epoch in range(known.epoch + 2):
                is_open = replica.state.has_ongoing(tid, epoch)
                assert log.is_open(tid, epoch) == is_open
        compared += 1
    assert compared > 100


@pytest.mark.parametrize(
    ("release", "appends_marker"),
    [("4.1.0", late_marker_arrives), ("4.2.0", late_marker_arrives_v2)],
)
def test_a_partition_of_transactions_accepts_what_a_replica_accepts(
    release: str, appends_marker: Rule[Any]
) -> None:
    answers = set()
    for state, partition in logs_reached():
        log = state.logs[partition]
        replica = replicated(log, rules_of(release))
        for tid, known in enumerate(log.producers):
            for epoch in range(max(0, known.epoch - 1), known.epoch + 2):
                for coordinator_epoch in range(known.coordinator_epoch + 2):
                    marker = Entry(tid, epoch, True, coordinator_epoch)
                    late = Late(marker=WriteMarker(partition, marker))
                    ended = is_enabled(appends_marker, attrs.evolve(state, late=late))
                    assert ended == accepts(replica, batch_of(marker, log.end, -1)), (log, marker)
                    answers.add(("marker", ended))
                if partition != DATA:
                    continue
                for sequence in range(log.count(tid, epoch) + 2):
                    if known.epoch == NO_EPOCH and sequence > 0:
                        continue  # an unknown producer may begin anywhere, in the model at 0
                    record = Entry(tid, epoch)
                    late = Late(produce=Produce(tid, sequence, record))
                    appended = is_enabled(late_produce_arrives, attrs.evolve(state, late=late))
                    assert appended == accepts(replica, batch_of(record, log.end, sequence)), (
                        log,
                        record,
                        sequence,
                    )
                    answers.add(("record", appended))
    assert answers == {(kind, answer) for kind in ("marker", "record") for answer in (False, True)}


# -- idempotence --------------------------------------------------------------------------------


def as_batch(request: Request, offset: int) -> DataBatch:
    assert request.identity is not None
    number = request.sequence
    return DataBatch(request.identity.id, request.identity.epoch, number, number, offset, offset)


def leader_of(s: Exchange) -> TransactionLog:
    """The leader's log in this state, with what it has not forgotten."""
    rules = attrs.evolve(rules_of("2.5.0"), retained=s.bounds.in_flight)
    leader = TransactionLog.of(rules).skip_to(s.forgotten)
    for offset, entry in enumerate(s.log[s.forgotten :], s.forgotten):
        request = Request(entry.record, entry.identity, entry.sequence)
        leader = leader.append(as_batch(request, offset), AppendOrigin.REPLICATION).log
    return leader


@pytest.mark.parametrize(
    "variant", [pytest.param("kafka-2.5", marks=pytest.mark.slow), "kafka-4.5"]
)
def test_a_leader_of_idempotence_answers_as_a_log_with_producer_state(variant: str) -> None:
    rules = {rule.name: rule for rule in IDEMPOTENCE.variant(variant).rules}
    appends = next(r for name, r in rules.items() if name.startswith("leader_appends"))
    refuses = next(r for name, r in rules.items() if name.startswith("leader_refuses"))
    answers = set()
    for bounds in IDEMPOTENCE.baseline.bounds[:4]:
        for s in states_of(IDEMPOTENCE.system(variant, bounds)):
            request = next_request(s, s.term)
            if request is None or (variant == "kafka-4.5" and not s.log):
                continue  # KAFKA-15591: without a record, only 0 begins
            outcome = leader_of(s).append(as_batch(request, len(s.log)))
            found = (
                is_enabled(appends, s, False),
                is_enabled(rules["leader_answers_duplicate"], s),
                is_enabled(refuses, s),
            )
            is_new = outcome.rejected is None and not outcome.is_duplicate
            assert found == (is_new, outcome.is_duplicate, outcome.rejected is not None)
            answers.add(found)
    assert len(answers) == 3
