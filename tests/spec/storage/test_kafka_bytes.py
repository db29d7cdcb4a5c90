"""Kafka's own classes make the same of the same bytes: recorded calls, and new ones with Java."""

from __future__ import annotations

import json

import pytest

from tests.spec.storage.kafka.compare_bytes import CASES, KINDS, drawn, kafka_answers

RECORDED = json.loads(CASES.read_text())


@pytest.mark.parametrize("name", list(KINDS))
def test_recorded_calls_are_answered_as_kafka_answers_them(name: str) -> None:
    assert len(RECORDED[name]) == 25
    for call, kafkas in RECORDED[name]:
        assert KINDS[name].check(call, kafkas) is None, call


def test_recorded_calls_are_of_every_sort() -> None:
    """Some damaged bytes are refused and some are read."""
    for name in ("damaged", "epochs", "offsets"):
        assert 0 < [answer for _, answer in RECORDED[name]].count("error") < 25
    formats = {call.split()[1] for call, _ in RECORDED["write"]}
    assert formats == {"0", "1", "2"}


@pytest.mark.slow
def test_random_calls_are_answered_as_kafka_answers_them() -> None:
    calls = [(name, call) for name in KINDS for call in drawn(name, 150, seed=7)]
    answers = kafka_answers([call for _, call in calls])
    for (name, call), kafkas in zip(calls, answers, strict=True):
        assert KINDS[name].check(call, kafkas) is None, call
