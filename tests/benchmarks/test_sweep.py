"""The models of the sweep: learned rules agree with the reference engine on each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.peers import stateright, tlc
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


PEERS: list[tuple[str, Mapping[str, int], int]] = [
    ("paxos", {}, 3_921),
    ("paxos", {"ballots": 3}, 185_369),
    ("paxos", {"acceptors": 5}, 701_505),
    ("raft", {}, 5_479),
    ("raft", {"losses": 1, "restarts": 1}, 40_550),
    ("raft", {"elections": 2, "entries": 0, "restarts": 1}, 68_906),
    ("raft", {"entries": 2, "losses": 1}, 163_900),
    ("snapshot", {}, 329),
    ("snapshot", {"nodes": 3}, 415_630),
]
"""Distinct states: those of `tests/test_examples.py`."""


@pytest.mark.slow
@pytest.mark.skipif(not stateright.is_here(), reason=f"needs cargo: {stateright.HOW_TO_GET}")
@pytest.mark.parametrize("release", stateright.RELEASES)
def test_stateright_explores_as_many_states(release: str) -> None:
    stateright.build()
    for model, bounds, states in PEERS:
        assert stateright.run(model, bounds, 2, release).states == states


def test_the_configuration_for_tlc_gets_its_bounds() -> None:
    text = tlc.configuration("raft", {"elections": 2, "losses": 1})
    assert "elections = 2\n" in text
    assert "losses = 1\n" in text
    assert "entries = 1\n" in text


def test_output_of_tlc_without_a_result_is_an_error() -> None:
    counts = "9 states generated, 7 distinct states found, 0 states left on queue."
    good = f"No error has been found.\n{counts}"
    assert tlc.states(good) == 7
    with pytest.raises(SystemExit, match="TLC did not explore the model"):
        tlc.states("Invariant OneValueChosen is violated.")
