"""Ways of committing: the properties that each violates, and claims often made about them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.delivery_mutants import ADDED
from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutate
from kspec.spec.core import Violated
from kspec.spec.delivery.properties import PROPERTIES
from kspec.traces.trace import Trace
from tests.known import explore_learned as explore

DELIVERY = find_model("delivery")

PAGE = Path(__file__).parents[2] / "docs" / "commit.md"

PINNED = {
    # variant: distinct states, generated, depth
    "commit-sync": (3_073, 11_571, 31),
    "listener": (5_924, 22_609, 34),
    "in-time": (748, 1_817, 23),
    "unfenced": (4_966, 19_467, 36),
    "commit-first": (968, 3_085, 22),
    "commit-async": (7_022, 30_023, 31),
    "commit-async-out-of-order": (8_105, 34_811, 31),
    "commit-async-repeated": (10_210, 44_610, 31),
    "commit-async-close": (8_001, 32_697, 33),
    "async-then-sync": (13_904, 58_465, 36),
    "commit-in-finally": (18_074, 75_933, 36),
    "commit-processed-in-finally": (13_904, 60_809, 36),
    "async-listener": (13_904, 63_193, 35),
    "commit-within-batch": (5_924, 23_729, 34),
    "commit-position-within-batch": (7_974, 31_901, 34),
    "commit-offset-of-last-record": (1_212, 4_371, 26),
    "exception": (10_260, 46_567, 31),
    "exception-and-seek": (4_051, 17_565, 31),
    "standalone": (11_426, 40_129, 31),
    "auto-commit": (2_346, 8_257, 27),
    "auto-commit-by-the-clock": (5_654, 24_433, 28),
    "stored-offsets": (2_346, 9_233, 27),
    "auto-commit-exception": (6_022, 24_661, 27),
    "auto-commit-thread": (4_510, 16_837, 27),
    "auto-commit-close": (3_003, 10_897, 27),
    "auto-commit-close-exception": (4_739, 17_193, 27),
    "auto-commit-steps": (6_952, 26_575, 38),
    "auto-commit-3.2.1": (10_620, 43_763, 30),
    "auto-commit-3.2.0": (8_286, 31_723, 36),
    "workers-prefix": (9_854, 42_801, 34),
    "workers-latest": (12_414, 54_977, 33),
    "workers-cancelled": (9_908, 45_291, 32),
    "store-apart": (5_478, 22_713, 31),
    "store-together": (398, 1_283, 20),
    "store-conditional": (175, 565, 11),
    "filter-position": (2_019, 7_611, 27),
    "filter-last-seen": (1_189, 4_667, 20),
    "poison-retried": (47, 151, 9),
    "poison-skipped": (3_420, 14_803, 31),
    "poison-dead-letter": (3_073, 11_571, 31),
}
QUICK = ("in-time", "commit-first", "auto-commit", "store-conditional", "poison-retried")
ALL = [v if v in QUICK else pytest.param(v, marks=pytest.mark.slow) for v in PINNED]

SILENT = {"poison-retried": ["member_processes_healthy_record", "member_commits"]}
"""Rules that are never enabled: after a poison record, no record is processed or committed."""


def test_every_variant_is_pinned() -> None:
    assert [v.name for v in DELIVERY.variants] == list(PINNED)


@pytest.mark.parametrize("name", ALL)
def test_every_variant_violates_what_it_declares(name: str) -> None:
    verdict = explore(DELIVERY.system(name).with_all_properties(), Options(keep_going=True))
    expected = {p: v.states for p, v in DELIVERY.variant(name).violates.items()}
    assert {v.name: v.states for v in verdict.violations} == expected
    assert (verdict.distinct, verdict.generated, verdict.depth) == PINNED[name]
    assert verdict.silent_rules == SILENT.get(name, [])


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{"batch": 2}, {"partitions": 2, "records": 1}])
@pytest.mark.parametrize("name", PINNED)
def test_properties_that_hold_hold_in_other_bounds(name: str, bounds: dict[str, int]) -> None:
    holding = [p.name for p in PROPERTIES if p.name not in DELIVERY.variant(name).violates]
    verdict = explore(
        DELIVERY.system(name, bounds).with_properties(holding), Options(max_states=30_000)
    )
    assert verdict.violations == []


@pytest.mark.slow
def test_no_mutant_survives() -> None:
    report = mutate(DELIVERY, DELIVERY.variant(), DELIVERY.baseline.bounds, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["store-conditional", "poison-dead-letter", "auto-commit-3.2.0"])
def test_no_mutant_of_an_added_rule_survives(name: str) -> None:
    """`python -m benchmarks.delivery_mutants` has those of every variant."""
    report = mutate(
        DELIVERY, DELIVERY.variant(name), DELIVERY.baseline.bounds, rules=ADDED[name], workers=2
    )
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []


# -- claims often made -------------------------------------------------------------------------


@functools.cache
def counterexample(variant: str, name: str) -> Trace:
    """The shortest counterexample of a property in a variant, of the pinned length."""
    (violation,) = explore(DELIVERY.system(variant).with_properties([name])).violations
    assert violation.states == DELIVERY.variant(variant).violates[name].states
    assert violation.trace is not None
    return violation.trace


def rules(variant: str, name: str) -> list[str]:
    return [step.rule for step in counterexample(variant, name).steps]


def test_a_record_is_processed_again_after_a_crash_before_its_commit() -> None:
    """With enable.auto.commit=false: the machine stops between processing and commitSync."""
    taken = rules("in-time", "RecordsAreProcessedAtMostOnce")
    assert "member_commits" not in taken
    assert taken.index("member_processes") < taken.index("member_crashes")


def test_automatic_commit_skips_a_record_that_failed() -> None:
    """With enable.auto.commit=true: processing fails, the position is committed."""
    *_, failed, committed = rules("auto-commit-exception", "CommittedRecordsAreProcessed")
    assert failed == "member_skips_failed_record"
    assert committed in ("member_polls_and_auto_commits", "member_commits_on_revocation")


def test_poll_commits_the_records_of_the_poll_before() -> None:
    system = DELIVERY.system("auto-commit")
    rule = next(r for r in system.rules if r.name == "member_polls_and_auto_commits")
    state: Any
    (state,) = system.initial()
    for name, choice in [
        ("coordinator_assigns_partition", (0, 0)),
        ("member_polls_and_auto_commits", (0, 0, 1, True)),
        ("member_processes", (0, 0)),
    ]:
        state = next(r for r in system.rules if r.name == name).attempt(state, choice)
    assert state.committed == (0,)
    after: Any = rule.attempt(state, (0, 0, 1, True))
    assert after.committed == (1,)
    assert after.progress[0][0].position == 2


def test_after_an_exception_the_consumer_continues_past_the_record() -> None:
    """If record 28 fails and nothing is committed, the next poll still returns 29."""
    assert rules("exception", "RecordsAreProcessedInOrder")[-3:] == [
        "member_polls",
        "member_skips_failed_record",
        "member_polls",
    ]
    last = counterexample("exception", "RecordsAreProcessedInOrder").states[-1]
    assert last.committed == (0,)
    assert last.processed == ((0, 0),)
    assert (last.progress[0][0] or last.progress[1][0]).position == 2


def test_seeking_back_reads_the_failed_record_again() -> None:
    broken = DELIVERY.variant("exception-and-seek").violates
    assert broken.keys() == DELIVERY.variant("commit-sync").violates.keys()


def test_a_slow_member_receives_a_commit_failed_exception() -> None:
    assert rules("listener", "NoCommitIsRejected")[-3:] == [
        "member_exceeds_poll_interval",
        "member_processes",
        "member_commits",
    ]
    assert "NoCommitIsRejected" not in DELIVERY.variant("in-time").violates


def test_a_standalone_consumer_in_a_group_with_members_receives_one() -> None:
    taken = rules("standalone", "NoCommitIsRejected")
    assert all(rule.startswith("standalone") for rule in taken)
    assert taken[-1] == "standalone_commits"


def test_a_listener_prevents_duplicates_in_a_rebalance() -> None:
    assert "coordinator_revokes_partition" in rules("commit-sync", "RebalanceRepeatsNoRecord")
    assert "RebalanceRepeatsNoRecord" not in DELIVERY.variant("listener").violates


def test_the_committed_offset_decreases_only_if_retried_or_out_of_order() -> None:
    name = "CommittedOffsetNeverDecreases"
    assert "callback_retries_commit" in rules("commit-async-repeated", name)
    assert name in DELIVERY.variant("commit-async-out-of-order").violates
    assert name not in DELIVERY.variant("commit-async").violates


def test_commit_sync_in_finally_skips_the_failed_record() -> None:
    """Without offsets, commitSync commits the position, which is beyond the failed record."""
    name = "CommittedRecordsAreProcessed"
    for variant in ("commit-in-finally", "auto-commit-close-exception"):
        assert rules(variant, name)[-1] == "member_fails_and_commits_position"
        assert len(counterexample(variant, name).states) == 4
    assert name not in DELIVERY.variant("commit-processed-in-finally").violates


def test_a_last_commit_sync_repeats_nothing_after_a_close() -> None:
    name = "RebalanceRepeatsNoRecord"
    assert "member_closes" in rules("commit-async-close", name)
    assert name not in DELIVERY.variant("async-then-sync").violates
    assert name not in DELIVERY.variant("async-listener").violates


def test_the_latest_record_of_a_worker_is_not_safe_to_commit() -> None:
    name = "CommittedRecordsAreProcessed"
    taken = rules("workers-latest", name)
    assert "member_commits_latest" in taken
    assert taken[-1] == "member_crashes"
    assert name not in DELIVERY.variant("workers-prefix").violates


def test_only_a_conditional_transaction_processes_each_record_exactly_once() -> None:
    exact = {"CommittedRecordsAreProcessed", "RecordsAreProcessedAtMostOnce"}
    passing = {
        v.name
        for v in DELIVERY.variants
        if not exact & v.violates.keys() and "GroupPassesEveryRecord" not in v.violates
    }
    assert passing == {"store-conditional"}


@pytest.mark.parametrize(
    ("variant", "step"),
    [
        ("auto-commit-3.2.1", "member_polls_while_rejoining"),
        ("auto-commit-3.2.0", "network_loses_commit"),
    ],
)
def test_a_commit_that_does_not_hold_up_a_rebalance_repeats_records(
    variant: str, step: str
) -> None:
    """KAFKA-14196 and KAFKA-14024; repaired in auto-commit-steps."""
    name = "RebalanceRepeatsNoRecord"
    taken = rules(variant, name)
    assert taken.index("client_commits_before_rejoining") < taken.index(step)
    assert name not in DELIVERY.variant("auto-commit-steps").violates


# -- the page -----------------------------------------------------------------------------------

COLUMNS = (
    "CommittedRecordsAreProcessed",
    "RebalanceRepeatsNoRecord",
    "RecordsAreProcessedAtMostOnce",
    "RecordsAreProcessedInOrder",
    "GroupPassesEveryRecord",
)
ROW = re.compile(r"^\| [^|]+ \| `([a-z0-9.-]+)` \| (.*) \|$", re.MULTILINE)


def cell(expected: Violated | None) -> str:
    """A cell of the page: whether the property holds."""
    if expected is None:
        return "yes"
    return f"no, in {expected.states}" if expected.states else "no"


def test_the_tables_on_the_page_match_the_results() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == len(dict(rows))
    for name, cells in rows:
        violates = DELIVERY.variant(name).violates
        assert cells.split(" | ") == [cell(violates.get(column)) for column in COLUMNS], name
    elsewhere = {"unfenced", "commit-async-out-of-order", "standalone"}
    assert {v.name for v in DELIVERY.variants} - elsewhere == dict(rows).keys()
