"""The requests and responses of consumer groups as events of a trace.

Fields have the names of Kafka's message schemas, as in Kafka's request log: `groupId`,
`sessionTimeoutMs`. Errors are their codes, and bytes are base64.
"""

from __future__ import annotations

import dataclasses
from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Any

from kspec.impl.recording.trace import Recording
from kspec.impl.wire import API_KEYS, Message, Received, milliseconds

APIS: Mapping[int, str] = {
    API_KEYS[name]: name.title().replace("_", "")
    for name in (
        "join_group",
        "sync_group",
        "heartbeat",
        "leave_group",
        "offset_commit",
        "offset_fetch",
    )
}
"""The APIs that are recorded, by key."""


def record(
    recording: Recording,
    event: str,
    connection: int,
    request: Received,
    message: Message,
    broker: str | None = None,
) -> None:
    """Add a `request` to a group, or the `response` to it; others are not recorded."""
    if request.key in APIS:
        recording.add(
            event,
            broker=broker,
            group=getattr(request.message, "group_id", None),
            connection=connection,
            correlation=request.correlation,
            client=request.client,
            api=APIS[request.key],
            version=request.version,
            fields=None if message is None else plain(message),
        )


def plain(value: Any) -> Any:
    """A message, or a part of one, as JSON."""
    if dataclasses.is_dataclass(value):
        return {
            json_name(field.name, getattr(value, field.name)): plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    match value:
        case bytes():
            return b64encode(value).decode()
        case timedelta():
            return milliseconds(value)
        case Enum():
            return value.value
        case tuple():
            return [plain(item) for item in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def json_name(name: str, value: Any) -> str:
    """The name of a field in Kafka's schemas; kio shortens those of durations."""
    first, *rest = name.split("_")
    ending = "Ms" if isinstance(value, timedelta) else ""
    return first + "".join(map(str.capitalize, rest)) + ending
