"""What happens in every variant: the group, polls, and processing.

An application runs one loop: poll, then process what the poll returned. Listeners are called
inside poll, so a partition is taken back in good order only while nothing is in hand.
"""

from __future__ import annotations

from spec.core import (
    Step,
    evolve,
    limit,
    replaced,
    rule,
)
from spec.delivery.state import (
    NOBODY,
    Delivery,
    Hand,
    batches,
    members,
    partitions,
)

# -- coordinator ------------------------------------------------------------------------------


@rule(by="coordinator", member=members, partition=partitions)
def coordinator_assigns(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A free partition goes to a member, which begins where the group has committed.

    A new generation begins with it: a commit of an older one that arrives now is refused.
    """
    yield "partition is free", s.owners[partition] == NOBODY
    yield "member is in the group", member in s.group
    yield "member is running", member not in s.crashed
    start = s.committed[partition]
    owners = replaced(s.owners, partition, member)
    s = evolve(s.without_commits_on_their_way(partition), owners=owners)
    return s.with_hand(member, partition, Hand(start, start, start))


@rule(by="coordinator", member=members, partition=partitions)
def coordinator_revokes(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A partition is taken back in good order, as in any rebalance; no listener commits."""
    yield "member owns the partition", s.owns(member, partition)
    yield "member is running", member not in s.crashed
    yield "nothing is in hand", s.has_nothing_in_hand(member)
    return freed(s, member, partition)


def freed(s: Delivery, member: int, partition: int) -> Delivery:
    """The member lets the partition go; a commit on its way is still accepted until the next."""
    s = s.with_hand(member, partition, None)
    return evolve(s, owners=replaced(s.owners, partition, NOBODY))


@rule(by="coordinator", member=members)
def session_ends(s: Delivery, member: int) -> Step[Delivery]:
    """A crashed member is missed (`session.timeout.ms`), and is a member no more."""
    yield "member has crashed", member in s.crashed
    yield "member is in the group", member in s.group
    return s.gives_up(member)


# -- member -----------------------------------------------------------------------------------


@rule(by="member", member=members)
def poll_interval_ends(s: Delivery, member: int) -> Step[Delivery]:
    """A member processes for too long (`max.poll.interval.ms`): its heartbeat thread leaves.

    The application knows nothing of it, and goes on. Simplification: a member that is cut off
    from the coordinator looks the same.
    """
    yield "member is in the group", member in s.group
    yield "something is in hand", not s.has_nothing_in_hand(member)
    return s.gives_up(member)


@rule(by="member", member=members)
def member_crashes(s: Delivery, member: int) -> Step[Delivery]:
    """A member stops for good, and what it had in hand is forgotten."""
    yield "member reads something", any(hand is not None for hand in s.hands[member])
    return evolve(s.lets_go(member), crashed=s.crashed | {member})


@rule(by="member", member=members)
def member_joins(s: Delivery, member: int) -> Step[Delivery]:
    """A member that is out, or is started again, joins: what it took for its own is lost.

    It joins inside poll, so the application has worked off what it had in hand.
    """
    yield "member is out", member not in s.group
    yield "nothing is in hand", s.has_nothing_in_hand(member)
    s = evolve(s.lets_go(member), crashed=s.crashed - {member})
    return evolve(s, group=s.group | {member})


@rule(by="member", member=members, partition=partitions, records=batches)
def member_polls(s: Delivery, member: int, partition: int, records: int) -> Step[Delivery]:
    """A poll returns the next records of a partition.

    Simplification: of one partition, and however many the brokers happened to send.
    """
    yield "member owns the partition", s.owns(member, partition)
    hand = s.hand(member, partition)
    yield "member reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "nothing is in hand", s.has_nothing_in_hand(member)
    yield limit("the records are left"), hand.position + records <= s.bounds.records
    return polled(s, member, partition, records)


def polled(s: Delivery, consumer: int, partition: int, records: int) -> Delivery:
    """The consumer has the next records in hand."""
    hand = s.hand(consumer, partition)
    assert hand is not None, "whoever polls reads the partition"
    return s.with_hand(consumer, partition, evolve(hand, position=hand.position + records))


@rule(by="member", member=members, partition=partitions)
def member_processes(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The next record in hand takes effect, whoever owns the partition by now."""
    hand = s.hand(member, partition)
    yield "something is in hand", hand is not None and not hand.is_empty
    return processes(s, member, partition)


def processes(s: Delivery, consumer: int, partition: int) -> Delivery:
    """The next record in hand takes effect."""
    hand = s.hand(consumer, partition)
    assert hand is not None, "whoever processes has something in hand"
    times = s.processed[partition]
    times = replaced(times, hand.done, min(times[hand.done] + 1, 2))
    s = evolve(s, processed=replaced(s.processed, partition, times))
    return s.with_hand(consumer, partition, evolve(hand, done=hand.done + 1))


GROUP_RULES = (
    coordinator_assigns,
    coordinator_revokes,
    session_ends,
    poll_interval_ends,
    member_crashes,
    member_joins,
    member_polls,
    member_processes,
)
