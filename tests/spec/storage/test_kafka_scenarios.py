"""Segments, compaction, retention and recovery, compared with Kafka's own classes.

CI compares the recorded cases, and plants faults that they must find; new random scenarios are
played where Java and Kafka are present (`python -m tests.spec.storage.kafka.scenarios`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from kspec.spec.storage import cleaning, compaction, recovery, retention, segments
from tests.spec.storage.kafka import logs, scenarios
from tests.spec.storage.kafka import segments as segment_scenarios
from tests.spec.storage.kafka.java import LOGS

CASES: dict[str, list[list[list[str]]]] = json.loads(scenarios.CASES.read_text("utf-8"))


def differences(kind: str) -> list[str]:
    """The differences in the recorded cases of one kind."""
    compare = scenarios.KINDS[kind][3]
    found = []
    for case in CASES[kind]:
        commands = [segment_scenarios.command_of(line) for line, _ in case]
        found.append(compare(commands, [kafka for _, kafka in case]))
    return [difference for difference in found if difference]


@pytest.mark.parametrize("kind", CASES)
def test_recorded_scenarios_are_answered_as_kafka_does(kind: str) -> None:
    assert differences(kind) == []


def is_never(*arguments: Any) -> bool:
    return False


def keeps_deleted_keys(batch: Any, record: Any, at: compaction.Cleaning) -> bool:
    return record.offset >= at.map.end or record.key is not None


def forgets_horizon(*arguments: Any) -> Any:
    return attrs.evolve(compaction_rewritten(*arguments), delete_horizon=None)


compaction_rewritten = compaction.rewritten

FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "a full index does not roll": (segments, "fits", lambda base, offset: True),
    "age is never reached": (segments, "age", lambda segment, timestamp, now: 0),
    "size is never reached": (segments, "is_too_large", is_never),
    "old values of a key stay": (compaction, "is_kept", keeps_deleted_keys),
    "tombstones stay": (compaction, "horizon_passed", is_never),
    "no delete horizon is set": (compaction, "rewritten", forgets_horizon),
    "no empty batch stays": (compaction, "is_kept_empty", is_never),
    "transactions have no outcome": (
        compaction,
        "outcomes",
        lambda batches: [None] * len(batches),
    ),
    "the log start does not delete": (retention, "below_log_start", lambda log: []),
    "size does not delete": (retention, "over_size", lambda log, settings: []),
    "age does not delete": (retention, "over_age", lambda log, settings, now: []),
    "segments are not merged": (cleaning, "may_join", is_never),
    "recovery begins at the log start": (
        recovery,
        "from_offset",
        lambda found, offset: tuple(found),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_recorded_scenarios_find_planted_faults(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, fault = FAULTS[name]
    original = getattr(module, function)
    monkeypatch.setattr(module, function, fault)
    for user in (logs, segment_scenarios):  # which import the functions by name
        if getattr(user, function, None) is original:
            monkeypatch.setattr(user, function, fault)
    assert any(differences(kind) for kind in CASES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_random_scenarios_are_answered_as_kafka_does(kind: str) -> None:
    assert scenarios.differing(kind, count=60, seed=99) == []


SETTINGS = (
    "internal.segment.bytes=900 segment.ms=1000 max.compaction.lag.ms=1000"
    " index.interval.bytes=100 segment.index.bytes=4096 cleanup.policy=delete retention.ms=-1"
    " retention.bytes=-1 min.compaction.lag.ms=0 delete.retention.ms=0"
)
STALE_EPOCH = (
    f"new {SETTINGS}",
    "append 0 0|0|-1|-1|data|0:k:v",
    "append 1 1|1|-1|-1|data|1:k:v",
    "truncate 1",
    "append 2 1|0|-1|-1|data|2:k:w",
    "crash 0 0 -1",
)
"""The counterexample of `kafka-3.8` in the model `log-recovery`."""


@pytest.mark.slow
def test_a_truncated_epoch_returns_in_kafka_as_in_the_model() -> None:
    """Kafka 4.1 says that epoch 1 began at offset 1, where the only batch is of epoch 0."""
    commands = [segment_scenarios.command_of(line) for line in STALE_EPOCH]
    [kafka] = scenarios.played("4.1.0", LOGS, [commands])
    _, epochs, *_, dumped = kafka[-1].split()
    assert epochs == "0:0,1:1"
    assert [word.split("|")[4] for word in dumped.partition("=")[2].split("+")] == ["0", "0"]
    assert logs.difference(commands, kafka) is None
