"""The leader of each partition of a topic: from `kafka-topics --describe`, or from JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from kspec.spec.core import SpecError
from kspec.traces.source import parse_json

OFFSETS_TOPIC = "__consumer_offsets"


@attrs.frozen
class Leaders:
    """The leaders of a topic's partitions."""

    brokers: Mapping[int, int]
    """The leading broker, by partition. A partition without a leader is absent."""
    partitions: int
    """How many partitions the topic has."""


def parse_leaders(text: str, partitions: int | None = None) -> Leaders:
    """Read leaders as Kafka's tool prints them, or as a JSON object: partition to broker.

    None, null and -1 mean that a partition has no leader now. `partitions` is how many there
    should be; if it is None, the header line of Kafka's tool says so.

    A group belongs to partition hash % n, so a list that is cut short would give every group
    another partition: it is rejected.
    """
    if text.lstrip().startswith("{"):
        listed = _from_json(text)
    else:
        listed, counted = _from_describe(text)
        if listed and counted is None and partitions is None:
            raise SpecError(
                f"the header line of {OFFSETS_TOPIC}, with its PartitionCount, is missing: "
                "give all of the output, or --partitions"
            )
        if counted is not None and len(listed) != counted:
            raise SpecError(
                f"the header line says that {OFFSETS_TOPIC} has {counted} partitions, and "
                f"{len(listed)} are listed: is the output cut short?"
            )
    if not listed:
        raise SpecError(f"no partitions of {OFFSETS_TOPIC} are listed")
    missing = next((index for index in range(len(listed)) if index not in listed), None)
    if missing is not None:
        raise SpecError(f"partition {missing} of {OFFSETS_TOPIC} is missing")
    if partitions not in (None, len(listed)):
        raise SpecError(f"{len(listed)} partitions of {OFFSETS_TOPIC} are listed, not {partitions}")
    return Leaders({p: broker for p, broker in listed.items() if broker is not None}, len(listed))


HEADER = re.compile(r"^\s*Topic:\s*(\S+)\s.*\bPartitionCount:\s*(\d{1,9})\b", re.MULTILINE)
LINE = re.compile(
    r"\bTopic:\s*(\S+)\s+Partition:\s*(\d{1,9})\s+Leader:\s*(none|-?\d{1,9})\s", re.IGNORECASE
)
"""A partition with its leader. The space at the end shows that the leader's id is whole."""


def _from_describe(text: str) -> tuple[dict[int, int | None], int | None]:
    """Lines like `Topic: __consumer_offsets  Partition: 0  Leader: 1  Replicas: 1,2 …`.

    Before them stands a header with the number of partitions; None if it does not.
    """
    counts = {int(count) for topic, count in HEADER.findall(text) if topic == OFFSETS_TOPIC}
    if len(counts) > 1:
        raise SpecError(f"{OFFSETS_TOPIC} is described twice, with different PartitionCounts")
    listed: dict[int, int | None] = {}
    for found in LINE.finditer(text):
        topic, partition, leader = found.groups()
        if topic == OFFSETS_TOPIC:
            _set(listed, int(partition), None if leader.lower() == "none" else int(leader))
    return listed, next(iter(counts), None)


def _from_json(text: str) -> dict[int, int | None]:
    """An object like `{"0": 1, "1": null}`."""
    listed: dict[int, int | None] = {}
    for partition, leader in parse_json(text).items():
        if not re.fullmatch("[0-9]{1,9}", partition):
            raise SpecError(f"a partition is a whole number, not {partition!r:.40}")
        if leader is not None and (isinstance(leader, bool) or not isinstance(leader, int)):
            raise SpecError(f"partition {partition} is led by a broker's id, not {leader!r:.40}")
        _set(listed, int(partition), leader)
    return listed


def _set(listed: dict[int, int | None], partition: int, leader: int | None) -> None:
    if partition in listed:
        raise SpecError(f"partition {partition} is given twice")
    listed[partition] = None if leader is None or leader < 0 else leader
