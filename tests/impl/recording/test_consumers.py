"""The recorders of client libraries, with consumers that are only pretended."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from kspec.impl.recording import Recording
from kspec.impl.recording.consumers import (
    generation_in,
    record_confluent_kafka,
    record_kafka_python,
)


class Partition(NamedTuple):
    topic: str
    partition: int
    offset: int = -1001
    error: None = None


class Message(NamedTuple):
    number: int

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.number


class Pretended:
    """A confluent-kafka consumer that is assigned one partition."""

    def __init__(self) -> None:
        self.next = 0

    def consumer_group_metadata(self) -> bytes:
        return b"CGMDv2:\x07\0\0\0g\0m\0\x01"

    def memberid(self) -> str:
        return "m"

    def subscribe(self, topics: Any, on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        self.assign, self.revoke, self.lose = on_assign, on_revoke, on_lost

    def consume(self, count: int, timeout: float) -> list[Message]:
        self.next += count
        return [Message(number) for number in range(self.next - count, self.next)]

    def commit(self, *, asynchronous: bool) -> list[Partition]:
        return [Partition("t", 0, self.next)]

    def close(self) -> None:
        self.revoke(self, [Partition("t", 0)])


def test_a_consumer_of_confluent_kafka_is_recorded() -> None:
    recording = Recording("consumer")
    inner = Pretended()
    consumer = record_confluent_kafka(inner, recording, "c1", "g")
    told = []
    consumer.subscribe(["t"], on_assign=lambda _, partitions: told.append(partitions))
    inner.assign(inner, [Partition("t", 0)])
    assert told == [[Partition("t", 0)]]
    consumer.consume(3, timeout=0)
    consumer.commit(asynchronous=False)
    consumer.close()
    events = [json.loads(line) for line in recording.lines[1:]]
    assert [e["event"] for e in events] == [
        "assigned", "polled", "committing", "committed", "revoked", "closed",
    ]  # fmt: skip
    assert {(e["consumer"], e["group"], e["member_id"]) for e in events} == {("c1", "g", "m")}
    assert events[1]["from"] == {"t-0": 0}
    assert events[1]["offsets"] == events[2]["offsets"] == events[3]["offsets"] == {"t-0": 3}
    assert "overlaps_rebalance" not in events[1]


def test_a_poll_that_overlaps_a_rebalance_says_so() -> None:
    recording = Recording("consumer")
    inner = Pretended()
    consumer = record_confluent_kafka(inner, recording, "c1", "g")
    consumer.subscribe(["t"])
    inner.assign(inner, [Partition("t", 0)])
    poll = inner.consume

    def consume(count: int, timeout: float) -> list[Message]:
        inner.revoke(inner, [Partition("t", 0)])
        return poll(count, timeout)

    inner.consume = consume  # type: ignore[method-assign]
    consumer.consume(1, timeout=0)
    assert json.loads(recording.lines[-1])["overlaps_rebalance"] is True


def test_the_generation_is_read() -> None:
    assert generation_in(b"") == -1
    assert generation_in(b"CGMDv2:\xff\xff\xff\xffg\0\0\x01") == -1


def test_a_consumer_of_kafka_python_is_recorded() -> None:
    pytest.importorskip("kafka", reason="kafka-python is not installed")

    class Metadata(NamedTuple):
        member_id: str = "m"
        generation_id: int = 3

    class Consumer:
        config = {"client_id": "c", "group_id": "g", "group_instance_id": None}  # noqa: RUF012

        def group_metadata(self) -> Metadata:
            return Metadata()

        def subscription(self) -> set[str]:
            return {"t"}

        def subscribe(self, topics: Any, pattern: Any, listener: Any) -> None:
            self.topics, self.listener = topics, listener

        def poll(self) -> dict[Any, Any]:
            return {Partition("t", 1): [self.Record("t", 1, 17), self.Record("t", 1, 20)]}

        class Record(NamedTuple):
            topic: str
            partition: int
            offset: int

        def seek_to_end(self, *partitions: Any) -> None:
            pass

    recording = Recording("consumer")
    inner = Consumer()
    consumer = record_kafka_python(inner, recording)
    assert inner.topics == ["t"]
    inner.listener.on_partitions_assigned([Partition("t", 1)])
    consumer.poll()
    consumer.seek_to_end(Partition("t", 1))
    inner.listener.on_partitions_lost([Partition("t", 1)])
    events = [json.loads(line) for line in recording.lines[1:]]
    assert [e["event"] for e in events] == ["assigned", "polled", "sought", "lost"]
    assert events[1]["offsets"] == {"t-1": 21}
    assert events[2]["offsets"] == {"t-1": None}
    assert events[0]["generation"] == 3
