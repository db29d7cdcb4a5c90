"""At any bounds, learned rules agree with the reference engine."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.replication import REPLICATION

any_variant = st.sampled_from([v.name for v in REPLICATION.variants])
any_bounds = st.fixed_dictionaries(
    {b.name: st.integers(b.low, b.high) for b in REPLICATION.bound_ranges()}
)


def answers(verdict: Verdict) -> object:
    """What two engines must agree on."""
    return (
        verdict.verdict,
        list(verdict.levels),
        verdict.generated,
        {name: count.fired for name, count in verdict.rules.items()},
        {v.name: v.states for v in verdict.violations},
        verdict.edge_of_bounds,
    )


def compare(variant: str, bounds: dict[str, int], states: int) -> None:
    """Explore the first levels, up to about so many states, with both engines."""
    system = REPLICATION.system(variant, bounds)
    probe = run(system, Options("reference", max_states=states))
    limits = Options(max_depth=max(1, probe.depth - 1), keep_going=True)
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="learned", workers=2))
    assert answers(found) == answers(expected)


@pytest.mark.slow
@settings(max_examples=30)
@given(any_variant, any_bounds)
def test_first_levels_at_random_bounds_agree_with_the_reference_engine(
    variant: str, bounds: dict[str, int]
) -> None:
    compare(variant, bounds, 1000)


WIDE = {"brokers": 5, "log_size": 4, "max_records": 4, "max_epoch": 5}


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["kip-320", "truncate-to-hw"])
@pytest.mark.parametrize(
    "bounds",
    [WIDE, {"brokers": 4, "log_size": 4, "max_records": 4, "max_epoch": 5}],
    ids=["181 bits", "148 bits"],
)
def test_wide_states_agree_with_the_reference_engine(variant: str, bounds: dict[str, int]) -> None:
    compare(variant, bounds, 1000)
