"""A story in the terminal."""

from __future__ import annotations

import pytest

from checkers.explore import explore
from spec import toys
from spec.group import GROUP
from spec.watermarks import WATERMARKS
from tests.known import first_violation
from traces.story import Scene, SceneCell, SceneLane, Story, tell
from traces.terminal import draw


def drawn(variant: str) -> list[str]:
    violation = first_violation(variant).violations[0]
    assert violation.trace is not None
    return [line.plain for line in draw(tell(violation.trace, violation.says, violated=True))]


def test_each_step_says_who_did_what_with_which_choices() -> None:
    lines = drawn("truncate-to-hw")
    headings = [line for line in lines if line[:4].strip().isdigit()]
    assert len(headings) == 9
    assert headings[0] == "   1  initial"
    assert headings[1] == "   2  controller_elects  broker=0  (controller)"


def test_only_what_changed_is_drawn_after_the_first_step() -> None:
    lines = drawn("truncate-to-hw")
    assert [line.split()[0] for line in lines[1:5]] == ["controller", "broker", "broker", "broker"]
    second = lines[lines.index("   2  controller_elects  broker=0  (controller)") + 1]
    assert second.split() == ["controller", "epoch", "–→0", "leader", "–→0"]


def test_logs_are_drawn_with_their_marks_and_the_failing_place() -> None:
    lines = drawn("truncate-to-hw")
    assert any("HW› +[r0 e1] LEO›" in line for line in lines), "a record was written"
    assert any("[r0 e1] HW=LEO›" in line for line in lines), "and committed"
    assert "✗-[r0 e1]" in lines[-1], "and cut off, where the property fails"
    assert lines[-1].startswith("    ✗ broker 2")


@pytest.mark.slow
def test_a_record_that_never_arrived_is_missing() -> None:
    assert any("✗[missing]" in line for line in drawn("kip-101"))


def test_a_behaviour_without_end_says_where_it_goes_on() -> None:
    violation = explore(toys.CORRIDOR.system()).violations[0]
    assert violation.trace is not None
    lines = [line.plain for line in draw(tell(violation.trace, "", violated=True))]
    assert lines[-1].split() == ["step_aside_together", "and", "on", "with", "1,", "for", "ever"]


def test_the_state_of_a_lane_is_told_where_it_changes() -> None:
    small = {"consumers": 1, "crashes": 0, "failovers": 0, "early": 1}
    violation = explore(GROUP.system("before-kafka-8104", small)).violations[0]
    assert violation.trace is not None
    lines = [line.plain for line in draw(tell(violation.trace, "", violated=True))]
    states = [line.split()[1] for line in lines if line.startswith("      coordinator  ")]
    assert states[:4] == [
        "Empty",
        "ids",
        "Empty→PreparingRebalance",
        "PreparingRebalance→CompletingRebalance",
    ]


def test_a_cell_that_fails_is_told_although_nothing_changed_in_its_lane() -> None:
    failing = SceneLane("consumer 0", cells=[SceneCell("p0", failing=True)])
    other = SceneLane("consumer 1", changed=True)
    story = Story("", "", "", [Scene(1, "initial"), Scene(2, "step", lanes=[failing, other])])
    assert [line.plain.split() for line in draw(story)][2:] == [
        ["consumer", "0", "✗[p0]"],
        ["consumer", "1"],
    ]


def test_the_four_moments_are_drawn_as_the_table_has_them() -> None:
    trace = explore(WATERMARKS.system()).witnesses["EveryoneKnows"]
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
