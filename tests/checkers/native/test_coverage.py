"""Coverage: what stopped each rule, as the reference engine counts it."""

from __future__ import annotations

import pytest

from checkers.engines import Options, run
from checkers.limits import Limits
from checkers.verdict import Verdict
from impl.packed.kernel import MOST_GUARDS
from spec.replication import REPLICATION

VARIANTS = [v.name for v in REPLICATION.variants]


def coverage(verdict: Verdict) -> object:
    """For each rule how often it happened, and what stopped it."""
    return {name: (c.fired, dict(c.stopped_by)) for name, c in verdict.rules.items()}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("limits", [Limits(keep_going=True), Limits(), Limits(max_depth=8)])
def test_guards_stop_rules_as_often_as_in_the_reference_engine(
    variant: str, limits: Limits
) -> None:
    system = REPLICATION.system(variant, {"brokers": 2})
    expected = run(system, Options("reference", limits=limits))
    found = run(system, Options("native", limits=limits, coverage=True))
    assert found.engine == "kernel"
    assert coverage(found) == coverage(expected)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_guards_stop_rules_as_often_in_larger_bounds(variant: str) -> None:
    system = REPLICATION.system(variant)
    limits = Limits(keep_going=True)
    expected = run(system, Options("reference", limits=limits))
    found = run(system, Options("native", limits=limits, coverage=True))
    assert coverage(found) == coverage(expected)


def test_what_is_not_asked_for_is_not_counted() -> None:
    rules = run(REPLICATION.system(), Options("native")).rules.values()
    assert all(not count.stopped_by for count in rules)


def test_no_rule_has_more_guards_than_there_are_columns() -> None:
    for variant in REPLICATION.variants:
        assert all(len(rule.guard_names()) < MOST_GUARDS for rule in variant.rules)
