"""Groups, members, offsets and their expiry are read from segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kspec.field.offsets.groups import Group
from kspec.field.offsets.report import OffsetsReport, report_offsets
from kspec.spec.core import SpecError
from kspec.spec.placement import group_partition
from kspec.spec.storage.checkpoints import write_topic_id
from tests.field.offsets.logs import (
    DAY,
    T0,
    batch,
    classic,
    group_tombstone,
    marker,
    modern,
    offset,
    write_partition,
)

WEEK = 7 * DAY
TOPIC_ID = "q1vK0FfQSoGVBcZ2VCxkyA"


def report_of(root: Path, *segments: list[bytes], now: int = T0, number: int = 0) -> OffsetsReport:
    """The report of one partition, of a topic that has only this one."""
    folder = write_partition(root, number, *segments)
    return report_offsets([folder], now, WEEK, number + 1)


def group_in(report: OffsetsReport, name: str) -> Group:
    return next(group for group in report.groups if group.name == name)


def expiries(group: Group) -> dict[tuple[str, int], tuple[int | None, str]]:
    return {(o.topic, o.partition): (o.expiry.time, o.expiry.reason) for o in group.offsets}


def test_an_empty_group_keeps_its_offsets_from_when_it_became_empty(tmp_path: Path) -> None:
    rows = [offset("g", 0, 5, T0 - DAY), classic("g", {}, since=T0 + DAY)]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert (group.kind, group.state, group.generation) == ("classic", "Empty", 3)
    assert expiries(group) == {("t", 0): (T0 + DAY + WEEK, "Empty since")}


def test_a_stable_group_keeps_the_topics_that_a_member_subscribes_to(tmp_path: Path) -> None:
    rows = [
        classic("g", {"m-1": ["t"], "m-2": ["u"]}),
        offset("g", 0, 5),
        offset("g", 0, 6, topic="v"),
    ]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert group.state == "Stable"
    assert [(m.id, m.topics, m.assignment) for m in group.members] == [
        ("m-1", ["t"], {"t": [0]}),
        ("m-2", ["u"], {"u": [0]}),
    ]
    assert expiries(group) == {
        ("t", 0): (None, "a member subscribes"),
        ("v", 0): (T0 + WEEK, "commit"),
    }


def test_members_of_another_protocol_type_keep_every_offset(tmp_path: Path) -> None:
    rows = [classic("g", {"m-1": ["t"]}, protocolType="connect"), offset("g", 0, 6, topic="v")]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert group.members[0].assignment is None
    assert expiries(group) == {("v", 0): (None, "the group has members")}


def test_a_subscription_that_cannot_be_read_keeps_every_offset(tmp_path: Path) -> None:
    member = {
        "memberId": "m",
        "clientId": "c",
        "clientHost": "/h",
        "rebalanceTimeout": 1,
        "sessionTimeout": 1,
        "subscription": b"\0",
        "assignment": b"",
    }
    rows = [classic("g", {}, members=[member]), offset("g", 0, 6)]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    ((time, reason),) = expiries(group).values()
    assert (time, "cannot read" in reason) == (None, True)


def test_offsets_without_a_group_are_those_of_a_simple_group(tmp_path: Path) -> None:
    rows = [offset("g", 0, 5, T0 + 1), offset("g", 1, 6, T0 + 2, expires=T0 + DAY)]
    group = group_in(report_of(tmp_path, [batch(*rows)], now=T0 + DAY), "g")
    assert (group.kind, group.state, group.generation) == ("simple", "Empty", None)
    assert expiries(group) == {
        ("t", 0): (T0 + 1 + WEEK, "commit"),
        ("t", 1): (T0 + DAY, "set by the client"),
    }
    assert [o.is_expired(T0 + DAY) for o in group.offsets] == [False, True]


def test_a_group_of_kip_848_keeps_offsets_from_their_commit(tmp_path: Path) -> None:
    member = {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "/h",
        "subscribedTopicNames": ["t"],
        "subscribedTopicRegex": None,
        "rebalanceTimeoutMs": 300_000,
        "serverAssignor": None,
        "classicMemberMetadata": None,
    }
    owned = [{"topicId": TOPIC_ID, "partitions": [0, 1]}]
    current = {
        "memberEpoch": 4,
        "previousMemberEpoch": 3,
        "state": 0,
        "assignedPartitions": owned,
        "partitionsPendingRevocation": [],
    }
    names = {"topicId": TOPIC_ID, "topicName": "t", "numPartitions": 2, "partitionMetadata": []}
    rows = [
        modern(3, "g", {"epoch": 4}),
        modern(4, "g", {"topics": [names]}),
        modern(5, "g", member, memberId="m"),
        modern(6, "g", {"assignmentEpoch": 4}),
        modern(7, "g", {"topicPartitions": owned}, memberId="m"),
        modern(8, "g", current, memberId="m"),
        offset("g", 0, 5),
        offset("g", 0, 6, topic="v"),
    ]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert (group.kind, group.state, group.generation) == ("consumer", "Stable", 4)
    assert [(m.id, m.epoch, m.assignment) for m in group.members] == [("m", 4, {"t": [0, 1]})]
    assert expiries(group) == {
        ("t", 0): (None, "a member subscribes"),
        ("v", 0): (T0 + WEEK, "commit"),
    }
    rows += [modern(3, "g", {"epoch": 5})]
    later = group_in(report_of(tmp_path / "later", [batch(*rows)]), "g")
    assert later.state == "Assigning"
    rows += [modern(6, "g", {"assignmentEpoch": 5})]
    last = group_in(report_of(tmp_path / "last", [batch(*rows)]), "g")
    assert last.state == "Reconciling"


def test_tombstones_remove_offsets_and_groups(tmp_path: Path) -> None:
    rows = [classic("g", {}), offset("g", 0, 5), offset("g", 0, None), group_tombstone("g")]
    report = report_of(tmp_path, [batch(*rows)])
    assert report.groups == []
    (partition,) = report.partitions
    assert (partition.live_bytes, partition.tombstones) == (0, 2)


def test_each_byte_is_live_or_dead(tmp_path: Path) -> None:
    one, other = batch(offset("g", 0, 5)), batch(offset("g", 0, 6))
    report = report_of(tmp_path, [one, batch(classic("g", {}))], [other])
    (partition,) = report.partitions
    assert partition.bytes == sum(f.stat().st_size for f in partition.folder.path.glob("*.log"))
    assert partition.live_bytes == partition.bytes - len(one)
    (group,) = report.groups
    assert (group.offsets[0].live_bytes, group.offsets[0].dead_bytes) == (len(other), len(one))
    assert (group.live_bytes, group.dead_bytes) == (partition.live_bytes, len(one))


def test_a_commit_in_a_transaction_counts_from_its_marker(tmp_path: Path) -> None:
    batches = [
        batch(offset("g", 0, 5)),
        batch(offset("g", 0, 7), producer=1),
        batch(offset("g", 1, 8), producer=2),
        marker(1, is_commit=True),
        marker(2, is_commit=False),
        batch(offset("g", 0, 9), producer=3),
    ]
    report = report_of(tmp_path, batches)
    (group,) = report.groups
    assert [(o.partition, o.offset) for o in group.offsets] == [(0, 7)]
    assert [(o.partition, o.offset) for o in group.pending] == [(0, 9)]
    assert expiries(group) == {("t", 0): (None, "never while the transaction is open")}
    (partition,) = report.partitions
    assert [t.producer_id for t in partition.open_transactions] == [3]
    assert partition.last_stable_offset == 5
    assert report.problems == []


def test_a_transaction_that_does_not_end_is_a_problem(tmp_path: Path) -> None:
    report = report_of(tmp_path, [batch(offset("g", 0, 9), producer=3)], now=T0 + DAY)
    (problem,) = report.problems
    assert "producer 3 has been open since offset 0, for 1440 minutes" in problem.problem


def test_a_damaged_batch_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    batches = [batch(offset("g", n, n)) for n in range(3)]
    folder = write_partition(tmp_path, 0, batches)
    (file,) = folder.glob("*.log")
    data = bytearray(file.read_bytes())
    data[len(batches[0]) + 80] ^= 1
    file.write_bytes(data)
    report = report_offsets([folder], T0, WEEK, 1)
    assert [o.partition for o in report.groups[0].offsets] == [0, 2]
    (problem,) = report.problems
    assert (problem.file, problem.position) == (str(file), len(batches[0]))
    assert problem.problem == "the checksum of the batch is wrong"


def test_a_malformed_or_unknown_record_stops_nothing(tmp_path: Path) -> None:
    rows = [(b"\0\2\0\1g", b"\0"), (b"\0\x63new", b"\0\0"), offset("g", 0, 1)]
    report = report_of(tmp_path, [batch(*rows)])
    assert [o.offset for o in report.groups[0].offsets] == [1]
    (problem,) = report.problems
    assert "offset 0 is malformed" in problem.problem
    (partition,) = report.partitions
    assert partition.unknown == {0x63: 1}
    assert partition.live_bytes == partition.bytes  # the cleaner would remove nothing


def test_a_group_in_the_wrong_partition_is_a_problem(tmp_path: Path) -> None:
    right = group_partition("g")
    write_partition(tmp_path, right, [batch(offset("g", 0, 5))])
    assert report_offsets([tmp_path], T0, WEEK).problems == []
    wrong = write_partition(tmp_path, (right + 1) % 50, [batch(offset("g", 1, 5))])
    report = report_offsets([wrong], T0, WEEK)
    (problem,) = report.problems
    assert f"group g belongs in partition {right} of 50" in problem.problem


def test_fewer_partitions_are_recognized_by_their_folders(tmp_path: Path) -> None:
    names = [f"g{n}" for n in range(20)]
    wrong = [name for name in names if group_partition(name) != group_partition(name, 2)]
    for number in range(2):
        rows = [offset(name, 0, 1) for name in wrong if group_partition(name, 2) == number]
        write_partition(tmp_path, number, [batch(*rows)])
    report = report_offsets([tmp_path], T0, WEEK)
    assert (report.offsets_partitions, report.problems) == (2, [])
    assert report_offsets([tmp_path], T0, WEEK, 3).problems
    with pytest.raises(SpecError, match="more than 1"):
        report_offsets([tmp_path], T0, WEEK, 1)


def test_of_two_replicas_the_longer_one_is_read(tmp_path: Path) -> None:
    short, long = batch(offset("g", 0, 5)), batch(offset("g", 0, 6))
    right = group_partition("g")
    write_partition(tmp_path / "a", right, [short])
    write_partition(tmp_path / "b", right, [short, long])
    report = report_offsets([tmp_path / "a", tmp_path / "b"], T0, WEEK)
    assert report.groups[0].offsets[0].offset == 6
    assert report.skipped == [tmp_path / "a" / f"__consumer_offsets-{right}"]


def test_a_folder_without_the_topic_is_refused(tmp_path: Path) -> None:
    write_partition(tmp_path, 0, [batch(offset("g", 0, 5))]).rename(tmp_path / "orders-0")
    with pytest.raises(SpecError, match="no partition of __consumer_offsets"):
        report_offsets([tmp_path], T0, WEEK)


def test_topic_ids_are_named_by_the_partitions_beside(tmp_path: Path) -> None:
    member = {"rackId": None, "clientId": "c", "clientHost": "/h", "subscribedTopicNames": ["t"]}
    owned = [{"topicId": TOPIC_ID, "partitions": [0]}]
    current = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "assignedPartitions": owned}
    rows = [
        modern(11, "g", {"epoch": 1, "metadataHash": 0}),
        modern(10, "g", member, memberId="m"),
        modern(14, "g", current, memberId="m"),
    ]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert group.members[0].assignment == {TOPIC_ID: [0]}
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text(write_topic_id(TOPIC_ID))
    (tmp_path / "u-0").mkdir()
    (tmp_path / "u-0" / "partition.metadata").write_text("damaged")
    report = report_offsets([tmp_path], T0, WEEK, 1)
    assert group_in(report, "g").members[0].assignment == {"t": [0]}


def test_regular_expressions_and_topologies_subscribe_to_topics(tmp_path: Path) -> None:
    member = {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "/h",
        "rebalanceTimeoutMs": 300_000,
    }
    consumer: dict[str, Any] = {
        **member,
        "subscribedTopicNames": [],
        "subscribedTopicRegex": "t.*",
        "serverAssignor": None,
        "classicMemberMetadata": None,
    }
    resolved = {"topics": ["t"], "version": 1, "timestamp": T0}
    streams: dict[str, Any] = {
        **member,
        "topologyEpoch": 0,
        "processId": "p",
        "userEndpoint": None,
        "clientTags": [],
    }
    part = {
        "subtopologyId": "0",
        "sourceTopics": ["t"],
        "sourceTopicRegex": [],
        "stateChangelogTopics": [],
        "repartitionSinkTopics": [],
        "repartitionSourceTopics": [],
        "copartitionGroups": [],
    }
    rows = [
        modern(3, "g", {"epoch": 1}),
        modern(5, "g", consumer, memberId="m"),
        modern(16, "g", resolved, regularExpression="t.*"),
        modern(16, "g", {**resolved, "topics": ["v"]}, regularExpression="v.*"),
        modern(17, "s", {"epoch": 1, "metadataHash": 0}),
        modern(19, "s", streams, memberId="m"),
        modern(23, "s", {"epoch": 1, "subtopologies": [part]}),
        *(offset(group, 0, 1, topic=topic) for group in "gs" for topic in "tv"),
    ]
    report = report_of(tmp_path, [batch(*rows)])
    for name, kind in (("g", "consumer"), ("s", "streams")):
        group = group_in(report, name)
        assert group.kind == kind
        assert expiries(group) == {
            ("t", 0): (None, "a member subscribes"),
            ("v", 0): (T0 + WEEK, "commit"),
        }


def test_the_members_of_a_streams_group_own_tasks(tmp_path: Path) -> None:
    member: dict[str, Any] = {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "/h",
        "rebalanceTimeoutMs": 1,
        "topologyEpoch": 0,
        "processId": "p",
        "userEndpoint": None,
        "clientTags": [],
    }
    current: dict[str, Any] = {"memberEpoch": 2, "previousMemberEpoch": 1, "state": 1}
    for kind in ("active", "standby", "warmup"):
        current |= {f"{kind}Tasks": [], f"{kind}TasksPendingRevocation": []}
    current["activeTasks"] = [{"subtopologyId": "0", "partitions": [0, 1]}]
    rows = [
        modern(17, "g", {"epoch": 2, "metadataHash": 0}),
        modern(19, "g", member, memberId="m"),
        modern(20, "g", {"assignmentEpoch": 2}),
        modern(22, "g", current, memberId="m"),
    ]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert (group.state, group.members[0].assignment) == ("NotReady", {"0": [0, 1]})
    rows.append(modern(23, "g", {"epoch": 1, "subtopologies": []}))
    later = group_in(report_of(tmp_path / "later", [batch(*rows)]), "g")
    assert later.state == "Stable"


def test_a_share_group_has_members_and_no_offsets(tmp_path: Path) -> None:
    member = {"rackId": None, "clientId": "c", "clientHost": "/h", "subscribedTopicNames": ["t"]}
    rows = [
        modern(11, "g", {"epoch": 2, "metadataHash": 0}),
        modern(10, "g", member, memberId="m"),
    ]
    group = group_in(report_of(tmp_path, [batch(*rows)]), "g")
    assert (group.kind, group.state, group.generation) == ("share", "Stable", 2)
    assert [(m.id, m.topics) for m in group.members] == [("m", ["t"])]


def test_of_both_versions_of_a_key_the_later_commit_counts(tmp_path: Path) -> None:
    key, value = offset("g", 0, 5)
    old = (b"\0\0" + key[2:], value)
    group = group_in(report_of(tmp_path, [batch(old, offset("g", 0, 6))]), "g")
    assert [o.offset for o in group.offsets] == [6]
