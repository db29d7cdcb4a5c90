"""Records that are not processed as usual: filtered ones, and poison records.

The last record of each partition is filtered, and the first one is the poison record, in the
variants that have them: the places where each does the most harm.
"""

from __future__ import annotations

from kspec.spec.core import Step, evolve, present, replaced, rule
from kspec.spec.delivery.member import has_fetched_record
from kspec.spec.delivery.state import Delivery, members, partitions

POISON = 0
"""The poison record of each partition: its processing always fails."""


def filtered(s: Delivery) -> int:
    """The filtered record of each partition."""
    return s.bounds.records - 1


# -- filtered records -------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_filters_record(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A filter drops the record, so that the loop never sees it. It counts as processed once.

    Kafka: `ConsumerInterceptor.onConsume`, or the application's own filter.
    """
    progress = yield from has_fetched_record(s, member, partition)
    record = progress.processed
    yield "record is filtered", record == filtered(s)
    processed = replaced(s.processed, partition, replaced(s.processed[partition], record, 1))
    s = evolve(s, processed=processed)
    return s.with_progress(member, partition, evolve(progress, processed=record + 1))


@rule(by="member", member=members, partition=partitions)
def member_processes_unfiltered_record(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application processes the next fetched record, if the filter lets it pass.

    Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, member, partition)
    yield "record is not filtered", progress.processed != filtered(s)
    return s.with_record_processed(member, partition, progress)


@rule(by="member", member=members, partition=partitions)
def member_commits_after_last_seen_record(
    s: Delivery, member: int, partition: int
) -> Step[Delivery]:
    """The application commits the offset after the last record that it has seen.

    Filtered records at the end are not committed. Kafka: `ConsumerCoordinator.commitOffsetsSync`.
    """
    progress = yield from present("consumer reads the partition", s.progress[member][partition])
    offset = min(progress.processed, filtered(s))
    yield "last record seen is not committed", offset > progress.committed
    return s.with_commit_answered(member, partition, progress, offset)


# -- poison records ---------------------------------------------------------------------------


@rule(by="member", member=members, partition=partitions)
def member_processes_healthy_record(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application processes the next fetched record, unless it is the poison record.

    Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, member, partition)
    yield "record is not poison", progress.processed != POISON
    return s.with_record_processed(member, partition, progress)


@rule(by="member", member=members, partition=partitions)
def member_writes_dead_letter(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """The application writes the poison record to a dead letter topic, and waits for the response.

    It counts as processed. Not in Kafka: the application's work.
    """
    progress = yield from has_fetched_record(s, member, partition)
    yield "record is poison", progress.processed == POISON
    return s.with_record_processed(member, partition, progress)
