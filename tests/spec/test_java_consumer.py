"""Java's own consumer commits as the model `delivery` says, version by version.

It runs beside the embedded broker, which can delay the response to a commit. Skipped with a reason
where Java or Maven is missing.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from tests.impl.broker.scene import batch
from tests.impl.broker.test_server import Client
from tests.real_broker import classpath, require_compiler

pytestmark = [pytest.mark.slow, pytest.mark.other_software]

ROOT = Path(__file__).parents[2]
DEADLINE = 240
"""Seconds until a condition that does not come true fails a test."""
SETTINGS = (
    "group.id=readers",
    "auto.offset.reset=earliest",
    "max.poll.records=1",
    "partition.assignment.strategy=org.apache.kafka.clients.consumer.RangeAssignor",
    "heartbeat.interval.ms=100",
    "session.timeout.ms=300000",
    "auto.commit.interval.ms=100000000",
    "default.api.timeout.ms=300000",
    "request.timeout.ms=300000",
)
"""A heartbeat soon tells of a rebalance; the automatic commit is never due by itself."""


class Member:
    """Java's consumer in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def begin(self, command: str) -> None:
        """Send a command, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def end(self) -> list[str]:
        """What has happened when the command that was sent is done."""
        assert self.process.stdout is not None
        happened: list[str] = []
        for line in self.process.stdout:
            if line.strip() == "done":
                return happened
            happened.append(line.strip())
        raise AssertionError(f"the consumer has stopped after {happened}")

    def do(self, command: str = "poll") -> list[str]:
        """What happens during a command."""
        self.begin(command)
        return self.end()

    def polls_until(self, condition: Callable[[list[str]], Any]) -> list[str]:
        """What happens during polls, until the condition is true of it."""
        happened: list[str] = []
        end = time.monotonic() + DEADLINE
        while not condition(happened):
            assert time.monotonic() < end, f"only {happened}"
            happened += self.do("poll")
        return happened


@contextlib.contextmanager
def java(jars: str, program: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Java program that is killed at the end; it is compiled first."""
    require_compiler()
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", jars]
    process = subprocess.Popen(
        [*command, str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "JAVA_TOOL_OPTIONS": ""},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def broker_with_records(number: int) -> Iterator[EmbeddedBroker]:
    """A broker with records in one partition."""
    with EmbeddedBroker(BrokerSettings(initial_rebalance_delay=0)) as broker:
        broker.create_topic("orders")
        client = Client(broker)
        data = [{"index": 0, "records": batch([b"x"] * number)}]
        topics = [{"name": "orders", "partition_data": data}]
        client.ask("produce", 9, acks=-1, timeout=30_000, topic_data=topics)
        client.socket.close()
        yield broker


@contextlib.contextmanager
def member(broker: EmbeddedBroker, version: str, *settings: str) -> Iterator[Member]:
    """A member with Java's client of that version."""
    program = Path(__file__).parent / "java" / "Member.java"
    arguments = (broker.bootstrap, *SETTINGS, *settings)
    with java(classpath(version, "kafka-clients"), program, *arguments) as process:
        yield Member(process)


def committed(broker: EmbeddedBroker) -> int:
    """The committed offset, or 0."""
    offsets = broker.groups().get("readers", {}).get("offsets", {})
    return next(iter(offsets.values()), 0)


@contextlib.contextmanager
def rebalance(broker: EmbeddedBroker) -> Iterator[None]:
    """A rebalance, which another member begins by joining."""
    other = Client(broker, "other")
    subscription = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
    other.send(
        "join_group",
        3,
        group_id="readers",
        session_timeout=300_000,
        rebalance_timeout=300_000,
        member_id="",
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": subscription}],
    )
    try:
        yield
    finally:
        other.socket.close()


@pytest.mark.parametrize(
    ("version", "meanwhile"),
    [
        ("3.2.0", "revoked"),  # auto-commit-3.2.0: client_rejoins_without_waiting
        ("3.2.1", "record 1"),  # auto-commit-3.2.1: member_polls_while_rejoining
        ("4.0.0", None),  # auto-commit-steps: the client waits
    ],
)
def test_a_consumer_commits_before_it_rejoins(version: str, meanwhile: str | None) -> None:
    """What happens before the response to this commit differs by version."""
    with broker_with_records(3) as broker, member(broker, version) as consumer:
        assert consumer.polls_until(lambda seen: "record 0" in seen) == ["assigned", "record 0"]
        consumer.do("pause")  # or polls would return records before the rebalance is noticed
        broker.hold("offset_commit", 1_000)
        with rebalance(broker):
            seen = consumer.polls_until(lambda _: committed(broker) == 1)
            consumer.do("resume")
            if meanwhile is None:
                for _ in range(10):
                    seen += consumer.do("poll")
            elif meanwhile not in seen:
                seen += consumer.polls_until(lambda now: meanwhile in now)
            assert seen == ([meanwhile] if meanwhile else [])
            broker.release()
            rest = [*([] if "revoked" in seen else ["revoked"]), "assigned", "record 1"]
            # It begins at the commit: 3.2.1 has read record 1 before, and repeats it.
            assert consumer.polls_until(lambda now: "record 1" in now) == rest
            assert committed(broker) == 1


def test_close_commits_the_position_of_a_record_that_is_not_processed() -> None:
    """As in auto-commit-close-exception: member_fails_and_commits_position."""
    with broker_with_records(3) as broker, member(broker, "4.0.0") as consumer:
        assert "record 0" in consumer.polls_until(lambda seen: "record 0" in seen)
        assert committed(broker) == 0
        assert consumer.do("close") == ["revoked"]
        assert committed(broker) == 1


LOOP = """
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Loop {
    static TopicPartition partitionOf(ConsumerRecord<?, ?> record) {
        return new TopicPartition(record.topic(), record.partition());
    }

    static void process(ConsumerRecord<?, ?> record) {
        if (record.offset() == 1) throw new IllegalStateException("cannot process record 1");
    }

    static <K, V> void run(KafkaConsumer<K, V> consumer) {
        List<String> topics = List.of("orders");
        Duration timeout = Duration.ofMillis(100);
        boolean running = true;
        Map<TopicPartition, OffsetAndMetadata> processed = new HashMap<>();
        THE LOOP OF THE PAGE
    }

    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", "readers");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        StringDeserializer text = new StringDeserializer();
        try {
            run(new KafkaConsumer<String, String>(settings, text, text));
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
    }
}
"""


def test_the_loop_of_the_page_commits_what_it_has_processed(tmp_path: Path) -> None:
    """One poll returns three records, and the second cannot be processed."""
    page = (ROOT / "docs" / "commit.md").read_text(encoding="utf-8")
    found = re.search(r'^```java title="Loop.java"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    assert found is not None
    program = tmp_path / "Loop.java"
    program.write_text(LOOP.replace("THE LOOP OF THE PAGE", found[1]), encoding="utf-8")
    jars = classpath("4.0.0", "kafka-clients")
    with broker_with_records(3) as broker, java(jars, program, broker.bootstrap) as process:
        printed, _ = process.communicate(timeout=DEADLINE)
        assert printed.strip() == "cannot process record 1"
        assert committed(broker) == 1
