"""What there is: a group's partitions, who reads them, how far, and what has been committed.

How a group agrees on who reads what is not modelled here: the coordinator hands a partition to
whom it likes, takes it back in good order (the member is told first), or gives a member up.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from spec.core import (
    bound,
    constant,
    evolve,
    replaced,
)

NOBODY = -1
"""Where a member is expected, and there is none."""


@attrs.frozen
class Bounds:
    """How large the world is in which every state is looked at."""

    members: int = bound(2, 1, 3, "members of the group")
    partitions: int = bound(1, 1, 2, "partitions that the group reads")
    records: int = bound(2, 1, 4, "records in each partition")
    batch: int = bound(1, 1, 4, "records that one poll returns at the most (max.poll.records)")


@attrs.frozen
class Hand:
    """What one consumer knows of a partition that it reads."""

    position: int
    """The next record that a poll returns."""
    done: int
    """The next record to process; those from here to the position are in hand."""
    sent: int
    """What it committed last, or began with."""

    @property
    def is_empty(self) -> bool:
        """Whether all that it was given is behind it."""
        return self.done == self.position


@attrs.frozen(cache_hash=True)
class Delivery:
    """A group's partitions and everybody who reads them."""

    group: frozenset[int]
    """The members, by the coordinator's word."""
    owners: tuple[int, ...]
    """For each partition its owner, by the coordinator's word, or NOBODY."""
    crashed: frozenset[int]
    """Members that do nothing any more, until they are started again."""
    hands: tuple[tuple[Hand | None, ...], ...]
    """For each consumer and each partition what it knows; the last is a standalone consumer."""
    committed: tuple[int, ...]
    """For each partition the committed offset: where its next owner begins."""
    in_flight: tuple[tuple[int, ...], ...]
    """For each partition the commits on their way that the coordinator would still accept."""
    failed: tuple[tuple[int, ...], ...]
    """For each partition the commits whose callback was told that they failed."""
    processed: tuple[tuple[int, ...], ...]
    """A ghost: how often each record was processed; 2 stands for more, too."""
    asked: tuple[frozenset[int], ...]
    """A ghost: for each partition, what anybody ever asked to commit."""
    highest: tuple[int, ...]
    """A ghost: for each partition the highest offset that was ever committed."""
    in_good_order: bool
    """A ghost: whether nobody was given up so far: not crashed, nor too slow."""
    refused: bool
    """A ghost: whether somebody got a CommitFailedException."""
    bounds: Bounds = constant()
    """How large this world is."""

    # -- words that the rules are told in -----------------------------------------------------

    def hand(self, consumer: int, partition: int) -> Hand | None:
        """What the consumer knows of a partition, if it takes it for its own."""
        return self.hands[consumer][partition]

    def owns(self, member: int, partition: int) -> bool:
        """Whether the coordinator would accept the member's commit."""
        return self.owners[partition] == member

    def has_nothing_in_hand(self, consumer: int) -> bool:
        """Whether the consumer has worked off all that it was given, of any partition."""
        return all(hand is None or hand.is_empty for hand in self.hands[consumer])

    # -- updates that several rules share ---------------------------------------------------------

    def with_hand(self, consumer: int, partition: int, hand: Hand | None) -> Delivery:
        """The consumer knows this of the partition."""
        hands = replaced(self.hands[consumer], partition, hand)
        return evolve(self, hands=replaced(self.hands, consumer, hands))

    def lets_go(self, consumer: int) -> Delivery:
        """The consumer reads nothing any more."""
        nothing = (None,) * self.bounds.partitions
        return evolve(self, hands=replaced(self.hands, consumer, nothing))

    def asks(self, partition: int, offset: int) -> Delivery:
        """Somebody asks to commit an offset; a ghost takes note."""
        asked = self.asked[partition] | {offset}
        return evolve(self, asked=replaced(self.asked, partition, asked))

    def commits(self, partition: int, offset: int) -> Delivery:
        """The coordinator accepts a commit, whatever was committed before."""
        highest = max(self.highest[partition], offset)
        return evolve(
            self,
            committed=replaced(self.committed, partition, offset),
            highest=replaced(self.highest, partition, highest),
        )

    def refuses(self, consumer: int) -> Delivery:
        """CommitFailedException: the consumer is not, or no longer, a member; it lets go."""
        return evolve(self.lets_go(consumer), refused=True)

    def without_commits_on_their_way(self, partition: int) -> Delivery:
        """A new generation: what an older one has sent will be refused, so it is gone."""
        return evolve(
            self,
            in_flight=replaced(self.in_flight, partition, ()),
            failed=replaced(self.failed, partition, ()),
        )

    def gives_up(self, member: int) -> Delivery:
        """The member is out, and its partitions are free. It is not told."""
        s = evolve(self, group=self.group - {member}, in_good_order=False)
        for partition in range(self.bounds.partitions):
            if s.owns(member, partition):
                s = s.without_commits_on_their_way(partition)
                s = evolve(s, owners=replaced(s.owners, partition, NOBODY))
        return s


def initial(bounds: Bounds) -> list[Delivery]:
    """All members are in the group, nobody owns anything, and nothing is committed."""
    each = bounds.partitions
    return [
        Delivery(
            group=frozenset(range(bounds.members)),
            owners=(NOBODY,) * each,
            crashed=frozenset(),
            hands=((None,) * each,) * (bounds.members + 1),
            committed=(0,) * each,
            in_flight=((),) * each,
            failed=((),) * each,
            processed=((0,) * bounds.records,) * each,
            asked=(frozenset(),) * each,
            highest=(0,) * each,
            in_good_order=True,
            refused=False,
            bounds=bounds,
        )
    ]


# -- what rules choose from -----------------------------------------------------------------------


def members(s: Delivery) -> range:
    """Every consumer that is, or was, a member of the group."""
    return range(s.bounds.members)


def standalone(s: Delivery) -> int:
    """The consumer that assigns itself, beside the group."""
    return s.bounds.members


def partitions(s: Delivery) -> range:
    """Every partition."""
    return range(s.bounds.partitions)


def batches(s: Delivery) -> range:
    """How many records a poll may return."""
    return range(1, s.bounds.batch + 1)


def held(s: Delivery, consumer: int) -> Iterator[tuple[int, Hand]]:
    """The partitions that the consumer takes for its own."""
    for partition, hand in enumerate(s.hands[consumer]):
        if hand is not None:
            yield partition, hand
