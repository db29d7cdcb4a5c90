"""A story in the terminal."""

from __future__ import annotations

import pytest

from kspec import examples
from kspec.checkers.engine.reference import explore
from kspec.checkers.models.find import find_model
from kspec.traces.story import Scene, SceneCell, SceneLane, Story, tell
from kspec.traces.terminal import draw
from tests.known import first_violation

GROUP = find_model("group")
WATERMARKS = find_model("watermarks")


def drawn(variant: str) -> list[str]:
    violation = first_violation(variant).violations[0]
    assert violation.trace is not None
    return [line.plain for line in draw(tell(violation.trace, violation.says, violated=True))]


def test_each_step_names_its_rule_choices_and_actor() -> None:
    lines = drawn("truncate-to-hw")
    headings = [line for line in lines if line[:4].strip().isdigit()]
    assert len(headings) == 9
    assert headings[0] == "   1  initial"
    assert headings[1] == "   2  controller_elects_leader  broker=2  (controller)"


def test_only_what_changed_is_drawn_after_the_first_step() -> None:
    lines = drawn("truncate-to-hw")
    assert [line.split()[0] for line in lines[1:5]] == ["controller", "broker", "broker", "broker"]
    second = lines[lines.index("   2  controller_elects_leader  broker=2  (controller)") + 1]
    assert second.split() == ["controller", "epoch", "–→0", "leader", "–→2"]


def test_logs_are_drawn_with_their_marks_and_the_failing_place() -> None:
    lines = drawn("truncate-to-hw")
    assert any("HW› +[r0 e1] LEO›" in line for line in lines), "a record was written"
    assert any("[r0 e1] HW=LEO›" in line for line in lines), "and committed"
    assert "✗-[r0 e1]" in lines[-1], "and cut off, where the property fails"
    assert lines[-1].startswith("    ✗ broker 1")


@pytest.mark.slow
def test_a_record_that_never_arrived_is_shown_as_missing() -> None:
    assert any("✗[missing]" in line for line in drawn("kip-101"))


def test_a_lasso_names_the_state_it_returns_to() -> None:
    violation = explore(examples.CORRIDOR.system()).violations[0]
    assert violation.trace is not None
    lines = [line.plain for line in draw(tell(violation.trace, "", violated=True))]
    assert lines[-1].split() == ["step_aside_together", "then", "repeats", "from", "state", "1"]


def test_a_change_of_a_lanes_state_is_shown() -> None:
    small = {"consumers": 1, "crashes": 0, "failovers": 0, "early": 1}
    violation = explore(GROUP.system("before-kafka-8104", small)).violations[0]
    assert violation.trace is not None
    lines = [line.plain for line in draw(tell(violation.trace, "", violated=True))]
    states = [line.split()[1] for line in lines if line.startswith("      coordinator  ")]
    assert states[:4] == [
        "Empty",
        "pending",
        "Empty→PreparingRebalance",
        "PreparingRebalance→CompletingRebalance",
    ]


def test_a_sign_stands_behind_the_text_of_its_cell() -> None:
    cells = [SceneCell("r0", sign="✓"), SceneCell("r1", change="gone", sign="✓")]
    scene = Scene(2, "step", lanes=[SceneLane("log", cells=cells, changed=True)])
    lines = [line.plain for line in draw(Story("", "", "", [scene]))]
    assert lines[-1].endswith("[r0 ✓] -[r1 ✓]")


def test_a_failing_cell_is_shown_in_an_unchanged_lane() -> None:
    failing = SceneLane("consumer 0", cells=[SceneCell("p0", failing=True)])
    other = SceneLane("consumer 1", changed=True)
    story = Story("", "", "", [Scene(1, "initial"), Scene(2, "step", lanes=[failing, other])])
    assert [line.plain.split() for line in draw(story)][2:] == [
        ["consumer", "0", "✗[p0]"],
        ["consumer", "1"],
    ]


def test_the_four_moments_match_the_table() -> None:
    trace = explore(WATERMARKS.system()).witnesses["EveryReplicaLearnsHighWatermark"]
    lines = [" ".join(line.plain.split()) for line in draw(tell(trace, "", violated=False))]
    assert lines == [
        "1 initial",
        "leader HW 0 LEO 0 remote LEO 0",
        "follower 0 HW 0 LEO 0",
        "2 producer_sends (producer)",
        "leader LEO 0→1",
        "3 follower_fetches follower=0 (follower)",
        "leader → follower 0: records, HW",
        "follower 0 LEO 0→1",
        "4 follower_fetches follower=0 (follower)",
        "leader → follower 0: records, HW",
        "leader HW 0→1 remote LEO 0→1",
        "follower 0 HW 0→1",
    ]
