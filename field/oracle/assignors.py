"""The oracle of the assignors: `spec.assignors`, with the names of Kafka's subscriptions.

Members and assignments are lists, in the order in which the members joined: many languages do not
keep the order of an object's fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, in_request, question
from kspec.spec.assignors import ASSIGNORS, GUARANTEES, kafka_order
from kspec.spec.assignors.properties import Round, failure
from kspec.spec.core import SpecError, look_up
from kspec.spec.vocabulary import Member, TopicPartition, racks_by_partition

MOST_PARTITIONS = 1_000_000
"""How many partitions the topics of a request may have."""


@attrs.frozen
class Subscriber:
    """A member, with its subscription."""

    member_id: str
    """Its member id."""
    subscription: Member
    """Its subscription."""


@attrs.frozen
class Assigned:
    """A member, with its assignment."""

    member_id: str
    """Its member id."""
    partitions: tuple[TopicPartition, ...]
    """The partitions assigned to it, in Kafka's order."""


@attrs.frozen
class Violation:
    """A guarantee that an assignment breaks."""

    guarantee: str
    """Its name."""
    where: str
    """The first place where it does not hold."""


@attrs.frozen
class Metadata:
    """What the leader of a group knows when it assigns."""

    partitions_per_topic: Mapping[str, int | None]
    """The number of partitions of each topic; null or absent where there is no metadata."""
    members: tuple[Subscriber, ...]
    """The members, in the order in which they joined."""
    racks: Mapping[str, tuple[tuple[str, ...], ...]] = attrs.field(default={})
    """For each topic, the racks of each partition's replicas."""
    in_given_order: bool = False
    """Whether the members are taken in the order given, and not in that of Kafka's hash map."""

    def checked(self) -> dict[str, Member]:
        """The members in order, if all of this describes a group."""
        total = 0
        for topic, size in self.partitions_per_topic.items():
            if size is not None and size < 0:
                raise SpecError(f"params.partitionsPerTopic.{topic}: not negative")
            total += size or 0
        if total > MOST_PARTITIONS:
            raise SpecError(f"params.partitionsPerTopic: more than {MOST_PARTITIONS:,} partitions")
        members = {member.member_id: member.subscription for member in self.members}
        if len(members) < len(self.members):
            raise SpecError("params.members: a member id is given twice")
        if any(tp.partition < 0 for m in members.values() for tp in m.owned):
            raise SpecError("params.members: no partition is negative")
        for topic in self.racks:
            racks_by_partition(self.racks, topic, self.partitions_per_topic.get(topic) or 0)
        return members if self.in_given_order else kafka_order(members)


def assign(assignor: str, group: Metadata) -> tuple[Assigned, ...]:
    """The assignment that Kafka's assignor computes.

    Kafka: `ConsumerPartitionAssignor.assign`, of the assignor with this name.
    """
    function = look_up("assignor", assignor, ASSIGNORS)
    members = group.checked()
    assigned = function(group.partitions_per_topic, members, racks=group.racks)
    return tuple(Assigned(*each) for each in assigned.items())


def violations(
    assignor: str, group: Metadata, assignment: tuple[Assigned, ...]
) -> tuple[Violation, ...]:
    """The guarantees of an assignor that some assignment breaks."""
    guarantees = look_up("assignor", assignor, GUARANTEES)
    assigned = {each.member_id: each.partitions for each in assignment}
    if len(assigned) < len(assignment):
        raise SpecError("params.assignment: a member id is given twice")
    of = Round(group.partitions_per_topic, group.checked(), assigned, group.racks)
    broken = ((each.__name__, failure(each, of)) for each in guarantees)
    return tuple(Violation(name, where) for name, where in broken if where is not None)


def oracle() -> Oracle:
    """The methods."""
    return Oracle([question(assign, merged="group"), question(violations, merged="group")])


# -- vectors --------------------------------------------------------------------------------------

TOPICS = ("a", "b", "c", "topic-1", "topic-10", "topic-2", "é", "\uffee", "\U0001f600")
MEMBERS = ("m1", "m2", "m3", "m4", "m5", "AaAa", "BBBB", "ü", "\uffee", "\U0001f680")
INSTANCES = ("i1", "i2", "i3", "\uffee")
RACKS = ("r1", "r2", "r3")


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A group for any assignor: claims of several generations, racks, static members."""
    topics = draw.some(TOPICS, draw.between(1, 4))
    sizes = {topic: draw.below(8) for topic in topics if draw.chance(0.9)}
    every = [TopicPartition(topic, n) for topic, size in sizes.items() for n in range(size)]
    every.append(TopicPartition(topics[0], 9))  # it was deleted
    common = tuple(draw.some(topics, draw.between(1, 3))) if draw.chance(0.6) else None
    instances = draw.some(INSTANCES, len(INSTANCES))
    consistent, with_racks = draw.chance(0.6), draw.chance(0.4)
    generation = draw.below(4)
    unclaimed = draw.some(every[:-1], len(every))
    members = []
    for name in draw.some(MEMBERS, draw.between(1, 6)):
        own = tuple(draw.some(topics, draw.between(0, 3))) if common is None else common
        if consistent:
            share = draw.below(len(unclaimed) + 1)
            owned, unclaimed = unclaimed[:share], unclaimed[share:]
        else:
            owned = draw.some(every, draw.below(6))
        since = generation if consistent or draw.chance(0.7) else draw.below(4)
        member = Member(
            own,
            owned,
            since if owned else None,
            instances.pop() if instances and draw.chance(0.25) else None,
            rack=draw.choose((*RACKS, None)) if with_racks else None,
        )
        members.append(Subscriber(name, member))
    racks = {
        topic: tuple(tuple(sorted(draw.some(RACKS, draw.below(3)))) for _ in range(size))
        for topic, size in sizes.items()
        if with_racks
    }
    group = Metadata(sizes, tuple(members), racks)
    name = draw.choose(tuple(ASSIGNORS))
    return "assign", {"assignor": name, **in_request(group)}
