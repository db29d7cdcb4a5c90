"""Histories: what is sent to a broker, step by step, and their JSON.

A history names members by symbols, since the broker issues their ids: `m7` is the member whose id
the request `k7` was issued. A symbol that no response has bound yet is sent as it is: no broker
knows a member of that id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from kspec.spec.core import SpecError
from kspec.spec.messages import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetFetch,
    Protocol,
    Request,
    SyncGroup,
)
from kspec.spec.vocabulary import TopicPartition

LONG = 120_000
"""A timeout that no history reaches, in milliseconds; it is not shown."""


@attrs.frozen
class DeleteGroup:
    """An administrator deletes the group."""


@attrs.frozen
class OffsetDelete:
    """An administrator deletes committed offsets of the group."""

    partitions: tuple[TopicPartition, ...]
    """The partitions."""


TOPIC = "t"
"""The topic of every history, under this name; a topic of any other name does not exist."""
PARTITION = TopicPartition(TOPIC, 0)
"""The partition of every history of the profile `records`; any other does not exist."""


@attrs.frozen
class Produce:
    """A producer sends a batch; each of its records has the value `k` with the request's number."""

    partition: TopicPartition = PARTITION
    """The partition."""
    times: tuple[int, ...] = (0,)
    """The times of its records."""
    flaw: str = ""
    """What is wrong with the batch, if anything: one of `records.FLAWS`."""
    acks: int = -1
    """Which replicas have to have it: -1 for all in sync, 1 for the leader; others are refused."""
    epoch: int = -1
    """The epoch of the idempotent producer, or -1."""
    sequence: int = -1
    """The sequence number of its first record, or -1."""


@attrs.frozen
class ListOffsets:
    """A consumer asks for an offset."""

    partition: TopicPartition = PARTITION
    """The partition."""
    time: int = -1
    """The time; -1 for the log's end, -2 for its start, -3 for the record with the latest time."""
    epoch: int = -1
    """The leader epoch that the consumer knows, or -1."""
    read_committed: bool = False
    """The isolation level."""


@attrs.frozen
class EpochOfLeader:
    """A consumer asks where a leader epoch ended (OffsetForLeaderEpoch)."""

    partition: TopicPartition = PARTITION
    """The partition."""
    asked: int = 0
    """The leader epoch that it asks about."""
    epoch: int = -1
    """The leader epoch that it knows, or -1."""


@attrs.frozen
class Fetch:
    """A consumer fetches from an offset on, and does not wait."""

    partition: TopicPartition = PARTITION
    """The partition."""
    offset: int = 0
    """The offset."""
    epoch: int = -1
    """The leader epoch that the consumer knows, or -1."""
    read_committed: bool = False
    """The isolation level."""
    max_bytes: int = 2**20
    """How many bytes it wants at most; one batch it gets in any case."""


RecordsRequest: TypeAlias = Produce | ListOffsets | EpochOfLeader | Fetch
"""A request of the profile `records`."""
AnyRequest: TypeAlias = Request | DeleteGroup | OffsetDelete | RecordsRequest
"""A request of a history."""


@attrs.frozen
class Ask:
    """A request on its own connection."""

    number: int
    """Its number in the history: its client id is `k` and its new member `m` with this number."""
    request: AnyRequest
    """The request."""
    version: int
    """The version of the request."""

    @property
    def client(self) -> str:
        """The client id."""
        return f"k{self.number}"

    @property
    def symbol(self) -> str:
        """The name of the member that the request makes, if it makes one."""
        return f"m{self.number}"


@attrs.frozen
class Send:
    """Requests at the same time: any order is possible."""

    asks: tuple[Ask, ...]
    """The requests, one in most steps."""


@attrs.frozen
class Pause:
    """Wait for a timer."""

    milliseconds: int
    """How long; 0 for as long as the initial delay of a group that was empty."""


Step: TypeAlias = Send | Pause
"""A step of a history."""


# -- JSON -------------------------------------------------------------------------------------

KINDS: Mapping[str, Any] = {
    kind.__name__: kind
    for kind in (
        JoinGroup,
        SyncGroup,
        Heartbeat,
        LeaveGroup,
        OffsetCommit,
        OffsetFetch,
        DeleteGroup,
        OffsetDelete,
        Produce,
        ListOffsets,
        EpochOfLeader,
        Fetch,
    )
}
"""The kinds of requests by name."""


def to_json(step: Step) -> Any:
    """A step as JSON."""
    if isinstance(step, Pause):
        return {"pause": step.milliseconds}
    return {"send": [ask_to_json(ask) for ask in step.asks]}


def ask_to_json(ask: Ask) -> dict[str, Any]:
    """A request as JSON."""
    fields = {
        field.name: plain(getattr(ask.request, field.name))
        for field in attrs.fields(type(ask.request))
        if field.name not in ("version", "client")
    }
    kind = type(ask.request).__name__
    return {"number": ask.number, "request": kind, "version": ask.version, **fields}


def plain(value: Any) -> Any:
    """A field's value as JSON."""
    match value:
        case bytes():
            return value.decode("latin-1")
        case TopicPartition():
            return [value.topic, value.partition]
        case tuple():
            return [plain(item) for item in value]
        case Protocol():
            return {"name": value.name, "metadata": plain(value.metadata)}
        case MemberIdentity():
            return {"member": value.member, "instance": value.instance}
        case Offset():
            return [value.offset, value.metadata, value.leader_epoch]
        case _:
            return value


def from_json(value: Any) -> Step:
    """The step of a JSON value."""
    try:
        if "pause" in value:
            return Pause(natural(value["pause"]))
        return Send(tuple(ask_from_json(ask) for ask in value["send"]))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise SpecError(f"not a step of a history: {error}") from None


def ask_from_json(value: Mapping[str, Any]) -> Ask:
    """The request of a JSON value."""
    fields = dict(value)
    number, version = natural(fields.pop("number")), natural(fields.pop("version"))
    kind = KINDS[fields.pop("request")]
    known = {field.name for field in attrs.fields(kind)}
    parsed = {name: parse(name, fields.pop(name)) for name in list(fields) if name in known}
    if fields:
        raise ValueError(f"{kind.__name__} has no {', '.join(fields)}")
    if "version" in known:
        parsed["version"] = version
    if "client" in known:
        parsed["client"] = f"k{number}"
    return Ask(number, kind(**parsed), version)


def natural(value: Any) -> int:
    """A number that is not negative."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a number")
    return value


def parse(name: str, value: Any) -> Any:
    """The value of a request's field."""
    match name:
        case "protocols":
            return tuple(
                Protocol(text(p["name"]), text(p["metadata"]).encode("latin-1")) for p in value
            )
        case "assignments":
            return tuple((text(m), text(given).encode("latin-1")) for m, given in value)
        case "members":
            return tuple(MemberIdentity(text(m["member"]), optional(m["instance"])) for m in value)
        case "offsets":
            return tuple(
                (partition(tp), Offset(integer(o[0]), text(o[1]), integer(o[2]))) for tp, o in value
            )
        case "partitions":
            return None if value is None else tuple(partition(tp) for tp in value)
        case "generation" | "session_timeout" | "rebalance_timeout":
            return integer(value)
        case "instance" | "protocol":
            return optional(value)
        case "partition":
            return partition(value)
        case "times":
            if not value:
                raise ValueError("a batch has records")
            return tuple(within(31, time) for time in value)
        case "acks":
            if value == 0:
                raise ValueError("a request with acks=0 has no response")
            return within(15, value)
        case "epoch" | "asked":
            return within(15, value)
        case "sequence" | "time" | "offset" | "max_bytes":
            return within(31, value)
        case "read_committed":
            return bool(value)
        case "protocol_type":
            return optional(value)
        case _:
            return text(value)


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def optional(value: Any) -> str | None:
    """A text or null."""
    return None if value is None else text(value)


def integer(value: Any) -> int:
    """An integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an integer")
    return value


def within(bits: int, value: Any) -> int:
    """An integer of so many bits and a sign."""
    if not -(2**bits) <= integer(value) < 2**bits:
        raise ValueError(f"{value} is too large")
    return integer(value)


def partition(value: Any) -> TopicPartition:
    """A partition: a topic and a number."""
    return TopicPartition(text(value[0]), natural(value[1]))


# -- one line ---------------------------------------------------------------------------------


def describe(step: Step) -> str:
    """A step in a line."""
    if isinstance(step, Pause):
        return f"wait {step.milliseconds} ms" if step.milliseconds else "wait for the initial delay"
    return " | ".join(describe_ask(ask) for ask in step.asks)


def is_of_records(steps: Iterable[Step]) -> bool:
    """Whether a history has requests of the profile `records`."""
    return any(
        isinstance(ask.request, RecordsRequest)
        for step in steps
        if isinstance(step, Send)
        for ask in step.asks
    )


def describe_ask(ask: Ask) -> str:
    """A request in a line: its kind and version, and the fields that are not the defaults."""
    parts = []
    for field in attrs.fields(type(ask.request)):
        value = getattr(ask.request, field.name)
        usual = value == field.default or (field.name.endswith("_timeout") and value == LONG)
        if field.name not in ("version", "client") and not usual:
            parts.append(f"{field.name}={shown(value)}")
    kind = type(ask.request).__name__
    return f"{ask.client} {kind} v{ask.version}({', '.join(parts)})"


def shown(value: Any) -> str:
    """A field's value in a line."""
    match value:
        case bytes():
            return repr(value.decode("latin-1"))
        case TopicPartition():
            return f"{value.topic}-{value.partition}"
        case Protocol():
            return f"{value.name}:{shown(value.metadata)}"
        case MemberIdentity():
            return value.member if value.instance is None else f"{value.member}/{value.instance}"
        case Offset():
            return f"{value.offset} {value.metadata!r}" if value.metadata else f"{value.offset}"
        case tuple():
            return "[" + ", ".join(map(shown, value)) + "]"
        case str():
            return value or "''"
        case _:
            return str(value)
