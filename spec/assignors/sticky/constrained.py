"""Sticky with equal subscriptions: members keep partitions up to a quota, the rest is dealt out.

Each member gets the low or the high quota, which differ by at most one. It keeps what it owned
up to its quota, so that no partition moves without need. Kafka:
`AbstractStickyAssignor.ConstrainedAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kspec.spec.assignors.common import partitions_of
from kspec.spec.assignors.racks import Places
from kspec.spec.assignors.sticky.ownership import Ownership, unassigned
from kspec.spec.java import utf16
from kspec.spec.vocabulary import KafkaRaises, TopicPartition


@attrs.frozen
class Quota:
    """How many partitions a member gets."""

    low: int
    """The least that a member gets (`minQuota`)."""
    high: int
    """The most that a member gets (`maxQuota`): one more, unless the partitions divide evenly."""
    above: int
    """How many members get more than the low quota."""

    @classmethod
    def of(cls, partitions: int, members: int) -> Quota:
        """The quotas for these numbers of partitions and members."""
        low, above = divmod(partitions, members)
        return cls(low, low + 1 if above else low, above)


@attrs.define
class Builder:
    """The state of the assignment under construction."""

    quota: Quota
    assigned: dict[str, list[TopicPartition]]
    """The partitions of each member so far."""
    disputed: set[TopicPartition]
    """Partitions that two members claim."""
    above: int = 0
    """How many members have more than the low quota so far."""
    below: list[str] = attrs.field(factory=list)
    """Members with less than the low quota."""
    at_low: list[str] = attrs.field(factory=list)
    """Members at the low quota that may get one more."""
    given_up: dict[TopicPartition, str] = attrs.field(factory=dict)
    """The owner of each partition that it could not keep."""
    transferring: dict[TopicPartition, str] = attrs.field(factory=dict)
    """The new member of each partition that comes from another."""

    def rises(self) -> None:
        """Count one more member above the low quota; at the limit, no other member may follow."""
        self.above += 1
        if self.above == self.quota.above:
            self.at_low.clear()

    def may_rise(self) -> bool:
        """Whether one more member may get above the low quota."""
        return self.above < self.quota.above

    def give(self, tp: TopicPartition, member: str) -> int:
        """Assign an unassigned partition; returns how many the member has then."""
        self.assigned[member].append(tp)
        if tp in self.disputed or self.given_up.get(tp, member) != member:
            self.transferring[tp] = member
        return len(self.assigned[member])


def assign_constrained(sizes: Mapping[str, int], before: Ownership, places: Places) -> Builder:
    """Keep owned partitions up to the quotas, then deal out the rest, first within racks.

    Kafka: `ConstrainedAssignmentBuilder.build`.
    """
    quota = Quota.of(sum(sizes.values()), len(before.owned))
    builder = Builder(quota, {member: [] for member in before.owned}, before.disputed)
    keep_owned(builder, before, places)

    by_name = sorted(sizes, key=utf16)
    everything = (tp for topic in by_name for tp in partitions_of(topic, sizes[topic]))
    kept = (tp for assigned in builder.assigned.values() for tp in assigned)
    free = unassigned(everything, sorted(kept, key=lambda tp: (utf16(tp.topic), tp.partition)))

    builder.below.sort(key=utf16)
    builder.at_low.sort(key=utf16)
    # Partitions that few members share a rack with come first, while those members have room.
    free.sort(key=places.members_sharing_rack)
    deal_out(builder, deal_out_by_rack(builder, free, places))
    return builder


def keep_owned(builder: Builder, before: Ownership, places: Places) -> None:
    """Let each member keep owned partitions up to a quota, lowest index first, none off its rack.

    The first members that own enough keep the high quota, as many as may. Kafka:
    `ConstrainedAssignmentBuilder.assignOwnedPartitions`.
    """
    quota = builder.quota
    for member, claimed in before.owned.items():
        off_rack = {tp for tp in claimed if places.is_off_rack(member, tp)}
        owned = [tp for tp in claimed if tp not in before.disputed and tp not in off_rack]
        owned.sort(key=lambda tp: (tp.partition, utf16(tp.topic)))
        if len(owned) < quota.low:
            keeps = len(owned)
            builder.below.append(member)
        elif len(owned) >= quota.high and builder.may_rise():
            keeps = quota.high
            builder.rises()
        else:
            keeps = quota.low
            if builder.may_rise():
                builder.at_low.append(member)
        builder.assigned[member] += owned[:keeps]
        builder.given_up.update(dict.fromkeys([*off_rack, *owned[keeps:]], member))


def deal_out_by_rack(
    builder: Builder, free: Iterable[TopicPartition], places: Places
) -> list[TopicPartition]:
    """Assign partitions to members on one of their racks; returns those that are left.

    Members below the low quota take turns, members on other racks are skipped; then the first
    at the low quota on one of the racks. Kafka:
    `ConstrainedAssignmentBuilder.assignRackAwareRoundRobin`.
    """
    if not places.members:
        return list(free)
    left: list[TopicPartition] = []
    turn = 0
    for tp in free:
        below = builder.below
        in_turn = below[turn:] + below[:turn]
        member = next((m for m in [*in_turn, *builder.at_low] if places.shares_rack(m, tp)), None)
        if member is None:
            left.append(tp)
            continue
        has = builder.give(tp, member)
        if member in builder.at_low:
            builder.at_low.remove(member)
            builder.rises()
            continue
        turn = below.index(member) + 1
        if has == builder.quota.low:
            turn -= 1
            del below[turn]
            if builder.may_rise():
                builder.at_low.append(member)
        turn %= len(below) or 1
    return left


def deal_out(builder: Builder, free: Iterable[TopicPartition]) -> None:
    """Assign partitions in turn to members below the low quota, then one each to those at it.

    Kafka: `ConstrainedAssignmentBuilder.assignRoundRobin`.
    """
    turn = 0
    for tp in free:
        if builder.below:
            turn %= len(builder.below)
            member = builder.below[turn]
            turn += 1
        elif builder.at_low:
            member = builder.at_low.pop(0)
        else:
            # Only where a member kept a partition that does not exist: it counts towards a
            # quota, so not every partition that does exist has room.
            raise KafkaRaises("IllegalStateException", f"all members are full before {tp}")
        if builder.give(tp, member) == builder.quota.low:
            turn -= 1
            del builder.below[turn]
            builder.at_low.append(member)
