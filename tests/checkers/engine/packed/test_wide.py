"""States of up to four words are explored like those of one word."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest
from kspec.checkers.engine.packed.by_kernel import explore_by_kernel

from kspec import examples
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.codes import coding_of
from kspec.checkers.engine.packed.expander import KernelExpander
from kspec.checkers.engine.packed.worker import Memory, Worker
from kspec.checkers.engine.run import run
from kspec.checkers.engine.search import RuleFailed
from kspec.checkers.engine.verdict import DEADLOCK, EXIT_DEADLOCK, Verdict
from kspec.spec.replication import REPLICATION
from tests.checkers.engine.packed.test_bounds import answers
from tests.checkers.engine.packed.test_native import assert_real, fired, lengths
from tests.checkers.engine.packed.test_symmetry import explore_orbits
from tests.checkers.engine.packed.wide import DIALS, dials_kernel, ways_to_turn, wide_kernels

assert wide_kernels, "a fixture"
pytestmark = pytest.mark.usefixtures("wide_kernels")

HIGHEST = {"first": 34}
"""Six dials whose states differ in the highest seventy bits only."""
CROSSING = {"first": 12, "apart": 13, "dials": 3}
"""Each of these has bits in two words of the engine."""


@pytest.mark.parametrize("bounds", [HIGHEST, CROSSING, {"apart": 9}], ids=str)
@pytest.mark.parametrize("alarm", [0, 6])
@pytest.mark.parametrize("limits", [Options(), Options(keep_going=True), Options(max_depth=4)])
def test_it_agrees_with_the_reference_engine(
    bounds: dict[str, int], alarm: int, limits: Options
) -> None:
    system = DIALS.system(bounds=bounds | {"alarm": alarm})
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="kernel", workers=2, coverage=True))
    assert answers(found) == answers(expected)
    stopped = [{n: dict(c.stopped_by) for n, c in v.rules.items()} for v in (found, expected)]
    assert stopped[0] == stopped[1]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_tables_grow(workers: int) -> None:
    """The table of a single worker grows five times."""
    system = DIALS.system(bounds=HIGHEST | {"dials": 6, "top": 8})
    found = explore_by_kernel(system, Options(workers=workers))
    assert list(found.levels) == ways_to_turn(system.bounds)
    assert found.generated == 1 + 6 * 8 * 9**5


@pytest.mark.parametrize("workers", [1, 2])
def test_states_with_equal_codes_are_all_found(workers: int) -> None:
    system = examples.COUNTER.system(bounds={"top": 400})
    found = explore_by_kernel(system, Options(workers=workers))
    assert list(found.levels) == [1] * 401
    [shown] = found.witnesses.values()
    assert [state.value for state in shown.states] == list(range(401))


def test_a_counterexample_is_found_backwards() -> None:
    system = DIALS.system(bounds=HIGHEST | {"dials": 6, "alarm": 9})
    results = [explore_by_kernel(system, Options(workers=n)) for n in (1, 2)]
    assert lengths(results[0]) == {"NoAlarm": 10}
    assert_real(results[0])
    assert results[0].violations == results[1].violations


@pytest.mark.parametrize("alarm", [0, 7])
def test_orbit_sizes_add_up(alarm: int) -> None:
    system = DIALS.system(bounds=HIGHEST | {"dials": 6, "alarm": alarm})
    limits = Options(keep_going=True)
    whole = explore_by_kernel(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels == ways_to_turn(system.bounds)
    assert reduced.stands_for == whole.distinct
    assert 20 * reduced.distinct < whole.distinct
    assert lengths(reduced) == lengths(whole)
    assert_real(reduced)


def test_orbit_sizes_of_five_dials_add_up() -> None:
    bounds = {"brokers": 5, "log_size": 4, "max_records": 4, "max_epoch": 5}
    system = REPLICATION.system(bounds=bounds)
    limits = Options(max_depth=5)
    whole = explore_by_kernel(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels
    assert whole.distinct > 20 * reduced.distinct


def test_every_word_counts_as_memory() -> None:
    system = DIALS.system()
    kernel = dials_kernel(system)
    expander = KernelExpander(kernel, system, coverage=False)
    table = Worker(0, 1, expander, coding_of(kernel.layout), Memory(0, None)).table
    assert (table.slots[:1].itemsize + table.rest[0].nbytes) == 4 * 8
    assert table.bytes == table.buckets * 8 * 4 * 8
    before, growth = table.bytes, table.growth_bytes
    table.grow()
    assert table.bytes == before + growth


def test_a_limit_on_memory_ends_a_run() -> None:
    system = DIALS.system(bounds={"dials": 6, "top": 8, "alarm": 9})
    found = explore_by_kernel(system, Options(max_memory=1))
    assert found.stopped_by == "max-memory 1B"
    assert found.distinct < 9**6


# -- deadlocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [Options(), Options(keep_going=True), Options(max_depth=9)])
@pytest.mark.parametrize("alarm", [0, 3, 4])
def test_deadlocks_agree_with_the_reference_engine(limits: Options, alarm: int) -> None:
    """Dials that are stuck are no edge of the bounds, unless each is at its top."""
    system = DIALS.system(bounds=HIGHEST | {"stuck": 4, "alarm": alarm})
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="kernel", coverage=True))
    assert answers(found) == answers(expected)
    assert_real(found)
    stopped = [{n: dict(c.stopped_by) for n, c in v.rules.items()} for v in (found, expected)]
    assert stopped[0] == stopped[1]


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_deadlock_has_a_shortest_counterexample(workers: int, symmetry: bool) -> None:
    system = DIALS.system(bounds=HIGHEST | {"stuck": 7})
    found = explore_by_kernel(system, Options(workers=workers, symmetry=symmetry))
    assert (found.verdict, found.exit_code) == ("violated", EXIT_DEADLOCK)
    assert lengths(found) == {DEADLOCK: 8}
    assert_real(found)


def test_an_exception_in_a_state_without_successors_has_a_trace() -> None:
    def final(s: Any) -> bool:
        return 1 // (sum(s.turned) - 4) > 0

    system = attrs.evolve(DIALS, final=final).system(bounds=HIGHEST | {"stuck": 4})
    for engine in ("kernel", "reference"):
        with pytest.raises(RuleFailed, match="ZeroDivisionError") as failure:
            run(system, Options(engine))
        assert len(failure.value.trace.states) == 5


# -- checkpoints ----------------------------------------------------------------------------------


def result(found: Verdict) -> object:
    """What may not depend on how often a run was begun."""
    return (
        list(found.levels),
        found.generated,
        fired(found),
        found.violations,
        found.stopped_by,
        found.edge_of_bounds,
    )


@pytest.mark.parametrize(
    "bounds", [HIGHEST, {"apart": 9, "alarm": 8}, {"apart": 9, "stuck": 5}], ids=str
)
def test_an_interrupted_run_equals_an_uninterrupted_one(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    system = DIALS.system(bounds=bounds)
    begin = Options(checkpoint=tmp_path)
    resume = attrs.evolve(begin, resume=True)
    explore_by_kernel(system, attrs.evolve(begin, max_depth=3, workers=1))
    explore_by_kernel(system, attrs.evolve(resume, max_depth=6, workers=3))
    resumed = explore_by_kernel(system, attrs.evolve(resume, workers=2))
    assert result(resumed) == result(explore_by_kernel(system))
    told_again = explore_by_kernel(system, attrs.evolve(resume, workers=2))
    assert result(told_again) == result(resumed)


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder as it was whenever something was about to be on the disk."""
    system = DIALS.system(bounds=HIGHEST)
    moments: list[Path] = []
    fsync = os.fsync

    def remember(handle: int) -> None:
        moments.append(tmp_path / str(len(moments)))
        shutil.copytree(tmp_path / "run", moments[-1])
        fsync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", remember)
        whole = explore_by_kernel(system, Options(checkpoint=tmp_path / "run"))
    for folder in random.Random(3).sample(moments, 6):
        resumed = explore_by_kernel(system, Options(checkpoint=folder, resume=True))
        assert result(resumed) == result(whole)
