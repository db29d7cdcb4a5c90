"""Pictures of transactions: instances, the coordinator, logs with outcomes, and late requests."""

from __future__ import annotations

import attrs
import pytest

from kspec.checkers.models.find import find_model
from kspec.spec.core.picture import Lane, Picture
from kspec.spec.transactions import variants
from kspec.spec.transactions.picture import picture
from kspec.traces.trace import Trace
from tests.known import explore_learned as explore

TRANSACTIONS = find_model("transactions")


def shortest(variant: str, name: str, bounds: dict[str, int]) -> Trace:
    """The shortest counterexample."""
    system = TRANSACTIONS.system(variant, bounds).with_properties([name])
    trace = explore(system).violations[0].trace
    assert trace is not None
    return trace


def drawn(trace: Trace, index: int) -> Picture:
    """A state, with the step that led to it."""
    step = attrs.evolve(trace.steps[index - 1], before=trace.states[index - 1])
    return picture(trace.states[index], step)


def lane(drawing: Picture, name: str) -> Lane:
    return next(lane for lane in drawing.lanes if lane.name == name)


def test_a_hanging_transaction() -> None:
    trace = shortest("kafka-2.5", "OpenTransactionIsCoordinated", variants.ALONE)
    before, last = drawn(trace, len(trace.steps) - 1), drawn(trace, len(trace.steps))
    assert lane(before, "late").facts == {"Produce": "i0 t0 e0"}
    assert [lane.name for lane in last.lanes if lane.name == "late"] == []
    assert [arrow.label for arrow in last.arrows] == ["Produce"]
    results = lane(last, "results")
    assert [cell.text for cell in results.cells] == ["abort e0", "i0 t0 e0"]
    assert [(mark.label, mark.at) for mark in results.marks] == [("LSO", 1)]
    assert lane(last, "coordinator").facts["id 0"] == "CompleteAbort e0"


def test_a_zombie_and_its_successor() -> None:
    trace = shortest("own-ids", "EachResultReadOnce", variants.ZOMBIE)
    last = drawn(trace, len(trace.steps))
    assert {lane(last, f"instance {number}").role for number in (0, 1)} == {
        "zombie",
        "owns the input",
    }
    results = [cell for cell in lane(last, "results").cells if cell.sign]
    assert [cell.sign for cell in results] == ["✓", "✓"]
    assert results[0].colour != results[1].colour
    assert [cell.text for cell in lane(last, "reader").cells] == ["i0", "i0"]
    assert last.arrows[0].label == "Fetch"


@pytest.mark.parametrize(
    ("variant", "name", "bounds", "arrow"),
    [
        ("kafka-3.7", "NoInputIsSkipped", variants.LATE_END, "EndTxn"),
        ("kafka-4.0", "CommittedTransactionIsWhole", variants.LATE_MARKER, "WriteTxnMarkers"),
        ("kafka-3.6", "OpenTransactionIsCoordinated", variants.LATE_COMMIT, "TxnOffsetCommit"),
    ],
)
def test_each_kind_of_late_request_is_drawn(
    variant: str, name: str, bounds: dict[str, int], arrow: str
) -> None:
    trace = shortest(variant, name, bounds)
    late = [
        sent.label
        for index in range(1, len(trace.states))
        for sent in drawn(trace, index).arrows
        if sent.source == "late"
    ]
    assert late == [arrow]
    assert any(
        arrow in lane.facts for n in range(1, len(trace.states)) for lane in drawn(trace, n).lanes
    )
