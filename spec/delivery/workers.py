"""Worker threads: one thread polls, several process, and records finish out of order."""

from __future__ import annotations

from kspec.spec.core import Step, limit, present, rule
from kspec.spec.delivery.state import Delivery, batches, members, partitions, records


@rule(by="member", member=members, partition=partitions, records=batches)
def member_polls_without_waiting(
    s: Delivery, member: int, partition: int, records: int
) -> Step[Delivery]:
    """A poll returns the next records, while worker threads still process earlier ones.

    Kafka: `KafkaConsumer.poll`.
    """
    yield "member owns the partition", s.owners[partition] == member
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return s.with_fetched(member, partition, progress, records)


@rule(by="worker", member=members, partition=partitions, record=records)
def worker_processes(s: Delivery, member: int, partition: int, record: int) -> Step[Delivery]:
    """A worker thread processes any fetched record that no other worker has processed.

    Not in Kafka: the application's work.
    """
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    yield "record is fetched", progress.processed <= record < progress.position
    yield "record is not processed", record not in progress.ahead
    return s.with_record_processed(member, partition, progress, record)


@rule(by="member", member=members, partition=partitions)
def member_commits_latest(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application commits the offset after the latest record that a worker has processed.

    Kafka: `ConsumerCoordinator.commitOffsetsSync`.
    """
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    offset = max(progress.ahead) + 1 if progress.ahead else progress.processed
    yield "latest record is beyond the last commit", offset > progress.committed
    return s.with_commit_answered(member, partition, progress, offset)


@rule(by="member", member=members, partition=partitions)
def member_cancels_workers(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A rebalance revokes a partition: the listener cancels its records and commits the prefix.

    The prefix ends before the first record that is not processed. Kafka:
    `ConsumerCoordinator.onJoinPrepare` (onPartitionsRevoked).
    """
    yield "member owns the partition", s.owners[partition] == member
    yield "member is running", member not in s.crashed
    progress = s.progress[member][partition]
    assert progress is not None, "an owner that is running reads the partition"
    committed = s.with_request(partition, progress.processed)
    committed = committed.with_committed(partition, progress.processed)
    return committed.without_owner(member, partition)
