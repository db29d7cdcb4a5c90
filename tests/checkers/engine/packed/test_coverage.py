"""Coverage: counts of blocking guards agree with the reference engine."""

from __future__ import annotations

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.replication import REPLICATION

VARIANTS = [v.name for v in REPLICATION.variants]


def coverage(verdict: Verdict) -> object:
    """For each rule how often it happened, and what stopped it."""
    return {name: (c.fired, dict(c.stopped_by)) for name, c in verdict.rules.items()}


@pytest.mark.parametrize(
    ("variant", "limits"),
    [
        *((variant, Options(keep_going=True)) for variant in VARIANTS),
        ("truncate-to-hw", Options()),
        ("kip-320", Options(max_depth=8)),
    ],
)
def test_coverage_by_guard_agrees_with_the_reference_engine(variant: str, limits: Options) -> None:
    system = REPLICATION.system(variant, {"brokers": 2})
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="learned", coverage=True))
    assert found.engine == "learned"
    assert coverage(found) == coverage(expected)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_coverage_by_guard_agrees_with_three_brokers(variant: str) -> None:
    system = REPLICATION.system(variant, {"log_size": 1, "max_records": 1})
    limits = Options(keep_going=True)
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="learned", coverage=True))
    assert coverage(found) == coverage(expected)
