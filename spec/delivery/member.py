"""What a member does besides committing: it joins, polls, processes, crashes, or fails.

An application runs one loop: poll, then process the records that poll returned. It joins, and
its rebalance listener is called, inside poll.
"""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, present, rule
from kspec.spec.delivery.state import Delivery, PartitionProgress, batches, members, partitions


def has_fetched_record(s: Delivery, consumer: int, partition: int) -> Step[PartitionProgress]:
    """The guards that the consumer has fetched a record and not processed it."""
    progress = yield from present("consumer reads the partition", s.progress[consumer][partition])
    yield "a fetched record is not processed", progress.processed != progress.position
    return progress


# -- membership -------------------------------------------------------------------------------


@rule(by="member", member=members)
def member_exceeds_poll_interval(s: Delivery, member: int) -> Step[Delivery]:
    """Processing exceeds `max.poll.interval.ms`, and the heartbeat thread leaves the group.

    The application does not know it, and continues. Kafka:
    `AbstractCoordinator.handlePollTimeoutExpiry`. Simplification: a member that loses its
    connection to the coordinator looks the same.
    """
    yield "member is in the group", member in s.group
    yield "a fetched record is not processed", not s.has_processed_all(member)
    return evolve(s.without_member(member), no_member_removed=False)


@rule(by="member", member=members)
def member_crashes(s: Delivery, member: int) -> Step[Delivery]:
    """A member stops, and forgets the records that it fetched.

    Not in Kafka: a fault of the process or of its machine.
    """
    yield "member reads a partition", any(read is not None for read in s.progress[member])
    return evolve(s.without_progress(member), crashed=s.crashed | {member})


@rule(by="member", member=members)
def member_joins(s: Delivery, member: int) -> Step[Delivery]:
    """A member that was removed or restarted joins, and its former partitions are lost.

    It joins inside poll, so it has processed every fetched record. Kafka:
    `AbstractCoordinator.ensureActiveGroup`, `ConsumerCoordinator.onJoinPrepare`
    (onPartitionsLost).
    """
    yield "member is not in the group", member not in s.group
    yield "every fetched record is processed", s.has_processed_all(member)
    restarted = evolve(s.without_progress(member), crashed=s.crashed - {member})
    return evolve(restarted, group=s.group | {member})


# -- poll and processing ----------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions, records=batches)
def member_polls(s: Delivery, member: int, partition: int, records: int) -> Step[Delivery]:
    """A poll returns the next records of a partition.

    Kafka: `KafkaConsumer.poll`. Simplification: a poll returns records of one partition, and any
    number of them.
    """
    yield "member owns the partition", s.owners[partition] == member
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield "every fetched record is processed", s.has_processed_all(member)
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return s.with_fetched(member, partition, progress, records)


@rule(by="member", member=members, partition=partitions)
def member_processes(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application processes the next fetched record, even of a partition it has lost.

    Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, member, partition)
    return s.with_record_processed(member, partition, progress)


@rule(by="member", member=members, partition=partitions)
def member_processes_committed_record(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application processes the next fetched record, once its commit was accepted.

    Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, member, partition)
    yield "record is committed", progress.processed < progress.committed
    return s.with_record_processed(member, partition, progress)


@rule(by="member", member=members, partition=partitions)
def member_skips_failed_record(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """Processing raises an exception; the loop catches it and continues with the next poll.

    The failed record, and those that the same poll returned after it, are not processed.
    Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, member, partition)
    return s.with_progress(member, partition, evolve(progress, processed=progress.position))


@rule(by="member", member=members, partition=partitions)
def member_seeks_to_failed_record(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """Processing raises an exception, and the loop seeks back to the failed record.

    Kafka: `KafkaConsumer.seek`.
    """
    progress = yield from has_fetched_record(s, member, partition)
    return s.with_progress(member, partition, evolve(progress, position=progress.processed))
