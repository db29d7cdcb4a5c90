"""The native engine finds what the reference engine finds, with any number of workers."""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.explore import explore as explore_by_spec
from checkers.limits import Limits
from checkers.native.search import Exploration, Progress, explore
from spec.core import Always, System
from spec.replication import REPLICATION
from spec.replication.state import Cluster

VARIANTS = [v.name for v in REPLICATION.variants]

PINNED = {
    "truncate-to-hw": (67_807, 21, {"WeakIsr": 9, "StrongIsr": 9}),
    "kip-101": (59_788, 22, {"StrongIsr": 12}),
    "kip-279": (60_106, 22, {"StrongIsr": 12}),
    "kip-320-first-try": (59_092, 22, {}),
    "kip-320": (39_619, 22, {}),
}
"""Distinct states, depth and violations at the default bounds, by an independent checker."""


def lengths(result: Exploration[Cluster]) -> dict[str, int]:
    """How many states each counterexample has."""
    return {v.property: len(v.states) for v in result.violations}


def assert_real(system: System[Cluster], result: Exploration[Cluster]) -> None:
    """Every counterexample is a behaviour of the system, and shows what it says."""
    rules = {rule.name: rule for rule in system.rules}
    properties = {p.name: p for p in system.properties}
    for violation in result.violations:
        assert violation.states[0] in system.initial()
        assert len(violation.steps) == len(violation.states) - 1
        for (before, after), step in zip(pairwise(violation.states), violation.steps, strict=True):
            rule = rules[step.rule]
            assert rule.attempt(before, tuple(step.choices[c] for c in rule.choices)) == after
        failing = properties[violation.property]
        assert isinstance(failing, Always)
        assert failing.failure(violation.states[-1]) is not None


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("keep_going", [True, False])
def test_it_finds_what_the_reference_engine_finds(variant: str, keep_going: bool) -> None:
    system = REPLICATION.system(variant, {"brokers": 2})
    verdict = explore_by_spec(system, Limits(keep_going=keep_going))
    result = explore(system, keep_going=keep_going)
    assert list(result.levels) == list(verdict.levels)
    assert result.generated == verdict.generated
    assert result.fired == {name: count.fired for name, count in verdict.rules.items()}
    assert lengths(result) == {v.name: v.states for v in verdict.violations}
    assert_real(system, result)


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_finds_what_an_independent_checker_found(variant: str) -> None:
    system = REPLICATION.system(variant)
    result = explore(system, keep_going=True)
    distinct, depth, violations = PINNED[variant]
    assert (result.distinct, result.depth) == (distinct, depth)
    assert lengths(result) == violations
    assert_real(system, result)


def test_four_brokers_count_as_rumur_counts_them() -> None:
    result = explore(REPLICATION.system("kip-320", {"brokers": 4, "log_size": 1, "max_records": 1}))
    assert (result.distinct, result.generated) == (155_041, 490_801)


def test_more_states_than_fit_the_first_tables() -> None:
    result = explore(REPLICATION.system("kip-320", {"max_epoch": 2}))
    assert (result.distinct, result.depth, result.generated) == (737_794, 26, 1_929_154)


@pytest.mark.parametrize("keep_going", [True, False])
def test_the_number_of_workers_changes_nothing(keep_going: bool) -> None:
    system = REPLICATION.system("truncate-to-hw")
    results = [explore(system, workers=n, keep_going=keep_going) for n in (1, 2, 3)]
    for result in results[1:]:
        assert result.levels == results[0].levels
        assert result.generated == results[0].generated
        assert result.fired == results[0].fired
        assert result.violations == results[0].violations


def test_the_first_violation_ends_it_after_its_level() -> None:
    system = REPLICATION.system("kip-101")
    result = explore(system)
    assert lengths(result) == {"StrongIsr": 12}
    assert result.depth == 12
    assert result.stopped is None


def test_only_what_is_asked_about_ends_it() -> None:
    result = explore(REPLICATION.system("kip-101").with_properties(["WeakIsr"]))
    assert not result.violations
    assert result.distinct == PINNED["kip-101"][0]


def test_a_limit_on_states_ends_it() -> None:
    result = explore(REPLICATION.system("kip-320", {"max_epoch": 2}), max_states=100_000)
    assert result.stopped == "max_states"
    assert 100_000 <= result.distinct < 737_794


def test_a_limit_on_depth_ends_it_before_the_next_level() -> None:
    system = REPLICATION.system("kip-320")
    result = explore(system, max_depth=5)
    assert result.stopped == "max_depth"
    assert result.levels == explore(system).levels[:5]


def test_a_limit_on_memory_ends_it() -> None:
    system = REPLICATION.system("kip-320", {"max_epoch": 2})
    result = explore(system, max_memory=1)
    assert result.stopped == "max_memory"
    assert result.distinct < 737_794


def test_what_a_limit_left_unexpanded_is_checked() -> None:
    system = REPLICATION.system("truncate-to-hw")
    levels = explore(system).levels
    by_depth = explore(system, max_depth=9)
    by_states = explore(system, max_states=sum(levels[:9]))
    assert (by_depth.stopped, by_states.stopped) == ("max_depth", "max_states")
    for result in (by_depth, by_states):
        assert lengths(result) == {"WeakIsr": 9, "StrongIsr": 9}
        assert_real(system, result)


def test_it_says_how_far_it_is() -> None:
    told: list[Progress] = []
    system = REPLICATION.system("kip-320", {"max_epoch": 2})
    explore(system, workers=1, progress=told.append)
    assert told
    for early, late in pairwise(told):
        assert early.distinct <= late.distinct
        assert early.seconds < late.seconds
    assert all(0 < p.queue <= p.distinct <= 737_794 for p in told)
