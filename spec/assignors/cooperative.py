"""Cooperative-sticky: the sticky result, in two rounds where a partition changes hands.

Cooperative members go on reading what they own through a rebalance. So a partition that moves
is withheld in this round: its old member lets go of it, and joins again at once; in the next
round nobody owns it and the new member gets it. At no time do two members read it.
"""

from __future__ import annotations

from collections.abc import Mapping

from spec.assignors.common import Assignor, as_assignment
from spec.assignors.properties import (
    Round,
    members_are_answered,
    nobody_shares_a_partition,
    only_subscribers_get_partitions,
)
from spec.assignors.sticky import share_out
from spec.assignors.sticky.ownership import NO_GENERATION, generation_of
from spec.assignors.sticky.promises import is_shared_out_near, keeps_what_fits, nothing_is_swapped
from spec.core import Claims, evolve
from spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def assign_cooperative(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Share out as sticky does, and withhold what another member has to let go first.

    Kafka: `CooperativeStickyAssignor`. Quirk: with equal subscriptions, a partition that only
    a member of an older generation claims is handed over at once.
    """
    outcome = share_out(partitions, members, seen_generation, racks)
    transferring = outcome.transferring
    if transferring is None:
        transferring = changing_hands(members, outcome.assigned)
    for tp, member in transferring.items():
        outcome.assigned[member].remove(tp)
    return as_assignment(outcome.assigned)


def changing_hands(
    members: Mapping[str, Member], assigned: Mapping[str, list[TopicPartition]]
) -> dict[TopicPartition, str]:
    """Partitions that one member gets anew and another, by its own word, loses.

    Kafka: `computePartitionsTransferringOwnership`. Every claim counts here, of whatever
    generation: the member may still be reading.
    """
    gained: dict[TopicPartition, str] = {}
    lost: set[TopicPartition] = set()
    for member, partitions in assigned.items():
        owned = set(members[member].owned)
        gained.update({tp: member for tp in partitions if tp not in owned})
        lost |= owned.difference(partitions)
    return {tp: member for tp, member in gained.items() if tp in lost}


def nothing_is_both_given_and_revoked(of: Round) -> Claims:
    """No partition goes to a member while another one owns it."""
    if of.told_plainly():
        claims = of.claims()
        for tp, holders in of.holders().items():
            owners = claims.get(tp, [])
            for member in holders:
                place = f"{tp} given to {member!r}, owned by {' and '.join(map(repr, owners))}"
                yield place, not owners or member in owners


def only_what_changes_hands_is_withheld(of: Round) -> Claims:
    """A partition that nobody gets in this round is one that somebody has to let go first."""
    claims = of.claims()
    holders = of.holders()
    for tp in of.to_share_out():
        yield str(tp), tp in holders or bool(claims[tp])


COOPERATIVE_PROMISES = (
    members_are_answered,
    only_subscribers_get_partitions,
    nobody_shares_a_partition,
    only_what_changes_hands_is_withheld,
    nothing_is_both_given_and_revoked,
    keeps_what_fits,
    nothing_is_swapped,
    is_shared_out_near,
)


def rounds(
    assign: Assignor,
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    limit: int,
    racks: Racks = NO_RACKS,
) -> list[Round]:
    """Rebalance until nothing changes: each round's result is what members own in the next.

    An assignor that looks at racks is given with them bound: `partial(assign, racks=racks)`.
    """
    history: list[Round] = []
    while len(history) < limit:
        done = Round(partitions, members, assign(partitions, members), racks)
        history.append(done)
        if all(set(done.assignment[m]) == set(told.owned) for m, told in members.items()):
            break
        members = next_members(done)
    return history


def next_members(of: Round) -> dict[str, Member]:
    """The members as they join the next round: each owns what it got, since one generation."""
    newest = max((generation_of(member) for member in of.members.values()), default=0)
    return {
        name: evolve(
            member,
            owned=of.assignment[name],
            generation=newest + 1,
            subscription_generation=newest + 1,
        )
        for name, member in of.members.items()
    }
