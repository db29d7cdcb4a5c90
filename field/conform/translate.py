"""Requests and responses between the specification's form and Kafka's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from kspec.field.conform.history import APIS, TOPIC, AnyRequest, Ask
from kspec.field.conform.responses import AnyResponse, Described, UnknownError
from kspec.impl.wire import API_KEYS, Message, create, request_type
from kspec.spec.coordinator.admin import DescribedMember, Description
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    NO_GENERATION,
    NO_MEMBER_ID,
    DeleteGroup,
    DeleteGroupResponse,
    Error,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    OffsetFetch,
    OffsetFetchResponse,
    SyncGroup,
    SyncGroupResponse,
)
from kspec.spec.serving.fetch import Fetch
from kspec.spec.serving.list_offsets import EARLIEST, ListOffsets
from kspec.spec.vocabulary import TopicPartition

MOST_VERSIONS = {
    "offset_commit": 9, "offset_fetch": 9, "describe_groups": 5,
    "produce": 12, "list_offsets": 10, "fetch": 17,
}  # fmt: skip
"""The highest version that is used, where a later one has another meaning: topics are named by ids
from OffsetCommit 10, OffsetFetch 10 and Produce 13 on."""


def with_version(request: AnyRequest, version: int) -> Ask:
    """The request of this version, numbered later; what the version cannot express is left out."""
    changes: dict[str, Any] = {}
    known = {field.name for field in attrs.fields(type(request))}
    if "version" in known:
        changes["version"] = version
    first = {JoinGroup: 5, SyncGroup: 3, Heartbeat: 3, OffsetCommit: 7}
    if version < first.get(type(request), 0):
        changes["instance"] = None
    match request:
        case JoinGroup() if version < 1:
            changes["rebalance_timeout"] = request.session_timeout
        case SyncGroup() if version < 5:
            changes |= {"protocol_type": None, "protocol": None}
        case LeaveGroup() if version < 3:
            changes["members"] = (MemberIdentity(request.members[0].member),)
        case OffsetCommit() if version < 6:
            offsets = ((tp, attrs.evolve(o, leader_epoch=-1)) for tp, o in request.offsets)
            changes["offsets"] = tuple(offsets)
        case OffsetFetch() if version < 2 and request.partitions is None:
            changes["partitions"] = ()
        case Fetch() if version < 9:
            changes["epoch"] = -1
        case ListOffsets():
            if version < 7 and request.time < EARLIEST:
                changes["time"] = EARLIEST
            if version < 4:
                changes["epoch"] = -1
            if version < 2:
                changes["read_committed"] = False
    return Ask(0, attrs.evolve(request, **changes), version)


# -- requests ---------------------------------------------------------------------------------


def to_message(ask: Ask, group: str, actual: Callable[[str], str], topic: str) -> Message:
    """The message of a request to a group, with actual ids of members and name of the topic."""
    request: Any = ask.request
    values: dict[str, Any] = {
        "group_id": group,
        "group_instance_id": getattr(request, "instance", None),
        "member_id": actual(getattr(request, "member", NO_MEMBER_ID)),
        "generation_id": getattr(request, "generation", NO_GENERATION),
        "protocol_type": getattr(request, "protocol_type", None),
    }
    match request:
        case JoinGroup():
            values |= {
                "session_timeout": request.session_timeout,
                "rebalance_timeout": request.rebalance_timeout,
                "protocols": [{"name": p.name, "metadata": p.metadata} for p in request.protocols],
            }
        case SyncGroup():
            values["protocol_name"] = request.protocol
            values["assignments"] = [
                {"member_id": actual(m), "assignment": given} for m, given in request.assignments
            ]
        case LeaveGroup():
            values["members"] = [
                {"member_id": actual(m.member), "group_instance_id": m.instance}
                for m in request.members
            ]
            values["member_id"] = values["members"][0]["member_id"]
        case OffsetCommit():
            values["generation_id_or_member_epoch"] = request.generation
            values["retention_time"] = -1
            values["topics"] = [
                in_topic(
                    tp,
                    topic,
                    committed_offset=offset.offset,
                    committed_leader_epoch=offset.leader_epoch,
                    committed_metadata=offset.metadata,
                )
                for tp, offset in request.offsets
            ]
        case OffsetFetch():
            wanted = request.partitions
            topics = None if wanted is None else [in_topic(tp, topic) for tp in wanted]
            values["topics"] = topics
            values["groups"] = [{"group_id": group, "topics": topics, "member_epoch": -1}]
        case DeleteGroup():
            values["groups_names"] = [group]
        case OffsetDelete():
            values["topics"] = [in_topic(tp, topic) for tp in request.partitions]
    return create(request_type(API_KEYS[APIS[type(request)]], ask.version), **values)


def in_topic(partition: TopicPartition, topic: str, **values: Any) -> dict[str, Any]:
    """A partition of a message, with these values, in its topic."""
    index = partition.partition
    return {
        "name": name_of(partition, topic),
        "partitions": [{"partition_index": index, **values}],
        "partition_indexes": [index],
    }


def name_of(partition: TopicPartition, topic: str) -> str:
    """The actual name of a partition's topic."""
    return topic if partition.topic == TOPIC else f"{topic}-{partition.topic}"


def symbol_of(name: str, topic: str) -> str:
    """The symbol of a topic's actual name."""
    return TOPIC if name == topic else name.removeprefix(f"{topic}-")


# -- responses --------------------------------------------------------------------------------


def to_response(ask: Ask, message: Message, topic: str) -> AnyResponse:
    """The response of a message, in the specification's form, with actual ids of members."""
    error = error_of(getattr(message, "error_code", None))
    match ask.request:
        case JoinGroup():
            return JoinGroupResponse(
                error,
                message.member_id,
                message.generation_id,
                getattr(message, "protocol_type", None),
                message.protocol_name or None,
                message.leader,
                tuple(
                    (m.member_id, getattr(m, "group_instance_id", None), m.metadata)
                    for m in message.members
                ),
                getattr(message, "skip_assignment", False),
            )
        case SyncGroup():
            return SyncGroupResponse(
                error,
                message.assignment,
                getattr(message, "protocol_type", None),
                getattr(message, "protocol_name", None),
            )
        case Heartbeat():
            return HeartbeatResponse(error)
        case LeaveGroup():
            members = (
                (MemberIdentity(m.member_id, m.group_instance_id), error_of(m.error_code))
                for m in getattr(message, "members", ())
            )
            return LeaveGroupResponse(error, tuple(members))
        case OffsetCommit():
            return OffsetCommitResponse(each_partition(message.topics, topic, result_of))
        case OffsetFetch():
            group = message.groups[0] if hasattr(message, "groups") else message
            error = error_of(getattr(group, "error_code", None))
            return OffsetFetchResponse(error, each_partition(group.topics, topic, offset_of))
        case DeleteGroup():
            return DeleteGroupResponse(error_of(message.results[0].error_code))
        case OffsetDelete():
            return OffsetDeleteResponse(error, each_partition(message.topics, topic, result_of))
        case _:
            raise AssertionError("records has the messages of the other requests")


def error_of(code: Any) -> Any:
    """The specification's name of an error code."""
    if code is None or not code.value:
        return Error.NONE
    name = code.name.upper()
    return Error(name) if name in Error.__members__ else UnknownError(name)


def each_partition(
    topics: Iterable[Any], topic: str, read: Callable[[Any], Any]
) -> tuple[tuple[TopicPartition, Any], ...]:
    """What is read of each partition of a message."""
    return tuple(
        (TopicPartition(symbol_of(t.name, topic), p.partition_index), read(p))
        for t in topics
        for p in t.partitions
    )


def result_of(partition: Any) -> Any:
    """The result for a partition."""
    return error_of(partition.error_code)


def offset_of(partition: Any) -> Offset | UnknownError | None:
    """The committed offset in a response."""
    if partition.error_code.value:
        return UnknownError(partition.error_code.name.upper())
    if partition.committed_offset < 0:
        return None
    epoch = getattr(partition, "committed_leader_epoch", -1)
    return Offset(partition.committed_offset, partition.metadata or "", epoch)


# -- DescribeGroups ---------------------------------------------------------------------------


def to_description(message: Message) -> Described:
    """The group in a response to DescribeGroups for one group."""
    group = message.groups[0]
    error = error_of(group.error_code)
    if error is not Error.NONE:
        return Described(Description(error))
    states = {state.value: state for state in GroupState}
    members = tuple(
        DescribedMember(
            m.member_id,
            getattr(m, "group_instance_id", None),
            m.member_metadata or NO_ASSIGNMENT,
            m.member_assignment or NO_ASSIGNMENT,
        )
        for m in group.members
    )
    description = Description(
        states.get(group.group_state, group.group_state),
        group.protocol_type,
        group.protocol_data,
        members,
    )
    return Described(description, tuple(m.client_id for m in group.members))
