"""`kspec check --verbose`, and the line that shows how far a run is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kspec.checkers.cli.output import progress_line, progress_text
from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.run import run
from kspec.checkers.models.find import find_model
from tests.cli.conftest import Kspec

MODEL = '''
import attrs
from kspec.spec.core import Model, Variant, limit, rule

@attrs.frozen
class State:
    n: int = 0
    m: int = 0

@rule(by="x")
def plain(s):
    """Reads one field."""
    yield limit("it is low"), s.n < 20
    return attrs.evolve(s, n=s.n + 1)

@rule(by="x")
def asks(s):
    """Asks for a type."""
    yield limit("it is low"), s.m < 20
    return State(s.n, s.m + (type(s.m) is int))

TWO = Model(name="two", doc="", initial=lambda bounds: [State()], properties=(),
            variants=(Variant("plain", (plain, asks), why=""),))
'''


def test_verbose_names_slow_rules_and_cached_paths(kspec: Kspec) -> None:
    Path("two.py").write_text(MODEL)
    quiet = kspec("check", "./two.py", "--engine", "learned")
    told = kspec("check", "./two.py", "--engine", "learned", "--verbose")
    assert "The rule asks could not be traced (it calls type()): it reads whole" in told.out
    assert "rule plain could not" not in told.out
    assert re.search(r"Most paths: rule asks \d+, rule plain \d+", told.out)
    assert "Time: explore" in told.out
    assert "learn " in told.out
    assert " of them from the cache; " in told.out
    assert "Time:" not in quiet.out


def test_verbose_reports_the_time_of_any_engine(kspec: Kspec) -> None:
    out = kspec("check", "counter", "--engine", "reference", "--verbose").out
    assert "Time: explore" in out
    assert "Learned" not in out


def test_progress_distinguishes_learning_from_exploring() -> None:
    exploring = Progress(41, 1_203_000, 77_000, 4.0)
    assert progress_text(exploring) == "level 41, 1,203,000 states, 77,000 queued, 300,750/s, 4 s"
    learning = Progress(41, 1_203_000, 77_000, 4.0, learned=4_210)
    assert ", 300,750/s, learning 4,210 paths, 4 s" in progress_text(learning)


def test_progress_takes_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for name, value in {"TERM": "xterm", "COLUMNS": "40", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    with progress_line("replication, kip-320, " + "x" * 60) as show:
        assert show
    assert capsys.readouterr().err.count("x" * 10) <= 2


def test_a_run_learns_first_and_only_explores_later(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Progress] = []
    monkeypatch.setattr("kspec.checkers.engine.search.PROGRESS_INTERVAL", -1.0)
    system = find_model("counter").system(bounds={"top": 40})
    run(system, Options("learned", workers=1, on_progress=reports.append))
    learned = [p.learned for p in reports]
    assert learned[0]
    assert None in learned
    assert sorted(n for n in learned if n) == [n for n in learned if n]
