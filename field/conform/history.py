"""Histories: what is sent to a broker, step by step, and their JSON.

A history names members by symbols, since the broker issues their ids: `m7` is the member whose id
the request `k7` was issued. A symbol that no response has bound yet is sent as it is: no broker
knows a member of that id.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, TypeAlias

import attrs

from kspec.field.shapes import (
    GREATEST,
    INT64,
    TEXT,
    Field,
    Notation,
    Shape,
    array,
    as_row,
    choice,
    decode_at,
    decode_text,
    number,
    record,
    refuse,
    same,
    shape_of_class,
    those,
)
from kspec.spec.core import SpecError
from kspec.spec.messages import (
    DeleteGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    Protocol,
    Request,
    SyncGroup,
)
from kspec.spec.serving import requests
from kspec.spec.serving.fetch import Fetch
from kspec.spec.serving.list_offsets import EpochOfLeader, ListOffsets
from kspec.spec.serving.partition import PARTITION
from kspec.spec.serving.produce import Produce
from kspec.spec.vocabulary import TopicPartition

APIS: dict[type, str] = {
    JoinGroup: "join_group",
    SyncGroup: "sync_group",
    Heartbeat: "heartbeat",
    LeaveGroup: "leave_group",
    OffsetCommit: "offset_commit",
    OffsetFetch: "offset_fetch",
    DeleteGroup: "delete_groups",
    OffsetDelete: "offset_delete",
    Produce: "produce",
    ListOffsets: "list_offsets",
    EpochOfLeader: "offset_for_leader_epoch",
    Fetch: "fetch",
}
"""The API of each kind of request."""

LONG = 120_000
"""A timeout that no history reaches, in milliseconds; it is not shown."""


TOPIC = PARTITION.topic
"""The topic of every history, under this name; a topic of any other name does not exist."""
OLDER = -2
"""A leader epoch before the current one. No epoch is -1."""

RecordsRequest: TypeAlias = requests.Request
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
    asks: ClassVar[tuple[Ask, ...]] = ()
    """No requests."""


Step: TypeAlias = Send | Pause
"""A step of a history."""


# -- JSON -------------------------------------------------------------------------------------

REQUESTS: Mapping[str, Any] = {kind.__name__: kind for kind in APIS}
"""The kinds of requests by name."""

NATURAL = number(0, GREATEST)
INT16 = number(-(2**15), 2**15 - 1)
INT32 = number(-(2**31), 2**31 - 1)


def decode_opaque(value: Any) -> bytes:
    """Bytes in Latin-1."""
    try:
        return decode_text(value).encode("latin-1")
    except UnicodeEncodeError:
        raise refuse("text in Latin-1", value) from None


def ask_from_json(value: Any) -> Ask:
    """The request of a JSON value."""
    if type(value) is not dict:
        raise refuse("an object", value)
    kind: Any = decode_at(".request", choice(REQUESTS), value.get("request"))
    ask: Ask = shape_of_ask(kind).decode(value)
    return ask


def ask_to_json(ask: Ask) -> Any:
    """A request as JSON."""
    kind: Any = type(ask.request)
    return shape_of_ask(kind).encode(ask)


NOTATION = Notation(
    same,
    names={
        "Pause": {"milliseconds": "pause"},
        "Send": {"asks": "send"},
        **{kind: {"version": False, "client": False} for kind in REQUESTS},
    },
    shapes={
        Ask: Shape({}, ask_from_json, ask_to_json),
        Hashable: Shape(TEXT.schema, decode_opaque, lambda value: value.decode("latin-1")),
        TopicPartition: as_row(TopicPartition, topic=TEXT, partition=NATURAL),
        Offset: as_row(Offset, offset=INT64, metadata=TEXT, leader_epoch=INT64),
        (Pause, "milliseconds"): NATURAL,
        (Produce, "times"): those(array(INT32, tuple), len, "the times of records"),
        (Produce, "acks"): those(INT16, bool, "acks with which there is a response"),
        (Produce, "epoch"): INT16,
        (Produce, "sequence"): INT32,
        (ListOffsets, "time"): INT32,
        (ListOffsets, "epoch"): INT16,
        (EpochOfLeader, "asked"): INT16,
        (EpochOfLeader, "epoch"): INT16,
        (Fetch, "offset"): INT32,
        (Fetch, "epoch"): INT16,
        (Fetch, "max_bytes"): INT32,
    },
)
"""How steps are written: requests under the names of the specification."""


@cache
def shape_of_ask(kind: Any) -> Shape:
    """The shape of the requests of a kind, whose fields stand beside their number and version."""
    fields = [
        Field("number", "number", NATURAL),
        Field("kind", "request", choice(REQUESTS)),
        Field("version", "version", NATURAL),
        Field("request", "", shape_of_class(kind, NOTATION)),
    ]

    def make(found: dict[str, Any]) -> Ask:
        number, version = found["number"], found["version"]
        beside = {"version": version, "client": f"k{number}"}
        known = {name: value for name, value in beside.items() if hasattr(found["request"], name)}
        return Ask(number, attrs.evolve(found["request"], **known), version)

    def part(ask: Ask, name: str) -> Any:
        return type(ask.request) if name == "kind" else getattr(ask, name)

    return record(fields, make, part)


def to_json(step: Step) -> Any:
    """A step as JSON."""
    kind: Any = type(step)
    return shape_of_class(kind, NOTATION).encode(step)


def from_json(value: Any) -> Step:
    """The step of a JSON value."""
    kind: Any = Pause if isinstance(value, dict) and "pause" in value else Send
    try:
        step: Step = shape_of_class(kind, NOTATION).decode(value)
    except SpecError as error:
        raise SpecError(f"not a step of a history: {error}") from None
    return step


# -- one line ---------------------------------------------------------------------------------


def describe(step: Step) -> str:
    """A step in a line."""
    if isinstance(step, Pause):
        return f"wait {step.milliseconds} ms" if step.milliseconds else "wait for the initial delay"
    return " | ".join(describe_ask(ask) for ask in step.asks)


def is_of_records(steps: Iterable[Step]) -> bool:
    """Whether a history has requests of the profile `records`."""
    return any(isinstance(ask.request, RecordsRequest) for step in steps for ask in step.asks)


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
