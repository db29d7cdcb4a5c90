"""One altered value: rejected at its event or later, and never without an alteration."""

from __future__ import annotations

import random

import pytest

from benchmarks.validation import MODELS, measure
from kspec.field.recorded import Limits, from_objects, validate_recordings
from tests.field.recorded.walks import system_of, thinned, trace, walk, whole


@pytest.mark.parametrize("name", MODELS)
def test_an_altered_value_is_rejected_at_once_if_everything_is_observed(name: str) -> None:
    counts = measure(name, 1.0, walks=4)
    assert counts["altered"] >= 3
    assert counts["at_event"] == counts["altered"]
    assert counts["false"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_rejected_before_its_alteration_whatever_is_missing(name: str) -> None:
    assert measure(name, 0.6, walks=5)["false"] == 0  # it asserts the order itself


@pytest.mark.parametrize("seed", range(3))
def test_states_that_are_left_out_lead_to_no_false_rejection(seed: int) -> None:
    draw = random.Random(seed)
    steps = walk(system_of("group"), seed, 30)
    events = [thinned(whole(step), 0.6, draw) for step in steps]
    found = from_objects("walk", trace("group", events))
    verdict = validate_recordings([found], {}, Limits(states=2))
    assert verdict.verdict in ("accepted", "inconclusive")
    assert verdict.verdict == "accepted" or "more than 2 states" in verdict.because


def test_lines_that_are_missing_are_hidden_steps() -> None:
    events = [whole(step) for step in walk(system_of("replication"), 7, 12)]
    kept = [event for number, event in enumerate(events) if number not in (3, 4, 8)]
    for most, verdict in ((1, "rejected"), (2, "accepted")):
        found = from_objects("walk", trace("replication", kept, hidden="all", most_hidden=most))
        assert validate_recordings([found], {}).verdict == verdict
