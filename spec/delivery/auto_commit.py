"""The client's automatic commit (`enable.auto.commit`): in poll, by a timer, before rejoining."""

from __future__ import annotations

from collections.abc import Callable

from kspec.spec.core import Step, evolve, limit, present, rule
from kspec.spec.delivery.member import member_polls
from kspec.spec.delivery.state import (
    NO_OWNER,
    Delivery,
    PartitionProgress,
    batches,
    members,
    partitions,
    partitions_read,
)


def position(progress: PartitionProgress) -> int:
    """The position: what commitSync and commitAsync without arguments commit."""
    return progress.position


def processed(progress: PartitionProgress) -> int:
    """The offset after the last processed record."""
    return progress.processed


def with_offsets_committed(
    s: Delivery, member: int, offset: Callable[[PartitionProgress], int] = position
) -> Delivery:
    """The member commits an offset in every partition that it reads and owns."""
    for partition, progress in partitions_read(s, member):
        if offset(progress) > progress.committed and s.owners[partition] == member:
            s = s.with_commit_answered(member, partition, progress, offset(progress), accepted=True)
    return s


# -- in poll ----------------------------------------------------------------------------------


def due(s: Delivery) -> tuple[bool, bool]:
    """Whether `auto.commit.interval.ms` has passed; a failed automatic commit counts as not due."""
    return (False, True)


def polls_after_auto_commit(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Delivery:
    """A poll first commits, if an automatic commit is due, and then returns the next records."""
    committed = with_offsets_committed(s, member) if due else s
    progress = committed.progress[member][partition]
    assert progress is not None, "a commit that is accepted leaves the partition with the member"
    return committed.with_fetched(member, partition, progress, records)


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_and_auto_commits(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """A poll commits the records of the previous poll, if that is due, and returns the next ones.

    Kafka: `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, called by poll. The commit is
    asynchronous and not retried; one that is lost looks like one that was not due.
    """
    yield "member owns the partition", s.owners[partition] == member
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield "every fetched record is processed", s.has_processed_all(member)
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return polls_after_auto_commit(s, member, partition, records, due)


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_while_processing(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """A poll commits the records of the previous poll, which another thread may still process.

    Kafka: `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, called by poll.
    """
    yield "member owns the partition", s.owners[partition] == member
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return polls_after_auto_commit(s, member, partition, records, due)


# -- by a timer -------------------------------------------------------------------------------


@rule(by="client", member=members)
def client_commits_by_timer(s: Delivery, member: int) -> Step[Delivery]:
    """A background thread commits the position, whether or not the records are processed.

    Kafka: `CommitRequestManager.poll` (3.7 to 3.9, with `group.protocol=consumer`, then a preview;
    KAFKA-18641). librdkafka does so unless `enable.auto.offset.store=false`. Java's classic
    consumer commits in poll only.
    """
    new = any(read.position > read.committed for _, read in partitions_read(s, member))
    yield "position is beyond the last commit", new
    return with_offsets_committed(s, member)


@rule(by="client", member=members)
def client_commits_stored_offsets(s: Delivery, member: int) -> Step[Delivery]:
    """A background thread commits the offsets that the application has stored after processing.

    Not in Kafka: librdkafka has `enable.auto.offset.store=false` and `rd_kafka_offsets_store`.
    """
    new = any(read.processed > read.committed for _, read in partitions_read(s, member))
    yield "stored offset is beyond the last commit", new
    return with_offsets_committed(s, member, processed)


# -- before rejoining -------------------------------------------------------------------------


@rule(by="client", member=members)
def client_commits_before_rejoining(s: Delivery, member: int) -> Step[Delivery]:
    """A rebalance has begun: in the next poll, the client sends a commit of its positions.

    The coordinator still accepts it. Kafka: `ConsumerCoordinator.onJoinPrepare` (since 3.2.0; up to
    3.1, it calls commitSync).
    """
    yield "member owns a partition", member in s.owners
    yield "member is running", member not in s.crashed
    yield "member is not rejoining", member not in s.rejoining
    yield "every fetched record is processed", s.has_processed_all(member)
    for partition, progress in partitions_read(s, member):
        s = s.with_commit_sent(member, partition, progress)
    return evolve(s, rejoining=s.rejoining | {member})


def is_answered(s: Delivery, member: int) -> bool:
    """Whether the commit that the member has sent has arrived in every partition."""
    return all(
        not s.in_flight[partition] and s.committed[partition] >= read.committed
        for partition, read in partitions_read(s, member)
    )


@rule(by="client", member=members, partition=partitions)
def client_repeats_commit(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The commit has failed with a retriable error, and the client sends its position again.

    Kafka: `ConsumerCoordinator.onJoinPrepare` (since 3.2.1, KAFKA-14024). Simplification: until
    the rebalance timeout, when the coordinator removes the member anyway.
    """
    yield "member is rejoining", member in s.rejoining
    yield "every fetched record is processed", s.has_processed_all(member)
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield "no commit is in flight", not s.in_flight[partition]
    yield "commit has failed", s.committed[partition] < progress.committed
    return s.with_commit_sent(member, partition, progress)


@rule(by="client", member=members)
def client_rejoins(s: Delivery, member: int) -> Step[Delivery]:
    """The commit is answered: the client gives up its partitions, and joins the new generation.

    Kafka: `ConsumerCoordinator.onJoinPrepare` (since 3.2.1). Simplification: with a cooperative
    assignor, only some partitions are revoked.
    """
    yield "member is rejoining", member in s.rejoining
    yield "every fetched record is processed", s.has_processed_all(member)
    yield "commit is answered", is_answered(s, member)
    return with_partitions_given_up(s, member)


@rule(by="client", member=members)
def client_rejoins_without_waiting(s: Delivery, member: int) -> Step[Delivery]:
    """The client gives up its partitions at once; a commit that fails is not repeated for them.

    Kafka: `ConsumerCoordinator.onJoinPrepare` (3.2.0, KAFKA-13310).
    """
    yield "member is rejoining", member in s.rejoining
    return with_partitions_given_up(s, member)


def with_partitions_given_up(s: Delivery, member: int) -> Delivery:
    """The member owns and reads no partition, and stays in the group."""
    for partition, _ in partitions_read(s, member):
        s = s.without_owner(member, partition)
    return evolve(s, rejoining=s.rejoining - {member})


@rule(by="coordinator", member=members, partition=partitions)
def coordinator_assigns_partition_after_commits(
    s: Delivery, member: int, partition: int
) -> Step[Delivery]:
    """A partition is assigned once the former owner's commits have arrived, or have failed.

    The former owner sends its commit before JoinGroup, over one connection, so the coordinator
    handles it first. Kafka: `ConsumerCoordinator.onJoinComplete`.
    """
    yield "partition has no owner", s.owners[partition] == NO_OWNER
    yield "member is in the group", member in s.group
    yield "member is running", member not in s.crashed
    yield "no commit is in flight", not s.in_flight[partition]
    return s.with_owner(member, partition)


@rule(by="member", member=members, partition=partitions, records=batches, due=due)
def member_polls_unless_rejoining(
    s: Delivery, member: int, partition: int, records: int, due: bool
) -> Step[Delivery]:
    """A poll returns no records of partitions whose revocation is pending.

    Kafka: `ConsumerCoordinator.maybeMarkPartitionsPendingRevocation` (since 3.2.3 and 3.3.0,
    KAFKA-14196), `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`.
    """
    yield "member owns the partition", s.owners[partition] == member
    yield "member is not rejoining", member not in s.rejoining
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield "every fetched record is processed", s.has_processed_all(member)
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return polls_after_auto_commit(s, member, partition, records, due)


@rule(by="member", member=members, partition=partitions, records=batches)
def member_polls_while_rejoining(
    s: Delivery, member: int, partition: int, records: int
) -> Step[Delivery]:
    """While the client waits for its commit, a poll returns more records, and commits nothing.

    Kafka: `KafkaConsumer.poll`, which fetches although `ConsumerCoordinator.poll` has not joined
    yet (3.2.1 and 3.2.2).
    """
    yield "commit is not answered", not is_answered(s, member)
    after: Delivery = yield from member_polls.body(s, member, partition, records)
    return after
