"""What a rebalance means for its members: who keeps what, what moves, and what has to wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from impl.assignors import ASSIGNORS
from spec.assignors import Member, TopicPartition
from spec.assignors.cooperative import next_members
from spec.assignors.properties import Round


@attrs.frozen
class Change:
    """What a rebalance means for one member, each list in the order in which Kafka has it."""

    assigned: Sequence[TopicPartition]
    kept: Sequence[TopicPartition]
    got: Sequence[TopicPartition]
    lost: Sequence[TopicPartition]
    """What it owned and has to let go of; it may be gone, or be nobody's to give."""


@attrs.frozen
class Move:
    """A partition that goes from a member that owned it to another."""

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
    """One round, and what it means."""

    round: Round
    changes: Mapping[str, Change]
    moves: Sequence[Move]
    """Partitions that a member owned and another one gets, by who gets them."""
    withheld: Sequence[TopicPartition]
    """Partitions that somebody subscribes to and nobody gets in this round."""

    @property
    def least(self) -> int:
        """The fewest partitions that anybody has."""
        return min((len(change.assigned) for change in self.changes.values()), default=0)

    @property
    def most(self) -> int:
        """The most partitions that anybody has."""
        return max((len(change.assigned) for change in self.changes.values()), default=0)

    @property
    def joins_again(self) -> bool:
        """Whether somebody has to let go of something, and then joins again if cooperative."""
        return any(change.lost for change in self.changes.values())

    def next_members(self) -> dict[str, Member]:
        """The members in the next generation, owning what they got."""
        return next_members(self.round)


def rebalances(
    strategy: str,
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    settle: bool,
    limit: int,
) -> list[Rebalance]:
    """Assign once or, to let it settle, as long as some member has to let go of something.

    That is when Kafka's cooperative members join again: what they let go of waits for another.
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
    """Compare what members got with what they owned."""
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
    withheld = [tp for tp in of.to_share_out() if tp not in assigned_somewhere]
    return Rebalance(of, changes, moves, withheld)
