"""The effect of a rebalance on each member: partitions kept, gained, lost and withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from kspec.impl.assignors import ASSIGNORS
from kspec.spec.assignors import Member, TopicPartition
from kspec.spec.assignors.cooperative import next_members
from kspec.spec.assignors.properties import Round


@attrs.frozen
class Change:
    """The effect of a rebalance on one member, each list in Kafka's order."""

    assigned: Sequence[TopicPartition]
    """Its partitions afterwards."""
    kept: Sequence[TopicPartition]
    """Those that it owned before."""
    got: Sequence[TopicPartition]
    """Those that it did not own before."""
    lost: Sequence[TopicPartition]
    """Those that it owned and must revoke; they need not exist any more."""


@attrs.frozen
class Move:
    """A partition that moves from the member that owned it to another."""

    topic: str
    partition: int
    source: str
    destination: str

    @property
    def what(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


@attrs.frozen
class Rebalance:
    """One round, and its effect."""

    round: Round
    changes: Mapping[str, Change]
    moves: Sequence[Move]
    """Partitions that move from one member to another, in the order of the new owners."""
    withheld: Sequence[TopicPartition]
    """Partitions with a subscriber that no member gets in this round."""

    @property
    def least(self) -> int:
        """The fewest partitions of any member."""
        return min((len(change.assigned) for change in self.changes.values()), default=0)

    @property
    def most(self) -> int:
        """The most partitions of any member."""
        return max((len(change.assigned) for change in self.changes.values()), default=0)

    @property
    def joins_again(self) -> bool:
        """Whether a member must revoke a partition; a cooperative one then rejoins."""
        return any(change.lost for change in self.changes.values())

    def next_members(self) -> dict[str, Member]:
        """The members in the next generation, owning what they were assigned."""
        return next_members(self.round)


def rebalances(
    strategy: str,
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    settle: bool,
    limit: int,
) -> list[Rebalance]:
    """Assign once or, with `settle`, until no member must revoke a partition.

    Cooperative members rejoin after they have revoked partitions, so that others get them.
    """
    done: list[Rebalance] = []
    while len(done) < limit:
        assignment = ASSIGNORS[strategy](partitions, members)
        done.append(rebalance(Round(partitions, members, assignment)))
        if not (settle and done[-1].joins_again):
            break
        members = done[-1].next_members()
    return done


def rebalance(of: Round) -> Rebalance:
    """Compare the assignment with what the members owned before."""
    changes: dict[str, Change] = {}
    owner: dict[TopicPartition, str] = {}
    for name, member in of.members.items():
        owner.update(dict.fromkeys(member.owned, name))
        owned, assigned = set(member.owned), of.assignment[name]
        still = set(assigned)
        changes[name] = Change(
            assigned,
            kept=[tp for tp in assigned if tp in owned],
            got=[tp for tp in assigned if tp not in owned],
            lost=[tp for tp in dict.fromkeys(member.owned) if tp not in still],
        )
    moves = [
        Move(*tp, owner[tp], name)
        for name, change in changes.items()
        for tp in change.got
        if tp in owner
    ]
    assigned_somewhere = {tp for change in changes.values() for tp in change.assigned}
    withheld = [tp for tp in of.subscribed_partitions() if tp not in assigned_somewhere]
    return Rebalance(of, changes, moves, withheld)
