"""What the sticky assignor guarantees: balance first, then as few moves as balance allows."""

from __future__ import annotations

from kspec.spec.assignors.properties import VALID, Round, loads_are_even
from kspec.spec.assignors.racks import swaps_do_not_improve_racks
from kspec.spec.assignors.sticky.constrained import Quota
from kspec.spec.core import Claims


def no_single_move_improves_balance(of: Round) -> Claims:
    """No partition has a subscriber with two partitions fewer than its owner."""
    loads = {member: len(assigned) for member, assigned in of.assignment.items()}
    subscribers: dict[str, list[str]] = {}
    for name, member in of.members.items():
        for topic in member.topics:
            subscribers.setdefault(topic, []).append(name)
    if of.has_consistent_claims():
        for tp, holders in of.holders().items():
            least = min(subscribers.get(tp.topic, holders), key=lambda m: loads.get(m, 0))
            place = f"{tp} at {holders[0]!r}, where {least!r} has room"
            yield place, loads[holders[0]] <= loads.get(least, 0) + 1


def owned_partitions_stay_within_quota(of: Round) -> Claims:
    """With equal subscriptions, as many partitions stay with their owners as quotas allow.

    Each member keeps up to the low quota, and as many as may keep one more. Not where racks are
    relevant: a member then gives up partitions off its rack.
    """
    partitions = of.subscribed_partitions()
    if (
        not (of.members and of.has_consistent_claims() and of.equal_topics())
        or of.places().are_relevant()
    ):
        return
    owner = of.previous_owner()
    owned = [sum(who == member for who in owner.values()) for member in of.members]
    quota = Quota.of(len(partitions), len(of.members))
    can_stay = sum(min(count, quota.low) for count in owned)
    if quota.above:
        can_stay += min(quota.above, sum(count >= quota.high for count in owned))
    stay = sum(tp in of.assignment.get(member, ()) for tp, member in owner.items())
    yield f"{stay} partitions stay, and {can_stay} could", stay == can_stay


def no_partitions_are_swapped(of: Round) -> Claims:
    """No two members swap partitions of one topic.

    Not where racks are relevant: a swap may then bring both onto the same rack as a replica.
    """
    if not of.has_consistent_claims() or of.places().are_relevant():
        return
    owner = of.previous_owner()
    moved = {
        (tp.topic, owner[tp], member): tp
        for tp, holders in of.holders().items()
        for member in holders
        if tp in owner and owner[tp] != member
    }
    for (topic, source, destination), tp in moved.items():
        back = moved.get((topic, destination, source))
        yield f"{tp} from {source!r} to {destination!r}, and {back} back", back is None


def no_swap_improves_racks(of: Round) -> Claims:
    """With equal subscriptions, no swap between two members improves both their racks.

    With unequal ones this is not guaranteed, since balancing ignores racks.
    """
    places = of.places()
    if of.has_consistent_claims() and of.equal_topics() and places.are_relevant():
        yield from swaps_do_not_improve_racks(places, of.assignment)


STICKY_GUARANTEES = (
    *VALID,
    loads_are_even,
    no_single_move_improves_balance,
    owned_partitions_stay_within_quota,
    no_partitions_are_swapped,
    no_swap_improves_racks,
)
