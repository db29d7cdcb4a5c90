"""Reports of the brokers of the model `partition`: accepted from Kafka 2.1 on, and not before."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kspec.field.recorded import Validation, from_objects, validate_recordings
from tests.field.recorded.walks import system_of

BOUNDS = (
    {"records": 3, "crashes": 0, "cut_offs": 2, "leader_moves": 2},
    {"records": 3, "crashes": 2, "cut_offs": 1, "leader_moves": 2},
    {"records": 4, "crashes": 3, "min_insync": 1},
)


def report(state: Any, broker: int) -> dict[str, Any]:
    """What a broker of the model would report."""
    replica = state.replicas[broker]
    found = {
        "node": broker,
        "leader_epoch": replica.epoch,
        "leader": replica.leader,
        "log_end_offset": replica.log.end,
        "high_watermark": replica.hw,
        "epochs": [list(entry) for entry in replica.epochs.entries],
    }
    if replica.leadership is not None:
        found["isr"] = sorted(replica.leadership.isr)
    return found


def reports(variant: str, bounds: dict[str, int], seed: int) -> list[dict[str, Any]]:
    """The reports of a random walk: each broker reports when its replica changes."""
    model = system_of("partition").model
    system, draw = model.system(variant, bounds), random.Random(seed)
    state = system.initial()[0]
    found = [report(state, broker) for broker in range(3)]
    for _ in range(40):
        steps = list(system.steps(state))
        if not steps:
            break
        before, (_, _, state) = state, draw.choice(steps)
        found += [
            report(state, broker)
            for broker, replica in enumerate(state.replicas)
            if replica.is_up and replica != before.replicas[broker]
        ]
    return found


def verdict_on(found: list[dict[str, Any]], order: str) -> Validation:
    header = {"kspec_trace": 1, "mapping": "replica", "order": order}
    return validate_recordings([from_objects("walk", [header, *found])], {})


@pytest.mark.parametrize("variant", ["kafka-2.1", "kafka-4.1"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_every_walk_is_accepted_from_2_1_on(variant: str, bounds: dict[str, int]) -> None:
    for seed in range(6):
        found = reports(variant, bounds, seed)
        assert verdict_on(found, "total").verdict == "accepted"
        draw = random.Random(seed)
        thinned = [
            {key: value for key, value in one.items() if key == "node" or draw.random() < 0.6}
            for one in found
        ]
        assert verdict_on(thinned, "total").verdict == "accepted"
        assert verdict_on(thinned, "node").verdict == "accepted"


def test_logs_of_0_11_that_diverge_are_rejected() -> None:
    """KIP-279: with 0.11, two brokers may hold different committed records at an offset."""
    verdict = verdict_on(reports("kafka-0.11", BOUNDS[0], 69), "total")
    assert verdict.rejection is not None
    assert verdict.rejection.guard == "committed records have one leader epoch"
