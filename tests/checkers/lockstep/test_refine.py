"""Refinement: a subject that differs from the rules is detected, with a shortest trace."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kspec.checkers.cli.options import Asked
from kspec.checkers.cli.refine import on_processes
from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.reference import explore
from kspec.checkers.lockstep import Compared
from kspec.checkers.lockstep.refine import LEARNED, Refinement, Work, ready, refine
from kspec.checkers.models.named import Named
from kspec.impl.partition.generations import KIP_279, KIP_320
from kspec.spec.core import SpecError
from kspec.traces import itf
from kspec.traces.replay import replay
from tests.impl.partition.adapter import PartitionAdapter

SMALL = ("brokers=2", "log_size=1", "max_records=1")
HERE = "tests.checkers.lockstep.test_refine"


def refined(
    subject: str = LEARNED, model: str = "replication", settings: Any = SMALL
) -> Refinement:
    """The subject against the rules."""
    return refine(Work(Named.of(model, Asked(model, None, settings).system()), subject))


# -- learned rules --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("replication", SMALL),
        ("die-hard", ()),
        ("group", ("consumers=1", "crashes=0")),
        pytest.param("partition", ("brokers=1",), marks=pytest.mark.slow),
    ],
)
def test_correct_tables_have_no_differences(model: str, settings: tuple[str, ...]) -> None:
    found = refined(model=model, settings=settings)
    verdict = explore(found.system.with_properties([]))
    assert found.compared.differences == []
    assert found.levels == verdict.levels
    assert found.compared.steps == verdict.generated - verdict.levels[0]
    assert found.compared.refused == sum(
        sum(rule.stopped_by.values()) for rule in verdict.rules.values()
    )


def a_step_is_lost(tables: Tables) -> None:
    """A rule has no outcome where it is enabled."""
    array = tables.leaves.array
    array[np.flatnonzero(array[:, 0] == walk.STEP)[:1], 0] = walk.NOTHING


def a_step_is_taken(tables: Tables) -> None:
    """Where a guard blocks a rule, a step is taken."""
    array = tables.leaves.array[: tables.leaves.count]
    blocked = np.flatnonzero(array[:, 0] == walk.BLOCKED)[:1]
    steps = np.flatnonzero(array[:, 0] == walk.STEP)[:1]
    if len(steps):
        array[blocked] = array[steps]


def another_guard_blocks(tables: Tables) -> None:
    """What one guard blocks is counted for another."""
    array = tables.leaves.array[: tables.leaves.count]
    blocked = np.flatnonzero(array[:, 0] == walk.BLOCKED)
    if len(blocked) > 1:
        array[blocked[0], 1] = array[blocked[1], 1]


def an_effect_is_lost(tables: Tables) -> None:
    """A step leads to the state that it begins in."""
    tables.keep[0], tables.put[0] = -1, 0


def a_property_is_violated(tables: Tables) -> None:
    """A property is violated wherever it holds."""
    if "WeakIsr" in tables.book.marks:
        tables.leaves.array[0, :2] = walk.MARK, tables.book.marks["WeakIsr"]


def planted(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Tables], None]) -> None:
    """Change cells of the tables whenever something is learned."""
    sync = Tables.sync

    def sync_and_plant(tables: Tables) -> None:
        sync(tables)
        fault(tables)

    monkeypatch.setattr(Tables, "sync", sync_and_plant)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (a_step_is_lost, "learned rules do not take this step"),
        (a_step_is_taken, "learned rules take this step"),
        (another_guard_blocks, "is blocked by"),
        (an_effect_is_lost, "by the specification"),
        (a_property_is_violated, "WeakIsr is violated here, not by the specification"),
    ],
)
def test_a_wrong_cell_of_a_table_is_reported_with_a_shortest_trace(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[Tables], None], says: str
) -> None:
    planted(monkeypatch, fault)
    found = refined()
    assert any(says in line for d in found.compared.differences for line in d.says)
    assert len(found.compared.differences) <= 3
    nearest = len(found.levels)
    for difference, trace in zip(found.compared.differences, found.traces, strict=True):
        assert len(difference.steps) in (nearest - 1, nearest)
        assert replay(trace.system, itf.document(itf.to_itf(trace), "")).states == trace.states


def test_differences_of_several_kinds_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, a_step_is_taken)
    kinds = [(d.blocked_by, [s.rule for s in d.steps[-1:]]) for d in refined().compared.differences]
    assert kinds[0] != kinds[1]


def test_processes_find_the_same_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, a_step_is_lost)
    monkeypatch.setattr("kspec.checkers.lockstep.refine.WORTH", 0)
    here = refined()
    work = Work(Named.of("replication", here.system))
    with on_processes(2) as spread:
        there = refine(work, spread)
    assert there.compared.differences
    assert there.compared == here.compared
    assert not multiprocessing.active_children()


def test_levels_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = refined()
    monkeypatch.setattr("kspec.checkers.lockstep.refine.TOGETHER", 7)
    monkeypatch.setattr("kspec.checkers.lockstep.refine.BLOCK", 3)
    parts = refined()
    assert (parts.levels, parts.compared) == (whole.levels, whole.compared)


# -- other subjects -------------------------------------------------------------------------------


def agrees(system: Any, states: Any, at_most: int) -> Compared:
    """A subject that is a function."""
    return Compared(steps=sum(1 for state in states for _ in system.steps(state)))


NO_SUBJECT = 7


def test_a_model_is_compared_with_a_given_subject() -> None:
    found = refined(f"{HERE}:agrees", "die-hard", ())
    assert found.states == explore(found.system.with_properties([])).distinct
    assert found.compared.steps > found.states


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        (f"{HERE}:NO_SUBJECT", "is not a subject"),
        (f"{HERE}:NOSUBJECT", "did you mean NO_SUBJECT"),
        ("agrees", "neither module:attribute"),
    ],
)
def test_an_invalid_subject_is_reported_in_one_line(subject: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        ready(Work(Named.of("die-hard", Asked("die-hard", None, ()).system()), subject))


REPLICAS = PartitionAdapter(KIP_320)
OLD_REPLICAS = PartitionAdapter(KIP_279)


@pytest.mark.slow
def test_replicas_agree_with_the_rules_over_every_step_of_small_bounds() -> None:
    found = refined(f"{HERE}:REPLICAS")
    assert found.compared.differences == []
    assert found.levels == refined().levels


def test_replicas_of_an_older_generation_differ_from_the_rules() -> None:
    found = refined(f"{HERE}:OLD_REPLICAS")
    assert found.compared.differences
