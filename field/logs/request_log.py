"""Kafka's request log: one line for each request, once it is answered.

`kafka.request.logger` at DEBUG writes `Completed request:{JSON}` since 2.8 (RequestChannel.scala
and RequestConvertToJson; KIP-673). A request arrived totalTimeMs before its line; its answer was
decided once it was dequeued, handled and no longer parked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kspec.field.logs.layout import Entry

MARK = "Completed request:"
APIS = {
    "JOIN_GROUP": "JoinGroup",
    "SYNC_GROUP": "SyncGroup",
    "HEARTBEAT": "Heartbeat",
    "LEAVE_GROUP": "LeaveGroup",
    "OFFSET_COMMIT": "OffsetCommit",
    "OFFSET_FETCH": "OffsetFetch",
}
"""The requests of groups, by the log's names."""


def requests_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """The events of a line: a request and its response, or nothing if it is of another kind."""
    record = parse(entry.message)
    header = record.get("requestHeader", {})
    api = APIS.get(text(header, "requestApiKeyName"))
    request, response = record.get("request"), record.get("response")
    if api is None or not isinstance(request, dict) or not isinstance(response, dict):
        return
    common = {
        "connection": text(record, "connection"),
        "correlation": header.get("correlationId"),
        "api": api,
        "version": header.get("requestApiVersion"),
        "client": text(header, "clientId"),
    }
    group = group_of(request)
    if group is not None:
        common["group"] = group
    arrived, decided = times(entry.time_ms, record)
    yield {**common, "event": "request", "time_ms": arrived, "fields": request}
    yield {**common, "event": "response", "time_ms": decided, "fields": response}


def parse(message: str) -> dict[str, Any]:
    """The JSON of a line; empty if there is none."""
    begin = message.find(MARK)
    if begin < 0:
        return {}
    try:
        record, _ = json.JSONDecoder().raw_decode(message, begin + len(MARK))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(record, dict) or not isinstance(record.get("requestHeader"), dict):
        return {}
    return record


def group_of(request: dict[str, Any]) -> str | None:
    """The group that a request names; OffsetFetch has a list since version 8."""
    groups = request.get("groups")
    if isinstance(groups, list) and len(groups) == 1 and isinstance(groups[0], dict):
        request = groups[0]
    group = request.get("groupId")
    return group if isinstance(group, str) else None


def times(written: int | None, record: dict[str, Any]) -> tuple[float | None, float | None]:
    """When the request arrived, and when its answer was decided."""
    if written is None:
        return None, None
    arrived = written - number(record, "totalTimeMs")
    parts = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs")
    return round(arrived, 3), round(arrived + sum(number(record, name) for name in parts), 3)


def text(record: dict[str, Any], name: str) -> str:
    """A text of a line; empty if it lacks one."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def number(record: dict[str, Any], name: str) -> float:
    """A duration of a line; 0 if it lacks one."""
    value = record.get(name, 0)
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e12 else 0.0
