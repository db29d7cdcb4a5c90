"""What is known of consumers, and the facts that their next event may contradict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from kspec.field.recorded.consumer.events import Partition, Step
from kspec.field.recorded.sequence import IN_ORDER, Progress

MOST_GENERATIONS = 8
"""The number of generations whose owners are remembered."""

ONE_OWNER = "a partition has one owner in a generation"
REVOKED_FIRST = "a partition is revoked before another consumer is assigned it"
GROWS = "the generation of a member does not decrease"
CURRENT = "generation is current"
OWNED = "the consumer owns the partition"
WITHIN_POSITION = "a commit is within the position"
FROM_COMMITTED = "the position begins at the committed offset"
FORWARD = "the position does not decrease"


@attrs.frozen
class Consumer:
    """A consumer, as far as its events show it."""

    generation: int = -1
    """The latest generation in which it was assigned partitions."""
    member: str | None = None
    """Its member id then."""
    instance: str | None = None
    subscribes: bool = False
    """Whether it was assigned partitions by its group."""
    owned: frozenset[Partition] = frozenset()
    """The partitions that it owns."""
    leaving: frozenset[Partition] = frozenset()
    """The partitions that were taken away since its latest poll."""
    positions: Mapping[Partition, int | None] = attrs.field(factory=dict)
    """The position of each partition that it owns; None if it has set it to an unknown one."""
    starts: Mapping[Partition, int] = attrs.field(factory=dict)
    """The committed offset of each partition when it was assigned."""
    commit: tuple[int, Mapping[Partition, int | None]] | None = None
    """The latest generation of the group when its commit began, and the most that it stores."""
    group_generation: int = -1
    """The latest generation of the group at its latest event."""


@attrs.frozen
class Group:
    """A group, as far as the events of its consumers show it."""

    consumers: Mapping[str, Consumer] = attrs.field(factory=dict)
    owners: Mapping[int, Mapping[Partition, str]] = attrs.field(factory=dict)
    """Who was assigned each partition, by generation."""
    committed: Mapping[Partition, int] = attrs.field(factory=dict)
    """The latest committed offsets."""

    @property
    def generation(self) -> int:
        """The latest generation in which partitions were assigned."""
        return max(self.owners, default=-1)


@attrs.frozen(eq=False)
class Consumers:
    """What the events so far show."""

    groups: Mapping[str, Group]
    progress: Progress


@attrs.frozen
class Refused(Exception):
    """A fact that an event contradicts."""

    guard: str
    variable: str
    expected: Any
    observed: Any


def after(state: Consumers, event: Step | None) -> Consumers:
    """What is known after an event; Refused if it contradicts a fact."""
    if event is None:
        return state
    if not state.progress.follows(event.sequence):
        raise Refused(IN_ORDER, "sequence", f"more than {state.progress.latest}", event.sequence)
    progress = state.progress.after(event.sequence)
    group = state.groups.get(event.group, Group())
    consumer = group.consumers.get(event.consumer, Consumer())
    check_generation(consumer, event)
    rule = RULES[event.kind]
    group, consumer = rule(group, consumer, event, progress.is_whole)
    consumer = attrs.evolve(consumer, group_generation=group.generation)
    group = attrs.evolve(group, consumers={**group.consumers, event.consumer: consumer})
    return Consumers({**state.groups, event.group: group}, progress)


def check_generation(consumer: Consumer, event: Step) -> None:
    """A member stays in its generation or goes on to a later one."""
    if event.generation is None or event.member is None or event.member != consumer.member:
        return
    if event.generation < consumer.generation:
        raise Refused(GROWS, "generation", consumer.generation, event.generation)


Result: TypeAlias = tuple[Group, Consumer]


def assigned(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """Partitions are added to those that the consumer owns."""
    generation = event.generation
    starts = {p: group.committed[p] for p in event.partitions if p in group.committed}
    added = attrs.evolve(
        consumer,
        member=event.member or consumer.member,
        instance=event.instance,
        subscribes=True,
        owned=consumer.owned | event.partitions,
        leaving=consumer.leaving - event.partitions,
        positions={p: o for p, o in consumer.positions.items() if p not in event.partitions},
        starts={**consumer.starts, **starts},
    )
    if generation is None:
        return group, added
    added = attrs.evolve(added, generation=generation)
    owners = group.owners.get(generation, {})
    claimed = added.owned if is_whole else event.partitions
    for partition in sorted(claimed):
        other = owners.get(partition, event.consumer)
        if other != event.consumer and not replaces(group, other, event):
            guard = ONE_OWNER if partition in event.partitions else REVOKED_FIRST
            raise Refused(guard, f"owner of {partition}", other, event.consumer)
    known = {**owners, **dict.fromkeys(claimed, event.consumer)}
    every = {**group.owners, generation: known}
    if generation < group.generation:
        every = {generation: known}  # a late callback, or a group that was deleted: be careful
    latest = sorted(every)[-MOST_GENERATIONS:]
    return attrs.evolve(group, owners={g: every[g] for g in latest}), added


def replaces(group: Group, other: str, event: Step) -> bool:
    """Whether the consumer is a static member that has restarted."""
    former = group.consumers.get(other, Consumer())
    return event.instance is not None and event.instance == former.instance


def taken_away(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """Partitions are revoked or lost."""
    rest = consumer.owned - event.partitions
    return group, attrs.evolve(
        consumer,
        owned=rest,
        leaving=consumer.leaving | (consumer.owned & event.partitions),
        positions={p: o for p, o in consumer.positions.items() if p in rest},
        starts={p: o for p, o in consumer.starts.items() if p in rest},
    )


def polled(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """Records are returned to the application."""
    positions = dict(consumer.positions)
    for partition in sorted(event.partitions):
        is_owned = partition in consumer.owned
        is_left = event.overlaps and partition in consumer.leaving
        if is_whole and consumer.subscribes and not is_owned and not is_left:
            raise Refused(OWNED, "owned", sorted(consumer.owned), partition)
        first, last = event.first.get(partition), event.offsets.get(partition)
        if is_whole and first is not None and is_owned and not event.overlaps:
            check_position(consumer, partition, first)
        if is_owned and last is not None:
            positions[partition] = last
    return group, attrs.evolve(consumer, positions=positions, leaving=frozenset())


def check_position(consumer: Consumer, partition: Partition, first: int) -> None:
    """The first record is at or after the position, which begins at the committed offset."""
    if partition in consumer.positions:
        position = consumer.positions[partition]
        if position is not None and first < position:
            raise Refused(FORWARD, f"position of {partition}", position, first)
    elif first < consumer.starts.get(partition, 0):
        raise Refused(FROM_COMMITTED, f"position of {partition}", consumer.starts[partition], first)


def committing(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """A commit begins, of offsets that the application may choose.

    A position passes transaction markers and compacted records, which no poll shows; so an offset
    beyond the records that were polled is no fault.
    """
    _, pending = consumer.commit or (0, {})
    most: dict[Partition, int | None] = dict(consumer.positions)
    for partition, offset in (*pending.items(), *event.offsets.items()):
        position = most.get(partition, offset)
        known = position is not None and offset is not None
        most[partition] = max(position, offset) if known else None  # type: ignore[type-var]
    return group, attrs.evolve(consumer, commit=(group.generation, most))


def committed(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """The coordinator has stored offsets of the consumer.

    Without an event that shows when the commit began, it may have begun at the latest one.
    """
    latest, positions = consumer.commit or (consumer.group_generation, consumer.positions)
    if event.generation is not None and 0 <= event.generation < latest:
        raise Refused(CURRENT, "generation", latest, event.generation)
    for partition, offset in sorted(event.offsets.items()):
        position = positions.get(partition)
        if is_whole and offset is not None and position is not None and offset > position:
            raise Refused(WITHIN_POSITION, f"offset of {partition}", position, offset)
    stored = {p: offset for p, offset in event.offsets.items() if offset is not None}
    return (
        attrs.evolve(group, committed={**group.committed, **stored}),
        attrs.evolve(consumer, commit=None),
    )


def sought(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """The application sets positions."""
    chosen = {p: event.offsets.get(p) for p in event.partitions}
    return group, attrs.evolve(consumer, positions={**consumer.positions, **chosen})


def closed(group: Group, consumer: Consumer, event: Step, is_whole: bool) -> Result:
    """The consumer leaves its group."""
    return group, Consumer(group_generation=consumer.group_generation)


RULES: Mapping[str, Any] = {
    "assigned": assigned,
    "revoked": taken_away,
    "lost": taken_away,
    "polled": polled,
    "committing": committing,
    "committed": committed,
    "sought": sought,
    "closed": closed,
}
"""What each event changes."""
