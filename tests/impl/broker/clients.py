"""Consumers and producers of the Python clients, each consumer in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

SESSION = 45_000
"""The session timeout of every consumer, in milliseconds; long, for busy machines."""

Took: TypeAlias = Callable[[int, int, bytes], None]
"""Called with the partition, offset and value of each record that a consumer has taken."""
Consume: TypeAlias = Callable[[str, str, Took, threading.Event], None]
"""Consumes as a member of a group, and commits, until the event is set."""
Produce: TypeAlias = Callable[[str, Sequence[bytes]], None]
"""Produces records, and waits until all are acknowledged."""

TOPIC, GROUP = "orders", "readers"


def kafka_python_consumes(bootstrap: str, client: str, took: Took, stop: threading.Event) -> None:
    """With kafka-python."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, group_id=GROUP, client_id=client,
        auto_offset_reset="earliest", enable_auto_commit=False, session_timeout_ms=SESSION,
        heartbeat_interval_ms=500,
    )  # fmt: skip
    try:
        while not stop.is_set():
            for partition, records in consumer.poll(timeout_ms=100).items():
                for record in records:
                    took(partition.partition, record.offset, record.value)
            try:
                consumer.commit()
            except Exception as problem:
                if type(problem).__name__ not in REBALANCED:
                    raise
    finally:
        consumer.close()


def kafka_python_produces(bootstrap: str, values: Sequence[bytes]) -> None:
    """With kafka-python."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)
    try:
        for future in [producer.send(TOPIC, value, key=value) for value in values]:
            future.get(timeout=600)
    finally:
        producer.close()


def aiokafka_consumes(bootstrap: str, client: str, took: Took, stop: threading.Event) -> None:
    """With aiokafka."""
    from aiokafka import AIOKafkaConsumer

    async def consume() -> None:
        consumer = AIOKafkaConsumer(
            TOPIC, bootstrap_servers=bootstrap, group_id=GROUP, client_id=client,
            auto_offset_reset="earliest", enable_auto_commit=False, session_timeout_ms=SESSION,
            heartbeat_interval_ms=500,
        )  # fmt: skip
        await consumer.start()
        try:
            while not stop.is_set():
                for partition, records in (await consumer.getmany(timeout_ms=100)).items():
                    for record in records:
                        took(partition.partition, record.offset, record.value)
                try:
                    await consumer.commit()
                except Exception as problem:
                    if type(problem).__name__ not in REBALANCED:
                        raise
        finally:
            await consumer.stop()

    asyncio.run(consume())


def aiokafka_produces(bootstrap: str, values: Sequence[bytes]) -> None:
    """With aiokafka, and an idempotent producer."""
    from aiokafka import AIOKafkaProducer

    async def produce() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
        await producer.start()
        try:
            sent = [await producer.send(TOPIC, value, key=value) for value in values]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    asyncio.run(produce())


def confluent_kafka_consumes(
    bootstrap: str, client: str, took: Took, stop: threading.Event, *, static: bool = False
) -> None:
    """With confluent-kafka, perhaps as a static member."""
    from confluent_kafka import Consumer, KafkaException

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": GROUP, "client.id": client,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "session.timeout.ms": SESSION, "heartbeat.interval.ms": 500, "log_level": 0,
            **({"group.instance.id": client} if static else {}),
        }
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    try:
        while not stop.is_set():
            taken = False
            for record in consumer.consume(500, timeout=0.1):
                if record.error() is None:
                    took(record.partition() or 0, record.offset() or 0, record.value() or b"")
                    taken = True
            if taken:
                try:
                    consumer.commit(asynchronous=False)
                except KafkaException as problem:
                    if problem.args[0].name() not in REBALANCED:
                        raise
    finally:
        consumer.close()


def confluent_kafka_produces(bootstrap: str, values: Sequence[bytes]) -> None:
    """With confluent-kafka, and an idempotent producer."""
    from confluent_kafka import Producer

    problems: list[Any] = []

    def on_delivery(problem: Any, _: Any) -> None:
        if problem is not None:
            problems.append(problem)

    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
    )
    for value in values:
        producer.produce(TOPIC, value, key=value, on_delivery=on_delivery)
    assert producer.flush(600) == 0
    assert not problems


REBALANCED = frozenset(
    {
        # kafka-python and aiokafka
        "CommitFailedError", "IllegalGenerationError", "RebalanceInProgressError",
        "UnknownMemberIdError", "NotCoordinatorError", "NotCoordinatorForGroupError",
        # confluent-kafka
        "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "_NO_OFFSET",
        "NOT_COORDINATOR", "_STATE", "_ASSIGNMENT_LOST",
    }
)  # fmt: skip
"""The errors of a commit that a rebalance or a failover may cause."""

CLIENTS: Mapping[str, tuple[str, Consume, Produce]] = {
    "kafka-python": ("kafka", kafka_python_consumes, kafka_python_produces),
    "aiokafka": ("aiokafka", aiokafka_consumes, aiokafka_produces),
    "confluent-kafka": ("confluent_kafka", confluent_kafka_consumes, confluent_kafka_produces),
}
"""Each client's module, consumer and producer."""
