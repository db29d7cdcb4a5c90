"""Traces of models: accepted whole and with parts missing, rejected where they were altered."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from kspec.field.recorded import Validation, from_objects, validate_recordings
from kspec.field.recorded.checker import begin
from kspec.field.recorded.find import find_mapping
from tests.field.recorded.walks import system_of, thinned, trace, walk, whole


def verdict_on(lines: list[dict[str, Any]], **options: Any) -> Validation:
    return validate_recordings([from_objects("trace", lines)], options)


@pytest.mark.parametrize("name", ["group", "replication", "partition", "two-phase-commit"])
def test_a_walk_is_accepted_whole_and_with_half_of_its_observations(name: str) -> None:
    system = system_of(name)
    for seed in range(2):
        events = [whole(step) for step in walk(system, seed, 25)]
        assert verdict_on(trace(name, events)).verdict == "accepted"
        draw = random.Random(seed)
        partial = [thinned(event, 0.5, draw) for event in events]
        assert verdict_on(trace(name, partial)).verdict == "accepted"


def test_an_altered_value_is_rejected_with_its_difference_and_what_was_allowed() -> None:
    events = [whole(step) for step in walk(system_of("group"), 1, 30)]
    events[20]["state"]["group"]["generation"] = 9
    found = verdict_on(trace("group", events))
    record = found.to_json()
    assert record["verdict"] == "rejected"
    assert record["event"]["number"] == 21
    assert (record["file"], record["line"]) == ("trace", 22)
    assert [each["variable"] for each in record["difference"]] == ["group.generation"]
    assert record["allowed"]
    assert record["before"]["event"]["number"] == 20


def test_a_blocked_rule_is_rejected_with_its_guard() -> None:
    record = verdict_on(trace("two-phase-commit", [{"rule": "tm_commits"}])).to_json()
    assert record["verdict"] == "rejected"
    assert record["guard"]


def test_frontiers_can_be_pickled() -> None:
    frontier = begin(find_mapping({"mapping": "group"}))
    assert pickle.loads(pickle.dumps(frontier)) == frontier


def test_a_rule_of_another_variant_is_never_enabled() -> None:
    rule = "follower_fetches_in_any_epoch"
    record = verdict_on(trace("partition", [{"rule": rule}], variant="kafka-4.1")).to_json()
    assert (record["verdict"], record["guard"]) == ("rejected", "kafka-4.1 has this rule")
