"""Partitions of `__consumer_offsets` for tests, written as a broker writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kspec.impl.storage.writer import SegmentWriter
from kspec.spec.storage.consumer_protocol import write_assignment, write_subscription
from kspec.spec.storage.control_records import TransactionMarker, write_marker
from kspec.spec.storage.coordinator_records import GROUP_RECORDS, CoordinatorRecord, write_record
from kspec.spec.storage.record_batch import Record, RecordBatch, write_batch

DAY = 24 * 60 * 60 * 1000
T0 = 1_700_000_000_000
"""When these logs begin."""

Row = tuple[bytes, bytes | None]
"""The key and the value of a record."""


def offset(
    group: str,
    partition: int,
    committed: int | None,
    time: int = T0,
    *,
    topic: str = "t",
    expires: int | None = None,
) -> Row:
    """A committed offset, or its tombstone."""
    key = {"group": group, "topic": topic, "partition": partition}
    if committed is None:
        return write_record(GROUP_RECORDS, CoordinatorRecord(1, key))
    value = {"offset": committed, "metadata": "", "commitTimestamp": time, "leaderEpoch": 0}
    version = 3
    if expires is not None:
        version, value["expireTimestamp"] = 1, expires
    return write_record(GROUP_RECORDS, CoordinatorRecord(1, key, version, value))


def classic(group: str, subscriptions: dict[str, list[str]], since: int = T0, **fields: Any) -> Row:
    """The record of a classic group; each member subscribes to topics, and owns partition 0."""
    value = {
        "protocolType": "consumer",
        "generation": 3,
        "protocol": "range" if subscriptions else None,
        "leader": next(iter(subscriptions), None),
        "currentStateTimestamp": since,
        "members": [
            {
                "memberId": id_,
                "clientId": "c",
                "clientHost": "/127.0.0.1",
                "rebalanceTimeout": 300_000,
                "sessionTimeout": 45_000,
                "subscription": write_subscription(topics),
                "assignment": write_assignment({topic: [0] for topic in topics}),
            }
            for id_, topics in subscriptions.items()
        ],
        **fields,
    }
    return write_record(GROUP_RECORDS, CoordinatorRecord(2, {"group": group}, 3, value))


def group_tombstone(group: str) -> Row:
    """The tombstone of a classic group."""
    return write_record(GROUP_RECORDS, CoordinatorRecord(2, {"group": group}))


def modern(kind: int, group: str, value: dict[str, Any], **key: str) -> Row:
    """A record of a group of KIP-848."""
    fields = {"groupId": group, **key}
    return write_record(GROUP_RECORDS, CoordinatorRecord(kind, fields, 0, value))


def batch(*rows: Row, time: int = T0, producer: int = -1) -> bytes:
    """A batch with these records, in a transaction if it has a producer."""
    records = tuple(Record(number, key, value, 0) for number, (key, value) in enumerate(rows))
    return write_batch(
        RecordBatch(
            0,
            len(records) - 1,
            records=records,
            base_timestamp=time,
            max_timestamp=time,
            is_transactional=producer >= 0,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
        )
    )


def marker(producer: int, *, is_commit: bool, time: int = T0) -> bytes:
    """The end of a producer's transaction."""
    return write_batch(
        RecordBatch(
            0,
            0,
            (write_marker(TransactionMarker(is_commit, 0)),),
            is_transactional=True,
            is_control=True,
            base_timestamp=time,
            max_timestamp=time,
            producer_id=producer,
            producer_epoch=0,
        )
    )


def write_partition(root: Path, number: int, *segments: list[bytes]) -> Path:
    """The folder of a partition with these segments."""
    folder = root / f"__consumer_offsets-{number}"
    folder.mkdir(parents=True)
    base = 0
    for batches in segments:
        writer = SegmentWriter(folder, base)
        for each in batches:
            writer.append(each)
        writer.close()
        base = writer.next_offset
    return folder
