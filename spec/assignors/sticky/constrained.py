"""Sticky, when all members subscribe to the same topics: keep what fits, deal out the rest.

Kafka: `ConstrainedAssignmentBuilder`. Everybody gets the low or the high quota, one apart. A
member keeps what it owned up to its quota, so that only what must move moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from spec.assignors.common import partitions_of
from spec.assignors.racks import Places
from spec.assignors.sticky.ownership import Ownership, left_over
from spec.java import utf16
from spec.vocabulary import KafkaRaises, TopicPartition


@attrs.frozen
class Quota:
    """How many partitions a member gets."""

    low: int
    """What everybody gets."""
    high: int
    """What some get: one more, unless the partitions divide evenly."""
    above: int
    """How many members get more than the low quota."""

    @classmethod
    def of(cls, partitions: int, members: int) -> Quota:
        """Share the partitions out evenly."""
        low, above = divmod(partitions, members)
        return cls(low, low + 1 if above else low, above)


@attrs.define
class Sharing:
    """Where the sharing out stands."""

    quota: Quota
    assigned: dict[str, list[TopicPartition]]
    """What each member has by now."""
    disputed: set[TopicPartition]
    """Partitions that two members claim."""
    above: int = 0
    """How many members have more than the low quota."""
    below: list[str] = attrs.field(factory=list)
    """Members that have less than the low quota."""
    at_low: list[str] = attrs.field(factory=list)
    """Members at the low quota that may get one more."""
    given_up: dict[TopicPartition, str] = attrs.field(factory=dict)
    """Who had to give up which partition."""
    transferring: dict[TopicPartition, str] = attrs.field(factory=dict)
    """Partitions that come from another member, and to whom: cooperative members wait a round."""

    def rises(self) -> None:
        """One more member gets above the low quota; once as many have as shall, nobody else may."""
        self.above += 1
        if self.above == self.quota.above:
            self.at_low.clear()

    def may_rise(self) -> bool:
        """Whether fewer members are above the low quota than shall be."""
        return self.above < self.quota.above

    def give(self, tp: TopicPartition, member: str) -> int:
        """Assign a free partition, and say how many the member has."""
        self.assigned[member].append(tp)
        if tp in self.disputed or self.given_up.get(tp, member) != member:
            self.transferring[tp] = member
        return len(self.assigned[member])


def assign_constrained(sizes: Mapping[str, int], before: Ownership, places: Places) -> Sharing:
    """Keep what was owned, up to the quotas; deal out the rest: first to who is near."""
    quota = Quota.of(sum(sizes.values()), len(before.owned))
    sharing = Sharing(quota, {member: [] for member in before.owned}, before.disputed)
    keep_owned(sharing, before, places)

    by_name = sorted(sizes, key=utf16)
    everything = (tp for topic in by_name for tp in partitions_of(topic, sizes[topic]))
    kept = (tp for assigned in sharing.assigned.values() for tp in assigned)
    free = left_over(everything, sorted(kept, key=lambda tp: (utf16(tp.topic), tp.partition)))

    sharing.below.sort(key=utf16)
    sharing.at_low.sort(key=utf16)
    # Partitions that few are near come first, so that those few still have room for them.
    free.sort(key=places.many_near)
    deal_out(sharing, deal_out_near(sharing, free, places))
    return sharing


def keep_owned(sharing: Sharing, before: Ownership, places: Places) -> None:
    """Let each member keep what it owned and is not far from, up to a quota: low indexes first.

    The first members that own enough get the high quota. Once as many have it as shall, nobody
    at the low quota may hope for one more.
    """
    quota = sharing.quota
    for member, claimed in before.owned.items():
        far = {tp for tp in claimed if places.is_far(member, tp)}
        owned = [tp for tp in claimed if tp not in before.disputed and tp not in far]
        owned.sort(key=lambda tp: (tp.partition, utf16(tp.topic)))
        if len(owned) < quota.low:
            keeps = len(owned)
            sharing.below.append(member)
        elif len(owned) >= quota.high and sharing.may_rise():
            keeps = quota.high
            sharing.rises()
        else:
            keeps = quota.low
            if sharing.may_rise():
                sharing.at_low.append(member)
        sharing.assigned[member] += owned[:keeps]
        sharing.given_up.update(dict.fromkeys([*far, *owned[keeps:]], member))


def deal_out_near(
    sharing: Sharing, free: Iterable[TopicPartition], places: Places
) -> list[TopicPartition]:
    """Give what is free to members near it, and say what is left.

    To those below the low quota, round and round, passing over who is not near; else to the
    first that is near of those at the low quota. Kafka: `assignRackAwareRoundRobin`.
    """
    if not places.members:
        return list(free)
    left: list[TopicPartition] = []
    turn = 0
    for tp in free:
        below = sharing.below
        in_turn = below[turn:] + below[:turn]
        member = next((m for m in [*in_turn, *sharing.at_low] if places.is_near(m, tp)), None)
        if member is None:
            left.append(tp)
            continue
        has = sharing.give(tp, member)
        if member in sharing.at_low:
            sharing.at_low.remove(member)
            sharing.rises()
            continue
        turn = below.index(member) + 1
        if has == sharing.quota.low:
            turn -= 1
            del below[turn]
            if sharing.may_rise():
                sharing.at_low.append(member)
        turn %= len(below) or 1
    return left


def deal_out(sharing: Sharing, free: Iterable[TopicPartition]) -> None:
    """Give the free partitions to the members below the low quota, round and round.

    Who reaches it stands back. When nobody is below any more, those at the low quota get one
    each, as long as there is one.
    """
    turn = 0
    for tp in free:
        if sharing.below:
            turn %= len(sharing.below)
            member = sharing.below[turn]
            turn += 1
        elif sharing.at_low:
            member = sharing.at_low.pop(0)
        else:
            # Only when a member kept a partition that does not exist: it fills a quota, and
            # no longer all that do exist find a place.
            raise KafkaRaises("IllegalStateException", f"all members are full before {tp}")
        if sharing.give(tp, member) == sharing.quota.low:
            turn -= 1
            del sharing.below[turn]
            sharing.at_low.append(member)
