"""The output of `kafka-get-offsets` is read or refused."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.field.groups.offsets import parse_offsets
from kspec.spec.core import SpecError
from kspec.spec.vocabulary import TopicPartition
from tests.field.groups.recorded import ENDS, FACTS, STARTS, name_of, outputs, partition

MOMENT = str(FACTS["first_timestamp"] + 10_000)


@pytest.mark.parametrize("each", outputs("--time", tool="offsets"), ids=name_of)
def test_the_outputs_of_nine_releases_are_read(each: dict[str, Any]) -> None:
    moment = each["arguments"][-1]
    found = parse_offsets(each["output"])
    for name, end in ENDS.items():
        if name.startswith("payments") and "--topic" in each["arguments"]:
            continue
        later = 10 if end > 10 else None  # the record of that second, if there is one
        expected = {"-1": end, "-2": STARTS.get(name, 0), MOMENT: later}[moment]
        assert found.get(partition(name)) == expected


TEXT = "orders:0:1234\norders:1:\n"


def test_lines_are_read_whatever_ends_them() -> None:
    expected = {TopicPartition("orders", 0): 1234, TopicPartition("orders", 1): None}
    assert parse_offsets(TEXT) == parse_offsets(TEXT.replace("\n", "\r\n")) == expected
    assert parse_offsets("") == {}


@pytest.mark.parametrize("end", range(1, len(TEXT)))
def test_the_beginning_of_a_file_is_refused_or_has_no_other_offsets(end: int) -> None:
    try:
        found = parse_offsets(TEXT[:end])
    except SpecError:
        return
    assert found == {TopicPartition("orders", 0): 1234}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("orders:0:12", "the last line has no line ending"),
        ("orders:0\n", "topic:partition:offset is expected"),
        ("orders:0:0x1\n", "topic:partition:offset is expected"),
        ("orders:0:012\n", "the offset is 012"),
        (f"orders:0:{2**63}\n", "a number or - is expected"),
        (f"orders:{2**31}:1\n", "the partition is"),
        ("orders:0:1\norders:0:2\n", "line 2: orders-0 appears twice"),
        ("orders 0 12\n", "topic:partition:offset is expected"),
    ],
)
def test_what_is_no_offset_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        parse_offsets(text)
