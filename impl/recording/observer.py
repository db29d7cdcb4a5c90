"""What a consumer of any client library does, as events of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from kspec.impl.recording.trace import Recording

Membership: TypeAlias = tuple[str, int]
"""A member id and a generation; empty and negative if unknown."""
Partitions: TypeAlias = Iterable[Any]
"""Partitions of a client library: objects with a topic and a partition."""


@attrs.define
class Observer:
    """What one consumer does, as events."""

    recording: Recording
    consumer: str
    group: str
    membership: Callable[[], Membership]
    instance: str | None = None
    """Its `group.instance.id`, if it is a static member."""
    positions: dict[str, int] = attrs.field(factory=dict)
    """The next offset of each partition that it owns and has polled."""
    rebalances: int = 0
    """How many times partitions were assigned or taken away."""

    def add(self, event: str, **fields: Any) -> None:
        """Add an event of this consumer."""
        member, generation = self.membership()
        self.recording.add(
            event,
            consumer=self.consumer,
            group=self.group,
            member_id=member or None,
            instance=self.instance,
            generation=generation if generation >= 0 else None,
            **fields,
        )

    def rebalanced(self, event: str, partitions: Partitions) -> None:
        """Partitions are `assigned`, `revoked` or `lost`."""
        named = sorted((p.topic, p.partition) for p in partitions)
        self.rebalances += 1
        self.add(event, partitions=[list(pair) for pair in named])
        for topic, partition in named:
            self.positions.pop(f"{topic}-{partition}", None)

    def polled(self, records: Iterable[tuple[str, int, int]], rebalances: int) -> None:
        """Records are returned, each a topic, partition and offset, in the order of offsets.

        `rebalances` is the counter when the poll began: a partition that is revoked meanwhile may
        still be among them.
        """
        first: dict[str, int] = {}
        after: dict[str, int] = {}
        for topic, partition, offset in records:
            key = f"{topic}-{partition}"
            first.setdefault(key, offset)
            after[key] = offset + 1
        if not first:
            return
        self.positions |= after
        meanwhile = True if self.rebalances != rebalances else None
        fields = {"from": first, "offsets": after, "overlaps_rebalance": meanwhile}
        self.add("polled", **fields)

    def committing(self, offsets: Mapping[str, int] | None) -> dict[str, int]:
        """A commit begins: of these offsets, or of all positions; returns the offsets."""
        chosen = dict(self.positions if offsets is None else offsets)
        self.add("committing", offsets=chosen)
        return chosen

    def sought(self, partitions: Partitions, offset: int | None = None) -> None:
        """Positions are set, to None if it is not known where they are."""
        named = [f"{p.topic}-{p.partition}" for p in partitions]
        for key in named:
            self.positions.pop(key, None)
        self.add("sought", offsets=dict.fromkeys(named, offset))


class Recorded:
    """A consumer whose other methods are its own."""

    def __init__(self, inner: Any, observer: Observer) -> None:
        self._inner = inner
        self._observer = observer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def offset_of(value: Any) -> int:
    """The offset of a commit: a number, a pair, or an object that has it."""
    if isinstance(value, int):
        return value
    offset = getattr(value, "offset", None)
    return int(value[0] if offset is None else offset)


def by_partition(offsets: Mapping[Any, Any] | None) -> dict[str, int] | None:
    """Offsets by partition, as kafka-python and aiokafka take them."""
    if offsets is None:
        return None
    return {f"{tp.topic}-{tp.partition}": offset_of(value) for tp, value in offsets.items()}
