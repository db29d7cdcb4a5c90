"""An implementation in lockstep with an example: a lock table, correct and with faults."""

from __future__ import annotations

import json
import pickle
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from kspec.checkers.engine.reference import explore
from kspec.checkers.lockstep import (
    Adapter,
    Compared,
    Differs,
    NotModelled,
    compare_edges,
    compare_everywhere,
    machine,
    walk_in_step,
)
from kspec.examples import COUNTER, DIE_HARD, TWO_PHASE_LOCK
from kspec.examples.two_phase_lock import Locks
from kspec.spec.core import Blocked, SpecError, System, Taken
from kspec.traces.itf import read
from kspec.traces.replay import replay

SYSTEM: System[Locks] = TWO_PHASE_LOCK.system("own-order")
FEW = settings(max_examples=30, stateful_step_count=10)


class LockTable:
    """A lock table, correctly implemented."""

    def __init__(self) -> None:
        self.owner: dict[int, int] = {}
        self.done: set[int] = set()

    def lock(self, transaction: int) -> bool:
        """Lock the next row, or say that it has to wait."""
        mine = [row for row, owner in self.owner.items() if owner == transaction]
        row = 1 - transaction if mine else transaction
        if row in self.owner:
            return False
        self.owner[row] = transaction
        return True

    def commit(self, transaction: int) -> bool:
        """Give all rows back."""
        self.owner = {row: owner for row, owner in self.owner.items() if owner != transaction}
        self.done.add(transaction)
        return True


class LocksAdapter(Adapter[Locks, LockTable]):
    """The lock table, held to the model."""

    def __init__(self, table: type[LockTable] = LockTable) -> None:
        self.table = table

    def load(self, state: Locks) -> LockTable:
        subject = self.table()
        subject.owner = {row: t for row, t in enumerate(state.holder) if t is not None}
        subject.done = set(state.done)
        return subject

    def apply(self, subject: LockTable, taken: Taken) -> bool:
        act = subject.commit if taken.rule == "commit" else subject.lock
        return act(**taken.choices)

    def abstract(self, subject: LockTable) -> Locks:
        return Locks(tuple(map(subject.owner.get, range(2))), frozenset(subject.done))

    def answer(self, before: Locks, taken: Taken, outcome: Locks | Blocked) -> bool:
        return not isinstance(outcome, Blocked)

    def refuses(self, rule: str, guard: str) -> bool:
        return guard == "row is free"


# -- agreement --------------------------------------------------------------------------------


def test_every_enabled_and_every_forbidden_step_is_compared() -> None:
    compared = compare_everywhere(LocksAdapter(), SYSTEM)
    generated = explore(SYSTEM.with_properties(())).generated
    assert compared.differences == []
    assert compared.steps == sum(1 for s in states() for _ in SYSTEM.steps(s)) >= generated - 1
    assert compared.refused == 4, "two in the deadlock, and one while either holds one row"


def states() -> list[Locks]:
    found = SYSTEM.initial()
    for state in found:
        found += [s for _, _, s in SYSTEM.steps(state) if s not in found]
    return list(dict.fromkeys(found))


@pytest.mark.slow
def test_a_walk_compares_steps_and_refusals() -> None:
    compared = walk_in_step(LocksAdapter(), SYSTEM, FEW)
    assert compared.steps > 50
    assert compared.refused


def test_results_for_parts_of_a_graph_add_up() -> None:
    whole = compare_edges(LocksAdapter(), SYSTEM, states())
    parts = Compared()
    for state in states():
        parts += pickle.loads(pickle.dumps(compare_edges(LocksAdapter(), SYSTEM, [state])))
    assert parts == whole


# -- planted faults ---------------------------------------------------------------------------


class Keeps(LockTable):
    def commit(self, transaction: int) -> bool:
        """A commit that forgets to give the second row back."""
        self.owner.pop(transaction)
        self.done.add(transaction)
        return True


class Steals(LockTable):
    def lock(self, transaction: int) -> bool:
        """A lock is taken from its holder if the transaction holds another one."""
        if transaction in self.owner.values():
            self.owner[1 - transaction] = transaction
            return True
        return super().lock(transaction)


class Mute(LockTable):
    def lock(self, transaction: int) -> bool:
        """A lock is taken, but the answer is that it is not."""
        super().lock(transaction)
        return False


class Breaks(LockTable):
    def commit(self, transaction: int) -> bool:
        """A commit that fails."""
        raise KeyError(transaction)


STORIES = {
    Keeps: """
  1  lock_in_own_order  transaction=0
  2  lock_in_own_order  transaction=0
  3  commit  transaction=0
  ✗  state.holder[1]: None by the specification, 0 here""",
    Steals: """
  1  lock_in_own_order  transaction=0
  2  lock_in_own_order  transaction=1
  3  lock_in_own_order  transaction=0
     which the specification forbids: not 'row is free'
  ✗  answer: False by the specification, True here
  ✗  state.holder[1]: 1 by the specification, 0 here""",
    Mute: """
  1  lock_in_own_order  transaction=0
  ✗  answer: True by the specification, False here""",
}


@pytest.mark.parametrize("table", STORIES)
def test_comparing_everywhere_finds_a_fault_with_a_shortest_trace(table: type[LockTable]) -> None:
    [found] = compare_everywhere(LocksAdapter(table), SYSTEM).differences
    assert "\n" + str(found) == STORIES[table]


@pytest.mark.slow
@pytest.mark.parametrize("table", STORIES)
def test_a_walk_shrinks_a_fault_to_a_shortest_trace(table: type[LockTable]) -> None:
    with pytest.raises(Differs) as differs:
        walk_in_step(LocksAdapter(table), SYSTEM, FEW)
    assert len(differs.value.difference.steps) == STORIES[table].count("lock_") + (table is Keeps)


def test_an_exception_is_a_difference_with_its_line() -> None:
    [found] = compare_everywhere(LocksAdapter(Breaks), SYSTEM).differences
    assert found.says[0].startswith("it raised KeyError: 0 (test_lockstep.py, line ")


def test_several_differences_are_collected_on_request() -> None:
    found = compare_everywhere(LocksAdapter(Mute), SYSTEM, at_most=3).differences
    assert [len(difference.steps) for difference in found] == [1, 1, 2]


@pytest.mark.slow
def test_a_difference_is_saved_as_a_trace_that_replays(tmp_path: Path) -> None:
    file = tmp_path / "story.itf.json"
    with pytest.raises(Differs) as differs:
        walk_in_step(LocksAdapter(Keeps), SYSTEM, FEW, save_itf=file)
    assert str(file) in differs.value.__notes__[-1]
    assert len(replay(SYSTEM, read(file)).states) == 4
    assert json.loads(file.read_text("utf-8"))["#meta"]["kspec"]["where"].startswith("state.holder")


# -- what an adapter says -----------------------------------------------------------------------


class Partly(LocksAdapter):
    """Compares the rows only, and knows of no commit by the second transaction."""

    def apply(self, subject: LockTable, taken: Taken) -> bool:
        if taken == Taken("commit", {"transaction": 1}):
            raise NotModelled("transaction 1 asks first")
        return super().apply(subject, taken)

    def abstract(self, subject: LockTable) -> Any:
        return super().abstract(subject).holder

    def view(self, state: Locks) -> Any:
        return state.holder


@pytest.mark.slow
def test_an_unmodelled_step_is_skipped_and_counted() -> None:
    compared = compare_everywhere(Partly(), SYSTEM)
    assert compared.differences == []
    assert compared.left_out == Counter({"transaction 1 asks first": 2})
    assert walk_in_step(Partly(), SYSTEM, FEW).left_out.total() > 1


class Misloads(LocksAdapter):
    def load(self, state: Locks) -> LockTable:
        subject = super().load(state)
        subject.done.add(1)
        return subject


def test_a_wrongly_loaded_subject_is_detected_before_any_step() -> None:
    [found] = compare_everywhere(Misloads(), SYSTEM).differences
    assert found.steps == ()
    assert found.says == (
        "loaded state.done: frozenset() by the specification, frozenset({1}) here",
    )
    with pytest.raises(Differs, match="loaded state"):
        walk_in_step(Misloads(), SYSTEM, FEW)


class NoSubject(Adapter[Any, list[int]]):
    """A subject that counts its own steps only; no step of the model concerns it."""

    def load(self, state: Any) -> list[int]:
        return []

    def apply(self, subject: list[int], taken: Taken) -> None:
        subject.append(1)

    def abstract(self, subject: list[int]) -> None:
        return None

    def view(self, state: Any) -> None:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("model", [COUNTER, DIE_HARD])
def test_a_walk_restarts_where_no_step_is_enabled(model: Any) -> None:
    compared = walk_in_step(NoSubject(), model.system(), FEW)
    assert compared.steps > 100
    assert compared.differences == []


def test_a_missing_hypothesis_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(SpecError, match=r"pip install -e '\.\[test\]'"):
        machine(NoSubject(), COUNTER.system())
