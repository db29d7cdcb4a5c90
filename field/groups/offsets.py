"""The output of `kafka-get-offsets` (before 3.0: `GetOffsetShell`): an offset of each partition.

A line is `topic:partition:offset`. A partition without a record at the time that was asked for has
no offset (2.x), or no line. Kafka: `GetOffsetShell`.
"""

from __future__ import annotations

import re

from kspec.field.groups.describe import NOISE, assert_whole, number_in, numbered
from kspec.field.groups.groups import LARGEST_INDEX, TOPIC
from kspec.spec.core import SpecError
from kspec.spec.core.errors import located
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.text import printable

LINE = re.compile(rf"({TOPIC.pattern}):([0-9]+):([0-9]*)")


def parse_offsets(text: str) -> dict[TopicPartition, int | None]:
    """Read the offsets, or refuse. A last line without an end may have lost digits."""
    assert_whole(text)
    offsets: dict[TopicPartition, int | None] = {}
    for number, line in numbered(text):
        if NOISE.match(line):
            continue
        with located(f"line {number}"):
            partition, offset = read_line(line)
            if partition in offsets:
                raise SpecError(f"{partition} appears twice")
        offsets[partition] = offset
    return offsets


def read_line(line: str) -> tuple[TopicPartition, int | None]:
    """The partition and the offset on a line."""
    found = LINE.fullmatch(line)
    if not found:
        raise SpecError(f"topic:partition:offset is expected, not {printable(line)[:60]}")
    index = number_in(found[2], "the partition", LARGEST_INDEX)
    assert index is not None, "digits"
    return TopicPartition(found[1], index), number_in(found[3], "the offset") if found[3] else None
