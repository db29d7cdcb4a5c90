"""What the consumers of a group may be assigned, poll and commit.

These facts hold of every consumer, and even if events are missing:

- Two consumers are never assigned the same partition in one generation, except a static member
  and its replacement.
- The generation of a member does not decrease.
- A commit that begins after another consumer was assigned partitions in a later generation is
  rejected by the coordinator.

While no event is missing, these hold as well:

- A partition that a consumer keeps in the next generation is not assigned to another one in it: it
  has to be revoked first (cooperative rebalancing).
- A consumer polls only partitions that it owns, and commits no further than it has read, or than
  `committing` says.
- Its position begins at or after the latest committed offset, and does not decrease.

Kafka: `ConsumerCoordinator`, `SubscriptionState`. Simplifications: the classic protocol, where a
generation has one assignment, which gives a partition to one member, as every assignor of Kafka
does; nobody resets offsets or deletes the group, and no records are lost. Not claimed: consumers
that assign themselves; positions beyond the committed offset, since logs have gaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from kspec.spec.core import Check, Checked
from kspec.spec.observed.contradiction import Contradiction

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
"""What a consumer does."""

MOST_GENERATIONS = 8
"""The number of generations whose owners are remembered."""


@attrs.frozen
class Event:
    """What a consumer did."""

    kind: str
    """One of KINDS."""
    consumer: str
    group: str
    member: str | None
    generation: int | None
    instance: str | None
    partitions: frozenset[Partition]
    offsets: Mapping[Partition, int | None]
    """The offsets that it set or committed, or those after the last records that it polled."""
    first: Mapping[Partition, int]
    """The first offset that was polled of each partition."""
    overlaps: bool
    """Whether partitions were assigned or taken away during the poll."""
    sequence: int | None
    """The number of the event in its recording."""


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

    def consumer(self, name: str) -> Consumer:
        """A consumer of the group; of a new one, nothing is known."""
        return self.consumers.get(name, Consumer())


def consumer_acts(group: Group, event: Event, *, is_whole: bool) -> Checked[Group]:
    """A consumer does something; `is_whole` if no event before it is missing.

    A member stays in its generation or goes on to a later one. Kafka:
    `AbstractCoordinator.JoinGroupResponseHandler`.
    """
    consumer, generation = group.consumer(event.consumer), event.generation
    if generation is not None and event.member is not None and event.member == consumer.member:
        older = Contradiction("generation", consumer.generation, generation)
        grows = generation >= consumer.generation
        yield Check("the generation of a member does not decrease", grows, older)
    match event.kind:
        case "assigned":
            group, consumer = yield from partitions_are_assigned(
                group, consumer, event, is_whole=is_whole
            )
        case "revoked" | "lost":
            consumer = partitions_are_taken_away(consumer, event)
        case "polled":
            consumer = yield from consumer_polls(consumer, event, is_whole=is_whole)
        case "committing":
            consumer = consumer_begins_commit(group, consumer, event)
        case "committed":
            group, consumer = yield from coordinator_stores_offsets(
                group, consumer, event, is_whole=is_whole
            )
        case "sought":
            consumer = application_seeks(consumer, event)
        case "closed":
            consumer = Consumer()  # it leaves its group
    consumer = attrs.evolve(consumer, group_generation=group.generation)
    return attrs.evolve(group, consumers={**group.consumers, event.consumer: consumer})


def partitions_are_assigned(
    group: Group, consumer: Consumer, event: Event, *, is_whole: bool
) -> Checked[tuple[Group, Consumer]]:
    """Partitions are added to those that the consumer owns.

    Kafka: `ConsumerCoordinator.onJoinComplete`.
    """
    generation = event.generation
    starts = {p: group.committed[p] for p in event.partitions if p in group.committed}
    consumer = attrs.evolve(
        consumer,
        generation=consumer.generation if generation is None else generation,
        member=event.member or consumer.member,
        instance=event.instance,
        subscribes=True,
        owned=consumer.owned | event.partitions,
        leaving=consumer.leaving - event.partitions,
        positions={p: o for p, o in consumer.positions.items() if p not in event.partitions},
        starts={**consumer.starts, **starts},
    )
    if generation is None:
        return group, consumer
    owners = group.owners.get(generation, {})
    claimed = consumer.owned if is_whole else event.partitions
    for partition in sorted(claimed):
        owner = owners.get(partition, event.consumer)
        is_its = owner == event.consumer or is_replaced(group.consumer(owner), event)
        taken = Contradiction(f"owner of {partition}", owner, event.consumer)
        if partition in event.partitions:
            yield Check("a partition has one owner in a generation", is_its, taken)
        else:
            yield Check(
                "a partition is revoked before another consumer is assigned it", is_its, taken
            )
    known = {**owners, **dict.fromkeys(claimed, event.consumer)}
    every = {**group.owners, generation: known}
    if generation < group.generation:
        every = {generation: known}  # a late callback, or a group that was deleted: be careful
    latest = sorted(every)[-MOST_GENERATIONS:]
    return attrs.evolve(group, owners={g: every[g] for g in latest}), consumer


def is_replaced(former: Consumer, event: Event) -> bool:
    """Whether a static member has restarted, as another consumer with its instance id."""
    return event.instance is not None and event.instance == former.instance


def partitions_are_taken_away(consumer: Consumer, event: Event) -> Consumer:
    """Partitions are revoked or lost.

    Kafka: `ConsumerRebalanceListenerInvoker`.
    """
    rest = consumer.owned - event.partitions
    return attrs.evolve(
        consumer,
        owned=rest,
        leaving=consumer.leaving | (consumer.owned & event.partitions),
        positions={p: o for p, o in consumer.positions.items() if p in rest},
        starts={p: o for p, o in consumer.starts.items() if p in rest},
    )


def consumer_polls(consumer: Consumer, event: Event, *, is_whole: bool) -> Checked[Consumer]:
    """Records are returned to the application.

    Kafka: `FetchCollector.collectFetch`.
    """
    positions = dict(consumer.positions)
    for partition in sorted(event.partitions):
        is_owned = partition in consumer.owned
        if is_whole and consumer.subscribes:
            may_read = is_owned or (event.overlaps and partition in consumer.leaving)
            unowned = Contradiction("owned", consumer.owned, partition)
            yield Check("the consumer owns the partition", may_read, unowned)
        first, last = event.first.get(partition), event.offsets.get(partition)
        if is_whole and first is not None and is_owned and not event.overlaps:
            yield from position_goes_on(consumer, partition, first)
        if is_owned and last is not None:
            positions[partition] = last
    return attrs.evolve(consumer, positions=positions, leaving=frozenset())


def position_goes_on(consumer: Consumer, partition: Partition, first: int) -> Checked[None]:
    """The first record is at or after the position, which begins at the committed offset.

    Kafka: `SubscriptionState.position`, `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`.
    """
    variable = f"position of {partition}"
    if partition in consumer.positions:
        position = consumer.positions[partition]
        goes_on = position is None or first >= position
        back = Contradiction(variable, position, first)
        yield Check("the position does not decrease", goes_on, back)
    else:
        start = consumer.starts.get(partition, 0)
        early = Contradiction(variable, start, first)
        yield Check("the position begins at the committed offset", first >= start, early)


def consumer_begins_commit(group: Group, consumer: Consumer, event: Event) -> Consumer:
    """A commit begins, of offsets that the application may choose.

    A position passes transaction markers and compacted records, which no poll shows; so an offset
    beyond the records that were polled is no fault. Kafka: `ConsumerCoordinator`'s
    `commitOffsetsAsync` and `commitOffsetsSync`.
    """
    _, pending = consumer.commit or (0, {})
    most: dict[Partition, int | None] = dict(consumer.positions)
    for partition, offset in (*pending.items(), *event.offsets.items()):
        position = most.get(partition, offset)
        known = position is not None and offset is not None
        most[partition] = max(position, offset) if known else None  # type: ignore[type-var]
    return attrs.evolve(consumer, commit=(group.generation, most))


def coordinator_stores_offsets(
    group: Group, consumer: Consumer, event: Event, *, is_whole: bool
) -> Checked[tuple[Group, Consumer]]:
    """The coordinator has stored offsets of the consumer.

    It answers ILLEGAL_GENERATION in an older generation. Without an event that shows when the
    commit began, it may have begun at the latest one. Kafka:
    `ConsumerCoordinator.OffsetCommitResponseHandler`.
    """
    latest, positions = consumer.commit or (consumer.group_generation, consumer.positions)
    if event.generation is not None:
        is_current = not 0 <= event.generation < latest
        older = Contradiction("generation", latest, event.generation)
        yield Check("generation is current", is_current, older)
    for partition, offset in sorted(event.offsets.items()):
        position = positions.get(partition)
        if is_whole and offset is not None and position is not None:
            beyond = Contradiction(f"offset of {partition}", position, offset)
            yield Check("a commit is within the position", offset <= position, beyond)
    stored = {p: offset for p, offset in event.offsets.items() if offset is not None}
    return (
        attrs.evolve(group, committed={**group.committed, **stored}),
        attrs.evolve(consumer, commit=None),
    )


def application_seeks(consumer: Consumer, event: Event) -> Consumer:
    """The application sets positions. Kafka: `SubscriptionState.seek`."""
    chosen = {p: event.offsets.get(p) for p in event.partitions}
    return attrs.evolve(consumer, positions={**consumer.positions, **chosen})
