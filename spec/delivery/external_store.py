"""An external store, such as a database, that holds the results and the offset of each partition.

The next owner reads the offset in onPartitionsAssigned and seeks to it, so the group's committed
offset is not used. The store knows nothing of the group: a removed member can still write to it.
"""

from __future__ import annotations

from kspec.spec.core import Step, rule
from kspec.spec.delivery.committing import has_processed_new_record
from kspec.spec.delivery.member import has_fetched_record
from kspec.spec.delivery.state import Delivery, PartitionProgress, members, partitions


def with_result_and_offset_stored(
    s: Delivery, member: int, partition: int, progress: PartitionProgress
) -> Delivery:
    """The store has the result of the next record, and the offset after it."""
    s = s.with_record_processed(member, partition, progress)
    after = s.progress[member][partition]
    assert after is not None, "processing leaves the partition with its consumer"
    return s.with_commit_answered(member, partition, after, after.processed, accepted=True)


@rule(by="member", member=members, partition=partitions)
def member_stores_offset(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application stores the offset in a write of its own, after the result.

    Not in Kafka: the application's store.
    """
    progress = yield from has_processed_new_record(s, member, partition)
    return s.with_commit_answered(member, partition, progress, progress.processed, accepted=True)


@rule(by="member", member=members, partition=partitions)
def member_stores_result_with_offset(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application stores a record's result and the next offset in one transaction.

    Not in Kafka: the application's store.
    """
    progress = yield from has_fetched_record(s, member, partition)
    return with_result_and_offset_stored(s, member, partition, progress)


@rule(by="member", member=members, partition=partitions)
def member_stores_result_if_next(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application stores a result and the next offset if the stored offset is the record's.

    Not in Kafka: the application's store.
    """
    progress = yield from has_fetched_record(s, member, partition)
    yield "record is next in the store", s.committed[partition] == progress.processed
    return with_result_and_offset_stored(s, member, partition, progress)


@rule(by="store", member=members, partition=partitions)
def store_rejects_result(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The stored offset is not the record's: the transaction fails, and the member seeks to it.

    Kafka: `KafkaConsumer.seek`.
    """
    progress = yield from has_fetched_record(s, member, partition)
    start = s.committed[partition]
    yield "record is not next in the store", start != progress.processed
    return s.with_progress(member, partition, PartitionProgress(start, start, start))
