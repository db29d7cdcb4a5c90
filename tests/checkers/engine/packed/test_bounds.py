"""At any bounds, a kernel agrees with the reference engine or rejects the bounds."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kspec.impl.packed.kernel import NoKernel
from kspec.impl.packed.kernels import kernel_for

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import has_kernel, run
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
    if not has_kernel(system):
        return
    probe = run(system, Options("reference", max_states=states))
    limits = Options(max_depth=max(1, probe.depth - 1), keep_going=True)
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="auto", workers=2))
    assert found.engine == "kernel"
    assert answers(found) == answers(expected)


@pytest.mark.slow
@settings(max_examples=30)
@given(any_variant, any_bounds)
def test_first_levels_at_random_bounds_agree_with_the_reference_engine(
    variant: str, bounds: dict[str, int]
) -> None:
    compare(variant, bounds, 1000)


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"brokers": 1, "max_epoch": 8}, "there are 9 epochs"),
        ({"brokers": 1, "log_size": 8, "max_records": 8}, "a log takes 32 bits"),
        ({"brokers": 5, "log_size": 5, "max_records": 4}, "word 0 of a state takes 75 bits"),
    ],
    ids=str,
)
def test_too_large_bounds_are_rejected(bounds: dict[str, int], says: str) -> None:
    with pytest.raises(NoKernel, match=rf"these bounds are too large for the kernel: ({says})"):
        kernel_for(REPLICATION.system(bounds=bounds))


@pytest.mark.parametrize("brokers", [1, 2, 3])
def test_the_largest_supported_epoch_agrees_with_the_reference_engine(brokers: int) -> None:
    """A byte of a mask and three bits of an origin hold eight epochs, and not one more."""
    bounds = {"brokers": brokers, "log_size": 1, "max_records": 1, "max_epoch": 7}
    assert has_kernel(REPLICATION.system(bounds=bounds))
    compare("kip-320", bounds, 300)
    assert not has_kernel(REPLICATION.system(bounds=bounds | {"max_epoch": 8}))


WIDE = {"brokers": 5, "log_size": 4, "max_records": 4, "max_epoch": 5}


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["kip-320", "truncate-to-hw"])
@pytest.mark.parametrize(
    "bounds",
    [WIDE, {"brokers": 4, "log_size": 4, "max_records": 4, "max_epoch": 5}],
    ids=["181 bits", "148 bits"],
)
def test_wide_states_agree_with_the_reference_engine(variant: str, bounds: dict[str, int]) -> None:
    assert has_kernel(REPLICATION.system(bounds=bounds))
    compare(variant, bounds, 1000)
