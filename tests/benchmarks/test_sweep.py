"""The models of the sweep: learned rules agree with the reference engine on each."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks.sweep import Case, Row, Run, cases, main
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import Verdict
from kspec.checkers.models.find import find_model

FEW = {"copies", "early", "gossip", "inventory", "life", "database"}
"""Models of different styles that take little time."""


def told(verdict: Verdict) -> dict[str, Any]:
    """What two engines must agree in."""
    return {
        "verdict": verdict.verdict,
        "levels": list(verdict.levels),
        "generated": verdict.generated,
        "fired": {name: count.fired for name, count in verdict.rules.items()},
        "blocked": {name: dict(count.stopped_by) for name, count in verdict.rules.items()},
        "violations": sorted((v.name, v.states) for v in verdict.violations),
        "witnesses": {name: len(trace.states) for name, trace in verdict.witnesses.items()},
    }


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if case.name in FEW else pytest.mark.slow, id=case.name)
        for case in cases()
    ],
)
def test_engines_agree(case: Case) -> None:
    system = find_model(case.model).system(bounds=case.bounds)
    assert told(run(system, Options("learned"))) == told(run(system, Options("reference")))


def test_names_of_models_are_unique() -> None:
    names = [case.name for case in cases()]
    assert len(names) == len(set(names)) > 60


def row(auto: float | None, reference: float | None) -> Row:
    """Runs of so many seconds."""

    def made(seconds: float | None) -> Run | None:
        return None if seconds is None else Run("learned", {}, seconds, seconds, seconds, 0)

    return Row("some", made(auto), made(reference), 60)


def test_the_ratio_is_a_bound_where_a_run_did_not_finish() -> None:
    assert (row(2, 4).ratio, row(2, 4).sign) == (2, "")
    assert (row(None, 6).ratio, row(None, 6).sign) == (0.1, "<")
    assert (row(6, None).ratio, row(6, None).sign) == (10, ">")
    assert row(None, None).ratio is None


@pytest.mark.slow
def test_a_run_that_exceeds_the_limit_is_not_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sweep", "--only", "early", "--limit", "0.01"])
    main()
    said = capsys.readouterr().out
    assert said.count("not finished in 0 s") == 2
