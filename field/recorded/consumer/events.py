"""Events of consumers, read from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from kspec.field.recorded.mapping import BadEvent, Content
from kspec.field.recorded.sequence import sequence_of

Partition: TypeAlias = str
"""A topic, a hyphen and a number."""

KINDS = (
    "assigned",
    "revoked",
    "lost",
    "polled",
    "committing",
    "committed",
    "sought",
    "closed",
)  # fmt: skip
"""The events that are checked; others are passed over."""


@attrs.frozen
class Step:
    """An event that is checked."""

    kind: str
    consumer: str
    group: str
    member: str | None
    generation: int | None
    instance: str | None
    partitions: frozenset[Partition]
    offsets: Mapping[Partition, int | None]
    first: Mapping[Partition, int]
    """The first offset that was polled of each partition."""
    overlaps: bool
    """Whether partitions were assigned or taken away during the poll."""
    sequence: int | None


def read_step(content: Content, group: str) -> Step | None:
    """The event of a JSON object."""
    kind = content.get("event")
    if not isinstance(kind, str):
        raise BadEvent('an event has its kind as "event"')
    if kind not in KINDS:
        return None
    consumer = content.get("consumer") or content.get("member_id")
    if not isinstance(consumer, str):
        raise BadEvent('an event names its "consumer" or its "member_id"')
    generation = content.get("generation")
    if generation is not None and type(generation) is not int:
        raise BadEvent(f"generation is a number, not {generation!r:.60}")
    offsets = read_offsets(content, "offsets")
    first = read_offsets(content, "from")
    return Step(
        kind,
        consumer,
        str(content.get("group") or group),
        optional(content, "member_id"),
        generation,
        optional(content, "instance"),
        read_partitions(content) | frozenset(offsets) | frozenset(first),
        offsets,
        {p: offset for p, offset in first.items() if offset is not None},
        content.get("overlaps_rebalance") is True,
        sequence_of(content),
    )


def optional(content: Content, name: str) -> str | None:
    """A text or null."""
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise BadEvent(f"{name} is a text, not {value!r:.60}")
    return value


def read_partitions(content: Content) -> frozenset[Partition]:
    """The partitions of an event, each a topic and a number, or `topic-number`."""
    found = content.get("partitions") or ()
    if not isinstance(found, list | tuple):
        raise BadEvent(f"partitions are a list, not {found!r:.60}")
    names = set()
    for each in found:
        if isinstance(each, list | tuple) and len(each) == 2 and isinstance(each[0], str):
            names.add(f"{each[0]}-{each[1]}")
        elif isinstance(each, str):
            names.add(each)
        else:
            raise BadEvent(f"a partition is a topic and a number, not {each!r:.60}")
    return frozenset(names)


def read_offsets(content: Content, name: str) -> dict[Partition, int | None]:
    """The offsets of an event by partition."""
    found = content.get(name) or {}
    if not isinstance(found, Mapping) or not all(
        offset is None or type(offset) is int for offset in found.values()
    ):
        raise BadEvent(f"{name} has a number for each partition, not {found!r:.60}")
    return dict(found)
