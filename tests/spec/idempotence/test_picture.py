"""Pictures of the model `idempotence`."""

from __future__ import annotations

from kspec.checkers.models.stories import STORIES
from kspec.spec.core import Taken, evolve
from kspec.spec.core.picture import Lane, Picture
from kspec.spec.idempotence.picture import picture
from kspec.spec.idempotence.state import Bounds, Identity, Request, initial


def drawn(name: str) -> list[tuple[str, Picture]]:
    """The pictures of a story, each with the rule that led to it."""
    trace = STORIES[name].played()
    pictures = [("", picture(trace.states[0], None))]
    for before, taken, after in zip(trace.states, trace.steps, trace.states[1:], strict=False):
        step = Taken(taken.rule, taken.choices, before)
        pictures.append((taken.rule, picture(after, step)))
    return pictures


def lane(drawing: Picture, name: str) -> Lane:
    """The lane of this name."""
    return next(lane for lane in drawing.lanes if lane.name == name)


def test_the_log_shows_the_record_that_is_written_twice() -> None:
    last = drawn("written-twice")[-1][1]
    assert [cell.text for cell in lane(last, "log of leader 1").cells] == [
        "r1 e0#1",
        "r0 e1#0",
        "r1 e1#1",
    ]
    assert [cell.sign for cell in lane(last, "producer").cells] == ["✓", "→"]


def test_messages_are_arrows_and_a_lost_connection_is_none() -> None:
    found = {rule: drawing.arrows for rule, drawing in drawn("written-twice")}
    sent = found["producer_sends"][0]
    assert (sent.source, sent.target) == ("producer", "to leader 1")
    answer = found["producer_finds_gap"][0]
    assert (answer.target, answer.label) == ("producer", "OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert found["connection_is_lost"] == []
    assert found["producer_bumps_epoch"] == []


def test_every_fact_is_explained() -> None:
    for name in ("written-twice", "written-once"):
        for _, drawing in drawn(name):
            facts = {fact for each in drawing.lanes for fact in each.facts}
            assert facts <= drawing.words.keys()


def test_a_late_request_and_a_new_producer_id_are_drawn() -> None:

    (s,) = initial(Bounds())
    s = evolve(s, late=(Request(0, Identity(), 0),), expirations=1)
    s = s.with_producer(identity=Identity(1), unresolved=1, needs_bump=True)

    drawing = picture(s, None)
    assert lane(drawing, "to leader 0").cells[0].text == "r0 e0#0 late"
    facts = lane(drawing, "producer").facts
    assert facts["epoch"] == "0 of id 1"
    assert (facts["unresolved"], facts["bump"]) == ("1", "due")
    assert [mark.label for mark in lane(drawing, "log of leader 0").marks] == [
        "committed",
        "forgotten",
    ]
