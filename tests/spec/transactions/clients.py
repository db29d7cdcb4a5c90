"""A transactional producer of librdkafka, and what a consumer reads of it."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from tests.spec.transactions.wire import DEADLINE

FENCED = {"_FENCED": "PRODUCER_FENCED"}
"""How librdkafka names PRODUCER_FENCED."""


class Librdkafka:
    """The producer of confluent-kafka; a call returns the error that it reports, or NONE."""

    def __init__(self, address: str, tid: str) -> None:
        from confluent_kafka import Producer

        settings: dict[str, Any] = {"bootstrap.servers": address, "transactional.id": tid}
        self.producer = Producer({**settings, "transaction.timeout.ms": 900_000, "log_level": 0})

    def begin(self) -> None:
        """Call initTransactions and beginTransaction."""
        self.producer.init_transactions(DEADLINE)
        self.producer.begin_transaction()

    def produce(self, topic: str, value: int) -> str:
        """Send a record, and wait until it is acknowledged or refused."""
        from confluent_kafka import KafkaException

        answers: list[str] = []

        def note(error: Any, _: object) -> None:
            answers.append(error.name() if error else "NONE")

        self.producer.produce(topic, b"%d" % value, on_delivery=note)
        deadline = time.monotonic() + DEADLINE
        while not answers and time.monotonic() < deadline:
            with contextlib.suppress(KafkaException):  # a fatal error, which `answers` has as well
                self.producer.poll(1)
        return answers[0]

    def commit(self) -> str:
        """Commit the transaction."""
        from confluent_kafka import KafkaException

        try:
            self.producer.commit_transaction(DEADLINE)
        except KafkaException as refused:
            name = refused.args[0].name()
            return FENCED.get(name, name)
        return "NONE"

    def close(self) -> None:
        """Drop what it has in progress."""
        self.producer.purge()


def results_of(address: str, topic: str) -> list[int]:
    """What a `read_committed` consumer reads of a topic up to its end."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    read: list[int] = []
    deadline = time.monotonic() + DEADLINE
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                value = message.value()
                assert isinstance(value, bytes)
                read.append(int(value))
            elif error.code() == KafkaError._PARTITION_EOF:
                return read
    finally:
        consumer.close()
    raise AssertionError(f"the end of {topic} is not reached")
