"""Ways of committing: what each keeps and breaks, and what is said of them."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from checkers.explore import explore
from checkers.limits import Limits
from checkers.mutate import mutate
from spec.delivery import DELIVERY
from spec.delivery.properties import PROPERTIES
from traces.trace import Trace

PAGE = Path(__file__).parents[2] / "docs" / "offsets.md"

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
    "auto-commit": (2_346, 8_257, 27),
    "auto-commit-by-the-clock": (5_654, 24_433, 28),
    "auto-commit-exception": (6_022, 24_661, 27),
    "auto-commit-thread": (4_510, 16_837, 27),
    "exception": (10_260, 46_567, 31),
    "exception-and-seek": (4_051, 17_565, 31),
    "standalone": (11_426, 40_129, 31),
}
QUICK = ("in-time", "commit-first", "auto-commit")
ALL = [v if v in QUICK else pytest.param(v, marks=pytest.mark.slow) for v in PINNED]


def test_every_variant_is_pinned() -> None:
    assert [v.name for v in DELIVERY.variants] == list(PINNED)


@pytest.mark.parametrize("name", ALL)
def test_every_promise_is_kept_or_broken_as_the_variant_says(name: str) -> None:
    verdict = explore(DELIVERY.system(name).with_sanity(), Limits(keep_going=True))
    said = {promise: v.states for promise, v in DELIVERY.variant(name).violates.items()}
    assert {v.name: v.states for v in verdict.violations} == said
    assert (verdict.distinct, verdict.generated, verdict.depth) == PINNED[name]
    assert verdict.silent_rules == []


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{"batch": 2}, {"partitions": 2, "records": 1}])
@pytest.mark.parametrize("name", PINNED)
def test_promises_that_are_kept_are_kept_in_other_bounds(name: str, bounds: dict[str, int]) -> None:
    kept = [p.name for p in PROPERTIES if p.name not in DELIVERY.variant(name).violates]
    verdict = explore(
        DELIVERY.system(name, bounds).with_properties(kept), Limits(max_states=30_000)
    )
    assert verdict.violations == []


@pytest.mark.slow
def test_no_mutant_survives_unexplained() -> None:
    report = mutate(DELIVERY, DELIVERY.variant(), DELIVERY.mutation_bounds, workers=2)
    assert [o.mutant for o in report.having("survived")] == []
    assert report.stale == []


# -- what is said of them -------------------------------------------------------------------------


@functools.cache
def story(variant: str, promise: str) -> Trace:
    """The shortest way in which this variant breaks this promise, of the length that is pinned."""
    (violation,) = explore(DELIVERY.system(variant).with_properties([promise])).violations
    assert violation.states == DELIVERY.variant(variant).violates[promise].states
    assert violation.trace is not None
    return violation.trace


def rules(variant: str, promise: str) -> list[str]:
    return [step.rule for step in story(variant, promise).steps]


def test_processed_and_crashed_before_the_commit_is_processed_again() -> None:
    """With enable.auto.commit=false: the machine stops between processing and commitSync."""
    taken = rules("in-time", "NothingDoubled")
    assert "member_commits" not in taken
    assert taken.index("member_processes") < taken.index("member_crashes")


def test_automatic_commit_of_what_could_not_be_processed_loses_it() -> None:
    """With enable.auto.commit=true: processing fails, the position is committed."""
    *_, failed, committed = rules("auto-commit-exception", "NothingSkipped")
    assert failed == "processing_fails"
    assert committed in ("member_polls_and_commits", "member_is_told_and_commits")


def test_automatic_commit_takes_place_in_poll_and_takes_what_the_last_poll_returned() -> None:
    system = DELIVERY.system("auto-commit")
    rule = next(r for r in system.rules if r.name == "member_polls_and_commits")
    (state,) = system.initial()
    for name, choice in [
        ("coordinator_assigns", (0, 0)),
        ("member_polls_and_commits", (0, 0, 1, True)),
        ("member_processes", (0, 0)),
    ]:
        state = next(r for r in system.rules if r.name == name).attempt(state, choice)
    assert state.committed == (0,)
    after = rule.attempt(state, (0, 0, 1, True))
    assert after.committed == (1,)
    assert after.hand(0, 0).position == 2


def test_after_an_exception_and_no_commit_the_consumer_goes_on_behind_the_record() -> None:
    """The seeds' 28 and 29: the record that failed is 28, and the next poll returns 29."""
    assert rules("exception", "NothingPassedOver")[-3:] == [
        "member_polls",
        "processing_fails",
        "member_polls",
    ]
    last = story("exception", "NothingPassedOver").states[-1]
    assert last.committed == (0,)
    assert last.processed == ((0, 0),)
    assert (last.hand(0, 0) or last.hand(1, 0)).position == 2


def test_who_seeks_back_need_not_be_replaced() -> None:
    broken = DELIVERY.variant("exception-and-seek").violates
    assert broken.keys() == DELIVERY.variant("commit-sync").violates.keys()


def test_who_is_too_slow_gets_a_commit_failed_exception() -> None:
    assert rules("listener", "NoCommitFails")[-3:] == [
        "poll_interval_ends",
        "member_processes",
        "member_commits",
    ]
    assert "NoCommitFails" not in DELIVERY.variant("in-time").violates


def test_a_standalone_consumer_with_the_id_of_a_group_gets_one_too() -> None:
    taken = rules("standalone", "NoCommitFails")
    assert all(rule.startswith("standalone") for rule in taken)
    assert taken[-1] == "standalone_commits"


def test_a_listener_keeps_a_rebalance_from_doubling() -> None:
    assert "coordinator_revokes" in rules("commit-sync", "RebalanceDoublesNothing")
    assert "RebalanceDoublesNothing" not in DELIVERY.variant("listener").violates


def test_an_older_commit_comes_after_a_newer_only_if_repeated_or_out_of_order() -> None:
    promise = "CommitNeverGoesBack"
    assert "callback_commits_again" in rules("commit-async-repeated", promise)
    assert promise in DELIVERY.variant("commit-async-out-of-order").violates
    assert promise not in DELIVERY.variant("commit-async").violates


# -- the page -----------------------------------------------------------------------------------


def table() -> str:
    """The way of committing by the promise, as the page has it."""
    lines = ["| variant | " + " | ".join(f"`{p.name}`" for p in PROPERTIES) + " |"]
    lines.append("|---" * (len(PROPERTIES) + 1) + "|")
    for variant in DELIVERY.variants:
        cells = (
            f"broken in {variant.violates[p.name].states}" if p.name in variant.violates else "kept"
            for p in PROPERTIES
        )
        lines.append(f"| `{variant.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_table_of_the_page_is_what_was_found() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")
