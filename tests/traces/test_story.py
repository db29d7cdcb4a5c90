"""What a story says of a change: what is new, what is gone, and where a property fails."""

from __future__ import annotations

from checkers.explore import explore
from spec.group import GROUP
from spec.picture import Cell
from spec.replication import REPLICATION
from traces.story import Story, compared_cells, tell
from traces.trace import Trace


def story_of(variant: str, **bounds: int) -> Story:
    violation = explore(REPLICATION.system(variant, bounds)).violations[0]
    assert violation.trace is not None
    return tell(violation.trace, violation.says, violated=True)


def cells(*texts: str) -> list[Cell]:
    """A log: an empty text is room without a record."""
    return [Cell(text, place=f"offset {i}") for i, text in enumerate(texts)]


def told(now: list[Cell], before: list[Cell], place: str = "") -> list[tuple[str, str, bool]]:
    return [(c.text, c.change, c.failing) for c in compared_cells(now, before, place)]


def test_a_record_that_came_is_new_and_room_never_is() -> None:
    assert told(cells("r0", "r1", ""), cells("r0", "", "")) == [
        ("r0", "", False),
        ("r1", "new", False),
        ("", "", False),
    ]


def test_a_record_that_went_is_shown_where_it_was() -> None:
    assert told(cells("r0", "", ""), cells("r0", "r1", "r2")) == [
        ("r0", "", False),
        ("r1", "gone", False),
        ("r2", "gone", False),
    ]


def test_a_cell_that_changes_its_colour_only_is_neither_new_nor_gone() -> None:
    before = [Cell("p0", colour=1, place="partition 0")]
    after = [Cell("p0", colour=2, place="partition 0")]
    assert told(after, before) == [("p0", "", False)]


def test_a_record_whose_place_another_took_is_shown_after_the_others() -> None:
    assert told(cells("r9"), cells("r0"), "offset 0") == [
        ("r9", "new", True),
        ("r0", "gone", False),
    ]


def test_room_where_a_record_should_be_is_where_it_fails() -> None:
    assert told(cells("", ""), cells("", ""), "offset 1") == [("", "", False), ("", "", True)]


def test_the_committed_record_that_was_cut_off_is_the_one_place_that_fails() -> None:
    story = story_of("truncate-to-hw", brokers=2)
    failing = [
        (scene.number, lane.name, cell.text, cell.change)
        for scene in story.scenes
        for lane in scene.lanes
        for cell in lane.cells
        if cell.failing
    ]
    assert failing == [(len(story.scenes), "broker 1", "r0 e0", "gone")]


def test_a_story_says_what_a_sanity_property_promises_too() -> None:
    (state,) = GROUP.system().initial()
    told = tell(Trace(GROUP.system(), (state,), (), "GroupSettles"), "", violated=True)
    assert told.promise.startswith("A group comes to rest")


def test_a_story_says_what_its_property_promises_and_its_words_mean() -> None:
    story = story_of("truncate-to-hw", brokers=2)
    assert story.property == "WeakIsr"
    assert story.promise.startswith("What a broker that takes itself for the leader counts")
    assert "high watermark" in story.why
    names = {fact.name for lane in story.scenes[0].lanes for fact in lane.facts}
    assert names <= set(story.words)
