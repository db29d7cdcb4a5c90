"""The engine's benchmark gives rumur the same bounds, and both find the same states."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.explore import SIZES, OfSize, best, bounds, measure
from benchmarks.peers import rumur
from benchmarks.processes import Ran


def test_the_murphi_model_gets_the_bounds() -> None:
    first = rumur.model(bounds(4, 5, 6, 7)).splitlines()[0]
    assert first == "const R: 4; L: 5; M: 6; E: 7;"


def test_the_output_of_rumur_is_parsed() -> None:
    assert rumur.states("No error found.\n\t39619 states, 102219 rules fired in 1s.") == 39_619


def test_an_error_found_by_rumur_is_not_a_result() -> None:
    with pytest.raises(SystemExit, match="rumur did not explore the model"):
        rumur.states("1 error(s) found.\n\t39619 states, 102219 rules fired in 1s.")


def test_the_best_of_several_runs_is_the_least_of_each_figure() -> None:
    def run(explore: float, shell: float) -> OfSize:
        ran = Ran(shell, shell, 1000, "")
        return OfSize.of("kspec", 10, explore, ran, size=SIZES[0], load=0.1, workers=2)

    assert best([run(2, 3), run(1, 4)]) == run(1, 3)
    assert best([run(2, 3)]).per_second == 5


@pytest.mark.slow
@pytest.mark.skipif(not rumur.is_here(), reason=f"needs rumur: {rumur.HOW_TO_GET}")
def test_both_find_the_same_number_of_states(tmp_path: Path) -> None:
    measured = measure(SIZES[0], 2, 1, tmp_path, reduce=True)
    assert measured.theirs is not None
    assert measured.reduced is not None
    assert measured.ours.states == measured.theirs.states == 39_619
    assert measured.reduced.states == 6_713
