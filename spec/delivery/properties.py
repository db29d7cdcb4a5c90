"""What a commit strategy may guarantee about records and committed offsets."""

from __future__ import annotations

from kspec.spec.core import Claims, always, reachable
from kspec.spec.delivery.state import Delivery, partitions, partitions_read


def record_at(offset: int, partition: int) -> str:
    """The name of a record, in verdicts and pictures."""
    return f"record {offset} of partition {partition}"


def committed_offset_of(partition: int) -> str:
    """The name of a committed offset, in verdicts and pictures."""
    return f"committed offset of partition {partition}"


def is_fetched(s: Delivery, partition: int, offset: int) -> bool:
    """Whether some consumer has fetched the record, and will still process it."""
    of_partition = (consumer[partition] for consumer in s.progress)
    return any(
        read is not None and read.processed <= offset < read.position for read in of_partition
    )


@always
def CommittedRecordsAreProcessed(s: Delivery) -> Claims:
    """Every record below the committed offset was processed, or is fetched and will be.

    Otherwise the record is skipped: no later consumer reads it.
    """
    for partition in partitions(s):
        for offset in range(min(s.committed[partition], s.bounds.records)):
            processed = s.processed[partition][offset] > 0
            yield record_at(offset, partition), processed or is_fetched(s, partition, offset)


@always
def RecordsAreProcessedInOrder(s: Delivery) -> Claims:
    """A consumer with a fetched record has processed the uncommitted ones before it.

    No worker thread of the consumer has processed a later one.
    """
    for consumer in range(len(s.progress)):
        for partition, read in partitions_read(s, consumer):
            if read.processed != read.position:
                yield record_at(read.processed, partition), not read.ahead
                for offset in range(read.committed, read.processed):
                    yield record_at(offset, partition), s.processed[partition][offset] > 0


@always
def RecordsAreProcessedAtMostOnce(s: Delivery) -> Claims:
    """No record is processed twice."""
    for partition in partitions(s):
        for offset, times in enumerate(s.processed[partition]):
            yield record_at(offset, partition), times < 2


@always
def RebalanceRepeatsNoRecord(s: Delivery) -> Claims:
    """While no member is removed for a crash or slow processing, no record is processed twice."""
    for partition in partitions(s):
        for offset, times in enumerate(s.processed[partition]):
            yield record_at(offset, partition), times < 2 or not s.no_member_removed


@always
def CommittedOffsetNeverDecreases(s: Delivery) -> Claims:
    """The committed offset is the highest that was ever committed."""
    for partition in partitions(s):
        yield committed_offset_of(partition), s.committed[partition] == s.highest[partition]


@always
def CommittedOffsetWasRequested(s: Delivery) -> Claims:
    """The committed offset is 0, or a consumer requested to commit it."""
    for partition in partitions(s):
        known = s.requested[partition] | {0}
        yield committed_offset_of(partition), s.committed[partition] in known


@always
def NoCommitIsRejected(s: Delivery) -> Claims:
    """No consumer receives a CommitFailedException."""
    yield "group", not s.commit_rejected


@reachable
def GroupPassesEveryRecord(s: Delivery) -> bool:
    """The group can commit every record of its partitions, so that its lag becomes 0."""
    return all(offset == s.bounds.records for offset in s.committed)


PROPERTIES = (
    CommittedRecordsAreProcessed,
    RecordsAreProcessedInOrder,
    RecordsAreProcessedAtMostOnce,
    RebalanceRepeatsNoRecord,
    CommittedOffsetNeverDecreases,
    CommittedOffsetWasRequested,
    NoCommitIsRejected,
    GroupPassesEveryRecord,
)
