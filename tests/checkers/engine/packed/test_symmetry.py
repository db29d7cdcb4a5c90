"""Up to symmetry: fewer states, equal verdicts, and real counterexamples."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.search import (
    backend_for,
    by_learning,
    explore_by_learning,
)
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.search import Search
from kspec.checkers.engine.symmetry import Symmetry
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.core import System
from kspec.spec.replication import REPLICATION
from tests.checkers.engine.packed.test_native import assert_real, lengths

VARIANTS = [v.name for v in REPLICATION.variants]


def explore_orbits(system: System[Any], limits: Options) -> tuple[Verdict, list[int]]:
    """The verdict up to symmetry, and how many states those of each level stand for."""
    options = attrs.evolve(limits, symmetry=True)

    def explore(learning: Learning) -> tuple[Verdict, list[int]]:
        with backend_for(learning, options, None) as backend:
            verdict = Search(system, backend, options).run()
            sizes = [
                sum(worker.count_orbits(level, learning.represent) for worker in backend.all)
                for level in range(verdict.depth)
            ]
            return verdict, sizes

    return by_learning(system, Learnable(), explore, None, Symmetry(system))


@pytest.mark.parametrize(
    ("variant", "keep_going"),
    [
        *(pytest.param(variant, True, marks=pytest.mark.slow) for variant in VARIANTS),
        pytest.param("kip-101", False, marks=pytest.mark.slow),
        ("truncate-to-hw", False),
    ],
)
def test_verdicts_are_the_same_and_counterexamples_real(variant: str, keep_going: bool) -> None:
    system = REPLICATION.system(variant)
    limits = Options(keep_going=keep_going)
    whole = explore_by_learning(system, limits)
    reduced = explore_by_learning(system, attrs.evolve(limits, symmetry=True))
    assert lengths(reduced) == lengths(whole)
    assert_real(reduced)


@pytest.mark.parametrize(
    ("variant", "bounds"),
    [
        *(pytest.param(variant, {}, marks=pytest.mark.slow) for variant in VARIANTS),
        pytest.param("kip-320", {"max_epoch": 2}, marks=pytest.mark.slow),
        ("kip-320", {"brokers": 4, "log_size": 1, "max_records": 1, "max_epoch": 0}),
        pytest.param("kip-101", {"brokers": 2, "max_epoch": 2}, marks=pytest.mark.slow),
        ("kip-101", {"brokers": 2}),
        ("kip-101", {"brokers": 1}),
    ],
    ids=str,
)
def test_orbit_sizes_add_up_to_every_level(variant: str, bounds: dict[str, int]) -> None:
    system = REPLICATION.system(variant, bounds)
    limits = Options(keep_going=True)
    whole = explore_by_learning(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels
    assert reduced.stands_for == whole.distinct
    assert reduced.distinct <= whole.distinct


@pytest.mark.slow
def test_five_brokers_have_orbits_of_up_to_a_hundred_and_twenty_states() -> None:
    bounds = {"brokers": 5, "log_size": 1, "max_records": 1, "max_epoch": 1}
    system = REPLICATION.system("kip-320", bounds)
    limits = Options(max_depth=14)
    whole = explore_by_learning(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels
    assert reduced.stands_for == whole.distinct
    assert whole.distinct > 80 * reduced.distinct


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    system = REPLICATION.system("truncate-to-hw")
    one, three = (explore_by_learning(system, Options(workers=n, symmetry=True)) for n in (1, 3))
    assert (one.levels, one.generated, one.violations, one.stands_for) == (
        three.levels,
        three.generated,
        three.violations,
        three.stands_for,
    )
