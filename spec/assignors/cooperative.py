"""Cooperative-sticky: the sticky assignment, in two rebalances where a partition is transferred.

Cooperative members keep reading their partitions through a rebalance. A partition that is to
move is withheld from the first assignment: its owner revokes it and rejoins, and the second
rebalance assigns it. At no time do two members read one partition.
"""

from __future__ import annotations

from collections.abc import Mapping

from kspec.spec.assignors.common import Assignor, as_assignment
from kspec.spec.assignors.properties import (
    Round,
    every_member_has_an_assignment,
    one_owner_per_partition,
    only_subscribers_own_partitions,
)
from kspec.spec.assignors.sticky import assign_and_transfer
from kspec.spec.assignors.sticky.guarantees import (
    no_partitions_are_swapped,
    no_swap_improves_racks,
    owned_partitions_stay_within_quota,
)
from kspec.spec.assignors.sticky.ownership import NO_GENERATION, generation_of
from kspec.spec.core import Claims, evolve
from kspec.spec.vocabulary import NO_RACKS, Assignment, Member, Racks, TopicPartition


def assign_cooperative(
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    *,
    seen_generation: int = NO_GENERATION,
    racks: Racks = NO_RACKS,
) -> Assignment:
    """Assign as sticky does, and withhold partitions that another member must revoke first.

    Kafka: `CooperativeStickyAssignor.assignPartitions`. Quirk: with equal subscriptions, a
    partition claimed only by a member of an older generation is transferred at once.
    """
    outcome = assign_and_transfer(partitions, members, seen_generation, racks)
    transferring = outcome.transferring
    if transferring is None:
        transferring = transferred(members, outcome.assigned)
    for tp, member in transferring.items():
        outcome.assigned[member].remove(tp)
    return as_assignment(outcome.assigned)


def transferred(
    members: Mapping[str, Member], assigned: Mapping[str, list[TopicPartition]]
) -> dict[TopicPartition, str]:
    """The partitions that one member gains and another, by its own claim, loses.

    Every claim counts, of any generation: its member may still be reading. Kafka:
    `CooperativeStickyAssignor.computePartitionsTransferringOwnership`.
    """
    gained: dict[TopicPartition, str] = {}
    lost: set[TopicPartition] = set()
    for member, partitions in assigned.items():
        owned = set(members[member].owned)
        gained.update({tp: member for tp in partitions if tp not in owned})
        lost |= owned.difference(partitions)
    return {tp: member for tp, member in gained.items() if tp in lost}


def no_partition_assigned_while_owned(of: Round) -> Claims:
    """No partition is assigned to one member while another owns it."""
    if of.has_consistent_claims():
        claims = of.claims()
        for tp, holders in of.holders().items():
            owners = claims.get(tp, [])
            for member in holders:
                place = f"{tp} assigned to {member!r}, owned by {' and '.join(map(repr, owners))}"
                yield place, not owners or member in owners


def only_transferred_partitions_are_withheld(of: Round) -> Claims:
    """A partition is withheld only where its owner must revoke it first."""
    claims = of.claims()
    holders = of.holders()
    for tp in of.subscribed_partitions():
        yield str(tp), tp in holders or bool(claims[tp])


COOPERATIVE_GUARANTEES = (
    every_member_has_an_assignment,
    only_subscribers_own_partitions,
    one_owner_per_partition,
    only_transferred_partitions_are_withheld,
    no_partition_assigned_while_owned,
    owned_partitions_stay_within_quota,
    no_partitions_are_swapped,
    no_swap_improves_racks,
)


def rounds(
    assign: Assignor,
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    limit: int,
    racks: Racks = NO_RACKS,
) -> list[Round]:
    """Rebalance until nothing changes; members own in each round what the last one assigned.

    Bind racks to a rack-aware assignor: `partial(assign, racks=racks)`.
    """
    history: list[Round] = []
    while len(history) < limit:
        done = Round(partitions, members, assign(partitions, members), racks)
        history.append(done)
        if all(set(done.assignment[m]) == set(before.owned) for m, before in members.items()):
            break
        members = next_members(done)
    return history


def next_members(of: Round) -> dict[str, Member]:
    """The members as they join the next round: each owns its assignment, a generation later."""
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
