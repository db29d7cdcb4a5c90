"""The embedded broker and Apache Kafka answer the same requests in the same way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from tests.impl.broker.scene import batch
from tests.impl.broker.test_records import damaged
from tests.impl.broker.test_server import Client
from tests.real_broker import real_broker

pytestmark = [pytest.mark.slow, pytest.mark.other_software]


@attrs.frozen
class Address:
    """Where a broker listens."""

    bootstrap: str


@pytest.fixture(scope="module")
def clients() -> Iterator[tuple[Client, Client]]:
    """A connection to the embedded broker and one to Kafka, each with the same topics."""
    settings = BrokerSettings(initial_rebalance_delay=0, auto_create_topics=False)
    with real_broker() as kafka, EmbeddedBroker(settings) as embedded:
        pair = Client(embedded), Client(Address(kafka))  # type: ignore[arg-type]
        for client in pair:
            client.socket.settimeout(300)
            for topic in ("orders", "times", "empty"):
                create(client, topic, 1)
            find = {"key_type": 0, "coordinator_keys": ["g"]}  # Kafka creates its offsets topic
            while client.ask("find_coordinator", 4, **find).coordinators[0].error_code.value:
                time.sleep(0.1)
        yield pair
        for client in pair:
            client.socket.close()
        assert embedded.failures() == 0


def create(client: Client, name: str, partitions: int, **values: Any) -> str:
    """The error of CreateTopics; a topic that is created has a leader afterwards."""
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, **values}
    answer = client.ask("create_topics", 7, topics=[topic], timeout=30_000)
    error: str = answer.topics[0].error_code.name
    while error == "none":
        (found,) = client.ask("metadata", 9, topics=[{"name": name}]).topics
        if found.error_code.name == "none" and all(p.leader_id == 1 for p in found.partitions):
            break
        time.sleep(0.05)
    return error


def produced(client: Client, records: bytes | None, topic: str = "orders", **values: Any) -> Any:
    """The error and the base offset of one batch."""
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    version = values.pop("version", 9)
    values = {"acks": -1, "timeout": 30_000, "topic_data": data, **values}
    answer = client.ask("produce", version, **values).responses[0].partition_responses[0]
    return answer.error_code.name, answer.base_offset


BATCHES = {  # without null, which Kafka 4.0.0 does not answer at all
    "no batch": b"",
    "two batches": batch([b"a"]) * 2,
    "a bad checksum": damaged(batch([b"a"]), 18),
    "a damaged record": damaged(batch([b"a"]), 64),
    "an unknown format": damaged(batch([b"a"]), 16),
    "an old format": batch([b"a"])[:16] + b"\1" + batch([b"a"])[17:],
    "control records": batch([b"a"], attributes=0x20),
    "too large": batch([b"x" * 1_048_588]),
    "good": batch([b"a", b"b"]),
    "a new producer": batch([b"a", b"b"], producer=(0, 0, 0)),
    "the same again": batch([b"a", b"b"], producer=(0, 0, 0)),
    "a gap": batch([b"a"], producer=(0, 0, 3)),
    "the next": batch([b"a"], producer=(0, 0, 2)),
    "a new epoch with a gap": batch([b"a"], producer=(0, 1, 1)),
    "a new epoch": batch([b"a"], producer=(0, 1, 0)),
    "an old epoch": batch([b"a"], producer=(0, 0, 3)),
}


def test_batches_are_accepted_and_refused_alike(clients: tuple[Client, Client]) -> None:
    for what, records in BATCHES.items():
        embedded, kafka = (produced(client, records) for client in clients)
        assert embedded == kafka, what
    every: tuple[dict[str, Any], ...] = (
        {"acks": 2}, {"topic": "unknown"}, {"version": 3}, {"version": 11},
    )  # fmt: skip
    for values in every:
        embedded, kafka = (produced(client, batch([b"a"]), **values) for client in clients)
        assert embedded == kafka, values


def test_offsets_are_found_alike(clients: tuple[Client, Client]) -> None:
    now = int(time.time() * 1_000)
    for client in clients:
        for times in ([10, 20, 30], [25, 50, 40], [now, now, now]):
            produced(client, batch([b"a"] * 3, times=times), "times")
    for timestamp in (-1, -2, -3, -4, -5, -6, 0, 10, 11, 26, 31, 51, now, now + 1):
        for epoch in (-1, 0, 1):
            asked = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": epoch}
            topics = [{"name": "times", "partitions": [asked]}]
            answers = [
                client.ask("list_offsets", 8, topics=topics, replica_id=-1).topics
                for client in clients
            ]
            assert answers[0] == answers[1], (timestamp, epoch)


def test_empty_partitions_are_searched_alike(clients: tuple[Client, Client]) -> None:
    for timestamp in (-1, -2, -3, -4, 0):
        asked = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
        topics = [{"name": "empty", "partitions": [asked]}]
        answers = [
            client.ask("list_offsets", 7, topics=topics, replica_id=-1).topics for client in clients
        ]
        assert answers[0] == answers[1], timestamp


def test_leader_epochs_end_alike(clients: tuple[Client, Client]) -> None:
    for topic in ("orders", "unknown"):
        for epoch in (-2, -1, 0, 1):
            for current in (-2, -1, 0, 1):
                asked = {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}
                topics = [{"topic": topic, "partitions": [asked]}]
                answers = [
                    client.ask("offset_for_leader_epoch", 4, topics=topics, replica_id=-1).topics
                    for client in clients
                ]
                assert answers[0] == answers[1], (topic, epoch, current)


def test_records_are_fetched_alike(clients: tuple[Client, Client]) -> None:
    for client in clients:
        for _ in range(3):
            produced(client, batch([b"x" * 100]))
    for offset in (0, 1, 2, 4, 6, 1_000, -1):
        for most in (1, 100_000):  # between these, Kafka cuts batches off
            for epoch in (-1, 0, 1):
                asked = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": most,
                         "current_leader_epoch": epoch}  # fmt: skip
                values = {
                    "topics": [{"topic": "orders", "partitions": [asked]}],
                    "max_bytes": 100_000, "replica_id": -1, "session_epoch": -1,
                }  # fmt: skip
                answers = [client.ask("fetch", 11, **values).responses for client in clients]
                assert answers[0] == answers[1], (offset, most, epoch)


@pytest.mark.parametrize(
    "values",
    [
        {"name": "orders"},
        {"name": "or ders"},
        {"name": ".."},
        {"name": "x" * 250},
        {"num_partitions": 0},
        {"num_partitions": -2},
        {"replication_factor": 2},
        {"replication_factor": 0},
        {"assignments": [{"partition_index": 1, "broker_ids": [1]}]},
        {"assignments": [{"partition_index": 0, "broker_ids": [7]}]},
    ],
)
def test_topics_are_refused_alike(clients: tuple[Client, Client], values: dict[str, Any]) -> None:
    if "assignments" in values:
        values = {"num_partitions": -1, "replication_factor": -1, **values}
    topic = {"name": "letters", "partitions": 1, **values}
    embedded, kafka = (create(client, **topic) for client in clients)
    assert embedded == kafka != "none"


def test_topics_are_deleted_alike(clients: tuple[Client, Client]) -> None:
    for client in clients:
        assert create(client, "short-lived", 2) == "none"
    names = ["short-lived", "unknown"]
    answers = []
    for client in clients:
        deleted = client.ask("delete_topics", 5, topic_names=names, timeout=30_000).responses
        answers.append({(result.name, result.error_code.name) for result in deleted})
    assert answers[0] == answers[1]


@pytest.mark.parametrize("version", range(14))
def test_metadata_is_alike(clients: tuple[Client, Client], version: int) -> None:
    for name in ("orders", "unknown", "or ders"):
        answers = []
        for client in clients:
            found = client.ask("metadata", version, topics=[{"name": name}]).topics[0]
            answers.append((found.error_code.name, found.name, found.partitions))
        assert answers[0] == answers[1], name


@pytest.mark.parametrize("version", range(7))
def test_groups_are_administered_alike(clients: tuple[Client, Client], version: int) -> None:
    every: dict[str, dict[str, Any]] = {
        "describe_groups": {"groups": ["unknown"]},
        "delete_groups": {"groups_names": ["unknown", ""]},
        "offset_delete": {"group_id": "unknown", "topics": []},
        "list_groups": {"states_filter": ["Stable"], "types_filter": ["classic"]},
    }
    for api, values in every.items():
        most = {"describe_groups": 6, "delete_groups": 2, "offset_delete": 0, "list_groups": 5}[api]
        if version <= most:
            deadline = time.monotonic() + 300
            answers = [client.ask(api, version, **values) for client in clients]
            while "coordinator_load" in repr(answers[1]) and time.monotonic() < deadline:
                time.sleep(0.1)
                answers = [client.ask(api, version, **values) for client in clients]
            assert answers[0] == answers[1], api
