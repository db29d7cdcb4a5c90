"""Hypothesis strategies for consumer groups: inputs of an assignor, and histories of a group.

Use them in the tests of your own assignor:

    @given(groups())
    def test_every_member_has_an_assignment(group):
        assert set(my_assignor(group.partitions, group.members)) == set(group.members)
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kspec.spec.assignors import Assignment, KafkaRaises, Member, Racks, TopicPartition, kafka_order
from kspec.spec.assignors.common import Assignor
from kspec.spec.assignors.properties import Round
from kspec.spec.vocabulary import NO_RACKS

TOPICS = ("a", "b", "c", "d", "topic-1", "topic-10", "topic-2", "é", "日本", "\uffee", "\U0001f600")
"""Topic names: plain ones first, then some that Java sorts otherwise than Python."""

MEMBERS = (*(f"m{number}" for number in range(1, 9)), "AaAa", "BBBB", "ü", "\uffee", "\U0001f680")
"""Member ids; two of them share a hash."""


INSTANCES = ("i1", "i2", "i3", "\uffee", "\U0001f600")


_made_once = functools.lru_cache(maxsize=1000)
"""For functions that build strategies: building one takes longer than drawing from it."""


@attrs.frozen
class AssignorInput:
    """The input of an assignor."""

    partitions: Mapping[str, int]
    """How many partitions each topic has."""
    members: Mapping[str, Member]
    """The members, in order."""
    racks: Racks = NO_RACKS
    """The racks of each partition's replicas."""


@_made_once
def topic_names(among: tuple[str, ...] = TOPICS) -> SearchStrategy[str]:
    """Names of topics, few enough that subscriptions overlap."""
    return st.sampled_from(among)


@_made_once
def subscriptions(among: tuple[str, ...] = TOPICS) -> SearchStrategy[tuple[str, ...]]:
    """A list of topics, mostly without repetition, sometimes with one repeated, or empty."""
    different = st.lists(topic_names(among), min_size=1, max_size=4, unique=True)
    any_list = st.lists(topic_names(among), max_size=4)
    return st.one_of(different, different, any_list).map(tuple)


@_made_once
def partition_counts(among: tuple[str, ...] = TOPICS) -> SearchStrategy[dict[str, int]]:
    """How many partitions each topic has; a topic may be missing, or have none."""
    return st.dictionaries(topic_names(among), st.integers(0, 7), max_size=5)


_FEW_TOPICS = st.lists(topic_names(), min_size=1, max_size=4, unique=True).map(tuple)
_FEW_MEMBERS = st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=6, unique=True)


@st.composite
def groups(draw: st.DrawFn, *, plain: bool = False) -> AssignorInput:
    """Groups in Kafka's order, with claims from earlier rounds.

    Claims may conflict, and name partitions that no longer exist; those of `plain` groups are
    consistent, and of one generation.
    """
    topics_here = draw(_FEW_TOPICS)
    partitions = draw(partition_counts(topics_here))
    names = draw(_FEW_MEMBERS)
    shared = draw(st.none() | subscriptions(topics_here))
    real = [TopicPartition(t, index) for t, size in partitions.items() for index in range(size)]
    gone = [TopicPartition(topic, partitions.get(topic, 0) + 1) for topic in TOPICS[:3]]
    unclaimed = list(draw(st.permutations(real)))
    generation = draw(st.none() | st.integers(0, 3))
    members = {}
    for name in names:
        topics = draw(subscriptions(topics_here)) if shared is None else shared
        if plain:
            topics = tuple(dict.fromkeys(topics))
            share = draw(st.integers(0, len(unclaimed)))
            owned, unclaimed = unclaimed[:share], unclaimed[share:]
            since = generation
        else:
            owned = draw(st.lists(st.sampled_from([*real, *gone]), max_size=6, unique=True))
            since = draw(st.sampled_from([generation, None, 0, 1, 2]))
        instance = draw(st.none() | st.none() | st.sampled_from(INSTANCES))
        members[name] = Member(topics, owned, since, instance)
    return AssignorInput(partitions, kafka_order(members))


# -- histories -----------------------------------------------------------------------------------


@attrs.frozen
class Joins:
    """A member joins, or restarts without its former state."""

    member: str
    topics: tuple[str, ...]
    instance_id: str | None = None


@attrs.frozen
class Leaves:
    """A member leaves, or its session expires."""

    member: str


@attrs.frozen
class Subscribes:
    """A member changes its topics."""

    member: str
    topics: tuple[str, ...]


@attrs.frozen
class Resizes:
    """A topic grows, is deleted (no partitions), or is recreated with another size."""

    topic: str
    size: int


@attrs.frozen
class Misses:
    """A member joins the round but misses its result, and continues with its old assignment."""

    member: str


Change: TypeAlias = Joins | Leaves | Subscribes | Resizes | Misses


@attrs.frozen
class History:
    """The history of a group: some changes before each round."""

    partitions: Mapping[str, int]
    rounds: Sequence[Sequence[Change]]

    def play(self, assign: Assignor) -> Iterator[Round | Raised]:
        """The rounds of the history; members own in each what the last one assigned.

        Where the assignor raises `KafkaRaises`, all members miss the result.
        """
        partitions = dict(self.partitions)
        members: dict[str, Member] = {}
        for generation, changes in enumerate(self.rounds, 1):
            missing = {change.member for change in changes if isinstance(change, Misses)}
            for change in changes:
                _apply(change, partitions, members)
            if not members:
                continue
            asked = AssignorInput(dict(partitions), kafka_order(members))
            try:
                assignment = assign(asked.partitions, asked.members)
            except KafkaRaises as raised:
                yield Raised(asked, raised)
                continue
            yield Round(asked.partitions, asked.members, assignment)
            for name in members.keys() - missing:
                members[name] = Member(
                    members[name].topics, assignment[name], generation, members[name].instance_id
                )


@attrs.frozen
class Raised:
    """A round in which the assignor raised `KafkaRaises`."""

    asked: AssignorInput
    error: KafkaRaises


def _apply(change: Change, partitions: dict[str, int], members: dict[str, Member]) -> None:
    """Apply a change to topics or members; one of an absent member changes nothing."""
    match change:
        case Joins(name, topics, instance_id):
            members.pop(name, None)
            members[name] = Member(topics, instance_id=instance_id)
        case Leaves(name):
            members.pop(name, None)
        case Subscribes(name, topics) if name in members:
            members[name] = attrs.evolve(members[name], topics=topics)
        case Resizes(topic, size):
            partitions[topic] = size


@_made_once
def changes() -> SearchStrategy[Change]:
    """One change between two rounds."""
    member = st.sampled_from(MEMBERS)
    instance = st.none() | st.sampled_from(INSTANCES)
    return st.one_of(
        st.builds(Joins, member, subscriptions(), instance),
        st.builds(Leaves, member),
        st.builds(Subscribes, member, subscriptions()),
        st.builds(Resizes, topic_names(), st.integers(0, 9)),
        st.builds(Misses, member),
    )


@st.composite
def histories(draw: st.DrawFn, *, max_rounds: int = 6) -> History:
    """Some members join, most with equal subscriptions; then changes and rounds alternate."""
    common = draw(subscriptions())
    topics = st.just(common) | subscriptions()
    instance = st.none() | st.sampled_from(INSTANCES)
    arrivals = st.lists(
        st.builds(Joins, st.sampled_from(MEMBERS), topics, instance), min_size=1, max_size=6
    )
    later = st.lists(changes(), max_size=4)
    first = draw(arrivals)
    return History(draw(partition_counts()), [first, *draw(st.lists(later, max_size=max_rounds))])


def outcome(assign: Assignor, group: AssignorInput | Round) -> Assignment | str:
    """The assignment, or the name of the exception that Kafka raises."""
    try:
        return assign(group.partitions, group.members)
    except KafkaRaises as raised:
        return raised.exception
