"""Groups through the wire protocol: every version, administration, time and failover."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.impl.wire import API_KEYS, VERSIONS
from tests.impl.broker.scene import Scene


@pytest.fixture
def scene() -> Scene:
    """A broker with one topic."""
    scene = Scene()
    scene.broker.topics.create("orders")
    return scene


def described(scene: Scene, group: str = "readers", version: int = 5) -> Any:
    """The group as DescribeGroups shows it."""
    return scene.ask("describe_groups", version, groups=[group]).groups[0]


def stable(scene: Scene) -> str:
    """The id of the only member of a stable group of generation 1."""
    member, _ = scene.member()
    assignments = [{"member_id": member, "assignment": b"all"}]
    scene.sync(member, 1, assignments=assignments)
    return member


def versions(api: str) -> list[int]:
    """The versions of an API that the broker has."""
    key = API_KEYS[api]
    answer = Scene().ask("api_versions", 0)
    most = next(entry.max_version for entry in answer.api_keys if entry.api_key == key)
    return list(range(VERSIONS[key][0], most + 1))


@pytest.mark.parametrize("version", versions("join_group"))
def test_a_member_joins_and_syncs_in_every_version(scene: Scene, version: int) -> None:
    call = scene.join(version=version)
    if version >= 4:
        refused = scene.answers[call]
        assert refused.error_code.name == "member_id_required"
        call = scene.join(refused.member_id, version)
    joined = scene.answers[call]
    assert (joined.error_code.name, joined.generation_id) == ("none", 1)
    assert joined.leader == joined.member_id == joined.members[0].member_id
    assert joined.protocol_name == "range"
    assignments = [{"member_id": joined.member_id, "assignment": b"all"}]
    synced = scene.sync(joined.member_id, 1, min(version, 5), assignments=assignments)
    assert scene.answers[synced].assignment == b"all"


@pytest.mark.parametrize("version", versions("join_group"))
def test_an_error_has_a_response_in_every_version(scene: Scene, version: int) -> None:
    answer = scene.answers[scene.join("nobody", version)]
    assert answer.error_code.name == "unknown_member_id"
    assert answer.generation_id == -1
    assert answer.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("version", versions("heartbeat"))
def test_heartbeats_in_every_version(scene: Scene, version: int) -> None:
    member = stable(scene)
    values = {"group_id": "readers", "member_id": member}
    good = scene.ask("heartbeat", version, generation_id=1, **values)
    bad = scene.ask("heartbeat", version, generation_id=2, **values)
    assert good.error_code.name == "none"
    assert bad.error_code.name == "illegal_generation"


@pytest.mark.parametrize("version", versions("leave_group"))
def test_members_leave_in_every_version(scene: Scene, version: int) -> None:
    member = stable(scene)
    answers = []
    for leaver in ("nobody", member):
        values: dict[str, Any] = {"group_id": "readers", "member_id": leaver}
        values["members"] = [{"member_id": leaver}]
        answer = scene.ask("leave_group", version, **values)
        if version >= 3:
            assert answer.error_code.name == "none"
            (answer,) = answer.members
        answers.append(answer.error_code.name)
    assert answers == ["unknown_member_id", "none"]
    assert described(scene).group_state == "Empty"


@pytest.mark.parametrize("version", versions("offset_fetch"))
@pytest.mark.parametrize("names_topics", [True, False])
def test_offsets_are_fetched_in_every_version(
    scene: Scene, version: int, names_topics: bool
) -> None:
    if not names_topics and version < 2:
        return  # all offsets cannot be asked for
    assert scene.commit(7, committed_by="nobody") == "none"
    topics = [{"name": "orders", "partition_indexes": [0, 1]}] if names_topics else None
    group = {"group_id": "readers", "topics": topics}
    answer = scene.ask("offset_fetch", version, groups=[group], **group)
    if version >= 8:
        (answer,) = answer.groups
    (topic,) = answer.topics
    offsets = [(p.partition_index, p.committed_offset) for p in topic.partitions]
    assert offsets == ([(0, 7), (1, -1)] if names_topics else [(0, 7)])


@pytest.mark.parametrize("version", versions("offset_commit"))
def test_offsets_are_committed_in_every_version(scene: Scene, version: int) -> None:
    retention = {"retention_time": -1, "generation_id_or_member_epoch": -1}
    assert scene.commit(7, version, **retention) == "none"
    assert scene.broker.groups.states()["readers"]["offsets"] == {"orders-0": 7}


def test_a_client_may_set_the_retention_of_an_offset_before_version_5(scene: Scene) -> None:
    values = {"generation_id_or_member_epoch": -1, "retention_time": 1_000}
    assert scene.commit(7, 4, **values) == "none"
    scene.pass_time(600_000)
    assert scene.broker.groups.states() == {}


# -- administration ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions("describe_groups"))
def test_groups_are_described(scene: Scene, version: int) -> None:
    member = stable(scene)
    group = described(scene, version=version)
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (only,) = group.members
    assert (only.member_id, only.client_id, only.client_host) == (member, "me", "/127.0.0.1")
    assert only.member_metadata == b"\0\0\0\0\0\1\0\6orders"
    assert only.member_assignment == b"all"
    unknown = described(scene, "unknown", version)
    assert unknown.group_state == "Dead"
    assert unknown.error_code.name == ("group_id_not_found" if version >= 6 else "none")


def test_a_group_that_rebalances_shows_no_subscriptions(scene: Scene) -> None:
    """Kafka: `ClassicGroupMember.describeNoMetadata`."""
    stable(scene)
    scene.join(version=0)
    group = described(scene)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [member.member_metadata for member in group.members] == [b"", b""]
    assert [member.member_assignment for member in group.members] == [b"all", b""]


def test_the_scala_coordinator_shows_no_assignments_either() -> None:
    scene = Scene(java_coordinator=False)
    stable(scene)
    assert [member.member_assignment for member in described(scene).members] == [b"all"]
    scene.join(version=0)
    assert [member.member_assignment for member in described(scene).members] == [b"", b""]


@pytest.mark.parametrize("version", versions("list_groups"))
def test_groups_are_listed(scene: Scene, version: int) -> None:
    stable(scene)
    scene.commit(7, group_id="writers")

    def listed(**filters: list[str]) -> list[str]:
        answer = scene.ask("list_groups", version, **filters)
        return [group.group_id for group in answer.groups]

    assert listed() == ["readers", "writers"]
    if version >= 4:
        assert listed(states_filter=["stable"]) == ["readers"]
    if version >= 5:
        assert listed(types_filter=["consumer"]) == []
        assert listed(types_filter=["Classic"], states_filter=["Empty"]) == ["writers"]


def test_only_an_empty_group_is_deleted(scene: Scene) -> None:
    member = stable(scene)

    def delete() -> list[str]:
        answer = scene.ask("delete_groups", 2, groups_names=["readers", "unknown"])
        return [result.error_code.name for result in answer.results]

    assert delete() == ["non_empty_group", "group_id_not_found"]
    scene.commit(7, generation_id_or_member_epoch=1, member_id=member)
    scene.ask("leave_group", 3, group_id="readers", members=[{"member_id": member}])
    assert delete() == ["none", "group_id_not_found"]
    assert scene.broker.groups.states() == {}
    scene.broker.groups.begin_failover()
    assert delete() == ["coordinator_load_in_progress"] * 2
    scene.broker.groups.end_failover()
    assert scene.broker.groups.states() == {}


def test_offsets_are_deleted_for_topics_without_a_subscriber(scene: Scene) -> None:
    scene.broker.topics.create("letters")
    member = stable(scene)
    partition = {"partition_index": 0, "committed_offset": 7}
    names = ("orders", "letters")
    scene.ask(
        "offset_commit", 8, group_id="readers", generation_id_or_member_epoch=1, member_id=member,
        topics=[{"name": name, "partitions": [partition]} for name in names],
    )  # fmt: skip

    def delete(*topics: str, group: str = "readers") -> tuple[str, list[str]]:
        asked = [{"name": name, "partitions": [{"partition_index": 0}]} for name in topics]
        answer = scene.ask("offset_delete", 0, group_id=group, topics=asked)
        errors = [p.error_code.name for topic in answer.topics for p in topic.partitions]
        return answer.error_code.name, errors

    errors = ["group_subscribed_to_topic", "none", "unknown_topic_or_partition"]
    assert delete("orders", "letters", "books") == ("none", errors)
    assert scene.broker.groups.states()["readers"]["offsets"] == {"orders-0": 7}
    assert delete("orders", group="unknown") == ("group_id_not_found", [])
    scene.broker.groups.begin_failover()
    assert delete("orders") == ("coordinator_load_in_progress", [])
    scene.broker.groups.end_failover()
    assert scene.broker.groups.states()["readers"]["offsets"] == {"orders-0": 7}


def test_the_subscriptions_are_those_with_which_the_generation_began(scene: Scene) -> None:
    """Kafka: `ClassicGroup.isSubscribedToTopic`."""
    topics = [{"name": "orders", "partitions": [{"partition_index": 0}]}]

    def delete() -> str:
        answer = scene.ask("offset_delete", 0, group_id="readers", topics=topics)
        return str(answer.topics[0].partitions[0].error_code.name)

    stable(scene)
    scene.join(version=0, protocols=[{"name": "range", "metadata": b"\0\0\0\0\0\0"}])
    assert delete() == "group_subscribed_to_topic"  # the rebalance is in progress
    scene.pass_time(10_000)  # the session of the member with topics expires
    assert described(scene).group_state == "CompletingRebalance"
    assert delete() == "none"
    scene.broker.groups.begin_failover()
    scene.broker.groups.end_failover()
    assert delete() == "group_subscribed_to_topic"  # what is stored is the generation before


def test_offsets_are_not_deleted_while_the_subscriptions_cannot_be_read(scene: Scene) -> None:
    scene.member(protocols=[{"name": "range", "metadata": b"?"}])
    topics = [{"name": "letters", "partitions": [{"partition_index": 0}]}]
    scene.broker.topics.create("letters")
    answer = scene.ask("offset_delete", 0, group_id="readers", topics=topics)
    assert answer.topics[0].partitions[0].error_code.name == "group_subscribed_to_topic"


def test_the_scala_coordinator_deletes_a_group_with_its_last_offset() -> None:
    topics = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    for is_java in (True, False):
        scene = Scene(java_coordinator=is_java)
        scene.broker.topics.create("orders")
        scene.commit(7)
        scene.ask("offset_delete", 0, group_id="readers", topics=topics)
        assert ("readers" in scene.broker.groups.states()) == is_java


def test_offsets_of_a_group_that_is_no_consumer_are_deleted_once_it_is_empty(
    scene: Scene,
) -> None:
    scene.member(protocol_type="connect")
    topics = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    answer = scene.ask("offset_delete", 0, group_id="readers", topics=topics)
    assert answer.error_code.name == "non_empty_group"


def test_deleting_a_topic_deletes_its_offsets(scene: Scene) -> None:
    scene.commit(7)
    scene.ask("delete_topics", 5, topic_names=["orders"])
    assert scene.broker.groups.states()["readers"]["offsets"] == {}


# -- time and faults --------------------------------------------------------------------------


def test_the_initial_delay_lets_more_members_join() -> None:
    scene = Scene(initial_rebalance_delay=3_000)
    calls = [scene.join(version=0), scene.join(version=0)]
    scene.pass_time(5_999)  # the second member extends it
    assert not scene.answers
    scene.pass_time(1)
    assert {scene.answers[call].generation_id for call in calls} == {1}


def test_a_session_expires_by_the_clock(scene: Scene) -> None:
    stable(scene)
    scene.pass_time(9_999)
    assert described(scene).group_state == "Stable"
    scene.pass_time(1)
    assert described(scene).group_state == "Empty"


def test_offsets_expire_by_the_clock(scene: Scene) -> None:
    scene.commit(7)
    week = 7 * 24 * 60 * 60 * 1_000
    scene.pass_time(week - 1)
    assert scene.broker.groups.states()["readers"]["offsets"] == {"orders-0": 7}
    scene.pass_time(600_001)
    assert scene.broker.groups.states() == {}


@pytest.mark.parametrize("name", ["member", "client"])
def test_a_session_expires_on_purpose(scene: Scene, name: str) -> None:
    member = stable(scene) if name == "member" else stable(scene) and "me"
    assert not scene.broker.groups.expire_session("readers", "nobody")
    assert not scene.broker.groups.expire_session("unknown", member)
    assert scene.broker.groups.expire_session("readers", member)
    assert described(scene).group_state == "Empty"


def test_a_failover_answers_parked_requests_and_keeps_what_was_stored(scene: Scene) -> None:
    member = stable(scene)
    scene.commit(7, generation_id_or_member_epoch=1, member_id=member)
    parked = scene.join(version=0)
    scene.broker.groups.begin_failover()
    assert scene.answers[parked].error_code.name == "not_coordinator"
    again = scene.answers[scene.join(version=0)]
    assert again.error_code.name == "coordinator_load_in_progress"
    answer = scene.ask("offset_fetch", 7, group_id="readers", topics=None)
    assert answer.error_code.name == "coordinator_load_in_progress"
    old = [{"name": "orders", "partition_indexes": [0]}]
    answer = scene.ask("offset_fetch", 1, group_id="readers", topics=old)
    assert answer.topics[0].partitions[0].error_code.name == "coordinator_load_in_progress"
    scene.broker.groups.end_failover()
    state = scene.broker.groups.states()["readers"]
    assert (state["state"], state["generation"]) == ("Stable", 1)
    assert [m["member"] for m in state["members"]] == [member]
    assert state["offsets"] == {"orders-0": 7}


def test_the_offsets_topic_is_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.impl.broker.groups._COMPACT_AFTER", 100)
    scene = Scene()
    scene.broker.topics.create("orders")
    for offset in range(250):
        scene.commit(offset)
    assert len(scene.broker.groups._log) < 150
    scene.broker.groups.begin_failover()
    scene.broker.groups.end_failover()
    assert scene.broker.groups.states()["readers"]["offsets"] == {"orders-0": 249}


@pytest.mark.slow
def test_clients_of_members_that_are_gone_are_forgotten(scene: Scene) -> None:
    for _ in range(1_100):
        member, _ = scene.member()
        scene.ask("leave_group", 3, group_id="readers", members=[{"member_id": member}])
    assert len(scene.broker.groups._clients) <= 1_000
