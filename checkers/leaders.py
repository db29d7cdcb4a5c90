"""Who leads each partition of a topic: from `kafka-topics --describe`, or from JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import attrs

from spec.core import SpecError

OFFSETS_TOPIC = "__consumer_offsets"


@attrs.frozen
class Leaders:
    """The leaders of a topic's partitions."""

    brokers: Mapping[int, int]
    """The leading broker, by partition. A partition without a leader is absent."""
    partitions: int
    """How many partitions the topic has."""


def parse_leaders(text: str) -> Leaders:
    """Read leaders as Kafka's tool prints them, or as a JSON object: partition to broker.

    None, null and -1 say that a partition has no leader now.
    """
    told = _from_json(text) if text.lstrip().startswith("{") else _from_describe(text)
    if not told:
        raise SpecError(f"there are no partitions of {OFFSETS_TOPIC} in it")
    missing = next((index for index in range(len(told)) if index not in told), None)
    if missing is not None:
        raise SpecError(
            f"partition {missing} of {OFFSETS_TOPIC} is missing: "
            "all are needed, as their number decides where a group belongs"
        )
    return Leaders({p: broker for p, broker in told.items() if broker is not None}, len(told))


LINE = re.compile(r"Topic:\s*(\S+)\s+Partition:\s*(\d+)\s+Leader:\s*(none|-?\d+)", re.IGNORECASE)


def _from_describe(text: str) -> dict[int, int | None]:
    """Lines like `Topic: __consumer_offsets  Partition: 0  Leader: 1  Replicas: 1,2 …`."""
    told: dict[int, int | None] = {}
    for found in LINE.finditer(text):
        topic, partition, leader = found.groups()
        if topic == OFFSETS_TOPIC:
            _set(told, int(partition), None if leader.lower() == "none" else int(leader))
    return told


def _from_json(text: str) -> dict[int, int | None]:
    """An object like `{"0": 1, "1": null}`."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except json.JSONDecodeError as error:
        raise SpecError(f"line {error.lineno}: no JSON: {error.msg}") from None
    except RecursionError:
        raise SpecError("this is nested too deeply") from None
    told: dict[int, int | None] = {}
    for partition, leader in pairs:
        if not (partition.isascii() and partition.isdigit()):
            raise SpecError(f"a partition is a whole number, not {partition!r}")
        if leader is not None and (isinstance(leader, bool) or not isinstance(leader, int)):
            raise SpecError(f"partition {partition} is led by a broker's id, not {leader!r:.40}")
        _set(told, int(partition), leader)
    return told


def _set(told: dict[int, int | None], partition: int, leader: int | None) -> None:
    if partition in told:
        raise SpecError(f"partition {partition} is given twice")
    told[partition] = None if leader is None or leader < 0 else leader
