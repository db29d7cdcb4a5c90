"""Up to symmetry: fewer states, equal verdicts, and real counterexamples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kspec.checkers.engine.packed.by_kernel import explore_by_kernel, packed_by_kernel
from kspec.impl.packed.kernel import Kernel, NoKernel, up_to_symmetry
from kspec.impl.packed.kernels import kernel_for

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed import by_kernel
from kspec.checkers.engine.run import run
from kspec.checkers.engine.search import Search
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.core import System
from kspec.spec.replication import REPLICATION
from kspec.spec.replication.state import NO_LEADER, Cluster, LeaderAndIsr
from tests.checkers.engine.packed.test_native import assert_real, lengths
from tests.impl.packed.agreement import reachable

VARIANTS = [v.name for v in REPLICATION.variants]


def named(broker: Any, names: Sequence[Any]) -> Any:
    """A broker's new name."""
    return broker if broker == NO_LEADER else names[broker]


def renamed(s: Cluster, names: Sequence[Any]) -> Cluster:
    """The state with other names, said plainly."""

    def of(request: LeaderAndIsr) -> LeaderAndIsr:
        isr = frozenset(names[b] for b in request.isr)
        return LeaderAndIsr(request.epoch, named(request.leader, names), isr)

    old = sorted(range(len(names)), key=lambda b: names[b])
    views = [s.views[b] for b in old]
    return attrs.evolve(
        s,
        logs=tuple(s.logs[b] for b in old),
        views=tuple(
            attrs.evolve(v, leader=named(v.leader, names), isr=frozenset(names[b] for b in v.isr))
            for v in views
        ),
        quorum=of(s.quorum),
        requests=tuple(of(request) for request in s.requests),
    )


def orbit(s: Cluster) -> set[Cluster]:
    """All states that differ from this one by names only."""
    return {renamed(s, names) for names in permutations(range(len(s.logs)))}


def orbit_size(kernel: Kernel[Any], s: Cluster) -> int:
    """How many states the kernel says that a state's orbit has."""
    represent = kernel.representatives
    assert represent is not None
    return represent(np.array(kernel.pack(s), np.int64)[:, None], 1)


def assert_one_representative(system: System[Cluster], s: Cluster) -> set[Cluster]:
    """One representative stands for the whole orbit, which is returned, and is one of it."""
    kernel = up_to_symmetry(kernel_for(system))
    whole = orbit(s)
    assert len({kernel.pack(other) for other in whole}) == 1
    assert kernel.unpack(kernel.pack(s)) in whole
    assert orbit_size(kernel, s) == len(whole)
    return whole


def explore_orbits(system: System[Any], limits: Options) -> tuple[Verdict, list[int]]:
    """The verdict up to symmetry, and how many states those of each level stand for."""
    represent = by_kernel.kernel_for(system).representatives  # type: ignore[attr-defined]
    assert represent is not None
    with packed_by_kernel(system, attrs.evolve(limits, symmetry=True)) as backend:
        verdict = Search(system, backend, limits).run()
        depths = range(verdict.depth)
        return verdict, [sum(w.count_orbits(n, represent) for w in backend.all) for n in depths]


walks = st.lists(st.integers(0, 1 << 16), max_size=40)


@pytest.mark.slow
@settings(max_examples=30)  # a slow test compares every state of small bounds
@given(st.sampled_from(VARIANTS), st.sampled_from([1, 2, 3, 4]), st.integers(0, 3), walks)
def test_all_states_of_an_orbit_have_one_representative(
    variant: str, brokers: int, max_epoch: int, walk: list[int]
) -> None:
    system = REPLICATION.system(variant, {"brokers": brokers, "max_epoch": max_epoch})
    [state] = system.initial()
    for choice in walk:
        steps = [after for _, _, after in system.steps(state)]
        state = steps[choice % len(steps)] if steps else state
    assert_one_representative(system, state)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_state_of_small_bounds_has_the_representative_of_its_orbit(variant: str) -> None:
    system = REPLICATION.system(variant, {"max_epoch": 0})
    seen: set[Cluster] = set()
    for state in reachable(system):
        if state not in seen:  # the orbit as a whole is compared once
            seen |= assert_one_representative(system, state)


@pytest.mark.parametrize(
    ("variant", "keep_going"),
    [*((variant, True) for variant in VARIANTS), ("truncate-to-hw", False), ("kip-101", False)],
)
def test_verdicts_are_the_same_and_counterexamples_real(variant: str, keep_going: bool) -> None:
    system = REPLICATION.system(variant)
    limits = Options(keep_going=keep_going)
    whole = explore_by_kernel(system, limits)
    reduced = explore_by_kernel(system, attrs.evolve(limits, symmetry=True))
    assert lengths(reduced) == lengths(whole)
    assert_real(reduced)


@pytest.mark.parametrize(
    ("variant", "bounds"),
    [(variant, {}) for variant in VARIANTS]
    + [
        pytest.param("kip-320", {"max_epoch": 2}, marks=pytest.mark.slow),
        ("kip-320", {"brokers": 4, "log_size": 1, "max_records": 1, "max_epoch": 1}),
        ("kip-101", {"brokers": 2, "max_epoch": 2}),
        ("kip-101", {"brokers": 1}),
    ],
    ids=str,
)
def test_orbit_sizes_add_up_to_every_level(variant: str, bounds: dict[str, int]) -> None:
    system = REPLICATION.system(variant, bounds)
    limits = Options(keep_going=True)
    whole = explore_by_kernel(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels
    assert reduced.stands_for == whole.distinct
    assert reduced.distinct <= whole.distinct


@pytest.mark.slow
def test_five_brokers_have_orbits_of_up_to_a_hundred_and_twenty_states() -> None:
    bounds = {"brokers": 5, "log_size": 1, "max_records": 1, "max_epoch": 1}
    system = REPLICATION.system("kip-320", bounds)
    limits = Options(max_depth=14)
    whole = explore_by_kernel(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels
    assert reduced.stands_for == whole.distinct
    assert whole.distinct > 80 * reduced.distinct


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    system = REPLICATION.system("truncate-to-hw")
    one, three = (explore_by_kernel(system, Options(workers=n, symmetry=True)) for n in (1, 3))
    assert (one.levels, one.generated, one.violations, one.stands_for) == (
        three.levels,
        three.generated,
        three.violations,
        three.stands_for,
    )


def test_the_verdict_reports_the_number_of_states_in_all_orbits() -> None:
    verdict = run(REPLICATION.system(), Options(symmetry=True))
    told = verdict.to_json(0)
    assert (told["symmetry"], told["distinct"], told["stands_for"]) == (True, 6_713, 39_619)
    plain = run(REPLICATION.system()).to_json(0)
    assert (plain["symmetry"], plain["stands_for"]) == (False, None)


def test_a_model_without_symmetry_is_rejected() -> None:
    kernel = attrs.evolve(kernel_for(REPLICATION.system()), representatives=None)
    with pytest.raises(NoKernel, match="does not support symmetry"):
        up_to_symmetry(kernel)
