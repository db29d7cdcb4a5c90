"""What Kafka's own classes answered to random calls, recorded by `kafka/compare.py --record`."""

from __future__ import annotations

import json

import pytest

from tests.spec.producer.kafka.compare import CASES, KINDS, drawn, kafka_answers
from tests.spec.producer.kafka.kinds import Kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_specification_answers_as_kafka_did(kind: Kind) -> None:
    recorded = json.loads((CASES / f"{kind.name}.json").read_text())
    assert tuple(recorded) == kind.versions
    for version, cases in recorded.items():
        for call, answer in cases:
            assert kind.answer(version, call) == answer, f"{version}: {call}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_specification_answers_as_kafka_does(kind: Kind) -> None:
    version = kind.versions[-1]
    calls = drawn(kind, version, 500, seed=7)
    for call, answer in zip(calls, kafka_answers(kind, version, calls), strict=True):
        assert kind.answer(version, call) == answer, call
