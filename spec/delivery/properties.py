"""What a group promises about each record, and about what is committed."""

from __future__ import annotations

from spec.core import Claims, always, reachable
from spec.delivery.state import NOBODY, Delivery, held, members, partitions


def record_at(offset: int, partition: int) -> str:
    """What a record is called, in verdicts and pictures."""
    return f"record {offset} of partition {partition}"


def committed_of(partition: int) -> str:
    """What the committed offset is called, in verdicts and pictures."""
    return f"committed of partition {partition}"


def is_in_some_hand(s: Delivery, partition: int, offset: int) -> bool:
    """Whether some consumer was given the record, and will still process it."""
    hands = (hands[partition] for hands in s.hands)
    return any(hand is not None and hand.done <= offset < hand.position for hand in hands)


@always
def NothingSkipped(s: Delivery) -> Claims:
    """What is committed was processed, or is in somebody's hand: no record is missed for good."""
    for partition in partitions(s):
        for offset in range(min(s.committed[partition], s.bounds.records)):
            done = s.processed[partition][offset] > 0
            yield record_at(offset, partition), done or is_in_some_hand(s, partition, offset)


@always
def NothingPassedOver(s: Delivery) -> Claims:
    """No consumer has a record in hand while an earlier one, not committed, was put aside."""
    for consumer in range(len(s.hands)):
        for partition, hand in held(s, consumer):
            if not hand.is_empty:
                for offset in range(hand.sent, hand.done):
                    yield record_at(offset, partition), s.processed[partition][offset] > 0


@always
def NothingDoubled(s: Delivery) -> Claims:
    """No record is processed twice."""
    for partition in partitions(s):
        for offset, times in enumerate(s.processed[partition]):
            yield record_at(offset, partition), times < 2


@always
def RebalanceDoublesNothing(s: Delivery) -> Claims:
    """While nobody is given up, for a crash or for being slow, no record is processed twice."""
    for partition in partitions(s):
        for offset, times in enumerate(s.processed[partition]):
            yield record_at(offset, partition), times < 2 or not s.in_good_order


@always
def CommitNeverGoesBack(s: Delivery) -> Claims:
    """What is committed is the highest that was ever committed."""
    for partition in partitions(s):
        yield committed_of(partition), s.committed[partition] == s.highest[partition]


@always
def CommittedIsWhatSomebodyCommitted(s: Delivery) -> Claims:
    """What is committed, somebody asked to commit."""
    for partition in partitions(s):
        known = s.asked[partition] | {0}
        yield committed_of(partition), s.committed[partition] in known


@always
def NoCommitFails(s: Delivery) -> Claims:
    """Nobody gets a CommitFailedException."""
    yield "group", not s.refused


PROPERTIES = (
    NothingSkipped,
    NothingPassedOver,
    NothingDoubled,
    RebalanceDoublesNothing,
    CommitNeverGoesBack,
    CommittedIsWhatSomebodyCommitted,
    NoCommitFails,
)


# -- in every state, and in some ------------------------------------------------------------------


@always
def HandsAreWithinThePartition(s: Delivery) -> Claims:
    """Whoever reads has begun at the beginning or later, and is not past the end."""
    for consumer in range(len(s.hands)):
        for partition, hand in held(s, consumer):
            within = 0 <= hand.done <= hand.position <= s.bounds.records
            yield f"consumer {consumer}, in partition {partition}", within
            sent = 0 <= hand.sent <= hand.position
            yield f"consumer {consumer}, in its commits of partition {partition}", sent


@always
def OwnersAreMembers(s: Delivery) -> Claims:
    """Partitions belong to members of the group, and those that run know of it."""
    for partition in partitions(s):
        owner = s.owners[partition]
        if owner != NOBODY:
            yield f"partition {partition}", owner in s.group
            known = owner in s.crashed or s.hand(owner, partition) is not None
            yield f"partition {partition}, with its owner", known


@always
def StrangersHoldOnlyWhatTheyLost(s: Delivery) -> Claims:
    """A member that is in the group and runs reads what it owns, and nothing else."""
    for member in members(s):
        for partition, _ in held(s, member):
            yield f"consumer {member}, crashed", member not in s.crashed
            is_owner = s.owns(member, partition) or member not in s.group
            yield f"consumer {member}, in partition {partition}", is_owner


@always
def CrashedMembersOwnUntilMissed(s: Delivery) -> Claims:
    """A member that has crashed and is not missed yet keeps somebody from a partition."""
    for member in s.crashed & s.group:
        yield f"consumer {member}", member in s.owners


@reachable
def EverythingIsCommitted(s: Delivery) -> bool:
    """A group can get to the end."""
    return all(offset == s.bounds.records for offset in s.committed)


@reachable
def EverybodyHasGone(s: Delivery) -> bool:
    """A group can be left by all, and its partitions with it."""
    return not s.group and all(owner == NOBODY for owner in s.owners)


@reachable
def EverybodyIsBack(s: Delivery) -> bool:
    """Who was given up can join again."""
    return not s.in_good_order and len(s.group) == s.bounds.members


SANITY = (
    HandsAreWithinThePartition,
    OwnersAreMembers,
    StrangersHoldOnlyWhatTheyLost,
    CrashedMembersOwnUntilMissed,
    EverybodyIsBack,
    EverythingIsCommitted,
    EverybodyHasGone,
)
