"""Adapters for the assignors of other clients."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from kspec.field.groups.clients import CLIENTS, _by_topic, _Cluster
from kspec.spec.assignors import ASSIGNORS, Member, TopicPartition


def test_metadata_has_the_existing_topics_with_a_subscriber() -> None:
    cluster = _Cluster({"t": 2, "empty": 0, "gone": None, "other": 1}, {"m": Member(["t", "gone"])})
    assert cluster.topics() == {"t"}
    assert cluster.partitions_for_topic("t") == {0, 1}
    assert cluster.partitions_for_topic("gone") is None


def test_user_data_lists_partitions_by_topic() -> None:
    owned = [TopicPartition("u", 1), TopicPartition("t", 0), TopicPartition("u", 0)]
    assert _by_topic(owned) == {"u": [1, 0], "t": [0]}


# kafka-python reads its schemas with a deprecated function.
@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("client", "module"), [("kafka-python", "kafka"), ("aiokafka", "aiokafka")]
)
def test_a_client_assigns_a_simple_group_as_kafka_does(client: str, module: str) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{client} is not installed")
    members = {name: Member(["t"]) for name in ("a", "b")}
    for strategy, assign in CLIENTS[client]().items():
        expected = ASSIGNORS[strategy]({"t": 4}, members)
        answer = assign({"t": 4}, members)
        assert {name: set(map(tuple, got)) for name, got in answer.items()} == {
            name: set(map(tuple, got)) for name, got in expected.items()
        }
