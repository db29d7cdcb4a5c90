"""The oracle of a producer: when it sends a batch, and which settings take effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import kspec.spec.producer.batching as batching
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, oracle_of
from kspec.spec.producer.batching import Accumulator, Decision, PartitionQueue, Ready
from kspec.spec.producer.releases import parse_release
from kspec.spec.producer.settings import Producer, ProducerSettings, effective


def batch_ready(queue: PartitionQueue, accumulator: Accumulator) -> Decision:
    """Whether the first batch of a partition makes its leader ready, and why.

    Kafka: `RecordAccumulator.batchReady`.
    """
    return batching.first_batch(queue, accumulator)


def ready(queues: Sequence[PartitionQueue], accumulator: Accumulator) -> Ready:
    """The leaders that have a batch to send. Kafka: `RecordAccumulator.ready`."""
    return batching.ready(queues, accumulator)


def producer_config(settings: ProducerSettings, release: str) -> Producer:
    """What a producer of a release does with its settings. Kafka: `ProducerConfig`."""
    return effective(settings, parse_release(release))


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(batch_ready, ready, producer_config)


# -- vectors --------------------------------------------------------------------------------------

RELEASES = ("0.11.0.3", "2.0.1", "2.8.2", "3.0.0", "3.0.1", "3.1.0", "3.9.1", "4.1.0")


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: waits about the limits, settings that conflict."""
    accumulator = {
        "lingerMs": draw.choose((0, 5, 100)),
        **{flag: draw.chance(0.05) for flag in FLAGS},
    }
    match draw.below(3):
        case 0:
            return "batchReady", {"queue": some_queue(draw), "accumulator": accumulator}
        case 1:
            queues = [some_queue(draw) for _ in range(draw.below(6))]
            return "ready", {"queues": queues, "accumulator": accumulator}
        case _:
            settings = {
                name: draw.choose(values) for name, values in VALUES.items() if draw.chance(0.4)
            }
            return "producerConfig", {"settings": settings, "release": draw.choose(RELEASES)}


FLAGS = ("isExhausted", "isClosed", "isFlushing", "isCompleting")

VALUES: dict[str, tuple[Any, ...]] = {
    "acks": (-1, 0, 1),
    "retries": (0, 1, 2**31 - 1),
    "max.in.flight.requests.per.connection": (1, 5, 6),
    "enable.idempotence": (True, False),
    "hasTransactionalId": (True, False),
    "linger.ms": (0, 5, 90_000, 120_000),
    "request.timeout.ms": (1000, 30_000, 60_000),
    "delivery.timeout.ms": (31_000, 120_000, 2**31 - 1),
}
"""Values of each setting, with those at which an answer changes."""


def some_queue(draw: Draw) -> dict[str, Any]:
    """The batches of a partition."""
    return {
        "leader": None if draw.chance(0.1) else draw.below(3),
        "batches": draw.choose((0, 1, 1, 1, 2)),
        "isFull": draw.chance(0.2),
        "waitedMs": draw.choose((0, 4, 5, 6, 99, 100, 101)),
        "backoffMs": draw.choose((0, 0, 100)),
        "leaderHasChanged": draw.chance(0.2),
        "isMuted": draw.chance(0.1),
    }
