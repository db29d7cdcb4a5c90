"""The groups of a running cluster, through confluent-kafka."""

from __future__ import annotations

import time

import pytest

from kspec.field.groups import live
from kspec.field.groups.groups import Group, GroupPartition
from kspec.field.groups.live import read_cluster
from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from kspec.spec.core import SpecError
from kspec.spec.vocabulary import TopicPartition

pytestmark = [pytest.mark.slow, pytest.mark.other_software]

ORDERS = [TopicPartition("orders", index) for index in range(3)]


def test_groups_with_and_without_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SECONDS", 600)
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with EmbeddedBroker(BrokerSettings()) as broker:
        broker.create_topic("orders", 3)
        settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
        producer = confluent_kafka.Producer({**settings, "message.timeout.ms": 600_000})
        for _ in range(20):
            producer.produce("orders", b"value", partition=0)
        producer.flush()
        with_group = {**settings, "enable.auto.commit": False, "session.timeout.ms": 300_000}
        billing = confluent_kafka.Consumer({**with_group, "group.id": "my group"})
        commits = [confluent_kafka.TopicPartition("orders", 0, 12)]
        billing.commit(offsets=commits, asynchronous=False)
        billing.close()
        shipping = confluent_kafka.Consumer(
            {**with_group, "group.id": "shipping", "max.poll.interval.ms": 3_000_000}
        )
        shipping.subscribe(["orders"])
        deadline = time.monotonic() + 600
        while len(shipping.assignment()) < 3:
            shipping.poll(0.1)
            assert time.monotonic() < deadline, "the partitions are assigned"
        first, second = read_cluster(broker.bootstrap, [])
        assert read_cluster(broker.bootstrap, ["my group"]) == [first]
        with pytest.raises(SpecError, match="no group named 'ours'"):
            read_cluster(broker.bootstrap, ["ours"])
        shipping.close()
    assert first == Group("my group", "empty", [GroupPartition(ORDERS[0], 12, 20, 0)])
    assert (second.name, second.state) == ("shipping", "active")
    ends = [(p.partition, p.committed, p.start, p.end) for p in second.partitions]
    assert ends == [(ORDERS[0], None, 0, 20), (ORDERS[1], None, 0, 0), (ORDERS[2], None, 0, 0)]
    assert all(p.consumer for p in second.partitions)


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("confluent_kafka")
    monkeypatch.setattr(live, "SECONDS", 1)
    with pytest.raises(SpecError, match=r"127\.0\.0\.1:1: no answer within 1 s"):
        read_cluster("127.0.0.1:1", [])
