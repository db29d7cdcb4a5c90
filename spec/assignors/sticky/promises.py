"""What sticky is for: balance first, then as few moves as that allows."""

from __future__ import annotations

from spec.assignors.properties import VALID, Round, loads_are_even
from spec.assignors.racks import swaps_bring_nobody_nearer
from spec.assignors.sticky.constrained import Quota
from spec.core import Claims


def no_single_move_helps(of: Round) -> Claims:
    """No partition could go to a subscriber that has two fewer than its holder."""
    loads = {member: len(assigned) for member, assigned in of.assignment.items()}
    subscribers: dict[str, list[str]] = {}
    for name, member in of.members.items():
        for topic in member.topics:
            subscribers.setdefault(topic, []).append(name)
    if of.told_plainly():
        for tp, holders in of.holders().items():
            least = min(subscribers.get(tp.topic, holders), key=lambda m: loads.get(m, 0))
            place = f"{tp} at {holders[0]!r}, where {least!r} has room"
            yield place, loads[holders[0]] <= loads.get(least, 0) + 1


def keeps_what_fits(of: Round) -> Claims:
    """With equal subscriptions, as many partitions stay where they are as quotas allow.

    At the most, everybody keeps up to the low quota, and as many keep one more as have it. Where
    racks matter, what is far is let go of.
    """
    shared = of.to_share_out()
    if not (of.members and of.told_plainly() and of.equal_topics()) or of.places().matter():
        return
    owner = of.previous_owner()
    owned = [sum(who == member for who in owner.values()) for member in of.members]
    quota = Quota.of(len(shared), len(of.members))
    can_stay = sum(min(count, quota.low) for count in owned)
    if quota.above:
        can_stay += min(quota.above, sum(count >= quota.high for count in owned))
    stay = sum(tp in of.assignment.get(member, ()) for tp, member in owner.items())
    yield f"{stay} partitions stay, and {can_stay} could", stay == can_stay


def nothing_is_swapped(of: Round) -> Claims:
    """Of one topic, no member gives a partition to another and gets one of the other's.

    Where racks matter, that may bring both nearer.
    """
    if not of.told_plainly() or of.places().matter():
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


def is_shared_out_near(of: Round) -> Claims:
    """With equal subscriptions, no two members would swap to have theirs nearer.

    With unequal ones nothing of the kind is promised: balancing does not mind distances.
    """
    places = of.places()
    if of.told_plainly() and of.equal_topics() and places.matter():
        yield from swaps_bring_nobody_nearer(places, of.assignment)


STICKY_PROMISES = (
    *VALID,
    loads_are_even,
    no_single_move_helps,
    keeps_what_fits,
    nothing_is_swapped,
    is_shared_out_near,
)
