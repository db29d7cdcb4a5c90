"""Whatever a file has, it is read or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.field.groups.describe import TABLES, parse_describe
from kspec.field.groups.groups import from_json
from kspec.field.groups.offsets import parse_offsets
from kspec.field.groups.plan import parse_csv
from kspec.field.groups.times import parse_datetime, parse_duration, parse_rate
from kspec.spec.core import SpecError

WORDS = [
    "orders", "0", "-1", "-", "12", "9" * 30, " ", "  ", "\t", "\r", "\n", ":", ",", '"', "\x1b",
    "P", "T", "1", "D", "H", "S", "+", "-01:00", "2024-05-01T12:00:00.000", "/s", "ms", "Z", "😀",
    '{"groups": [', '{"group": "g", "partitions": [', '{"topic": "t", "partition": 0', "]}", "}",
    "Consumer group '", "' has no active members.", "/10.0.0.1", *(" ".join(c) for c in TABLES),
]  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=30).map("".join))


@pytest.mark.parametrize(
    "parse",
    [
        parse_describe,
        parse_offsets,
        lambda text: parse_csv(text, ["g"]),
        from_json,
        parse_duration,
        parse_datetime,
        parse_rate,
    ],
)
@given(TEXTS)
def test_any_text_is_read_or_refused(parse: Callable[[str], Any], text: str) -> None:
    with suppress(SpecError):
        parse(text)
