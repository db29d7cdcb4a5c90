"""Learned rules agree with the reference engine, with any number of workers."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest

from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.reference import explore as explore_by_spec
from kspec.checkers.engine.verdict import DEADLOCK, Verdict
from kspec.spec.core import Always
from kspec.spec.replication import REPLICATION

VARIANTS = [v.name for v in REPLICATION.variants]

PINNED = {
    "truncate-to-hw": (67_807, 21, {"WeakIsr": 9, "StrongIsr": 9}),
    "kip-101": (59_788, 22, {"StrongIsr": 12}),
    "kip-279": (60_106, 22, {"StrongIsr": 12}),
    "kip-320-first-try": (59_092, 22, {}),
    "kip-320": (39_619, 22, {}),
}
"""Distinct states, depth and violations at the default bounds, by an independent checker."""


def lengths(verdict: Verdict) -> dict[str, int]:
    """How many states each counterexample has."""
    return {v.name: v.states for v in verdict.violations}


def fired(verdict: Verdict) -> dict[str, int]:
    """How often each rule was enabled."""
    return {name: count.fired for name, count in verdict.rules.items()}


def assert_real(verdict: Verdict) -> None:
    """Every counterexample is a behaviour of the system, and shows what it says."""
    system = verdict.system
    rules = {rule.name: rule for rule in system.rules}
    properties = {p.name: p for p in system.properties}
    for violation in verdict.violations:
        trace = violation.trace
        assert trace is not None
        assert trace.states[0] in system.initial()
        assert len(trace.steps) == len(trace.states) - 1
        for (before, after), step in zip(pairwise(trace.states), trace.steps, strict=True):
            rule = rules[step.rule]
            assert rule.attempt(before, tuple(step.choices[c] for c in rule.choices)) == after
        if violation.name == DEADLOCK:
            assert system.is_deadlock(trace.states[-1])
            continue
        failing = properties[violation.name]
        assert isinstance(failing, Always)
        assert failing.failure(trace.states[-1]) is not None


@pytest.mark.parametrize(
    ("variant", "keep_going"),
    [*((variant, True) for variant in VARIANTS), ("truncate-to-hw", False), ("kip-101", False)],
)
def test_it_agrees_with_the_reference_engine(variant: str, keep_going: bool) -> None:
    system = REPLICATION.system(variant, {"brokers": 2})
    limits = Options(keep_going=keep_going)
    expected = explore_by_spec(system, limits)
    verdict = explore_by_learning(system, limits)
    assert verdict.engine == "learned"
    assert verdict.levels == expected.levels
    assert verdict.generated == expected.generated
    assert fired(verdict) == fired(expected)
    assert verdict.edge_of_bounds == expected.edge_of_bounds
    assert lengths(verdict) == lengths(expected)
    assert_real(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{"brokers": 2, "max_epoch": 2}, {"max_epoch": 0}], ids=str)
def test_the_edge_of_bounds_agrees_with_the_reference_engine(
    bounds: dict[str, int],
) -> None:
    """A state without a successor is asked of the specification, whatever explores."""
    system = REPLICATION.system("kip-320", bounds)
    expected = explore_by_spec(system)
    verdict = explore_by_learning(system)
    assert expected.edge_of_bounds
    assert verdict.edge_of_bounds == expected.edge_of_bounds


@pytest.mark.parametrize(
    "variant", [v if v == "kip-320" else pytest.param(v, marks=pytest.mark.slow) for v in VARIANTS]
)
def test_it_agrees_with_an_independent_checker(variant: str) -> None:
    system = REPLICATION.system(variant)
    verdict = explore_by_learning(system, Options(keep_going=True))
    distinct, depth, violations = PINNED[variant]
    assert (verdict.distinct, verdict.depth) == (distinct, depth)
    assert lengths(verdict) == violations
    assert_real(verdict)


@pytest.mark.slow
def test_four_brokers_have_the_counts_of_rumur() -> None:
    bounds = {"brokers": 4, "log_size": 1, "max_records": 1}
    verdict = explore_by_learning(REPLICATION.system("kip-320", bounds))
    assert (verdict.distinct, verdict.generated) == (155_041, 490_801)


@pytest.mark.slow
def test_tables_grow() -> None:
    verdict = explore_by_learning(REPLICATION.system("kip-320", {"max_epoch": 2}))
    assert (verdict.distinct, verdict.depth, verdict.generated) == (737_794, 26, 1_929_154)


@pytest.mark.parametrize("keep_going", [pytest.param(True, marks=pytest.mark.slow), False])
def test_results_do_not_depend_on_the_number_of_workers(keep_going: bool) -> None:
    system = REPLICATION.system("truncate-to-hw")
    limits = Options(keep_going=keep_going)
    first, *others = (
        explore_by_learning(system, attrs.evolve(limits, workers=n)) for n in (1, 2, 3)
    )
    for verdict in others:
        assert verdict.levels == first.levels
        assert verdict.generated == first.generated
        assert fired(verdict) == fired(first)
        assert verdict.edge_of_bounds == first.edge_of_bounds
        assert verdict.violations == first.violations


def test_a_run_ends_after_the_level_of_its_first_violation() -> None:
    system = REPLICATION.system("kip-101")
    verdict = explore_by_learning(system)
    assert lengths(verdict) == {"StrongIsr": 12}
    assert verdict.depth == 12
    assert not verdict.stopped_by


def test_only_selected_properties_end_a_run() -> None:
    verdict = explore_by_learning(REPLICATION.system("kip-101").with_properties(["WeakIsr"]))
    assert not verdict.violations
    assert verdict.distinct == PINNED["kip-101"][0]


def test_a_limit_on_states_ends_a_run() -> None:
    verdict = explore_by_learning(REPLICATION.system("kip-320"), Options(max_states=20_000))
    assert verdict.stopped_by == "max-states 20000"
    assert 20_000 <= verdict.distinct < PINNED["kip-320"][0]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_limit_ends_a_run_while_outboxes_are_full(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found and not sent is dropped; what was taken in is checked, and ends the run."""
    monkeypatch.setattr("kspec.checkers.engine.learned.worker.OUTBOX", 1 << 8)
    system = REPLICATION.system("truncate-to-hw")
    limits = Options(max_states=30_000, keep_going=True)
    verdict = explore_by_learning(system, attrs.evolve(limits, workers=workers))
    assert verdict.stopped_by == "max-states 30000"
    assert 30_000 <= verdict.distinct < 31_000
    assert lengths(verdict) == {"WeakIsr": 9, "StrongIsr": 9}
    whole = explore_by_learning(system, Options(keep_going=True, workers=workers))
    assert whole.distinct == PINNED["truncate-to-hw"][0]


def test_a_limit_on_depth_ends_a_run_before_the_next_level() -> None:
    system = REPLICATION.system("kip-320")
    verdict = explore_by_learning(system, Options(max_depth=5))
    assert verdict.stopped_by == "max-depth 5"
    assert verdict.levels == explore_by_learning(system).levels[:5]


def test_a_limit_on_memory_ends_a_run() -> None:
    system = REPLICATION.system("kip-320", {"max_epoch": 2})
    verdict = explore_by_learning(system, Options(max_memory=1))
    assert verdict.stopped_by == "max-memory 1B"
    assert verdict.distinct < 737_794


def test_states_left_unexpanded_by_a_limit_are_checked() -> None:
    system = REPLICATION.system("truncate-to-hw")
    levels = explore_by_learning(system).levels
    states = sum(levels[:9])
    by_depth = explore_by_learning(system, Options(max_depth=9))
    by_states = explore_by_learning(system, Options(max_states=states))
    for verdict in (by_depth, by_states):
        assert lengths(verdict) == {"WeakIsr": 9, "StrongIsr": 9}
        assert_real(verdict)


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kspec.checkers.engine.search.PROGRESS_INTERVAL", 0.0
    )  # however fast the machine is
    told: list[Progress] = []
    explore_by_learning(REPLICATION.system(), Options(workers=1, on_progress=told.append))
    assert told
    for early, late in pairwise(told):
        assert early.level <= late.level  # states are found again when they are packed anew
        assert early.seconds <= late.seconds
    assert all(0 <= p.queue <= p.distinct <= PINNED["kip-320"][0] for p in told)
