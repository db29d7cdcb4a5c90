"""The ways of committing: what the applications, and the client's automatic commit, do."""

from __future__ import annotations

from collections.abc import Iterable

from spec.core import (
    Step,
    appended,
    evolve,
    limit,
    replaced,
    rule,
)
from spec.delivery.group import freed, polled, processes
from spec.delivery.state import (
    Delivery,
    Hand,
    batches,
    held,
    members,
    partitions,
    standalone,
)


def committed_by(s: Delivery, member: int, partition: int, offset: int) -> Delivery:
    """A member commits, and waits for the answer: only an owner's commit is accepted.

    Kafka: UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION otherwise, a CommitFailedException.
    """
    s = s.asks(partition, offset)
    if not s.owns(member, partition):
        return s.refuses(member)
    return with_sent(s.commits(partition, offset), member, partition, offset)


def with_sent(s: Delivery, member: int, partition: int, offset: int) -> Delivery:
    """The member remembers what it committed."""
    hand = s.hand(member, partition)
    assert hand is not None, "whoever commits reads the partition"
    return s.with_hand(member, partition, evolve(hand, sent=offset))


# -- commitSync -------------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_commits(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits its position once all it was given is processed (commitSync).

    commitSync repeats what may be repeated until it has an answer, so it is one step here.
    """
    hand = s.hand(member, partition)
    yield "member reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "all in hand is processed", hand.is_empty
    yield "something is new", hand.position > hand.sent
    return committed_by(s, member, partition, hand.position)


@rule(by="member", member=members, partition=partitions)
def member_commits_unfenced(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The same, to a coordinator that does not ask who commits."""
    hand = s.hand(member, partition)
    yield "member reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "all in hand is processed", hand.is_empty
    yield "something is new", hand.position > hand.sent
    s = s.asks(partition, hand.position).commits(partition, hand.position)
    return with_sent(s, member, partition, hand.position)


@rule(by="member", member=members, partition=partitions)
def member_is_told_and_commits(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A partition is taken back in good order, and the member first commits its position.

    Either the application's listener does so, in onPartitionsRevoked, or the automatic commit.
    """
    yield "member owns the partition", s.owns(member, partition)
    yield "member is running", member not in s.crashed
    yield "nothing is in hand", s.has_nothing_in_hand(member)
    return with_position_committed(s, member, partition)


def with_position_committed(s: Delivery, member: int, partition: int) -> Delivery:
    """The member commits its position of a partition that it owns, and lets the partition go."""
    hand = s.hand(member, partition)
    assert hand is not None, "an owner that runs reads the partition"
    s = s.asks(partition, hand.position).commits(partition, hand.position)
    return freed(s, member, partition)


# -- before processing --------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_commits_first(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits its position before it processes what the poll returned."""
    hand = s.hand(member, partition)
    yield "something new is in hand", hand is not None and hand.position > hand.sent
    assert hand is not None, "the guard says so"
    return committed_by(s, member, partition, hand.position)


@rule(by="member", member=members, partition=partitions)
def member_processes_what_is_committed(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The next record takes effect, once its commit was accepted."""
    hand = s.hand(member, partition)
    yield "something is in hand", hand is not None and not hand.is_empty
    assert hand is not None, "the guard says so"
    yield "it is committed", hand.done < hand.sent
    return processes(s, member, partition)


# -- automatic commit ---------------------------------------------------------------------------


def due(s: Delivery) -> tuple[bool, bool]:
    """Whether `auto.commit.interval.ms` has gone by; an automatic commit that fails is not."""
    return (False, True)


def with_positions_committed(s: Delivery, member: int) -> Delivery:
    """The positions of all that the member reads are committed, where they are new."""
    for partition, hand in held(s, member):
        if hand.position > hand.sent and s.owns(member, partition):
            s = committed_by(s, member, partition, hand.position)
    return s


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_and_commits(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """A poll first commits what the poll before it returned, if it is time; then it returns more.

    Kafka: `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, inside poll. The commit is
    asynchronous and not repeated; one that is lost looks like one that was not due.
    """
    yield "member owns the partition", s.owns(member, partition)
    hand = s.hand(member, partition)
    yield "member reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "nothing is in hand", s.has_nothing_in_hand(member)
    yield limit("the records are left"), hand.position + records <= s.bounds.records
    return polled(with_positions_committed(s, member) if due else s, member, partition, records)


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_on_and_commits(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """The same while another thread still processes what earlier polls returned."""
    yield "member owns the partition", s.owns(member, partition)
    hand = s.hand(member, partition)
    yield "member reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield limit("the records are left"), hand.position + records <= s.bounds.records
    return polled(with_positions_committed(s, member) if due else s, member, partition, records)


@rule(by="client", member=members)
def clock_commits(s: Delivery, member: int) -> Step[Delivery]:
    """Every five seconds the client commits what the last poll returned, wherever things stand."""
    new = any(hand.position > hand.sent for _, hand in held(s, member))
    yield "something is new", new
    return with_positions_committed(s, member)


# -- commitAsync --------------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_sends_commit(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits what is processed, and does not wait (commitAsync)."""
    hand = s.hand(member, partition)
    yield "member reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "all in hand is processed", hand.is_empty
    yield "something is new", hand.position > hand.sent
    s = s.asks(partition, hand.position)
    if not s.owns(member, partition):
        return s.refuses(member)
    s = with_sent(s, member, partition, hand.position)
    return sent(s, partition, appended(s.in_flight[partition], hand.position))


def sent(s: Delivery, partition: int, offsets: Iterable[int]) -> Delivery:
    """These commits of a partition are on their way."""
    return evolve(s, in_flight=replaced(s.in_flight, partition, tuple(offsets)))


@rule(by="coordinator", partition=partitions)
def commit_arrives(s: Delivery, partition: int) -> Step[Delivery]:
    """The next commit arrives: over one connection, they come in the order of sending."""
    yield "a commit is on its way", bool(s.in_flight[partition])
    first, *rest = s.in_flight[partition]
    return sent(s.commits(partition, first), partition, rest)


def places(s: Delivery) -> range:
    """Every place among the commits on their way."""
    return range(max(map(len, s.in_flight)))


@rule(by="coordinator", partition=partitions, place=places)
def commit_arrives_in_any_order(s: Delivery, partition: int, place: int) -> Step[Delivery]:
    """A commit arrives, and one that was sent before it may come later, over an old connection."""
    yield "a commit is on its way", place < len(s.in_flight[partition])
    waiting = s.in_flight[partition]
    rest = waiting[:place] + waiting[place + 1 :]
    return sent(s.commits(partition, waiting[place]), partition, rest)


@rule(by="network", partition=partitions)
def commit_is_lost(s: Delivery, partition: int) -> Step[Delivery]:
    """A commit fails for a reason that passes, and the client does not repeat it."""
    yield "a commit is on its way", bool(s.in_flight[partition])
    return sent(s, partition, s.in_flight[partition][1:])


@rule(by="network", partition=partitions)
def commit_fails(s: Delivery, partition: int) -> Step[Delivery]:
    """The same; the application's callback is told (RetriableCommitFailedException)."""
    yield "a commit is on its way", bool(s.in_flight[partition])
    first, *rest = s.in_flight[partition]
    failed = replaced(s.failed, partition, appended(s.failed[partition], first))
    return evolve(sent(s, partition, rest), failed=failed)


@rule(by="member", partition=partitions)
def callback_commits_again(s: Delivery, partition: int) -> Step[Delivery]:
    """The application's callback sends the commit that failed once more."""
    yield "a commit has failed", bool(s.failed[partition])
    first, *rest = s.failed[partition]
    s = sent(s, partition, appended(s.in_flight[partition], first))
    return evolve(s, failed=replaced(s.failed, partition, tuple(rest)))


# -- exceptions ---------------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def processing_fails(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """Processing raises an exception; the loop catches it, and goes on to the next poll.

    The record that failed, and what the same poll returned after it, is out of hand.
    """
    hand = s.hand(member, partition)
    yield "something is in hand", hand is not None and not hand.is_empty
    assert hand is not None, "the guard says so"
    return s.with_hand(member, partition, evolve(hand, done=hand.position))


@rule(by="member", member=members, partition=partitions)
def processing_fails_and_seeks(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """Processing raises an exception, and the loop goes back to the record that failed (seek)."""
    hand = s.hand(member, partition)
    yield "something is in hand", hand is not None and not hand.is_empty
    assert hand is not None, "the guard says so"
    return s.with_hand(member, partition, evolve(hand, position=hand.done))


# -- a consumer beside the group ------------------------------------------------------------------


@rule(by="standalone", partition=partitions)
def standalone_assigns_itself(s: Delivery, partition: int) -> Step[Delivery]:
    """A consumer with the group's id takes a partition by `assign`, and asks nobody."""
    yield "it does not read the partition yet", s.hand(standalone(s), partition) is None
    start = s.committed[partition]
    return s.with_hand(standalone(s), partition, Hand(start, start, start))


@rule(by="standalone", partition=partitions, records=batches)
def standalone_polls(s: Delivery, partition: int, records: int) -> Step[Delivery]:
    """A poll returns the next records."""
    hand = s.hand(standalone(s), partition)
    yield "it reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "nothing is in hand", s.has_nothing_in_hand(standalone(s))
    yield limit("the records are left"), hand.position + records <= s.bounds.records
    return polled(s, standalone(s), partition, records)


@rule(by="standalone", partition=partitions)
def standalone_processes(s: Delivery, partition: int) -> Step[Delivery]:
    """The next record in hand takes effect."""
    hand = s.hand(standalone(s), partition)
    yield "something is in hand", hand is not None and not hand.is_empty
    return processes(s, standalone(s), partition)


@rule(by="standalone", partition=partitions)
def standalone_commits(s: Delivery, partition: int) -> Step[Delivery]:
    """It commits without a member id: accepted only while the group is empty."""
    hand = s.hand(standalone(s), partition)
    yield "it reads the partition", hand is not None
    assert hand is not None, "the guard says so"
    yield "all in hand is processed", hand.is_empty
    yield "something is new", hand.position > hand.sent
    s = s.asks(partition, hand.position)
    if s.group:
        return s.refuses(standalone(s))
    s = s.commits(partition, hand.position)
    return with_sent(s, standalone(s), partition, hand.position)
