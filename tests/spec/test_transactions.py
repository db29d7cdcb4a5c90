"""The model of transactions: counts, what each version and each omission violates, and repairs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore as explore_by_rules
from kspec.checkers.models.find import find_model
from kspec.checkers.models.stories import STORIES
from kspec.checkers.mutation.mutate import mutate
from kspec.spec.core import Blocked
from kspec.spec.transactions import variants
from kspec.spec.transactions.log import Entry, Log, ProducerState
from tests.known import explore_learned as explore

TRANSACTIONS = find_model("transactions")

COUNTS = {
    # variant: distinct states and depth at the default bounds
    "kafka-2.5": (298_961, 30),
    "kafka-3.6": (216_604, 30),
    "kafka-3.7": (216_604, 30),
    "kafka-4.0": (58_193, 26),
    "kafka-4.2": (58_193, 26),
    "kip-447": (220_145, 28),
}

REPAIRS = [
    # fault, its repair, the bounds that show it, and the property
    ("kafka-2.5", "kafka-3.6", variants.ALONE, "OpenTransactionIsCoordinated"),
    ("kafka-2.5", "kafka-3.6", variants.ALONE, "StableOffsetReachesLogEnd"),
    ("kafka-2.5", "kafka-3.6", variants.ALONE, "EachResultReadOnce"),
    ("kafka-3.6", "kafka-3.7", variants.LATE_COMMIT, "OpenTransactionIsCoordinated"),
    ("kafka-3.7", "kafka-4.0", variants.LATE_END, "NoInputIsSkipped"),
    ("kafka-4.0", "kafka-4.2", variants.LATE_MARKER, "OnlyCommittedTransactionsAreVisible"),
    ("kafka-4.0", "kafka-4.2", variants.LATE_MARKER, "CommittedTransactionIsWhole"),
    ("before-kafka-9144", "kafka-2.5", variants.FAILOVER, "CoordinatorEpochsAscend"),
    ("before-kafka-9144", "kafka-2.5", variants.ZOMBIE, "OpenTransactionIsCoordinated"),
    ("before-kip-360", "kafka-3.7", variants.ALONE, "OnlyCommittedTransactionsAreVisible"),
    ("before-kip-360", "kafka-4.2", variants.ALONE, "EachResultReadOnce"),
    ("before-kafka-19999", "kafka-4.2", variants.LATE_MARKER, "EndsAreCompleted"),
    ("open-in-any-epoch", "kafka-4.2", variants.ALONE, "EndsAreCompleted"),
    ("own-ids", "kip-447", variants.ZOMBIE, "EachResultReadOnce"),
    ("unstable-fetch", "kip-447", variants.ZOMBIE, "EachResultReadOnce"),
    ("no-fencing", "kafka-4.2", variants.ZOMBIE, "FencedProducerWritesNothing"),
    ("no-timeout", "kafka-4.2", variants.ZOMBIE, "StableOffsetReachesLogEnd"),
]


def violated(variant: str, name: str, bounds: Mapping[str, int]) -> int | None:
    """The number of states of the shortest counterexample, or None where the property holds."""
    verdict = explore(TRANSACTIONS.system(variant, bounds).with_properties([name]))
    assert verdict.verdict in ("violated", "holds")
    return verdict.violations[0].states if verdict.violations else None


# -- the log --------------------------------------------------------------------------------------


def log_of(*entries: Entry) -> Log:
    """A log of two producers with these entries."""
    log = Log(producers=(ProducerState(), ProducerState()))
    for entry in entries:
        log = log.with_marker(entry) if entry.is_marker else log.with_record(entry)
    return log


def test_the_last_stable_offset_is_the_first_of_the_open_transactions() -> None:
    one, two = Entry(0, 0), Entry(1, 0)
    assert log_of().stable == 0
    assert log_of(one, two, one).stable == 0
    assert log_of(one, two, Entry(0, 0, commits=True)).stable == 1
    assert log_of(one, two, Entry(0, 0, commits=True), Entry(1, 1, commits=False)).stable == 4


def test_a_record_has_the_outcome_of_the_next_marker_of_its_producer() -> None:
    log = log_of(
        Entry(0, 0, value=7),
        Entry(1, 0, value=8),
        Entry(1, 0, commits=False),
        Entry(0, 0, commits=True),
        Entry(0, 1, value=9),
        Entry(-1, -1, value=5),
    )
    assert [log.outcome(offset) for offset in (0, 1, 4, 5)] == [True, False, None, True]
    assert [record.value for record in log.committed()] == [7, 5]
    assert [record.value for record in log.committed(0, log.stable)] == [7]
    assert log.count(0, 0) == log.count(0, 1) == 1


def test_an_open_transaction_is_one_of_its_epoch() -> None:
    log = log_of(Entry(0, 3))
    assert log.is_open(0, 3)
    assert not log.is_open(0, 4)
    assert not log.is_open(1, 3)


# -- stories --------------------------------------------------------------------------------------


def test_a_late_produce_counts_twice_unless_the_abort_bumps_the_epoch() -> None:
    twice, once = STORIES["late-produce"].played(), STORIES["late-produce-refused"].played()
    assert (twice.property, twice.states[-1].reader.read) == ("EachResultReadOnce", (0, 0))
    assert (once.property, once.states[-1].reader.read) == ("", (0,))
    late = once.states[-1].late.produce
    assert late is not None
    arrives = next(r for r in once.system.rules if r.name == "late_produce_arrives_v2")
    assert arrives.attempt(once.states[-1], ()) == Blocked("producer epoch is not older")


# -- the model ------------------------------------------------------------------------------------


def test_the_page_has_these_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "transactions.md").read_text(encoding="utf-8")
    for variant, (distinct, depth) in COUNTS.items():
        row = rf"^\| `{re.escape(variant)}` \|.*\| {distinct:,} \| {depth} \|$"
        assert re.search(row, page, flags=re.MULTILINE), variant


@pytest.mark.slow
@pytest.mark.parametrize("variant", COUNTS)
def test_every_version_is_explored_at_the_default_bounds(variant: str) -> None:
    verdict = explore(TRANSACTIONS.system(variant), Options(keep_going=True))
    assert (verdict.distinct, verdict.depth) == COUNTS[variant]
    allowed = set(TRANSACTIONS.variant(variant).violates)
    assert {violation.name for violation in verdict.violations} <= allowed


@pytest.mark.slow
@pytest.mark.parametrize("variant", [v.name for v in TRANSACTIONS.variants if v.violates])
def test_every_variant_violates_what_it_declares(variant: str) -> None:
    declared = TRANSACTIONS.variant(variant).violates
    for bounds in {tuple(expected.bounds.items()) for expected in declared.values()}:
        asked = {n: v.states for n, v in declared.items() if tuple(v.bounds.items()) == bounds}
        system = TRANSACTIONS.system(variant, dict(bounds)).with_properties(asked)
        verdict = explore(system, Options(keep_going=True))
        assert {v.name: v.states for v in verdict.violations} == asked


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "repair", "bounds", "name"), REPAIRS)
def test_every_fault_is_repaired_within_the_same_bounds(
    fault: str, repair: str, bounds: Mapping[str, int], name: str
) -> None:
    assert violated(fault, name, bounds) is not None
    assert violated(repair, name, bounds) is None


@pytest.mark.parametrize("variant", ["kafka-4.2", "kip-447"])
@pytest.mark.parametrize(
    "bounds",
    [variants.ALONE, variants.LATE_COMMIT, variants.LATE_END, variants.LATE_MARKER],
)
def test_transactions_hold_all_their_promises_also_with_late_requests(
    variant: str, bounds: Mapping[str, int]
) -> None:
    system = TRANSACTIONS.system(variant, bounds)
    names = [p.name for p in (*TRANSACTIONS.properties, *TRANSACTIONS.on_request)]
    assert explore(system.with_properties(names)).verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["kafka-4.2", "kip-447"])
def test_all_late_requests_at_once(variant: str) -> None:
    bounds = {"late_commits": 1, "late_ends": 1, "late_markers": 1, "failovers": 0}
    bounds["rebalances"] = 0 if variant == "kip-447" else 1
    verdict = explore(TRANSACTIONS.system(variant, bounds))
    assert verdict.verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("variant", COUNTS)
def test_learned_rules_find_what_the_rules_find(variant: str) -> None:
    bounds = {"transactions": 1, "failovers": 0, "late_produces": 0, "late_commits": 1}
    system = TRANSACTIONS.system(variant, bounds)
    by_rules = explore_by_rules(system, Options(keep_going=True))
    learned = explore(system, Options(keep_going=True, check_learning=True))
    assert (learned.distinct, learned.generated) == (by_rules.distinct, by_rules.generated)
    found = [{v.name: v.states for v in verdict.violations} for verdict in (learned, by_rules)]
    assert found[0] == found[1]


@pytest.mark.slow
def test_no_mutant_of_two_rules_survives() -> None:
    """Two rules only: all of them take minutes (`kspec mutate transactions`)."""
    rules = ("producer_produces_v2", "partition_appends_later_marker")
    bounds = TRANSACTIONS.baseline.bounds
    report = mutate(TRANSACTIONS, TRANSACTIONS.variant(), bounds, rules=rules, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []
