"""Real clients in groups of three, with rolling restarts and a failover."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from tests.impl.broker.clients import (
    CLIENTS,
    GROUP,
    TOPIC,
    Consume,
    Produce,
    confluent_kafka_consumes,
)
from tests.real_broker import classpath

pytestmark = [
    pytest.mark.slow,
    pytest.mark.other_software,
    # The clients leave sockets and tasks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PARTITIONS = 6


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 600) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """A broker with one topic."""
    settings = BrokerSettings(initial_rebalance_delay=100)
    with EmbeddedBroker(settings) as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        yield broker
        assert broker.failures() == 0


class Member:
    """A consumer in a thread."""

    def __init__(self, group: Members, client: str, consume: Consume, bootstrap: str) -> None:
        self._stop = threading.Event()
        self._problem: BaseException | None = None

        def run() -> None:
            try:
                consume(bootstrap, client, group.took, self._stop)
            except BaseException as problem:
                self._problem = problem

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let it leave the group; an exception of its client fails the test."""
        self._stop.set()
        self._thread.join(600)
        assert not self._thread.is_alive()
        if self._problem is not None:
            raise self._problem


class Members:
    """Three consumers, and what they have taken."""

    def __init__(self, broker: EmbeddedBroker, consume: Consume) -> None:
        self._broker = broker
        self._consume = consume
        self.taken: dict[int, dict[int, bytes]] = defaultdict(dict)
        """Each partition's records, by offset."""
        self._lock = threading.Lock()  # consumers add records while the test reads them
        self.members = [self._start(number) for number in range(3)]

    def _start(self, number: int) -> Member:
        return Member(self, f"client-{number}", self._consume, self._broker.bootstrap)

    def took(self, partition: int, offset: int, value: bytes) -> None:
        """A consumer has taken a record."""
        with self._lock:
            known = self.taken[partition].setdefault(offset, value)
        assert known == value

    def restart(self, number: int) -> None:
        """Stop a consumer, and start another one."""
        self.members[number].stop()
        self.members[number] = self._start(number)

    def ids(self) -> dict[str, str]:
        """The member id of each static member, by its instance id."""
        members = self._broker.groups()[GROUP]["members"]
        return {member["instance"]: member["member"] for member in members}

    def is_stable(self) -> bool:
        """Whether the three are in a generation."""
        group = self._broker.groups().get(GROUP, {})
        return group.get("state") == "Stable" and len(group["members"]) == 3

    def values(self) -> list[bytes]:
        """All records that were taken."""
        with self._lock:
            return [value for records in self.taken.values() for value in records.values()]

    def stop(self) -> None:
        """Stop all consumers."""
        for member in self.members:
            member.stop()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_group_of_three_survives_rolling_restarts_and_a_failover(
    broker: EmbeddedBroker, name: str
) -> None:
    module, consume, produce = CLIENTS[name]
    pytest.importorskip(module, reason=f"{name} is not installed")
    group = Members(broker, consume)
    sent: list[bytes] = []

    def produce_more(produce: Produce) -> None:
        values = [b"%06d" % number for number in range(len(sent), len(sent) + 2_000)]
        produce(broker.bootstrap, values)
        sent.extend(values)

    def all_taken() -> bool:
        return len(group.values()) == len(sent)

    try:
        wait_until(group.is_stable, "the group becomes stable")
        for number in range(3):
            produce_more(produce)
            group.restart(number)
            wait_until(group.is_stable, "the group is stable again")
        wait_until(all_taken, "all records are taken")
        broker.fail_over()
        produce_more(produce)
        wait_until(all_taken, "all records are taken after the failover")
        broker.expire_session(GROUP, "client-1")
        produce_more(produce)
        wait_until(lambda: all_taken() and group.is_stable(), "the member joins again")
        wait_until(
            lambda: sum(broker.groups()[GROUP]["offsets"].values()) == len(sent),
            "all offsets are committed",
        )
    finally:
        group.stop()
    assert sorted(group.values()) == sent
    for records in group.taken.values():
        assert sorted(records) == list(range(len(records)))  # no offset is missing
    wait_until(lambda: broker.groups()[GROUP]["state"] == "Empty", "all have left")
    assert broker.groups()[GROUP]["members"] == []


def test_static_members_restart_without_a_rebalance(broker: EmbeddedBroker) -> None:
    """KIP-345."""
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    _, _, produce = CLIENTS["confluent-kafka"]
    group = Members(broker, partial(confluent_kafka_consumes, static=True))
    sent: list[bytes] = []
    try:
        wait_until(group.is_stable, "the group becomes stable")
        before = broker.groups()[GROUP]
        for number in range(3):
            values = [b"%06d" % each for each in range(len(sent), len(sent) + 500)]
            produce(broker.bootstrap, values)
            sent.extend(values)
            old = group.ids()
            group.restart(number)
            wait_until(
                lambda old=old: len(old.items() & group.ids().items()) == 2,  # type: ignore[misc]
                "the restarted member has a new id",
            )
            assert old.keys() == group.ids().keys()
            wait_until(lambda: len(group.values()) == len(sent), "all records are taken")
        after = broker.groups()[GROUP]
    finally:
        group.stop()
    assert after["generation"] == before["generation"]


# -- Kafka's own clients --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kafka_tools() -> list[str]:
    """The command that runs a class of Kafka's tools."""
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath(artifact="kafka-tools")]


@contextmanager
def console_consumer(tools: list[str], broker: EmbeddedBroker) -> Iterator[list[str]]:
    """A console consumer, and the lines that it has printed."""
    command = [
        *tools, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server",
        broker.bootstrap, "--topic", TOPIC, "--group", GROUP, "--from-beginning",
    ]  # fmt: skip
    lines: list[str] = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    output = process.stdout
    thread = threading.Thread(target=lambda: lines.extend(output), daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        process.terminate()  # it commits and leaves the group
        process.wait(600)
        thread.join(600)
        output.close()


def tool(
    tools: list[str], broker: EmbeddedBroker, name: str, *arguments: str, say: str = ""
) -> str:
    """The output of one of Kafka's tools."""
    command = [*tools, name, "--bootstrap-server", broker.bootstrap, *arguments]
    ran = subprocess.run(command, input=say, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_kafkas_console_clients_survive_rolling_restarts(
    broker: EmbeddedBroker, kafka_tools: list[str]
) -> None:
    sent: set[str] = set()
    seen: list[list[str]] = []

    def produce() -> None:
        lines = [f"{number:06}\n" for number in range(len(sent), len(sent) + 1_000)]
        tool(
            kafka_tools, broker, "org.apache.kafka.tools.ConsoleProducer", "--topic", TOPIC,
            say="".join(lines),
        )  # fmt: skip
        sent.update(lines)

    def all_taken() -> bool:
        return {line for lines in seen for line in lines} == sent

    def has(members: int) -> bool:
        group = broker.groups().get(GROUP, {})
        return group.get("state") == "Stable" and len(group["members"]) == members

    consumers = [console_consumer(kafka_tools, broker) for _ in range(3)]
    try:
        seen.extend([consumer.__enter__() for consumer in consumers])
        wait_until(lambda: has(3), "the group becomes stable")
        for number in range(3):
            produce()
            consumers[number].__exit__(None, None, None)
            consumers[number] = console_consumer(kafka_tools, broker)
            seen.append(consumers[number].__enter__())
            wait_until(lambda: has(3), "the group is stable again")
        broker.fail_over()
        produce()
        wait_until(all_taken, "all records are taken")
    finally:
        for consumer in consumers:
            consumer.__exit__(None, None, None)
    assert sum(broker.groups()[GROUP]["offsets"].values()) == len(sent)


def test_kafkas_command_line_tools_work(broker: EmbeddedBroker, kafka_tools: list[str]) -> None:
    groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    topics = "org.apache.kafka.tools.TopicCommand"
    tool(kafka_tools, broker, topics, "--create", "--topic", "letters", "--partitions", "3")
    assert "PartitionCount: 3" in tool(kafka_tools, broker, topics, "--describe")
    with console_consumer(kafka_tools, broker):
        wait_until(lambda: broker.groups().get(GROUP, {}).get("state") == "Stable", "stable")
        state = tool(kafka_tools, broker, groups, "--describe", "--group", GROUP, "--state")
        assert "Stable" in state
        assert "range" in state
        members = tool(kafka_tools, broker, groups, "--describe", "--group", GROUP, "--members")
        assert "console-consumer" in members
    tool(kafka_tools, broker, "org.apache.kafka.tools.ConsoleProducer", "--topic", TOPIC, say="a\n")
    tool(
        kafka_tools, broker, groups, "--reset-offsets", "--group", GROUP, "--topic", TOPIC,
        "--to-latest", "--execute",
    )  # fmt: skip
    assert sum(broker.groups()[GROUP]["offsets"].values()) == 1
    assert GROUP in tool(kafka_tools, broker, groups, "--list")
    tool(kafka_tools, broker, groups, "--delete", "--group", GROUP)
    assert broker.groups() == {}
    tool(kafka_tools, broker, topics, "--delete", "--topic", "letters")
    assert "letters" not in tool(kafka_tools, broker, topics, "--list")
