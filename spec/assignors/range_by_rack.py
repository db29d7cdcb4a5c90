"""Range, where racks matter: a topic is no longer cut into runs, but shares stay as large.

First comes what is near, as far as shares allow, then the rest. Topics alike (of one size, with
the same subscribers) stay together: partition i of each still goes to the same member, so they
are only shared out by rack where that member is near all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from spec.assignors.racks import Places
from spec.java import utf16
from spec.vocabulary import TopicPartition


@attrs.define
class Share:
    """Where the sharing out of one topic stands."""

    topic: str
    places: Places
    free: list[TopicPartition]
    """What nobody has by now, ascending."""
    low: int
    """How many partitions every subscriber gets."""
    above: int
    """How many subscribers may still get one more."""
    given: dict[str, list[TopicPartition]]
    """What each subscriber has by now, in the order of range."""

    @classmethod
    def begin(cls, partitions: Sequence[TopicPartition], names: list[str], places: Places) -> Share:
        """Nobody has any of the topic's partitions yet."""
        low, above = divmod(len(partitions), len(names))
        topic = partitions[0].topic
        return cls(topic, places, list(partitions), low, above, {name: [] for name in names})

    def room(self, member: str) -> int:
        """How many more a member may get, as long as others have not got one more."""
        return max(0, self.low + (self.above > 0) - len(self.given[member]))

    def give(self, member: str, partitions: Sequence[TopicPartition]) -> None:
        """Give free partitions to a member that has room for them."""
        if partitions:
            self.given[member] += partitions
            self.free = [tp for tp in self.free if tp not in partitions]
            self.above -= len(self.given[member]) > self.low

    def deal(self, *, far_too: bool) -> None:
        """Give each subscriber in turn as many as it has room for."""
        for member in self.given:
            suitable = [tp for tp in self.free if far_too or not self.places.is_far(member, tp)]
            self.give(member, suitable[: self.room(member)])


def assign_by_rack(shares: Sequence[Share]) -> dict[str, list[TopicPartition]]:
    """What each subscriber gets of all topics, sorted.

    Kafka: `RangeAssignor.assignWithRackMatching`. Quirk: as soon as racks matter to one topic,
    topics alike are shared out by rack although racks may not matter to them.
    """
    for alike in topics_alike(shares):
        if len(alike) > 1:
            deal_together(alike)
        elif alike[0].places.matter():
            alike[0].deal(far_too=False)
    assigned: dict[str, list[TopicPartition]] = {}
    for share in shares:
        share.deal(far_too=True)
        for member, given in share.given.items():
            assigned.setdefault(member, []).extend(given)
    for given in assigned.values():
        given.sort(key=lambda tp: (utf16(tp.topic), tp.partition))
    return assigned


def topics_alike(shares: Iterable[Share]) -> Iterable[list[Share]]:
    """Put topics of one size with the same subscribers together."""
    alike: dict[tuple[int, frozenset[str]], list[Share]] = {}
    for share in shares:
        alike.setdefault((len(share.free), frozenset(share.given)), []).append(share)
    return alike.values()


def deal_together(shares: Sequence[Share]) -> None:
    """Give partition i of every topic to the first member with room that is far from none."""
    for index in range(len(shares[0].free)):
        row = [(share, TopicPartition(share.topic, index)) for share in shares]
        for member in shares[0].given:
            if all(share.room(member) and not share.places.is_far(member, tp) for share, tp in row):
                for share, tp in row:
                    share.give(member, [tp])
                break
