"""Traces in a stream: their events come in parts, in any order, late or not at all."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.recorded_partitions import Partition, alter
from kspec.field.recorded import Validation, from_objects, validate_recordings
from kspec.spark_check.events import EVENT, HEADER, Row
from kspec.spark_check.live import Live, end, from_bytes, take, to_bytes
from kspec.spark_check.verdicts import Question
from kspec.spec.core import SpecError
from tests.spark_check.test_validate import altered, events_of

GROUP = Question({"mapping": "group"}, ("group",))
REPLICA = Question({"mapping": "replica"}, ("partition",))


def rows_of(events: Sequence[dict[str, Any]], file: str = "f") -> list[Row]:
    """The rows of a file's events."""
    return [
        ("t", EVENT, event.get("time_ms"), file, line, json.dumps(event), 0)
        for line, event in enumerate(events, 1)
    ]


def in_batches(
    question: Question, batches: Sequence[Sequence[Row]], delay: float = 0
) -> Validation | None:
    """The verdict while the events come; between batches, the trace is kept as bytes."""
    live = Live("t")
    for batch in batches:
        found = take(question, live, batch, delay)
        if found is not None:
            return found
        live = from_bytes(to_bytes(live))
    return None


def whole(question: Question, events: Sequence[dict[str, Any]], **header: Any) -> Validation:
    """The verdict of `kspec validate`."""
    lines = [{"kspec_trace": 1, **header}, *events]
    return validate_recordings([from_objects("f", lines)], question.options)


def test_a_trace_in_parts_has_the_verdict_of_the_whole() -> None:
    rows = rows_of(altered(events_of(1), 20))
    assert in_batches(GROUP, [rows[:7], rows[7:20]]) is None
    found = in_batches(GROUP, [rows[:7], rows[7:15], rows[15:]])
    assert found is not None
    assert found.rejection is not None
    wanted = whole(GROUP, altered(events_of(1), 20)).to_json()
    record = found.to_json()
    for name in ("verdict", "guard", "difference", "allowed", "nearest", "event"):
        assert record[name] == wanted[name], name


def test_events_of_other_files_wait_for_each_other() -> None:
    rows = rows_of(events_of(2), "a")
    others = [(*row[:3], "b", *row[4:]) for row in rows[10:16]]
    batches = [[*rows[:10], *rows[16:18]], others, rows[18:]]
    live = Live("t")
    for batch in batches:
        assert take(GROUP, live, batch, delay=100) is None
        live = from_bytes(to_bytes(live))
    assert live.late == 0
    assert end(GROUP, live).verdict == "accepted"
    assert live.number == len(rows)


def test_a_rejection_after_a_late_event_is_inconclusive() -> None:
    rows = rows_of(events_of(2), "a")
    late = (*rows[10][:3], "b", *rows[10][4:])
    found = in_batches(GROUP, [[*rows[:10], *rows[11:]], [late]])
    assert found is not None
    assert found.verdict == "rejected"  # when it was rejected, nothing was known to be late
    good = [*rows[:20], rows[21]]
    live = Live("t")
    assert take(GROUP, live, rows[:20], delay=0) is None
    assert take(GROUP, live, [late], delay=0) is None
    found = take(GROUP, live, good[20:], delay=0)
    assert found is not None
    assert (found.verdict, found.because) == ("inconclusive", "a late event was not checked")
    assert found.problems.counts == {"late event": 1}


def test_a_trace_that_was_judged_is_over() -> None:
    live = Live("t")
    rows = rows_of(altered(events_of(1), 5))
    assert take(GROUP, live, rows[:10], delay=0) is not None
    assert (live.is_over, live.waiting, live.frontier) == (True, [], None)
    assert take(GROUP, live, rows[10:], delay=0) is None
    assert from_bytes(to_bytes(live)).is_over


def test_nodes_without_a_known_order_are_never_rejected_by_their_clocks() -> None:
    events = altered(events_of(1), 20)
    for number, event in enumerate(events):
        event["node"] = str(number % 2)
    found = in_batches(GROUP, [rows_of(events)])
    assert found is not None
    assert (found.verdict, found.because) == (
        "inconclusive",
        "events of several nodes were ordered by their clocks",
    )
    header = ("t", HEADER, None, "f", 0, json.dumps({"kspec_trace": 1, "order": "total"}), 0)
    found = in_batches(GROUP, [[header, *rows_of(events)]])
    assert found is not None
    assert found.verdict == "rejected"


@pytest.mark.parametrize("seed", range(4))
def test_replicas_in_random_parts_have_the_verdict_of_the_whole(seed: int) -> None:
    events = Partition({"partition": 0}, seed).run(300)
    at = alter(events, "high watermark beyond the log", seed)
    rows = rows_of(events)
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(1, len(rows)), 5))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    found = in_batches(REPLICA, batches)
    assert found is not None
    assert found.rejection is not None
    assert found.rejection.event is not None
    assert found.rejection.event.number == at


def test_the_state_of_a_stream_makes_records_of_kspec_only() -> None:
    for value in (Live, print, "".join, SpecError):
        with pytest.raises(SpecError, match="which is not a record of kspec's"):
            from_bytes(pickle.dumps([value] if value is not Live else [int]))
