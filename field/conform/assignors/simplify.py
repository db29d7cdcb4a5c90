"""Simplify a group as far as it still shows the same disagreement.

One element at a time is left out, until none can be: members, topics, subscriptions, single
partitions, claims, instance ids. Then names are replaced by plain ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import attrs

from kspec.field.groups.strategies import INSTANCES, MEMBERS, TOPICS, AssignorInput
from kspec.spec.assignors import Member, TopicPartition, kafka_order

T = TypeVar("T")


def simplest(group: AssignorInput, still: Callable[[AssignorInput], bool]) -> AssignorInput:
    """The group without every element that `still` does not need."""
    while True:
        smaller = (g for g in simpler(group) if size(g) < size(group) and still(g))
        found = next(smaller, None)
        if found is None:
            return group
        group = found


def size(group: AssignorInput) -> tuple[int, ...]:
    """The size of a group; the first number counts most."""
    members = group.members.values()
    return (
        len(group.members),
        len(group.partitions),
        sum(len(m.topics) for m in members),
        sum(count or 0 for count in group.partitions.values()),
        sum(len(m.owned) for m in members),
        sum(m.instance_id is not None for m in members),
        sum(m.generation != _usual_generation(m) for m in members),
        sum(_how_odd(name, MEMBERS) for name in group.members)
        + sum(_how_odd(name, TOPICS) for name in _topics(group))
        + sum(_how_odd(m.instance_id, INSTANCES) for m in members if m.instance_id),
    )


def _usual_generation(member: Member) -> int | None:
    """The generation after one round for a member with partitions, and none for the others."""
    return 1 if member.owned else None


def _how_odd(name: str, plain: Sequence[str]) -> int:
    return plain.index(name) if name in plain else len(plain)


def _topics(group: AssignorInput) -> list[str]:
    """Every topic that occurs in the group."""
    named = (t for m in group.members.values() for t in (*m.topics, *(o.topic for o in m.owned)))
    return list(dict.fromkeys([*group.partitions, *named]))


def simpler(group: AssignorInput) -> Iterator[AssignorInput]:
    """Groups with one element less, or with one plainer."""
    for name in group.members:
        yield _with(group, members={n: m for n, m in group.members.items() if n != name})
    for topic in _topics(group):
        yield _without_topic(group, topic)
    for name, member in group.members.items():
        yield from (_evolved(group, name, change) for change in _less_of(member))
    for topic, count in group.partitions.items():
        yield from (_without_partition(group, topic, index) for index in range(count))
    for name, member in group.members.items():
        usual = _usual_generation(member)
        plain = attrs.evolve(member, generation=usual, subscription_generation=usual)
        yield _evolved(group, name, plain)
    for topic in group.partitions:
        yield _with(group, partitions={t: n for t, n in group.partitions.items() if t != topic})
    yield from _renamed(group)


def _less_of(member: Member) -> Iterator[Member]:
    """The member with one element less."""
    if member.owned:
        yield attrs.evolve(member, owned=())
    for place in range(len(member.owned)):
        yield attrs.evolve(member, owned=_without(member.owned, place))
    for place in range(len(member.topics)):
        yield attrs.evolve(member, topics=_without(member.topics, place))
    if member.instance_id is not None:
        yield attrs.evolve(member, instance_id=None)


def _without(things: tuple[T, ...], place: int) -> tuple[T, ...]:
    return things[:place] + things[place + 1 :]


def _with(
    group: AssignorInput,
    *,
    members: Mapping[str, Member] | None = None,
    partitions: Mapping[str, int] | None = None,
) -> AssignorInput:
    """The group with other members or topics, with the members in Kafka's order."""
    return attrs.evolve(
        group,
        members=kafka_order(group.members if members is None else members),
        partitions=group.partitions if partitions is None else partitions,
    )


def _evolved(group: AssignorInput, name: str, member: Member) -> AssignorInput:
    return _with(group, members={**group.members, name: member})


def _owning(
    group: AssignorInput, change: Callable[[TopicPartition], Iterable[TopicPartition]]
) -> dict[str, Member]:
    """The members with each claim replaced."""
    return {
        name: attrs.evolve(m, owned=[new for tp in m.owned for new in change(tp)])
        for name, m in group.members.items()
    }


def _without_topic(group: AssignorInput, topic: str) -> AssignorInput:
    members = _owning(group, lambda tp: [tp] if tp.topic != topic else [])
    return _with(
        group,
        members={
            name: attrs.evolve(m, topics=[t for t in m.topics if t != topic])
            for name, m in members.items()
        },
        partitions={t: count for t, count in group.partitions.items() if t != topic},
    )


def _without_partition(group: AssignorInput, topic: str, index: int) -> AssignorInput:
    """The group without one partition; those after it move up."""

    def moved_up(tp: TopicPartition) -> list[TopicPartition]:
        if tp.topic != topic or tp.partition < index:
            return [tp]
        return [] if tp.partition == index else [TopicPartition(topic, tp.partition - 1)]

    return _with(
        group,
        members=_owning(group, moved_up),
        partitions={**group.partitions, topic: group.partitions[topic] - 1},
    )


def _renamed(group: AssignorInput) -> Iterator[AssignorInput]:
    """The group with one name replaced by a plainer unused one."""
    for old, new in _plainer(group.members, MEMBERS):
        members = {new if name == old else name: m for name, m in group.members.items()}
        yield _with(group, members=members)
    for old, new in _plainer(_topics(group), TOPICS):
        yield _with_topic_renamed(group, old, new)
    ids = {m.instance_id: n for n, m in group.members.items() if m.instance_id is not None}
    for old, new in _plainer([i for i in ids if i], INSTANCES):
        member = attrs.evolve(group.members[ids[old]], instance_id=new)
        yield _evolved(group, ids[old], member)


def _with_topic_renamed(group: AssignorInput, old: str, new: str) -> AssignorInput:
    def renamed(topic: str) -> str:
        return new if topic == old else topic

    members = _owning(group, lambda tp: [TopicPartition(renamed(tp.topic), tp.partition)])
    return _with(
        group,
        members={
            name: attrs.evolve(m, topics=list(map(renamed, m.topics)))
            for name, m in members.items()
        },
        partitions={renamed(topic): count for topic, count in group.partitions.items()},
    )


def _plainer(names: Iterable[str], plain: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each name with each plainer unused one."""
    taken = list(names)
    for old in taken:
        for new in plain[: _how_odd(old, plain)]:
            if new not in taken:
                yield old, new
