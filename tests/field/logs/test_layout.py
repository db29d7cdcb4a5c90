"""The time, level and message of a line are found in the layouts that logs come in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kspec.field.logs.layout import read_entry

MOMENT = 1_714_568_400_123
"""2024-05-01 13:00:00.123 UTC."""
SAID = "[GroupCoordinator 1]: Stabilized group g"

LAYOUTS = {
    "Kafka": f"[2024-05-01 13:00:00,123] INFO {SAID} (kafka.coordinator.group.GroupCoordinator)",
    "Strimzi": f"2024-05-01 13:00:00,123 INFO {SAID} (kafka.Group) [data-plane-handler-1]",
    "Connect": f"[2024-05-01 13:00:00,123] INFO [sink|task-0] {SAID} (o.a.k.Group:123)",
    "Spring Boot": f"2024-05-01 13:00:00.123  INFO 1 --- [main] o.a.k.Group : {SAID}",
    "Spring Boot 3": f"2024-05-01T13:00:00.123Z  INFO 1 --- [main] o.a.k.Group : {SAID}",
    "an offset": f"2024-05-01T15:00:00.123+02:00 INFO {SAID}",
    "thread first": f"2024-05-01 13:00:00.123 [consumer-1] INFO o.a.k.Group - {SAID}",
    "containerd": f"2024-05-01T13:00:00.999999999Z stdout F [2024-05-01 13:00:00,123] INFO {SAID}",
    "docker compose": f"kafka-1  | [2024-05-01 13:00:00,123] INFO {SAID} (kafka.Group)",
    "syslog": f"May  1 13:00:02 host kafka[7]: [2024-05-01 13:00:00,123] INFO {SAID}",
    "RFC 5424": f"<14>1 2024-05-01T13:00:09Z h kafka 1 - - [2024-05-01 13:00:00,123] INFO {SAID}",
    "grep -n": f"server.log:17:[2024-05-01 13:00:00,123] INFO {SAID} (kafka.Group)",
}

WRAPPED: dict[str, dict[str, Any]] = {
    "JSON": {"@timestamp": "2024-05-01T13:00:00.123Z", "message": SAID},
    "log4j2 JSON": {
        "instant": {"epochSecond": 1714568400, "nanoOfSecond": 123000000},
        "message": SAID,
    },
    "ECS": {"@timestamp": "2024-05-01T13:00:00.123Z", "message": SAID, "log": {"x": 1}},
    "milliseconds": {"timeMillis": 1714568400123, "message": SAID},
    "docker": {"log": f"[2024-05-01 13:00:00,123] INFO {SAID}\n", "stream": "stdout"},
}
LAYOUTS |= {name: json.dumps({**record, "level": "INFO"}) for name, record in WRAPPED.items()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_has_its_time_level_and_message(layout: str) -> None:
    entry = read_entry(LAYOUTS[layout])
    assert (entry.time_ms, entry.level) == (MOMENT, "INFO")
    assert SAID in entry.message


def test_a_time_without_an_offset_is_one_of_the_given_zone() -> None:
    entry = read_entry(LAYOUTS["Kafka"], ZoneInfo("Europe/Berlin"))
    assert entry.time_ms == MOMENT - 2 * 3_600_000
    assert read_entry(LAYOUTS["an offset"], ZoneInfo("Europe/Berlin")).time_ms == MOMENT


def test_a_time_without_a_date_is_a_time_of_day() -> None:
    entry = read_entry("13:00:00.123 [main] INFO o.a.k.Group - text", ZoneInfo("Asia/Tokyo"))
    assert entry.time_ms is not None
    assert datetime.fromtimestamp(entry.time_ms / 1000, UTC).hour == 13


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no time",
        "[2024-13-41 13:00:00,123] INFO x",
        "[2024-05-01 99:00:00,123] INFO x",
        "2024-05-01T13:00:00.123+99:00 INFO x",
        "{",
        "{}",
    ],
)
def test_a_line_without_a_time_has_none(text: str) -> None:
    assert read_entry(text).time_ms is None


def test_deeply_nested_json_is_text() -> None:
    text = "[" * 100_000
    assert read_entry("{" + text + "}").message.startswith("{[")
