"""Faults that a broker may have."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from crc32c import crc32c

from kspec.impl.wire import Message
from kspec.impl.wire.messages import error_code
from tests.field.conform.proxy import Fault, Memory


def error_of(message: Message) -> str:
    """The error of a response."""
    name: str = message.error_code.name.upper()
    return name


def instead(was: str, now: str) -> Callable[[Message, Message, Memory], Message]:
    """One error is answered with another."""

    def answer(request: Message, response: Message, memory: Memory) -> Message:
        if error_of(response) != was:
            return response
        return dataclasses.replace(response, error_code=error_code(now))

    return answer


def changed(**changes: Callable[[Any], Any]) -> Callable[[Message, Message, Memory], Message]:
    """Fields of a successful response have other values."""

    def answer(request: Message, response: Message, memory: Memory) -> Message:
        if error_of(response) != "NONE":
            return response
        known = {name: change for name, change in changes.items() if hasattr(response, name)}
        values = {name: change(getattr(response, name)) for name, change in known.items()}
        return dataclasses.replace(response, **values)

    return answer


def without(**values: Any) -> Callable[[Message, Memory], Message]:
    """The broker ignores fields of a request."""

    def ignore(request: Message, memory: Memory) -> Message:
        known = {name: value for name, value in values.items() if hasattr(request, name)}
        return dataclasses.replace(request, **known)

    return ignore


def each_partition(
    change: Callable[[Any], Any],
) -> Callable[[Message, Message, Memory], Message]:
    """Each partition of a response is changed."""

    def answer(request: Message, response: Message, memory: Memory) -> Message:
        if hasattr(response, "groups"):
            groups = (dataclasses.replace(g, topics=of(g.topics)) for g in response.groups)
            return dataclasses.replace(response, groups=tuple(groups))
        return dataclasses.replace(response, topics=of(response.topics))

    def of(topics: Any) -> Any:
        return tuple(
            dataclasses.replace(t, partitions=tuple(map(change, t.partitions))) for t in topics
        )

    return answer


def partition_error(was: str, now: str) -> Callable[[Any], Any]:
    """One error of a partition is answered with another."""

    def change(partition: Any) -> Any:
        if error_of(partition) != was:
            return partition
        return dataclasses.replace(partition, error_code=error_code(now))

    return change


def forgets_a_member(members: Any) -> Any:
    """The leader's list lacks the last member."""
    return members[:-1] if len(members) > 1 else members


def repeats_the_first_assignment(request: Message, response: Message, memory: Memory) -> Message:
    """A member gets the assignment that it got first."""
    if error_of(response) != "NONE":
        return response
    first = memory.setdefault(request.member_id, response.assignment)
    return dataclasses.replace(response, assignment=first)


def parks_forever(request: Message, response: Message, memory: Memory) -> Message | None:
    """Followers are not answered."""
    if error_of(response) == "NONE" and not request.assignments:
        return None
    return response


def forgets_instances(members: Any) -> Any:
    """The leader's list has no instance ids."""
    if not members or not hasattr(members[0], "group_instance_id"):
        return members
    return tuple(dataclasses.replace(m, group_instance_id=None) for m in members)


def leaves_quietly(request: Message, response: Message, memory: Memory) -> Message:
    """Whoever leaves, was a member."""
    fine = error_code("NONE")
    response = dataclasses.replace(response, error_code=fine)
    if not hasattr(response, "members"):
        return response
    members = tuple(dataclasses.replace(m, error_code=fine) for m in response.members)
    return dataclasses.replace(response, members=members)


def only_the_first(request: Message, memory: Memory) -> Message:
    """Of several members that leave, the first is removed; the others are asked about twice."""
    if not hasattr(request, "members"):
        return request
    return dataclasses.replace(request, members=request.members[:1] * len(request.members))


def one_protocol(request: Message, memory: Memory) -> Message:
    """A member supports its first protocol only."""
    return dataclasses.replace(request, protocols=request.protocols[:1])


def shows_stable(request: Message, response: Message, memory: Memory) -> Message:
    """A group that waits for assignments is shown as stable."""
    shown = tuple(
        dataclasses.replace(
            g,
            group_state="Stable" if g.group_state == "CompletingRebalance" else g.group_state,
        )
        for g in response.groups
    )
    return dataclasses.replace(response, groups=shown)


def deletes_quietly(request: Message, response: Message, memory: Memory) -> Message:
    """A group with members is said to be deleted."""
    fine = error_code("NONE")
    results = tuple(dataclasses.replace(r, error_code=fine) for r in response.results)
    return dataclasses.replace(response, results=results)


def one_less(partition: Any) -> Any:
    """The record before the committed offset is consumed again."""
    if partition.committed_offset <= 0:
        return partition
    return dataclasses.replace(partition, committed_offset=partition.committed_offset - 1)


def begins_at_zero(partition: Any) -> Any:
    """Without a committed offset, 0 is answered."""
    if partition.committed_offset >= 0:
        return partition
    return dataclasses.replace(partition, committed_offset=0)


# -- records ----------------------------------------------------------------------------------


def each_record_response(
    change: Callable[[Any, Any], Any],
) -> Callable[[Message, Message, Memory], Message]:
    """The partition of a response is changed, given that of the request."""

    def answer(request: Message, response: Message, memory: Memory) -> Message:
        asked = request.topic_data if hasattr(request, "topic_data") else request.topics
        [[one]] = [
            t.partition_data if hasattr(t, "partition_data") else t.partitions for t in asked
        ]
        name = "responses" if hasattr(response, "responses") else "topics"
        [topic] = getattr(response, name)
        inner = "partition_responses" if hasattr(topic, "partition_responses") else "partitions"
        [partition] = getattr(topic, inner)
        topic = dataclasses.replace(topic, **{inner: (change(one, partition),)})
        return dataclasses.replace(response, **{name: (topic,)})

    return answer


def where_found(**changes: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Fields of a partition without an error have other values."""

    def change(asked: Any, partition: Any) -> Any:
        if error_of(partition) != "NONE":
            return partition
        values = {name: new(getattr(partition, name)) for name, new in changes.items()}
        return dataclasses.replace(partition, **values)

    return change


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Message, Memory], Message]:
    """The broker stores other bytes than those that were produced."""

    def rewrite(request: Message, memory: Memory) -> Message:
        [topic] = request.topic_data
        [partition] = topic.partition_data
        if partition.records is None or len(partition.records) < 61:
            return request
        changed = dataclasses.replace(partition, records=change(partition.records))
        topic = dataclasses.replace(topic, partition_data=(changed,))
        return dataclasses.replace(request, topic_data=(topic,))

    return rewrite


def with_right_checksum(batch: bytes) -> bytes:
    """The checksum is not compared."""
    return batch[:17] + crc32c(batch[21:]).to_bytes(4) + batch[21:]


def without_producer(batch: bytes) -> bytes:
    """The batch of an idempotent producer is taken for that of another one."""
    if crc32c(batch[21:]).to_bytes(4) != batch[17:21]:
        return batch
    return with_right_checksum(batch[:43] + b"\xff" * 14 + batch[57:])


def from_the_offset_on(asked: Any, partition: Any) -> Any:
    """The batch that the fetch offset is within is left out."""
    records = partition.records or b""
    while len(records) > 61 and int.from_bytes(records[:8]) < asked.fetch_offset:
        records = records[12 + int.from_bytes(records[8:12]) :]
    return dataclasses.replace(partition, records=records)


def without_epoch(records: bytes | None) -> bytes:
    """The first batch has no leader epoch."""
    return records[:12] + b"\xff" * 4 + records[16:] if records else b""


def knows_every_epoch(asked: Any, partition: Any) -> Any:
    """An epoch that is unknown ended at 0."""
    if error_of(partition) != "NONE" or partition.end_offset != -1:
        return partition
    return dataclasses.replace(partition, leader_epoch=asked.leader_epoch, end_offset=0)


def one_too_late(asked: Any, partition: Any) -> Any:
    """By time, the record after the right one is found."""
    if asked.timestamp < 0 or partition.offset < 0:
        return partition
    return dataclasses.replace(partition, offset=partition.offset + 1)


def ignores_epochs(request: Message, memory: Memory) -> Message:
    """The leader epoch that a client names is not compared."""
    [topic] = request.topics
    [partition] = topic.partitions
    if hasattr(partition, "current_leader_epoch"):
        partition = dataclasses.replace(partition, current_leader_epoch=-1)
    return dataclasses.replace(
        request, topics=(dataclasses.replace(topic, partitions=(partition,)),)
    )


def never_out_of_range(asked: Any, partition: Any) -> Any:
    """A fetch from beyond the log finds nothing, and no error."""
    return partition_error("OFFSET_OUT_OF_RANGE", "NONE")(partition)


RECORDS_FAULTS = [
    Fault("produce: the base offset is off by one", "Produce",
          each_record_response(where_found(base_offset=lambda offset: offset + 1))),
    Fault("produce: the checksum is not compared", "Produce",
          request=rewritten(with_right_checksum)),
    Fault("produce: a repeated batch is appended again", "Produce",
          request=rewritten(without_producer)),
    Fault("produce: any acks are accepted", "Produce",
          request=lambda request, memory: dataclasses.replace(request, acks=-1)),
    Fault("list offsets: by time, the next record", "ListOffsets",
          each_record_response(one_too_late)),
    Fault("list offsets: leader epochs are ignored", "ListOffsets", request=ignores_epochs),
    Fault("list offsets: no leader epoch", "ListOffsets",
          each_record_response(lambda q, p: where_found(leader_epoch=lambda epoch: -1)(q, p)
                               if hasattr(p, "leader_epoch") else p)),
    Fault("leader epochs: unknown ones ended at 0", "OffsetForLeaderEpoch",
          each_record_response(knows_every_epoch)),
    Fault("fetch: no batch for an offset within it", "Fetch",
          each_record_response(from_the_offset_on)),
    Fault("fetch: batches without leader epoch", "Fetch",
          each_record_response(where_found(records=without_epoch))),
    Fault("fetch: an offset out of range is accepted", "Fetch",
          each_record_response(never_out_of_range)),
    Fault("fetch: the high watermark is late", "Fetch",
          each_record_response(where_found(high_watermark=lambda hw: max(0, hw - 1)))),
]  # fmt: skip
"""Faults that the profile `records` finds."""

FAULTS = [
    Fault("heartbeat: wrong error for an old generation", "Heartbeat",
          instead("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID")),
    Fault("heartbeat: a rebalance is not announced", "Heartbeat",
          instead("REBALANCE_IN_PROGRESS", "NONE")),
    Fault("heartbeat: the instance id is ignored", "Heartbeat",
          request=without(group_instance_id=None)),
    Fault("heartbeat: fenced members are unknown", "Heartbeat",
          instead("FENCED_INSTANCE_ID", "UNKNOWN_MEMBER_ID")),
    Fault("join: the generation is off by one", "JoinGroup",
          changed(generation_id=lambda generation: generation + 1)),
    Fault("join: the leader is lost", "JoinGroup", changed(leader=lambda leader: "")),
    Fault("join: the leader's list lacks a member", "JoinGroup",
          changed(members=forgets_a_member)),
    Fault("join: the leader's list lacks instance ids", "JoinGroup",
          changed(members=forgets_instances)),
    Fault("join: the wrong protocol is selected", "JoinGroup", request=one_protocol),
    Fault("join: no member id with MEMBER_ID_REQUIRED", "JoinGroup",
          lambda q, r, memory: dataclasses.replace(r, member_id="")
          if error_of(r) == "MEMBER_ID_REQUIRED" else r),
    Fault("join: wrong error for protocols that do not match", "JoinGroup",
          instead("INCONSISTENT_GROUP_PROTOCOL", "UNKNOWN_MEMBER_ID")),
    Fault("join: a returning leader assigns again", "JoinGroup",
          changed(skip_assignment=lambda skips: False)),
    Fault("join: the protocol type is lost", "JoinGroup",
          changed(protocol_type=lambda kind: None)),
    Fault("sync: a stale assignment", "SyncGroup", repeats_the_first_assignment),
    Fault("sync: an empty assignment", "SyncGroup", changed(assignment=lambda given: b"")),
    Fault("sync: wrong error for an old generation", "SyncGroup",
          instead("ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS")),
    Fault("sync: the protocol is not compared", "SyncGroup",
          request=without(protocol_type=None, protocol_name=None)),
    Fault("sync: followers are never answered", "SyncGroup", parks_forever),
    Fault("leave: unknown members leave", "LeaveGroup", leaves_quietly),
    Fault("leave: one of several members leaves", "LeaveGroup", request=only_the_first),
    Fault("commit: accepted during a rebalance", "OffsetCommit",
          each_partition(partition_error("REBALANCE_IN_PROGRESS", "NONE"))),
    Fault("fetch: the offset is off by one", "OffsetFetch", each_partition(one_less)),
    Fault("fetch: 0 where nothing is committed", "OffsetFetch", each_partition(begins_at_zero)),
    Fault("describe: stable too early", "DescribeGroups", shows_stable),
    Fault("delete: a group with members", "DeleteGroups", deletes_quietly),
]  # fmt: skip
