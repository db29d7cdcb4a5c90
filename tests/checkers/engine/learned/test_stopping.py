"""A run that learns can be stopped at any moment, and keeps to its limit on memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.engine.learned import search
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.learned.simulate import simulate_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.search import Stopped
from kspec.checkers.engine.simulate import Sampling
from kspec.checkers.engine.verdict import INCONCLUSIVE, VIOLATED
from kspec.spec.core import Model, System, Variant, always, evolve, limit, rule
from tests.checkers.engine.learned.agreement import summary

EXPLODES = '''
from itertools import count
from pathlib import Path

from attrs import evolve, frozen
from kspec.spec.core import Model, Variant, always, rule

@frozen
class Sent:
    n: int
    to: int

@frozen
class S:
    sent: frozenset = frozenset()

@rule(by="x", n=lambda s: range(30), to=lambda s: range(30))
def send(s, n, to):
    """Reads the whole set, so each set is a path of its own."""
    if next(CALLS) == 4000:
        (Path(__file__).parent / "begun").touch()
    yield "none is greater", sum(m.n for m in s.sent) < 100_000
    return evolve(s, sent=s.sent | {Sent(n, to)})

CALLS = count()

MODEL = Model(
    name="explodes", doc="Explodes.", initial=lambda b: [S()], properties=(),
    variants=(Variant("only", rules=(send,), why="There is no other."),),
)
'''


@attrs.frozen
class Sums:
    added: frozenset[int] = frozenset()
    n: int = 0


@rule(by="x", k=lambda s: range(7))
def add(s: Sums, k: int) -> Any:
    """Reads the whole set."""
    yield limit("room"), s.n < 5
    yield "sum is small", sum(s.added) < 999
    return evolve(s, added=s.added | {k}, n=s.n + 1)


@always
def SumIsSmall(s: Sums) -> bool:
    return sum(s.added) < 12


def system_of(*properties: Any) -> System[Any]:
    model: Model[Any] = Model(
        name="sums", doc="Sums.", initial=lambda bounds: [Sums()], properties=properties,
        variants=(Variant("only", rules=(add,), why="There is no other."),), final=lambda s: True,
    )  # fmt: skip
    return model.system()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["learned", "reference"])
def test_sigterm_ends_a_run_that_learns(engine: str, tmp_path: Path) -> None:
    """A level of this model takes hours: the signal comes in the middle of learning it."""
    file = tmp_path / "explodes.py"
    file.write_text(EXPLODES)
    command = [sys.executable, "-m", "kspec", "check", str(file), "--engine", engine, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.05)
        sent = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=1800)
        seconds = time.monotonic() - sent
    found = json.loads(out)
    assert (process.returncode, found["verdict"]) == (4, "inconclusive")
    assert found["stopped_by"] == "interrupted"
    assert seconds < 55, "the run ended by itself, not by the alarm after a minute"


def stop_after(calls: int) -> Callable[[], None]:
    """A function that raises Stopped at one of its calls."""
    left = iter(range(calls))

    def watch() -> None:
        if next(left, None) is None:
            raise Stopped("enough")

    return watch


@pytest.mark.parametrize("calls", [0, 1, 5, 40, 300])
def test_learning_stops_where_it_is_told_to(calls: int) -> None:
    """What was learned by then is sound, and serves the next run."""
    system, learned = system_of(SumIsSmall), Learnable()
    learn = Learning.learn

    def stopping(self: Learning, missed: Any, watch: Any = None) -> bool:
        try:
            return learn(self, missed, stop_after(calls) if watch else lambda: None)
        finally:
            held = [self.tables.answers.array, self.tables.tree.array, self.tables.answers_at]
            assert all(any(one is array for one in self.known) for array in held)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learning, "learn", stopping)
        found = explore_by_learning(system, Options(keep_going=True), learned)
    assert found.verdict in (INCONCLUSIVE, VIOLATED)
    assert found.stopped_by == "enough"
    assert learned.tables is not None
    assert learned.tables.is_settled
    again = explore_by_learning(system, Options(keep_going=True), learned)
    assert summary(again) == summary(explore(system, Options(keep_going=True)))


@pytest.mark.parametrize("most", range(1, 400, 37))
def test_a_run_cut_short_in_a_level_has_its_counterexample(most: int) -> None:
    """Finding the way back expands states that were never reached, with values that are new."""
    system = system_of(SumIsSmall)
    options = Options(max_states=most, keep_going=True, workers=1)
    found = explore_by_learning(system, options)
    for violation in found.violations:
        assert violation.trace is not None
        assert len(violation.trace.states) == violation.states
        assert not SumIsSmall.body(violation.trace.states[-1])


def test_memory_is_watched_while_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question takes more memory here: learning ends in the middle of a level."""
    grown = iter(range(10**6))
    monkeypatch.setattr("kspec.checkers.engine.search.resident_bytes", lambda: next(grown))
    whole = explore_by_learning(system_of(), Options(max_memory=1 << 40))
    runs = whole.statistics["learned"]["runs"]
    limited = Options(max_memory=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kspec.checkers.engine.search.MEMORY_INTERVAL", 0.0)
        patch.setattr(search, "resident_bytes", lambda: 0)
        found = explore_by_learning(system_of(), limited)
    assert (found.verdict, found.stopped_by) == (INCONCLUSIVE, "max-memory 3B")
    assert found.statistics["learned"]["runs"] < runs


def test_memory_is_watched_while_initial_states_are_numbered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "resident_bytes", lambda: 1 << 40)
    found = explore_by_learning(system_of(), Options(max_memory=1 << 30))
    assert (found.verdict, found.stopped_by) == (INCONCLUSIVE, "max-memory 1G")
    assert found.exit_code == 4
    assert set(found.rules) == {"add"}


def test_a_simulation_that_learns_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.engine.search.resident_bytes", lambda: 1 << 40)
    monkeypatch.setattr("kspec.checkers.engine.search.MEMORY_INTERVAL", 0.0)
    found = simulate_by_learning(system_of(), Sampling(walks=50), Options(max_memory=1 << 30))
    assert (found.verdict, found.stopped_by) == (INCONCLUSIVE, "max-memory 1G")
