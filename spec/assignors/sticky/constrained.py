"""Sticky, when all members subscribe to the same topics: keep what fits, deal out the rest.

Kafka: `ConstrainedAssignmentBuilder`. Everybody gets the low or the high quota, one apart. A
member keeps what it owned up to its quota, so that only what must move moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import attrs

from spec.assignors.common import partitions_of
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
    below: list[str] = attrs.field(factory=list)
    """Members that have less than the low quota."""
    at_low: deque[str] = attrs.field(factory=deque)
    """Members at the low quota that may get one more."""
    given_up: dict[TopicPartition, str] = attrs.field(factory=dict)
    """Who had to give up which partition."""
    transferring: dict[TopicPartition, str] = attrs.field(factory=dict)
    """Partitions that come from another member, and to whom: cooperative members wait a round."""


def assign_constrained(sizes: Mapping[str, int], before: Ownership) -> Sharing:
    """Keep what was owned, up to the quotas; deal out the rest."""
    quota = Quota.of(sum(sizes.values()), len(before.owned))
    sharing = Sharing(quota, {member: [] for member in before.owned})
    keep_owned(sharing, before)

    by_name = sorted(sizes, key=utf16)
    everything = (tp for topic in by_name for tp in partitions_of(topic, sizes[topic]))
    kept = (tp for assigned in sharing.assigned.values() for tp in assigned)
    free = left_over(everything, sorted(kept, key=lambda tp: (utf16(tp.topic), tp.partition)))

    sharing.below.sort(key=utf16)
    sharing.at_low = deque(sorted(sharing.at_low, key=utf16))
    deal_out(sharing, free, before.disputed)
    return sharing


def keep_owned(sharing: Sharing, before: Ownership) -> None:
    """Let each member keep what it owned, up to a quota: the lower indexes first.

    The first members that own enough get the high quota. Once as many have it as shall, nobody
    at the low quota may hope for one more.
    """
    quota = sharing.quota
    members_above = 0
    for member, claimed in before.owned.items():
        owned = [tp for tp in claimed if tp not in before.disputed]
        owned.sort(key=lambda tp: (tp.partition, utf16(tp.topic)))
        if len(owned) < quota.low:
            keeps = len(owned)
            sharing.below.append(member)
        elif len(owned) >= quota.high and members_above < quota.above:
            keeps = quota.high
            members_above += 1
            if members_above == quota.above:
                sharing.at_low.clear()
        else:
            keeps = quota.low
            if members_above < quota.above:
                sharing.at_low.append(member)
        sharing.assigned[member] += owned[:keeps]
        sharing.given_up.update(dict.fromkeys(owned[keeps:], member))


def deal_out(
    sharing: Sharing, free: Iterable[TopicPartition], disputed: set[TopicPartition]
) -> None:
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
            member = sharing.at_low.popleft()
        else:
            # Only when a member kept a partition that does not exist: it fills a quota, and
            # no longer all that do exist find a place.
            raise KafkaRaises("IllegalStateException", f"all members are full before {tp}")
        sharing.assigned[member].append(tp)
        if tp in disputed or sharing.given_up.get(tp, member) != member:
            sharing.transferring[tp] = member
        if len(sharing.assigned[member]) == sharing.quota.low:
            turn -= 1
            del sharing.below[turn]
            sharing.at_low.append(member)
