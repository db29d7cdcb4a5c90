"""How a member commits: commitSync, commitAsync, and the client's automatic commit."""

from __future__ import annotations

from spec.core import Step, evolve, limit, replaced, rule
from spec.delivery.member import reads_partition
from spec.delivery.state import (
    Delivery,
    PartitionProgress,
    batches,
    members,
    partitions,
    partitions_read,
)


def has_processed_uncommitted(
    s: Delivery, consumer: int, partition: int
) -> Step[PartitionProgress]:
    """The guards that every fetched record is processed, and the position is not committed."""
    progress = yield from reads_partition(s, consumer, partition)
    yield "every fetched record of the partition is processed", progress.is_processed
    yield "position is beyond the last commit", progress.position > progress.committed
    return progress


# -- commitSync -------------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_commits(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits its position once every fetched record is processed (commitSync).

    The coordinator rejects the commit of a member that does not own the partition, with
    UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION: a CommitFailedException. Kafka:
    `ConsumerCoordinator.commitOffsetsSync`, `ClassicGroup.validateOffsetCommit`.
    Simplification: commitSync retries until it has a final response, so it is one step.
    """
    progress = yield from has_processed_uncommitted(s, member, partition)
    accepted = s.owns(member, partition)
    return s.with_commit_answered(member, partition, progress, accepted=accepted)


@rule(by="member", member=members, partition=partitions)
def member_commits_unfenced(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The same, with a coordinator that checks neither member id nor generation.

    Not in Kafka: `ClassicGroup.validateOffsetCommit` checks both.
    """
    progress = yield from has_processed_uncommitted(s, member, partition)
    return s.with_commit_answered(member, partition, progress, accepted=True)


@rule(by="member", member=members, partition=partitions)
def member_commits_on_revocation(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A rebalance revokes a partition, and the member commits its position first.

    The application's listener does so in onPartitionsRevoked, or the automatic commit does.
    Kafka: `ConsumerCoordinator.onJoinPrepare`.
    """
    yield "member owns the partition", s.owns(member, partition)
    yield "member is running", member not in s.crashed
    yield "every fetched record is processed", s.has_processed_all(member)
    progress = s.progress_of(member, partition)
    assert progress is not None, "an owner that is running reads the partition"
    committed = s.with_request(partition, progress.position)
    committed = committed.with_committed(partition, progress.position)
    return committed.without_owner(member, partition)


@rule(by="member", member=members, partition=partitions)
def member_commits_before_processing(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits its position before it processes the records that poll returned.

    Kafka: `ConsumerCoordinator.commitOffsetsSync`.
    """
    progress = yield from reads_partition(s, member, partition)
    yield "position is beyond the last commit", progress.position > progress.committed
    accepted = s.owns(member, partition)
    return s.with_commit_answered(member, partition, progress, accepted=accepted)


# -- automatic commit -------------------------------------------------------------------------


def due(s: Delivery) -> tuple[bool, bool]:
    """Whether `auto.commit.interval.ms` has passed; a failed automatic commit counts as not due."""
    return (False, True)


def with_positions_committed(s: Delivery, member: int) -> Delivery:
    """The member commits its position in every partition that it reads and owns."""
    for partition, progress in partitions_read(s, member):
        if progress.position > progress.committed and s.owns(member, partition):
            s = s.with_commit_answered(member, partition, progress, accepted=True)
    return s


def polls_after_auto_commit(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Delivery:
    """A poll first commits, if the automatic commit is due, and then returns the next records."""
    committed = with_positions_committed(s, member) if due else s
    progress = committed.progress_of(member, partition)
    assert progress is not None, "a commit that is accepted leaves the partition with the member"
    return committed.with_fetched(member, partition, progress, records)


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_and_auto_commits(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """A poll commits the records of the poll before, if that is due, and returns the next ones.

    Kafka: `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, called by poll. The commit is
    asynchronous and not retried; one that is lost looks like one that was not due.
    """
    yield "member owns the partition", s.owns(member, partition)
    progress = yield from reads_partition(s, member, partition)
    yield "every fetched record is processed", s.has_processed_all(member)
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return polls_after_auto_commit(s, member, partition, records, due)


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_while_processing(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """The same, while another thread still processes the records of earlier polls.

    Kafka: `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, called by poll.
    """
    yield "member owns the partition", s.owns(member, partition)
    progress = yield from reads_partition(s, member, partition)
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return polls_after_auto_commit(s, member, partition, records, due)


@rule(by="client", member=members)
def client_commits_by_timer(s: Delivery, member: int) -> Step[Delivery]:
    """Every five seconds the client commits the position, whether or not records are processed.

    Not in Kafka: poll alone calls `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`.
    """
    new = any(read.position > read.committed for _, read in partitions_read(s, member))
    yield "position is beyond the last commit", new
    return with_positions_committed(s, member)


# -- commitAsync ------------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_commits_async(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits the processed records and does not wait (commitAsync).

    Kafka: `ConsumerCoordinator.commitOffsetsAsync`.
    """
    progress = yield from has_processed_uncommitted(s, member, partition)
    requested = s.with_request(partition, progress.position)
    if not s.owns(member, partition):
        return requested.with_rejection(member)
    sent = requested.with_commit_sent(member, partition, progress)
    return sent.with_in_flight_added(partition, progress.position)


@rule(by="member", partition=partitions)
def callback_retries_commit(s: Delivery, partition: int) -> Step[Delivery]:
    """The application's callback sends a failed commit again.

    Kafka: `OffsetCommitCallback.onComplete`, which the application implements.
    """
    yield "a commit has failed", bool(s.failed[partition])
    first, *rest = s.failed[partition]
    failed = replaced(s.failed, partition, tuple(rest))
    return evolve(s.with_in_flight_added(partition, first), failed=failed)
