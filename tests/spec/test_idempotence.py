"""The model of an idempotent producer: its counts, what each variant violates, and the mutants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutate
from kspec.spec.core import Always, System
from kspec.spec.idempotence.leader import next_request
from kspec.spec.idempotence.state import Answer, Exchange, Request
from kspec.spec.producer.broker_rules import BrokerRules, rules_of
from kspec.spec.producer.entries import BatchMetadata, DataBatch, ProducerEntry
from kspec.spec.producer.sequences import Append, rejection
from tests.known import explore_learned as explore

IDEMPOTENCE = find_model("idempotence")
NAMES = [variant.name for variant in IDEMPOTENCE.variants]
STATED = [prop.name for prop in (*IDEMPOTENCE.properties, *IDEMPOTENCE.on_request)]
EVERYTHING = Options(keep_going=True)


def violated(name: str, bounds: Mapping[str, int], *asked: str) -> dict[str, int]:
    """The properties that a variant violates, and the lengths of the shortest counterexamples."""
    system = IDEMPOTENCE.system(name, bounds).with_properties(asked or STATED)
    return {v.name: v.states for v in explore(system, EVERYTHING).violations}


# -- counts and violations ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "distinct", "generated", "depth"),
    [
        ("no-retries", 1_874, 4_288, 13),
        ("one-in-flight", 2_156, 3_934, 19),
        ("kafka-0.11", 664, 1_187, 15),
        ("kafka-1.0", 7_371, 16_621, 24),
        ("kafka-2.5", 7_247, 15_885, 29),
        ("kafka-4.5", 6_285, 14_591, 28),
    ],
)
def test_the_counts_at_the_default_bounds(
    name: str, distinct: int, generated: int, depth: int
) -> None:
    verdict = explore(IDEMPOTENCE.system(name).with_properties([]))
    assert (verdict.distinct, verdict.generated, verdict.depth) == (distinct, generated, depth)


def test_the_latest_release_holds_at_the_default_bounds() -> None:
    verdict = explore(IDEMPOTENCE.system())
    assert verdict.verdict == "holds"
    assert verdict.silent_rules == ["brokers_forget_producer"]


@pytest.mark.slow
def test_every_rule_happens_once_producers_are_forgotten() -> None:
    verdict = explore(IDEMPOTENCE.system(bounds={"expirations": 1}).with_properties([]))
    assert verdict.silent_rules == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_variant_violates_what_it_declares(name: str) -> None:
    said = IDEMPOTENCE.variant(name).violates
    for bounds in [{}, *(dict(v.bounds) for v in said.values() if v.bounds)]:
        found = violated(name, bounds)
        expected = {p: v.states for p, v in said.items() if dict(v.bounds) == bounds}
        assert expected.items() <= found.items()
        assert bounds or expected == found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_consistency_invariants_hold_in_every_variant(name: str) -> None:
    invariants = [p.name for p in IDEMPOTENCE.baseline.invariants if isinstance(p, Always)]
    for bounds in ({}, {"expirations": 1}):
        assert violated(name, bounds, *invariants) == {}


def test_the_page_has_what_each_release_violates() -> None:
    page = (Path(__file__).parents[2] / "docs" / "idempotence.md").read_text("utf-8")
    columns = ("AcknowledgedRecordsWritten", "RecordsWrittenOnce", "OrderKept")
    rows = 0
    for variant in IDEMPOTENCE.variants:
        shown = {p: str(v.states) for p, v in variant.violates.items() if not v.bounds}
        cells = " | ".join(shown.get(p, "yes") for p in (*columns, "OnlyTimeoutsReported"))
        row = re.search(rf"^\| `{re.escape(variant.name)}`: [^|]+ \| (.*) \|$", page, re.MULTILINE)
        if row:
            rows += 1
            assert row[1] == cells, variant.name
    assert rows == 9


REPAIRED = [
    ("no-retries", "OnlyTimeoutsReported", "no-idempotence"),
    ("no-idempotence", "OrderKept", "one-in-flight"),
    ("no-idempotence", "CallbacksInOrder", "one-in-flight"),
    ("one-in-flight", "RecordsWrittenOnce", "kafka-0.11"),
    ("before-kafka-5494", "OnlyTimeoutsReported", "kafka-4.5"),
    ("kafka-1.0", "AcknowledgedRecordsWritten", "kafka-2.5"),
    ("kafka-1.0", "OnlyTimeoutsReported", "kafka-2.5"),
    ("kafka-2.5", "RecordsWrittenOnce", "kafka-4.5"),
    ("kafka-2.5", "OrderKept", "kafka-4.5"),
    ("kafka-2.5", "SequencesHaveNoGap", "kafka-4.5"),
    ("kafka-4.5", "RecordsWrittenOnce", "zero-first"),
    ("kafka-4.5", "OrderKept", "zero-first"),
    ("kafka-4.5", "SequencesHaveNoGap", "zero-first"),
    ("kafka-19880", "RecordsWrittenOnce", "zero-first"),
    ("six-in-flight", "RecordsWrittenOnce", "kafka-4.5"),
    ("acks-1", "AcknowledgedRecordsWritten", "kafka-4.5"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "prop", "successor"), REPAIRED)
def test_the_successor_repairs_it_within_the_same_bounds(
    name: str, prop: str, successor: str
) -> None:
    expected = IDEMPOTENCE.variant(name).violates[prop]
    assert violated(name, expected.bounds, prop) == {prop: expected.states}
    assert violated(successor, expected.bounds, prop) == {}


WITHOUT_TIMEOUTS = {"records": 2, "timeouts": 0}


def test_without_timeouts_2_5_retries_without_end_and_4_5_does_not() -> None:
    """KAFKA-14359: the first batch is out of order for good."""
    assert violated("kafka-2.5", WITHOUT_TIMEOUTS, "RecordsAreReported") == {
        "RecordsAreReported": 10
    }
    assert violated("kafka-4.5", WITHOUT_TIMEOUTS, "RecordsAreReported") == {}


@pytest.mark.slow
def test_one_request_in_flight_keeps_the_order_of_callbacks() -> None:
    assert violated("kafka-4.5", {"in_flight": 1}, *(p.name for p in IDEMPOTENCE.properties)) == {}
    assert violated("kafka-4.5", {"in_flight": 1}, "CallbacksInOrder") == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "states"),
    [({"expirations": 1}, 7), ({"disconnects": 2}, 15), ({"others": 1}, 18)],
    ids=["forgotten", "two-late-requests", "records-of-others"],
)
def test_what_still_writes_a_record_twice_in_4_5(bounds: dict[str, int], states: int) -> None:
    """The producer is forgotten; two connections are lost and a batch times out; an election."""
    assert violated("kafka-4.5", bounds, "RecordsWrittenOnce") == {"RecordsWrittenOnce": states}


# -- the sequence check ---------------------------------------------------------------------------


def reachable_states(system: System[Exchange]) -> Iterator[Exchange]:
    """Every reachable state of a system."""
    seen = dict.fromkeys(system.initial())
    queue = list(seen)
    while queue:
        s = queue.pop()
        yield s
        for _, _, after in system.steps(s):
            if after not in seen:
                seen[after] = None
                queue.append(after)


def answered(system: System[Exchange], s: Exchange) -> list[Request]:
    """The request that the current leader handles next, as its rules answer it."""
    index = s.connections[s.term].index(next_request(s, s.term))
    made = [
        after.connections[after.term][index]
        for rule, choice, after in system.steps(s)
        if rule.by == "leader" and choice != (True,) and after.connections != s.connections
    ]
    return [request for request in made if request.answer is not None]


def checked(s: Exchange, request: Request, rules: BrokerRules) -> tuple[Answer, int]:
    """The answer by `spec.producer`, whose agreement with Kafka's classes other tests show."""
    assert request.identity is not None
    entry = ProducerEntry(request.identity.id)
    for offset, known in enumerate(s.log):
        if offset >= s.forgotten and known.identity and known.identity.id == request.identity.id:
            metadata = BatchMetadata(known.sequence, offset, 0, 0)
            change = ProducerEntry(request.identity.id, known.identity.epoch, (metadata,))
            entry = entry.after(change, rules)
    end, number = len(s.log), request.sequence
    batch = DataBatch(request.identity.id, request.identity.epoch, number, number, end, end)
    duplicate = entry.duplicate_of(batch)
    if duplicate is not None:
        return Answer.SUCCESS, duplicate.last_offset
    check = rejection(Append(entry, rules=rules), batch)
    return (Answer.SUCCESS, end) if check is None else (Answer(check.error), -1)


@pytest.mark.parametrize(
    ("name", "release", "in_flight"),
    [
        ("kafka-0.11", "0.11.0.3", 1),
        ("kafka-1.0", "2.4.1", 2),
        ("kafka-2.5", "4.1", 2),
        ("kafka-19880", "2.4.1", 2),
    ],
)
def test_the_leader_answers_as_the_sequence_check(name: str, release: str, in_flight: int) -> None:
    """In every state in which a request has arrived, at a leader that remembers fewer batches."""
    rules = attrs.evolve(rules_of(release), retained=in_flight)
    bounds = {"records": 2, "in_flight": in_flight, "timeouts": 0, "expirations": 1}
    system = IDEMPOTENCE.system(name, bounds)
    kinds = set()
    for s in reachable_states(system):
        request = next_request(s, s.term)
        if request is not None:
            (answer,) = answered(system, s)
            kinds.add(answer.answer)
            assert (answer.answer, answer.offset) == checked(s, request, rules)
    assert len(kinds) > 1


# -- mutation -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_mutant_of_these_rules_survives() -> None:
    """All rules take about a minute (`kspec mutate idempotence`)."""
    rules = ("leader_appends", "leader_refuses_sequence")
    bounds = IDEMPOTENCE.baseline.bounds[:4]
    report = mutate(IDEMPOTENCE, IDEMPOTENCE.variant(), bounds, rules=rules, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
