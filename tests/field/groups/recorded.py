"""What Kafka's tools printed for `record.py`, and the facts behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kspec.spec.consumer.reset import PartitionOffsets
from kspec.spec.vocabulary import TopicPartition
from tests.field.groups.record import OUTPUT

FACTS: dict[str, Any] = json.loads(OUTPUT.read_text())
RECORDED: list[dict[str, Any]] = FACTS["recorded"]
FAILED = ("--members", "--state")
"""Descriptions that have no offsets."""


def partition(name: str) -> TopicPartition:
    """A partition, from its name in the facts."""
    topic, _, index = name.rpartition("-")
    return TopicPartition(topic, int(index))


ENDS: Mapping[str, int] = FACTS["records"]
STARTS: Mapping[str, int] = FACTS["starts"]
COMMITTED: Mapping[str, Mapping[str, int]] = FACTS["committed"]


def offsets(group: str, name: str) -> PartitionOffsets:
    """The offsets of a group in a partition, and the timestamps of its records."""
    start, end = STARTS.get(name, 0), ENDS[name]
    first = FACTS["first_timestamp"]
    times = tuple(first + 1_000 * number for number in range(start, end))
    return PartitionOffsets(start, end, COMMITTED.get(group, {}).get(name), times)


def outputs(*arguments: str, without: tuple[str, ...] = (), tool: str = "groups") -> list[Any]:
    """The recorded outputs of commands with these arguments."""
    return [
        each
        for each in RECORDED
        if each["tool"] == tool
        and set(arguments) <= set(each["arguments"])
        and not set(without) & set(each["arguments"])
    ]


def name_of(each: Mapping[str, Any]) -> str:
    """The release and the arguments, as the name of a test."""
    return " ".join([each["release"], *each["arguments"]])
