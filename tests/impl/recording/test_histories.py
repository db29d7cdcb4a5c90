"""The histories of `kspec conform broker`, recorded: no answer is rejected."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from kspec.field.recorded import from_objects, validate_recordings
from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from kspec.impl.recording import Recording
from tests.cli.conftest import Kspec, kspec

__all__ = ["kspec"]

Line = dict[str, Any]


def groups_of(lines: list[str]) -> list[list[Line]]:
    """A trace for each group, whose events are all in it."""
    header, *events = map(json.loads, lines)
    found: dict[str, list[Line]] = {e["group"]: [] for e in events if "group" in e}
    for event in events:
        del event["sequence"]
        for group, trace in found.items():
            if event.get("group", group) == group:
                trace.append(event)
    return [[{**header, "observed": "all"}, *trace] for trace in found.values()]


@pytest.mark.slow
@pytest.mark.parametrize("coordinator", ["java", "scala"])
def test_no_history_is_rejected(kspec: Kspec, coordinator: str) -> None:
    settings = BrokerSettings(
        initial_rebalance_delay=0, min_session_timeout=100, max_size=4,
        auto_create_topics=False, java_coordinator=coordinator == "java",
    )  # fmt: skip
    recording = Recording("coordinator", **settings.for_trace())
    with EmbeddedBroker(settings, recording=recording) as broker:
        ran = kspec(
            "conform", "broker", broker.bootstrap, "--histories", "8", "--coordinator", coordinator
        )
    assert ran.code == 0
    chance = random.Random(0)
    traces = groups_of(recording.lines)
    assert len(traces) == 8
    for whole in traces:
        some = [{**whole[0], "observed": "some"}, *(e for e in whole[1:] if chance.random() < 0.5)]
        for trace in (whole, some):
            verdict = validate_recordings([from_objects("group", trace)], {})
            assert verdict.verdict == "accepted", verdict.to_json()
