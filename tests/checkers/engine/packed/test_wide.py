"""States of several words are explored like those of one word."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.table import Table
from kspec.checkers.engine.run import run
from kspec.checkers.engine.search import RuleFailed
from kspec.checkers.engine.verdict import DEADLOCK, EXIT_DEADLOCK, Verdict
from kspec.spec.replication import REPLICATION
from tests.checkers.engine.packed.dials import DIALS, ways_to_turn
from tests.checkers.engine.packed.test_bounds import answers
from tests.checkers.engine.packed.test_native import assert_real, fired, lengths
from tests.checkers.engine.packed.test_symmetry import explore_orbits

WIDE = {"dials": 44}


def stopped(verdict: Verdict) -> dict[str, dict[str, int]]:
    """What blocked each rule."""
    return {name: dict(count.stopped_by) for name, count in verdict.rules.items()}


def test_these_states_take_three_words_or_more() -> None:
    found = explore_by_learning(DIALS.system(bounds=WIDE), Options(max_depth=3))
    assert found.statistics["learned"]["bits"] > 128


@pytest.mark.parametrize(
    ("bounds", "limits"),
    [
        ({}, Options()),
        ({"alarm": 6}, Options()),
        ({"alarm": 6}, Options(keep_going=True)),
        (WIDE | {"alarm": 2}, Options(max_depth=3)),
        pytest.param(WIDE, Options(max_depth=3), marks=pytest.mark.slow),
        pytest.param(
            WIDE | {"alarm": 1}, Options(max_depth=3, keep_going=True), marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_it_agrees_with_the_reference_engine(bounds: dict[str, int], limits: Options) -> None:
    system = DIALS.system(bounds=bounds)
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="learned", workers=2))
    assert answers(found) == answers(expected)
    assert stopped(found) == stopped(expected)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_tables_grow(workers: int) -> None:
    """The table of a single worker grows several times."""
    system = DIALS.system(bounds=WIDE)
    found = explore_by_learning(system, Options(workers=workers, max_depth=4))
    expected = ways_to_turn(system.bounds)[:4]
    assert list(found.levels) == expected
    assert found.generated == 1 + WIDE["dials"] * sum(expected[:3])


def test_a_counterexample_is_found_backwards() -> None:
    system = DIALS.system(bounds=WIDE | {"alarm": 2})
    results = [explore_by_learning(system, Options(workers=n)) for n in (1, 2)]
    assert lengths(results[0]) == {"NoAlarm": 3}
    assert_real(results[0])
    assert results[0].violations == results[1].violations


@pytest.mark.slow
def test_orbit_sizes_of_five_brokers_add_up() -> None:
    bounds = {"brokers": 5, "log_size": 4, "max_records": 4, "max_epoch": 5}
    system = REPLICATION.system(bounds=bounds)
    limits = Options(max_depth=5)
    whole = explore_by_learning(system, limits)
    reduced, stand_for = explore_orbits(system, limits)
    assert stand_for == whole.levels
    assert whole.distinct > 20 * reduced.distinct


def test_every_word_counts_as_memory() -> None:
    table = Table(192, 1 << 26)
    assert (table.slots[:1].itemsize + table.rest[0].nbytes) == 4 * 8
    assert table.bytes == table.buckets * 8 * 4 * 8
    before, growth = table.bytes, table.growth_bytes
    table.grow()
    assert table.bytes == before + growth


def test_a_limit_on_memory_ends_a_run() -> None:
    system = DIALS.system(bounds={"dials": 6, "top": 8, "alarm": 9})
    found = explore_by_learning(system, Options(max_memory=1))
    assert found.stopped_by == "max-memory 1B"
    assert found.distinct < 9**6


# -- deadlocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "limits"),
    [
        ({"stuck": 4, "alarm": alarm}, limits)
        for alarm in (0, 3, 4)
        for limits in (Options(), Options(keep_going=True), Options(max_depth=9))
    ]
    + [
        pytest.param(WIDE | {"stuck": 2, "alarm": alarm}, Options(), marks=pytest.mark.slow)
        for alarm in (0, 1, 2)
    ],
    ids=str,
)
def test_deadlocks_agree_with_the_reference_engine(bounds: dict[str, int], limits: Options) -> None:
    """Dials that are stuck are no edge of the bounds, unless each is at its top."""
    system = DIALS.system(bounds=bounds)
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="learned"))
    assert answers(found) == answers(expected)
    assert_real(found)
    assert stopped(found) == stopped(expected)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_deadlock_has_a_shortest_counterexample(workers: int) -> None:
    system = DIALS.system(bounds=WIDE | {"stuck": 2})
    found = explore_by_learning(system, Options(workers=workers))
    assert (found.verdict, found.exit_code) == ("violated", EXIT_DEADLOCK)
    assert lengths(found) == {DEADLOCK: 3}
    assert_real(found)


def test_an_exception_in_a_state_without_successors_has_a_trace() -> None:
    def final(s: Any) -> bool:
        return 1 // (s.turns - 4) > 0

    system = attrs.evolve(DIALS, final=final).system(bounds={"stuck": 4})
    for engine in ("learned", "reference"):
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
    "bounds",
    [
        *({}, {"alarm": 8}, {"stuck": 5}),
        WIDE | {"alarm": 2},
        pytest.param(WIDE | {"stuck": 2}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_an_interrupted_run_equals_an_uninterrupted_one(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    system = DIALS.system(bounds=bounds)
    begin = Options(checkpoint=tmp_path)
    resume = attrs.evolve(begin, resume=True)
    explore_by_learning(system, attrs.evolve(begin, max_depth=2, workers=1))
    explore_by_learning(system, attrs.evolve(resume, max_depth=6, workers=3))
    resumed = explore_by_learning(system, attrs.evolve(resume, workers=2))
    assert result(resumed) == result(explore_by_learning(system))
    told_again = explore_by_learning(system, attrs.evolve(resume, workers=2))
    assert result(told_again) == result(resumed)


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder as it was whenever something was about to be on the disk."""
    system = DIALS.system(bounds={})
    moments: list[Path] = []
    fsync = os.fsync

    def remember(handle: int) -> None:
        moments.append(tmp_path / str(len(moments)))
        shutil.copytree(tmp_path / "run", moments[-1])
        fsync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", remember)
        whole = explore_by_learning(system, Options(checkpoint=tmp_path / "run"))
    for folder in random.Random(3).sample(moments, 6):
        resumed = explore_by_learning(system, Options(checkpoint=folder, resume=True))
        assert result(resumed) == result(whole)
