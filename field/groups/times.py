"""Durations, moments and rates, as they are typed."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from kspec.spec.core import SpecError
from kspec.traces.text import printable

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Milliseconds, by unit."""
SHORT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,6})?)(ms|s|m|h|d)")
JAVA = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]{1,18})D)?"
    r"(T(?:([-+]?[0-9]{1,18})H)?(?:([-+]?[0-9]{1,18})M)?(?:([-+]?[0-9]{1,18})(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE,
)
"""The form of `java.time.Duration.parse`."""
LONGEST = 2**63 - 1
"""The longest duration, in milliseconds."""
DATETIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})(?:(Z)|([+-])(\d\d)(?:(:?)(\d\d))?)?", re.ASCII
)
"""The form of `Utils.getDateTime`."""


def parse_duration(text: str) -> int:
    """The milliseconds of `7d` or `90m`, or of `P7D` or `PT1H30M` as Kafka takes it."""
    if found := SHORT.fullmatch(text):
        return not_negative(int(Fraction(found[1]) * UNITS[found[2]]), text)
    if not re.match(r"[-+]?P", text, re.IGNORECASE):
        raise SpecError(f"{printable(text)} is not a duration, such as 7d, 90m, P7D or PT1H30M")
    return parse_java_duration(text)


def not_negative(milliseconds: int, text: str) -> int:
    """A duration; SpecError if it is negative or too long."""
    if not 0 <= milliseconds <= LONGEST:
        raise SpecError(f"the duration {printable(text)} is negative or too long")
    return milliseconds


def parse_java_duration(text: str) -> int:
    """The milliseconds of a duration as `java.time.Duration.parse` reads it."""
    found = JAVA.fullmatch(text)
    if not found or not any(found.group(2, 4, 5, 6)) or (found[3] or "").upper() == "T":
        raise SpecError(f"{printable(text)} is not a duration, such as P7D or PT1H30M")
    days, hours, minutes, seconds = (int(part or 0) for part in found.group(2, 4, 5, 6))
    sign = -1 if (found[6] or "").startswith("-") else 1
    fraction = sign * Fraction(int((found[7] or "").ljust(9, "0") or 0), 10**9)
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds + fraction
    return not_negative(int(whole * 1_000) * (-1 if found[1] == "-" else 1), text)


def parse_datetime(text: str) -> int:
    """The milliseconds since 1970 of `2024-05-01T12:00:00.000`, in UTC or with an offset.

    Kafka: `Utils.getDateTime`. Of an offset without a colon it reads the hours and ignores the
    minutes, so +0530 would mean +05.
    """
    found = DATETIME.fullmatch(text)
    if not found:
        raise SpecError(
            f"{printable(text)} is not a time that Kafka's tool reads: "
            "2024-05-01T12:00:00.000 is, with three digits of milliseconds, in UTC or with an "
            "offset such as +05:30"
        )
    moment, _, sign, hours, colon, minutes = found.groups()
    if not colon and int(minutes or 0):
        raise SpecError(
            f"Kafka's tool reads {sign}{hours}{minutes} as {sign}{hours}:00: "
            f"write {sign}{hours}:{minutes}"
        )
    try:
        utc = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    except ValueError:
        raise SpecError(f"{printable(text)}: there is no such time") from None
    if int(hours or 0) > 23 or int(minutes or 0) > 59:
        raise SpecError(f"{printable(text)}: there is no such offset")
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    since = utc - datetime(1970, 1, 1, tzinfo=UTC)
    return int((since + ahead if sign == "-" else since - ahead) / timedelta(milliseconds=1))


RATE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)/(s|m|h|d)")


def parse_rate(text: str) -> Fraction:
    """The records per millisecond of `50/s` or `1000/h`."""
    found = RATE.fullmatch(text)
    if not found:
        raise SpecError(f"{printable(text)} is not a rate, such as 50/s, 3000/m or 1000/h")
    return Fraction(found[1]) / UNITS[found[2]]


def in_words(milliseconds: Fraction | int) -> str:
    """A duration in its two largest units, rounded down."""
    left = int(milliseconds)
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, UNITS[unit])
        if count:
            parts.append(f"{count:,} {unit}")
        if parts and (len(parts) == 2 or not count):
            break
    return " ".join(parts) or "0 s"
