"""A standalone consumer: it assigns itself partitions (`assign`) under the id of a group."""

from __future__ import annotations

from kspec.spec.core import Step, limit, present, rule
from kspec.spec.delivery.committing import has_processed_uncommitted
from kspec.spec.delivery.member import has_fetched_record
from kspec.spec.delivery.state import Delivery, PartitionProgress, batches, partitions, standalone


@rule(by="standalone", partition=partitions)
def standalone_assigns_partition(s: Delivery, partition: int) -> Step[Delivery]:
    """The consumer assigns itself a partition, without the coordinator.

    Kafka: `KafkaConsumer.assign`.
    """
    unread = s.progress[standalone(s)][partition] is None
    yield "consumer does not read the partition", unread
    start = s.committed[partition]
    return s.with_progress(standalone(s), partition, PartitionProgress(start, start, start))


@rule(by="standalone", partition=partitions, records=batches)
def standalone_polls(s: Delivery, partition: int, records: int) -> Step[Delivery]:
    """A poll returns the next records of a partition.

    Kafka: `KafkaConsumer.poll`.
    """
    consumer = standalone(s)
    progress = yield from present("consumer reads the partition", s.progress[consumer][partition])
    yield "every fetched record is processed", s.has_processed_all(consumer)
    yield limit("the partition has more records"), progress.position + records <= s.bounds.records
    return s.with_fetched(consumer, partition, progress, records)


@rule(by="standalone", partition=partitions)
def standalone_processes(s: Delivery, partition: int) -> Step[Delivery]:
    """The consumer processes the next fetched record.

    Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, standalone(s), partition)
    return s.with_record_processed(standalone(s), partition, progress)


@rule(by="standalone", partition=partitions)
def standalone_commits(s: Delivery, partition: int) -> Step[Delivery]:
    """The consumer commits without a member id: accepted only while the group is empty.

    Kafka: `ClassicGroup.validateOffsetCommit`.
    """
    progress = yield from has_processed_uncommitted(s, standalone(s), partition)
    offset = progress.position
    return s.with_commit_answered(standalone(s), partition, progress, offset, accepted=not s.group)
