"""Stories: new and removed cells, and the place where a property fails."""

from __future__ import annotations

import attrs

from kspec.checkers.engine.reference import explore
from kspec.checkers.models.find import find_model
from kspec.spec.core.picture import Cell
from kspec.traces.story import Story, compared_cells, tell
from kspec.traces.trace import Trace

REPLICATION = find_model("replication")
GROUP = find_model("group")


def story_of(variant: str, **bounds: int) -> Story:
    violation = explore(REPLICATION.system(variant, bounds)).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


def cells(*texts: str) -> list[Cell]:
    """A log: an empty text is an empty cell."""
    return [Cell(text, place=f"offset {i}") for i, text in enumerate(texts)]


def told(now: list[Cell], before: list[Cell], place: str = "") -> list[tuple[str, str, bool]]:
    return [(c.text, c.change, c.failing) for c in compared_cells(now, before, place)]


def test_an_added_record_is_new_and_an_empty_cell_is_not() -> None:
    assert told(cells("r0", "r1", ""), cells("r0", "", "")) == [
        ("r0", "", False),
        ("r1", "new", False),
        ("", "", False),
    ]


def test_a_removed_record_is_shown_in_its_place() -> None:
    assert told(cells("r0", "", ""), cells("r0", "r1", "r2")) == [
        ("r0", "", False),
        ("r1", "gone", False),
        ("r2", "gone", False),
    ]


def test_a_change_of_colour_is_no_change_of_the_cell() -> None:
    before = [Cell("p0", colour=1, place="partition 0")]
    after = [Cell("p0", colour=2, place="partition 0")]
    assert told(after, before) == [("p0", "", False)]


def test_a_sign_comes_and_goes_without_a_change_of_the_cell() -> None:
    cell = Cell("r0", place="offset 0")
    [after] = compared_cells([attrs.evolve(cell, sign="✓")], [cell], "")
    assert (after.text, after.sign, after.change) == ("r0", "✓", "")


def test_a_replaced_record_is_shown_after_the_others() -> None:
    assert told(cells("r9"), cells("r0"), "offset 0") == [
        ("r9", "new", True),
        ("r0", "gone", False),
    ]


def test_an_empty_cell_can_be_the_failing_place() -> None:
    assert told(cells("", ""), cells("", ""), "offset 1") == [("", "", False), ("", "", True)]


def test_only_the_truncated_committed_record_is_marked_as_failing() -> None:
    story = story_of("truncate-to-hw", brokers=2)
    failing = [
        (scene.number, lane.name, cell.text, cell.change)
        for scene in story.scenes
        for lane in scene.lanes
        for cell in lane.cells
        if cell.failing
    ]
    assert failing == [(len(story.scenes), "broker 1", "r0 e0", "gone")]


def test_a_story_describes_a_property_checked_on_request() -> None:
    (state,) = GROUP.system().initial()
    told = tell(Trace(GROUP.system(), (state,), (), "GroupSettles"), "", violated=True)
    assert told.promise.startswith("While a consumer polls")


def test_a_story_describes_its_property_and_its_terms() -> None:
    story = story_of("truncate-to-hw", brokers=2)
    assert story.property == "WeakIsr"
    assert story.promise.startswith("Every record below a presumed leader's high watermark")
    assert "high watermark" in story.why
    names = {fact.name for lane in story.scenes[0].lanes for fact in lane.facts}
    assert names <= set(story.words)
