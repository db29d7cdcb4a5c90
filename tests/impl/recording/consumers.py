"""One recorded consumer of each client library, which polls and commits until it is told to stop.

As a program it is a consumer that can be killed:
`python -m tests.impl.recording.consumers CLIENT BOOTSTRAP ASSIGNOR NAME`.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from kspec.impl.recording import Recording
from kspec.impl.recording.consumers import (
    record_aiokafka,
    record_confluent_kafka,
    record_kafka_python,
)

TOPIC, GROUP = "orders", "readers"
SESSION = 6_000
"""The session timeout, in milliseconds: how long a group waits for a consumer that was killed."""

Consume = Callable[[str, str, str, Recording, threading.Event], None]


def kafka_python(
    bootstrap: str, assignor: str, name: str, recording: Recording, stop: threading.Event
) -> None:
    """With kafka-python."""
    from kafka import KafkaConsumer
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.errors import KafkaError

    strategies = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }
    inner = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=GROUP, client_id=name, auto_offset_reset="earliest",
        enable_auto_commit=False, session_timeout_ms=SESSION, heartbeat_interval_ms=500,
        partition_assignment_strategy=[strategies[assignor]],
    )  # fmt: skip
    consumer = record_kafka_python(inner, recording)
    consumer.subscribe([TOPIC])
    try:
        while not stop.is_set():
            if consumer.poll(timeout_ms=100):
                with contextlib.suppress(KafkaError):  # a rebalance
                    consumer.commit()
    finally:
        consumer.close()


def aiokafka(
    bootstrap: str, assignor: str, name: str, recording: Recording, stop: threading.Event
) -> None:
    """With aiokafka."""
    from aiokafka import AIOKafkaConsumer
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from aiokafka.errors import KafkaError

    strategies = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
    }

    async def consume() -> None:
        inner = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=GROUP, client_id=name,
            auto_offset_reset="earliest", enable_auto_commit=False, session_timeout_ms=SESSION,
            heartbeat_interval_ms=500, partition_assignment_strategy=[strategies[assignor]],
        )  # fmt: skip
        consumer = record_aiokafka(inner, recording)
        consumer.subscribe([TOPIC])
        await consumer.start()
        try:
            while not stop.is_set():
                if await consumer.getmany(timeout_ms=100):
                    with contextlib.suppress(KafkaError):  # a rebalance
                        await consumer.commit()
        finally:
            await consumer.stop()

    asyncio.run(consume())


def confluent_kafka(
    bootstrap: str, assignor: str, name: str, recording: Recording, stop: threading.Event
) -> None:
    """With confluent-kafka."""
    from confluent_kafka import Consumer, KafkaException

    inner = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": GROUP, "client.id": name,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "session.timeout.ms": SESSION, "heartbeat.interval.ms": 500, "log_level": 0,
            "partition.assignment.strategy": assignor,
        }
    )  # fmt: skip
    consumer = record_confluent_kafka(inner, recording, name, GROUP)
    consumer.subscribe([TOPIC])
    try:
        while not stop.is_set():
            if consumer.consume(100, timeout=0.1):
                with contextlib.suppress(KafkaException):  # a rebalance
                    consumer.commit(asynchronous=False)
    finally:
        consumer.close()


CLIENTS: Mapping[str, tuple[str, Consume, tuple[str, ...]]] = {
    "kafka-python": (
        "kafka",
        kafka_python,
        ("range", "roundrobin", "sticky", "cooperative-sticky"),
    ),
    "aiokafka": ("aiokafka", aiokafka, ("range", "roundrobin", "sticky")),
    "confluent-kafka": (
        "confluent_kafka",
        confluent_kafka,
        ("range", "roundrobin", "cooperative-sticky"),
    ),
}
"""Each client's module, consumer and assignors."""


def main(client: str, bootstrap: str, assignor: str, name: str) -> Any:
    """Consume until the process is killed."""
    CLIENTS[client][1](bootstrap, assignor, name, Recording("consumer"), threading.Event())


if __name__ == "__main__":
    main(*sys.argv[1:])
