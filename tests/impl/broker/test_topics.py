"""Topics, metadata, coordinators and configurations."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from kspec.impl.broker.calls import Call, UnsupportedRequest
from kspec.impl.broker.settings import BrokerSettings
from kspec.impl.wire import API_KEYS, Received
from kspec.spec.core import SpecError
from tests.impl.broker.scene import ADDRESS, Scene


def metadata(scene: Scene, *names: str, version: int = 9, **values: Any) -> Any:
    """The answer to Metadata, about these topics or all."""
    topics = [{"name": name} for name in names] if names else None
    values = {"allow_auto_topic_creation": True, **values}
    return scene.ask("metadata", version, topics=topics, **values)


def created(scene: Scene, name: str, **values: Any) -> str:
    """The error of CreateTopics."""
    topic = {"name": name, "num_partitions": 3, "replication_factor": 1, **values}
    only = {"timeout": 1_000, "validate_only": topic.pop("validate_only", False)}
    answer = scene.ask("create_topics", 7, topics=[topic], **only)
    return str(answer.topics[0].error_code.name)


def test_metadata_names_the_address_to_which_the_client_connected() -> None:
    (broker,) = metadata(Scene()).brokers
    assert (broker.node_id, broker.host, broker.port) == (1, *ADDRESS)


def test_a_topic_that_is_asked_for_is_created() -> None:
    scene = Scene(partitions=4)
    (topic,) = metadata(scene, "orders").topics
    assert (topic.error_code.name, len(topic.partitions)) == ("none", 4)
    assert [topic.name for topic in metadata(scene).topics] == ["orders"]


@pytest.mark.parametrize("version", range(14))
def test_metadata_in_every_version(version: int) -> None:
    scene = Scene()
    scene.broker.topics.create("orders", 2)
    (topic,) = metadata(scene, "orders", version=version).topics
    assert [p.leader_id for p in topic.partitions] == [1, 1]
    if version != 0:
        assert metadata(scene, version=version).topics == (topic,)
    assert scene.ask("metadata", version, topics=()).topics == (() if version else (topic,))


@pytest.mark.parametrize(
    ("setting", "allowed", "name", "error"),
    [
        (False, True, "orders", "unknown_topic_or_partition"),
        (True, False, "orders", "unknown_topic_or_partition"),
        (True, True, "or ders", "invalid_topic_exception"),
        (True, False, "..", "invalid_topic_exception"),
        (True, True, "x" * 250, "invalid_topic_exception"),
    ],
)
def test_a_topic_is_not_created(setting: bool, allowed: bool, name: str, error: str) -> None:
    scene = Scene(auto_create_topics=setting)
    (topic,) = metadata(scene, name, allow_auto_topic_creation=allowed).topics
    assert topic.error_code.name == error
    assert metadata(scene).topics == ()


def test_topics_are_found_by_their_ids() -> None:
    scene = Scene()
    topic = scene.broker.topics.create("orders")
    asked = [{"name": None, "topic_id": topic.id}, {"name": None, "topic_id": uuid4()}]
    found, unknown = scene.ask("metadata", 12, topics=asked).topics
    assert (found.name, found.topic_id) == ("orders", topic.id)
    assert unknown.error_code.name == "unknown_topic_id"


def test_topics_are_created_and_deleted() -> None:
    scene = Scene()
    assert created(scene, "orders", validate_only=True) == "none"
    assert metadata(scene).topics == ()
    assert created(scene, "orders") == "none"
    assert created(scene, "orders") == "topic_already_exists"
    assert created(scene, "letters", num_partitions=-1, replication_factor=-1) == "none"
    assert [len(topic.partitions) for topic in metadata(scene).topics] == [3, 1]
    by_id = scene.broker.topics.named("letters").id
    asked = [{"name": "orders"}, {"name": None, "topic_id": by_id}, {"name": "orders"}]
    answer = scene.ask("delete_topics", 6, topics=asked, timeout=1_000)
    assert [(r.name, r.error_code.name) for r in answer.responses] == [
        ("orders", "none"),
        ("letters", "none"),
        ("orders", "unknown_topic_or_partition"),
    ]
    assert metadata(scene).topics == ()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"num_partitions": 0}, "invalid_partitions"),
        ({"num_partitions": 10_001}, "policy_violation"),
        ({"replication_factor": 2}, "invalid_replication_factor"),
        (
            {"assignments": [{"partition_index": 0, "broker_ids": [2]}]},
            "invalid_replica_assignment",
        ),
        (
            {"assignments": [{"partition_index": 1, "broker_ids": [1]}]},
            "invalid_replica_assignment",
        ),
        ({"assignments": [{"partition_index": 0, "broker_ids": [1]}]}, "none"),
    ],
)
def test_what_a_topic_may_be(values: dict[str, Any], error: str) -> None:
    scene = Scene()
    assert created(scene, "orders", **values) == error
    assert len(metadata(scene).topics) == (error == "none")


def test_a_topic_is_not_named_twice() -> None:
    topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1}
    answer = Scene().ask("create_topics", 7, topics=[topic, topic])
    assert [t.error_code.name for t in answer.topics] == ["invalid_request"] * 2


@pytest.mark.parametrize("version", range(7))
def test_the_broker_coordinates_every_group(version: int) -> None:
    answer = Scene().ask("find_coordinator", version, key="readers", coordinator_keys=["readers"])
    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code.name, found.node_id, found.host, found.port) == ("none", 1, *ADDRESS)


def test_there_is_no_coordinator_of_transactions() -> None:
    answer = Scene().ask("find_coordinator", 4, coordinator_keys=["t"], key_type=1)
    assert answer.coordinators[0].error_code.name == "invalid_request"


def test_configurations_show_the_settings() -> None:
    scene = Scene(max_message_bytes=5_000)
    scene.broker.topics.create("orders")
    resources = [
        {"resource_type": 4, "resource_name": "1", "configuration_keys": ["message.max.bytes"]},
        {"resource_type": 2, "resource_name": "orders", "configuration_keys": None},
        {"resource_type": 2, "resource_name": "letters", "configuration_keys": None},
        {"resource_type": 8, "resource_name": "1", "configuration_keys": None},
    ]
    broker, topic, missing, other = scene.ask("describe_configs", 4, resources=resources).results
    assert {c.name: c.value for c in broker.configs} == {"message.max.bytes": "5000"}
    assert {c.name: c.value for c in topic.configs}["max.message.bytes"] == "5000"
    assert missing.error_code.name == "unknown_topic_or_partition"
    assert other.error_code.name == "invalid_request"


def test_the_cluster_is_described() -> None:
    answer = Scene().ask("describe_cluster", 1)
    assert (answer.cluster_id, answer.controller_id) == ("kspec", 1)
    assert [(b.broker_id, b.port) for b in answer.brokers] == [(1, 9092)]


# -- versions -----------------------------------------------------------------------------------


def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    """KIP-511."""
    scene = Scene()
    call = Call(Received(18, 99, 0, None, None), ADDRESS, "", scene.answers.__setitem__)
    scene.broker.handle(call)
    answer = scene.answers[call]
    assert (answer.error_code.name, answer.__version__) == ("unsupported_version", 0)
    assert [entry.api_key for entry in answer.api_keys] == [18]


@pytest.mark.parametrize(("key", "version"), [(12, 5), (0, 2), (0, 13), (24, 0), (9_999, 0)])
def test_any_other_api_or_version_is_no_request(key: int, version: int) -> None:
    call = Call(Received(key, version, 0, None, None), ADDRESS, "", lambda *_: None)
    with pytest.raises(UnsupportedRequest):
        Scene().broker.handle(call)


def test_every_api_is_announced_with_versions_that_it_has() -> None:
    for entry in Scene().ask("api_versions", 4).api_keys:
        assert entry.min_version <= entry.max_version
    assert {e.api_key: e.min_version for e in Scene().ask("api_versions", 4).api_keys}[0] == 0
    assert API_KEYS["consumer_group_heartbeat"] not in {
        entry.api_key for entry in Scene().ask("api_versions", 4).api_keys
    }


# -- settings -----------------------------------------------------------------------------------


def test_settings_have_kafkas_names() -> None:
    settings = BrokerSettings.named({"num.partitions": "6", "auto.create.topics.enable": "false"})
    assert (settings.partitions, settings.auto_create_topics) == (6, False)
    assert BrokerSettings.named(settings.by_name()) == settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num.partition", "6"),
        ("num.partitions", "0"),
        ("num.partitions", "ten"),
        ("num.partitions", "-1"),
        ("num.partitions", "9" * 5_000),
        ("num.partitions", "²"),
        ("auto.create.topics.enable", "yes"),
    ],
)
def test_bad_settings_are_refused(name: str, value: str) -> None:
    with pytest.raises(SpecError, match=r"num\.partitions|auto\.create"):
        BrokerSettings.named({name: value})
