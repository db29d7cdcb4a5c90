"""States of up to four words are explored as those of one are."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from checkers.engines import run
from checkers.limits import Keep, Limits
from checkers.native.codes import coding_of
from checkers.native.search import explore
from checkers.native.worker import Memory, Worker
from spec import toys
from spec.replication import REPLICATION
from tests.checkers.native.test_bounds import answers
from tests.checkers.native.test_native import assert_real, lengths
from tests.checkers.native.wide import DIALS, dials_kernel, ways_to_turn, wide_kernels

assert wide_kernels, "a fixture"
pytestmark = pytest.mark.usefixtures("wide_kernels")

HIGHEST = {"first": 34}
"""Six dials whose states differ in the highest seventy bits only."""
CROSSING = {"first": 12, "apart": 13, "dials": 3}
"""Each of these has bits in two words of the engine."""


@pytest.mark.parametrize("bounds", [HIGHEST, CROSSING, {"apart": 9}], ids=str)
@pytest.mark.parametrize("alarm", [0, 6])
@pytest.mark.parametrize("limits", [Limits(), Limits(keep_going=True), Limits(max_depth=4)])
def test_it_finds_what_the_reference_engine_finds(
    bounds: dict[str, int], alarm: int, limits: Limits
) -> None:
    system = DIALS.system(bounds=bounds | {"alarm": alarm})
    expected = run("reference", system, limits)
    found = run("native", system, limits, 2, coverage=True)
    assert answers(found) == answers(expected)
    stopped = [{n: dict(c.stopped_by) for n, c in v.rules.items()} for v in (found, expected)]
    assert stopped[0] == stopped[1]


@pytest.mark.parametrize("workers", [1, 3])
def test_more_states_than_fit_the_first_tables(workers: int) -> None:
    """The table of a single worker grows five times."""
    system = DIALS.system(bounds=HIGHEST | {"dials": 6, "top": 8})
    found = explore(system, workers=workers)
    assert list(found.levels) == ways_to_turn(system.bounds)
    assert found.generated == 1 + 6 * 8 * 9**5


@pytest.mark.parametrize("workers", [1, 2])
def test_states_that_all_have_the_same_code_are_all_found(workers: int) -> None:
    system = toys.COUNTER.system(bounds={"top": 400})
    found = explore(system, workers=workers)
    assert list(found.levels) == [1] * 401
    [shown] = found.witnesses
    assert [state.value for state in shown.states] == list(range(401))


def test_a_counterexample_is_found_backwards() -> None:
    system = DIALS.system(bounds=HIGHEST | {"dials": 6, "alarm": 9})
    results = [explore(system, workers=n) for n in (1, 2)]
    assert lengths(results[0]) == {"NoAlarm": 10}
    assert_real(system, results[0])
    assert results[0].violations == results[1].violations


@pytest.mark.parametrize("alarm", [0, 7])
def test_orbits_stand_for_all_states(alarm: int) -> None:
    system = DIALS.system(bounds=HIGHEST | {"dials": 6, "alarm": alarm})
    whole = explore(system, keep_going=True)
    reduced = explore(system, keep_going=True, symmetry=True)
    assert reduced.stands_for == whole.levels == ways_to_turn(system.bounds)
    assert 20 * reduced.distinct < whole.distinct
    assert lengths(reduced) == lengths(whole)
    assert_real(system, reduced)


def test_orbits_of_five_brokers_stand_for_all_states() -> None:
    bounds = {"brokers": 5, "log_size": 4, "max_records": 4, "max_epoch": 5}
    system = REPLICATION.system(bounds=bounds)
    whole, reduced = (explore(system, max_depth=5, symmetry=up_to) for up_to in (False, True))
    assert reduced.stands_for == whole.levels
    assert whole.distinct > 20 * reduced.distinct


def test_every_word_counts_as_memory() -> None:
    kernel = dials_kernel(DIALS.system())
    table = Worker(0, 1, kernel, coding_of(kernel.layout), Memory(0, None)).table
    assert (table.slots[:1].itemsize + table.rest[0].nbytes) == 4 * 8
    assert table.bytes == table.buckets * 8 * 4 * 8
    before, growth = table.bytes, table.growth_bytes
    table.grow()
    assert table.bytes == before + growth


def test_a_limit_on_memory_ends_it() -> None:
    system = DIALS.system(bounds={"dials": 6, "top": 8, "alarm": 9})
    found = explore(system, max_memory=1)
    assert found.stopped == "max_memory"
    assert found.distinct < 9**6


# -- checkpoints ----------------------------------------------------------------------------------


def result(found: Any) -> object:
    """What may not depend on how often a run was begun."""
    return list(found.levels), found.generated, found.fired, found.violations, found.stopped


@pytest.mark.parametrize("bounds", [HIGHEST, {"apart": 9, "alarm": 8}], ids=str)
def test_a_run_in_pieces_finds_what_a_whole_one_finds(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    system = DIALS.system(bounds=bounds)
    explore(system, workers=1, max_depth=3, keep=Keep(tmp_path, resume=False))
    explore(system, workers=3, max_depth=6, keep=Keep(tmp_path, resume=True))
    resumed = explore(system, workers=2, keep=Keep(tmp_path, resume=True))
    assert result(resumed) == result(explore(system))


def test_killed_at_any_moment_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        whole = explore(system, keep=Keep(tmp_path / "run", resume=False))
    for folder in random.Random(3).sample(moments, 6):
        assert result(explore(system, keep=Keep(folder, resume=True))) == result(whole)
