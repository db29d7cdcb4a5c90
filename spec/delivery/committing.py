"""How an application commits: commitSync, in a listener, within a batch, and commitAsync."""

from __future__ import annotations

from kspec.spec.core import Step, appended, evolve, present, replaced, rule
from kspec.spec.delivery.state import Delivery, PartitionProgress, members, partitions


def has_processed_uncommitted(
    s: Delivery, consumer: int, partition: int
) -> Step[PartitionProgress]:
    """The guards that every fetched record is processed, and the position is not committed."""
    progress = yield from present("consumer reads the partition", s.progress[consumer][partition])
    is_processed = progress.processed == progress.position
    yield "every fetched record of the partition is processed", is_processed
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
    return s.with_commit_answered(member, partition, progress, progress.position)


@rule(by="member", member=members, partition=partitions)
def member_commits_unfenced(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A member commits, and the coordinator checks neither member id nor generation.

    Not in Kafka: `ClassicGroup.validateOffsetCommit` checks both.
    """
    progress = yield from has_processed_uncommitted(s, member, partition)
    return s.with_commit_answered(member, partition, progress, progress.position, accepted=True)


@rule(by="member", member=members, partition=partitions)
def member_commits_on_revocation(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A rebalance revokes a partition, and the member commits its position first.

    The application's listener does so in onPartitionsRevoked, or the automatic commit does. Commits
    that were in flight arrive before it, or fail. Kafka: `ConsumerCoordinator.onJoinPrepare`.
    """
    yield "member owns the partition", s.owners[partition] == member
    yield "member is running", member not in s.crashed
    yield "every fetched record is processed", s.has_processed_all(member)
    progress = s.progress[member][partition]
    assert progress is not None, "an owner that is running reads the partition"
    committed = s.with_request(partition, progress.position).with_in_flight(partition, ())
    committed = committed.with_committed(partition, progress.position)
    return committed.without_owner(member, partition)


@rule(by="member", member=members, partition=partitions)
def member_commits_before_processing(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits its position before it processes the records that poll returned.

    Kafka: `ConsumerCoordinator.commitOffsetsSync`.
    """
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield "position is beyond the last commit", progress.position > progress.committed
    return s.with_commit_answered(member, partition, progress, progress.position)


# -- within a batch ---------------------------------------------------------------------------


def has_processed_new_record(s: Delivery, consumer: int, partition: int) -> Step[PartitionProgress]:
    """The guard that the consumer has processed a record beyond its last commit."""
    progress = yield from present("consumer reads the partition", s.progress[consumer][partition])
    yield "a record is processed since the last commit", progress.processed > progress.committed
    return progress


@rule(by="member", member=members, partition=partitions)
def member_commits_processed(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits the offset after the last processed record (commitSync with offsets).

    It may do so within a batch. With worker threads, every record before that offset is processed.
    Kafka: `ConsumerCoordinator.commitOffsetsSync`.
    """
    progress = yield from has_processed_new_record(s, member, partition)
    return s.with_commit_answered(member, partition, progress, progress.processed)


@rule(by="member", member=members, partition=partitions)
def member_commits_position_within_batch(
    s: Delivery, member: int, partition: int
) -> Step[Delivery]:
    """The application calls commitSync without offsets before it has processed the whole batch.

    Kafka: `KafkaConsumer.commitSync` commits `SubscriptionState.allConsumed`, the positions.
    """
    progress = yield from has_processed_new_record(s, member, partition)
    return s.with_commit_answered(member, partition, progress, progress.position)


@rule(by="member", member=members, partition=partitions)
def member_commits_offset_of_last_record(
    s: Delivery, member: int, partition: int
) -> Step[Delivery]:
    """The application commits the offset of the last processed record, which is one too low.

    Kafka: `OffsetAndMetadata`, whose offset is that of the next record to read.
    """
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    offset = progress.processed - 1
    yield "last record is beyond the last commit", offset > progress.committed
    return s.with_commit_answered(member, partition, progress, offset)


# -- commitAsync ------------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_commits_async(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits the processed records and does not wait (commitAsync).

    Kafka: `ConsumerCoordinator.commitOffsetsAsync`.
    """
    progress = yield from has_processed_uncommitted(s, member, partition)
    if s.owners[partition] != member:
        requested = s.with_request(partition, progress.position)
        return evolve(requested.without_progress(member), commit_rejected=True)
    return s.with_commit_sent(member, partition, progress)


@rule(by="member", partition=partitions)
def callback_retries_commit(s: Delivery, partition: int) -> Step[Delivery]:
    """The application's callback sends a failed commit again.

    Kafka: `OffsetCommitCallback.onComplete`, which the application implements.
    """
    yield "a commit has failed", bool(s.failed[partition])
    first, *rest = s.failed[partition]
    failed = replaced(s.failed, partition, tuple(rest))
    sent = appended(s.in_flight[partition], first)
    return evolve(s.with_in_flight(partition, sent), failed=failed)
