"""The benchmark of two-phase commit: every checker explores the same states."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peers import rumur, stateright
from benchmarks.processes import Ran
from benchmarks.two_phase_commit import Compiled, best, main, measure
from kspec.examples.two_phase_commit import TWO_PHASE_COMMIT, Consistent

STATES = {4: 1_568, 5: 8_832, 6: 50_816}
"""Distinct states by the number of managers, on which all four checkers agree."""


@pytest.mark.slow
def test_kspec_explores_the_expected_states(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stateright, "is_here", lambda: False)
    monkeypatch.setattr(rumur, "is_here", lambda: False)
    monkeypatch.setattr(sys, "argv", ["two_phase_commit", "--managers", "4"])
    main()
    said = capsys.readouterr().out
    assert f"{STATES[4]:,}" in said
    assert "Stateright is left out: needs cargo" in said
    assert "rumur is left out: needs apt-get install rumur" in said


def test_an_aborted_manager_beside_a_committed_one_violates_the_property() -> None:
    system = TWO_PHASE_COMMIT.system(None, {"managers": 2})
    (start,) = system.initial()
    assert Consistent.failure(start) is None
    opposed = type(start)(
        ("aborted", "committed"), "init", frozenset(), frozenset(), bounds=start.bounds
    )
    assert Consistent.failure(opposed) == "managers 0 and 1"


def test_the_murphi_model_gets_its_bound() -> None:
    text = rumur.model({"managers": 9}, rumur.TWO_PHASE_COMMIT)
    assert text.splitlines()[1] == "const N: 9;"


def test_the_figures_of_stateright_are_parsed() -> None:
    assert stateright.figures("296448 states, 0.232 seconds\n") == (296_448, 0.232)


def test_output_of_stateright_without_figures_is_an_error() -> None:
    with pytest.raises(SystemExit, match="Stateright did not explore the model"):
        stateright.figures("Consistent is violated")


def test_the_best_of_several_runs_is_the_least_of_each_figure() -> None:
    def run(explore: float, shell: float, peak_bytes: int) -> Compiled:
        return Compiled.of("kspec", 10, explore, Ran(shell, shell, peak_bytes, ""))

    assert best([run(2, 3, 100), run(1, 4, 90)]) == run(1, 3, 90)


@pytest.mark.slow
@pytest.mark.skipif(not stateright.is_here(), reason=f"needs cargo: {stateright.HOW_TO_GET}")
def test_stateright_explores_as_many_states() -> None:
    stateright.build()
    replication = {"brokers": 3, "log_size": 2, "max_records": 2, "max_epoch": 1}
    for release in stateright.RELEASES:
        for managers, states in STATES.items():
            bounds = {"managers": managers}
            run = stateright.run(stateright.TWO_PHASE_COMMIT, bounds, 2, release)
            assert run.states == states
        assert stateright.run(stateright.KIP_320, replication, 2, release).states == 39_619


@pytest.mark.slow
@pytest.mark.skipif(not rumur.is_here(), reason=f"needs rumur: {rumur.HOW_TO_GET}")
def test_rumur_explores_as_many_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stateright, "is_here", lambda: False)
    ours, theirs = measure(5, 2, "auto", 1, tmp_path, Console())
    assert ours.states == theirs.states == STATES[5]
    assert theirs.who == "rumur"
