"""What stands around a message: time and level, in the layouts that logs come in.

Kafka's own layout is `[%d] %p %m (%c)%n` (config/log4j.properties; 4.x config/log4j2.yaml). A
container, syslog or a log shipper puts something before it or wraps it in JSON. So the time is
that which stands next to the level; failing that, the first in the line.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import attrs

LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR|FATAL"
DATE = r"(?:(?P<date>\d{4}[-/]\d\d[-/]\d\d)[ T])?"
TIME = r"(?P<time>\d\d:\d\d:\d\d)(?:[.,:](?P<part>\d{1,9}))?"
ZONE = r"(?P<zone> ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
STAMP = re.compile(rf"(?<![\d:-]){DATE}{TIME}{ZONE}")
BEFORE_LEVEL = re.compile(
    rf"(?<![\d:-]){DATE}{TIME}{ZONE}\]?,?\s+(?:\[[^\]]{{1,200}}\]\s+)?\[?(?P<level>{LEVELS})\b\]?"
)
LEVEL = re.compile(rf"\b({LEVELS})\b")

MESSAGE_KEYS = ("message", "msg", "@message", "log", "event", "textPayload")
TIME_KEYS = ("@timestamp", "timestamp", "time", "ts", "timeMillis", "instant", "date", "t")
LEVEL_KEYS = ("level", "log.level", "severity", "lvl", "levelname")


@attrs.frozen(slots=True)
class Entry:
    """A line of a log in parts; a part that the layout lacks is None or empty."""

    message: str
    time_ms: int | None = None
    """Milliseconds since 1970; since midnight where the layout has no date."""
    level: str = ""


def read_entry(text: str, zone: tzinfo = UTC) -> Entry:
    """The parts of a line. A time without an offset is one of this zone."""
    wrapped = unwrap(text, zone)
    if wrapped:
        return wrapped
    found = BEFORE_LEVEL.search(text) or STAMP.search(text)
    level = (found.groupdict().get("level") if found else None) or ""
    if not level:
        named = LEVEL.search(text)
        level = named[1] if named else ""
    return Entry(text, to_ms(found, zone) if found else None, level)


def to_ms(stamp: re.Match[str], zone: tzinfo) -> int | None:
    """Milliseconds since 1970 of a timestamp; None if there is no such date."""
    date = (stamp["date"] or "1970-01-01").replace("/", "-")
    try:
        moment = datetime.fromisoformat(f"{date}T{stamp['time']}")
    except ValueError:
        return None
    offset = (stamp["zone"] or "").strip()
    where: tzinfo = zone if stamp["date"] else UTC
    if offset in ("Z", "UTC", "GMT"):
        where = UTC
    part = int((stamp["part"] or "0").ljust(3, "0")[:3])
    try:
        if offset[:1] in ("+", "-"):
            hours, minutes = int(offset[:3]), int(offset[0] + offset[-2:])
            where = timezone(timedelta(hours=hours, minutes=minutes))
        return int(moment.replace(tzinfo=where).timestamp()) * 1000 + part
    except (OverflowError, ValueError):
        return None


# -- JSON -------------------------------------------------------------------------------------


def unwrap(text: str, zone: tzinfo) -> Entry | None:
    """The parts of a line that is a JSON object, perhaps after a container's prefix."""
    begin = text.find("{")
    if begin < 0 or not text.endswith("}") or "Completed request" in text[:begin]:
        return None
    try:
        record = json.loads(text[begin:])
    except (ValueError, RecursionError):
        return None
    message = value_of(record, MESSAGE_KEYS)
    if not isinstance(message, str):
        return None
    inner = read_entry(message.rstrip("\r\n"), zone)
    time_ms = inner.time_ms
    if time_ms is None:
        time_ms = moment_of(value_of(record, TIME_KEYS), zone)
    level = value_of(record, LEVEL_KEYS)
    return attrs.evolve(
        inner,
        time_ms=time_ms,
        level=inner.level or (level.upper() if isinstance(level, str) else ""),
    )


def value_of(record: Any, keys: tuple[str, ...]) -> Any:
    """The value of the first of these keys; `log.level` is also {"log": {"level": …}}."""
    if not isinstance(record, dict):
        return None
    for key in keys:
        if key in record and not (isinstance(record[key], dict) and key == "log"):
            return record[key]
        outer, dot, inner = key.partition(".")
        if dot and isinstance(record.get(outer), dict) and inner in record[outer]:
            return record[outer][inner]
    return None


def moment_of(value: Any, zone: tzinfo) -> int | None:
    """A time in JSON: text, seconds or milliseconds since 1970, or log4j2's `instant`."""
    if isinstance(value, dict):
        seconds, nanos = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if isinstance(seconds, int) and isinstance(nanos, int):
            return seconds * 1000 + nanos // 1_000_000
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e17:
        return int(value) if value > 1e11 else int(value * 1000)
    found = STAMP.search(value) if isinstance(value, str) else None
    return to_ms(found, zone) if found else None
