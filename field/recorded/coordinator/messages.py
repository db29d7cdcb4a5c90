"""Events of the group protocol: Kafka's JSON, as the specification's requests and responses.

Fields have the names of Kafka's message schemas, as in Kafka's request log; a field that the
version lacks may be missing. Subscriptions and assignments stay as they are written (base64).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from kspec.field.recorded.mapping import BadEvent, Content
from kspec.spec.messages import (
    Error,
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
    Protocol,
    Request,
    Response,
    SyncGroup,
    SyncGroupResponse,
)
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.page.html import asset

ERRORS: Mapping[str, Any] = tomllib.loads(asset(__package__, "errors.toml"))
CODES: Mapping[int, str] = {code: name for name, code in ERRORS["codes"].items()}
"""The names of the error codes of groups. Kafka: `Errors`."""


class Fields:
    """The fields of a message, read with their types; BadEvent if one has another."""

    def __init__(self, content: Any) -> None:
        if not isinstance(content, Mapping):
            raise BadEvent(f"the fields of a message are an object, not {content!r:.60}")
        self._content = content

    def has(self, name: str) -> bool:
        """Whether the field is present."""
        return self._content.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self._content.get(name, default)
        if value is None:
            return default
        if not isinstance(value, str):
            raise BadEvent(f"{name} is a text, not {value!r:.60}")
        return value

    def optional(self, name: str) -> str | None:
        """A text or null."""
        return self.text(name) if self.has(name) else None

    def flag(self, name: str) -> bool:
        """True or false; false if it is missing."""
        return self._content.get(name) is True

    def number(self, name: str, default: int | None = None) -> int:
        """A number; required if there is no default."""
        value = self._content.get(name, default)
        if type(value) is not int:
            raise BadEvent(f"{name} is a number, not {value!r:.60}")
        return value

    def error(self, name: str = "errorCode") -> Any:
        """An error by its code or its name; NONE if the version lacks it."""
        value = self._content.get(name, 0)
        named = CODES.get(value, f"error {value}") if type(value) is int else value
        if not isinstance(named, str):
            raise BadEvent(f"{name} is an error code, not {value!r:.60}")
        return Error[named] if named in Error.__members__ else named

    def each(self, name: str) -> list[Fields]:
        """The objects of a list; none if it is missing or null."""
        value = self._content.get(name) or ()
        if not isinstance(value, list | tuple):
            raise BadEvent(f"{name} is a list, not {value!r:.60}")
        return [Fields(item) for item in value]


@attrs.frozen
class CallId:
    """What a response has in common with its request."""

    connection: str
    correlation: int


@attrs.frozen
class Asked:
    """A request that was seen."""

    id: CallId
    group: str
    request: Request
    version: int
    time: float | None
    broker: str | None = None
    """The broker that the connection is to, if the event names it."""


@attrs.frozen
class Answered:
    """A response that was seen."""

    id: CallId
    group: str | None
    """The group, if the event names it."""
    fields: Fields = attrs.field(eq=False)
    time: float | None = None
    broker: str | None = None


@attrs.frozen
class Disconnected:
    """A connection was closed."""

    connection: str
    time: float | None


@attrs.frozen
class Unrelated:
    """An event that has nothing to do with classic groups."""


AnyEvent: TypeAlias = Asked | Answered | Disconnected | Unrelated


def read_event(content: Content) -> AnyEvent:
    """An event of a trace."""
    event = Fields(content)
    kind = event.text("event")
    if kind not in ("request", "response", "disconnect"):
        raise BadEvent(f"{kind!r:.40} is not request, response or disconnect")
    time = content.get("time_ms")
    if time is not None and not isinstance(time, int | float):
        raise BadEvent(f"time_ms is a number, not {time!r:.60}")
    connection = str(content.get("connection", ""))
    if kind == "disconnect":
        return Disconnected(connection, time)
    api = event.text("api")
    if api not in APIS or content.get("fields") is None:
        return Unrelated()
    fields = Fields(content["fields"])
    call = CallId(connection, event.number("correlation"))
    broker = event.optional("broker")
    if kind == "response":
        return Answered(call, event.optional("group"), fields, time, broker)
    version = event.number("version")
    request = read_request(api, fields, version)
    return Asked(call, fields.text("groupId"), request, version, time, broker)


# -- requests ---------------------------------------------------------------------------------


APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit")
"""The requests that are checked."""


def read_request(api: str, fields: Fields, version: int) -> Request:
    """A request."""
    match api:
        case "JoinGroup":
            session = fields.number("sessionTimeoutMs")  # before version 1, for rebalances too
            rebalance = fields.number("rebalanceTimeoutMs", session) if version else session
            return JoinGroup(
                member=fields.text("memberId"),
                instance=fields.optional("groupInstanceId"),
                protocols=tuple(
                    Protocol(p.text("name"), p.text("metadata")) for p in fields.each("protocols")
                ),
                protocol_type=fields.text("protocolType"),
                session_timeout=session,
                rebalance_timeout=rebalance,
                version=version,
            )
        case "SyncGroup":
            return SyncGroup(
                member=fields.text("memberId"),
                generation=fields.number("generationId"),
                assignments=tuple(
                    (a.text("memberId"), a.text("assignment")) for a in fields.each("assignments")
                ),
                instance=fields.optional("groupInstanceId"),
                protocol_type=fields.optional("protocolType"),
                protocol=fields.optional("protocolName"),
                version=version,
            )
        case "Heartbeat":
            instance = fields.optional("groupInstanceId")
            return Heartbeat(fields.text("memberId"), fields.number("generationId"), instance)
        case "LeaveGroup":
            leaving = fields.each("members") if version >= 3 else [fields]
            members = ((m.text("memberId"), m.optional("groupInstanceId")) for m in leaving)
            return LeaveGroup(tuple(MemberIdentity(*each) for each in members), version)
        case _:
            newer = "generationIdOrMemberEpoch"  # the name since Kafka 3.6, in every version
            generation = newer if fields.has(newer) else "generationId"
            offsets = (
                (place(t, p), Offset(p.number("committedOffset"), p.text("committedMetadata")))
                for t in fields.each("topics")
                for p in t.each("partitions")
            )
            return OffsetCommit(
                tuple(offsets),
                fields.text("memberId"),
                fields.number(generation, -1),
                fields.optional("groupInstanceId"),
                version,
            )


def place(topic: Fields, partition: Fields) -> TopicPartition:
    """The partition of a nested message; later versions name topics by their ids."""
    name = topic.text("name") or topic.text("topicId")
    return TopicPartition(name, partition.number("partitionIndex"))


# -- responses --------------------------------------------------------------------------------


def read_response(request: Any, fields: Fields) -> Response:
    """The response to a request."""
    error = fields.error()
    match request:
        case JoinGroup():
            return JoinGroupResponse(
                error,
                fields.text("memberId"),
                fields.number("generationId", -1),
                fields.optional("protocolType"),
                fields.text("protocolName") or None,
                fields.text("leader"),
                tuple(
                    (m.text("memberId"), m.optional("groupInstanceId"), m.text("metadata"))
                    for m in fields.each("members")
                ),
                fields.flag("skipAssignment"),
            )
        case SyncGroup():
            return SyncGroupResponse(
                error,
                fields.text("assignment"),
                fields.optional("protocolType"),
                fields.optional("protocolName"),
            )
        case Heartbeat():
            return HeartbeatResponse(error)
        case LeaveGroup():
            members = (
                (MemberIdentity(m.text("memberId"), m.optional("groupInstanceId")), m.error())
                for m in fields.each("members")
            )
            return LeaveGroupResponse(error, tuple(members))
        case OffsetCommit():
            return OffsetCommitResponse(
                tuple(
                    (place(t, p), p.error())
                    for t in fields.each("topics")
                    for p in t.each("partitions")
                )
            )
        case _:
            raise AssertionError("read_event reads no other request")
