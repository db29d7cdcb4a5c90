"""Durations, moments and rates, as Java and Kafka's tool read them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kspec.field.groups.times import (
    in_words,
    parse_datetime,
    parse_duration,
    parse_java_duration,
    parse_rate,
)
from kspec.spec.core import SpecError


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("7d", 604_800_000),
        ("90m", 5_400_000),
        ("1.5h", 5_400_000),
        ("250ms", 250),
        ("P7D", 604_800_000),
        ("PT1H30M", 5_400_000),
        ("p1dt2h3m4.005s", 93_784_005),
        ("PT0S", 0),
        ("PT-1H+61M", 60_000),
        ("-PT-1S", 1_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    """Java's forms were read by `java.time.Duration.parse`, with the same results."""
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "7", "7 d", "-7d", "P", "PT", "P1DT", "P1M", "PT-1S", "1e9d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="duration"):
        parse_duration(text)


def test_durations_are_bounded() -> None:
    with pytest.raises(SpecError, match="too long"):
        parse_java_duration(f"P{10**17}D")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2020-11-10T16:51:38.198", 1605027098198),
        ("2020-11-10T16:51:38.198Z", 1605027098198),
        ("2020-11-10T16:51:38.198+05:30", 1605007298198),
        ("2020-11-10T16:51:38.198-03:30", 1605039698198),
        ("2020-11-10T16:51:38.198+05", 1605009098198),
        ("2020-11-10T16:51:38.198+0500", 1605009098198),
    ],
)
def test_moments(text: str, milliseconds: int) -> None:
    """As `Utils.getDateTime` of Kafka 4.0.0 read them."""
    assert parse_datetime(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2020-11-10", "three digits"),
        ("2020-11-10T16:51:38", "three digits"),
        ("2020-11-10T16:51:38.5", "three digits"),  # five milliseconds to Kafka
        ("2020-11-10 16:51:38.198", "three digits"),
        ("2020-11-10T16:51:38.198Zx", "three digits"),
        ("2020-11-10T24:00:00.000", "no such time"),
        ("2020-02-30T00:00:00.000", "no such time"),
        ("2020-11-10T16:51:38.198+05:60", "no such offset"),
        ("2020-11-10T16:51:38.198+0530", r"reads \+0530 as \+05:00: write \+05:30"),
    ],
)
def test_moments_that_kafka_refuses_or_takes_for_others(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        parse_datetime(text)


def test_rates() -> None:
    assert parse_rate("50/s") == Fraction(1, 20)
    assert parse_rate("1.5/m") == Fraction(3, 120_000)
    for text in ("", "50", "50/w", "-1/s", "50 / s"):
        with pytest.raises(SpecError, match="not a rate"):
            parse_rate(text)


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "0 s"),
        (999, "0 s"),
        (61_000, "1 m 1 s"),
        (7_200_000, "2 h"),
        (90_061_000, "1 d 1 h"),
        (86_400_000 * 400_000, "400,000 d"),
    ],
)
def test_durations_in_words(milliseconds: int, words: str) -> None:
    assert in_words(milliseconds) == words
