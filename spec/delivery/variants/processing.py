"""Variants that differ in how records are processed: threads, an external store, odd records."""

from __future__ import annotations

from kspec.spec.core import Violated
from kspec.spec.delivery import committing, coordinator, external_store, filtering, member, workers
from kspec.spec.delivery.variants.committing import COMMIT_SYNC, COMMIT_WITHIN_BATCH, LISTENER

# -- worker threads ---------------------------------------------------------------------------

WORKERS_PREFIX = COMMIT_WITHIN_BATCH.derive(
    "workers-prefix",
    replace={
        member.member_polls: workers.member_polls_without_waiting,
        member.member_processes: workers.worker_processes,
    },
    why=(
        "Worker threads, and commits up to the first record that is not processed: no record is "
        "skipped. The listener waits for the workers. The order within a partition is lost."
    ),
    violates={
        "RecordsAreProcessedInOrder": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

WORKERS_LATEST = WORKERS_PREFIX.derive(
    "workers-latest",
    replace={committing.member_commits_processed: workers.member_commits_latest},
    why=(
        "The application commits the latest record that a worker has processed; a crash loses the "
        "earlier ones that are not."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=7),
        "RecordsAreProcessedInOrder": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

WORKERS_CANCELLED = WORKERS_PREFIX.derive(
    "workers-cancelled",
    replace={committing.member_commits_on_revocation: workers.member_cancels_workers},
    why=(
        "The listener does not wait for the workers: records after the first one that is not "
        "processed are repeated."
    ),
    violates={
        "RecordsAreProcessedInOrder": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=10),
        "NoCommitIsRejected": Violated(states=6),
    },
)

# -- an external store ------------------------------------------------------------------------

STORE_APART = LISTENER.derive(
    "store-apart",
    replace={committing.member_commits: external_store.member_stores_offset},
    why=(
        "The application writes results and offsets to its own store, apart: a crash between the "
        "two repeats a record, and a removed member overwrites the offset of its successor."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "CommittedOffsetNeverDecreases": Violated(states=8),
    },
)

STORE_TOGETHER = STORE_APART.derive(
    "store-together",
    replace={
        member.member_processes: external_store.member_stores_result_with_offset,
        committing.member_commits_on_revocation: coordinator.coordinator_revokes_partition,
    },
    remove=(external_store.member_stores_offset,),
    why=(
        "Results and offsets in one transaction of the store: a crash repeats nothing. A removed "
        "member that continues still does."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "CommittedOffsetNeverDecreases": Violated(states=10),
    },
)

STORE_CONDITIONAL = STORE_TOGETHER.derive(
    "store-conditional",
    replace={
        external_store.member_stores_result_with_offset: external_store.member_stores_result_if_next
    },
    add=(external_store.store_rejects_result,),
    why=(
        "The transaction also compares the stored offset with that of the record, so it rejects a "
        "removed member: each record is processed exactly once."
    ),
)

# -- filtered records -------------------------------------------------------------------------

FILTER_POSITION = COMMIT_SYNC.derive(
    "filter-position",
    replace={member.member_processes: filtering.member_processes_unfiltered_record},
    add=(filtering.member_filters_record,),
    why="A filter drops the last record of each partition, and commitSync commits the position.",
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

FILTER_LAST_SEEN = FILTER_POSITION.derive(
    "filter-last-seen",
    replace={committing.member_commits: filtering.member_commits_after_last_seen_record},
    why=(
        "The application commits the offset after the last record that it has seen: filtered "
        "records at the end of a partition are never committed."
    ),
    violates={
        **FILTER_POSITION.violates,
        "GroupPassesEveryRecord": Violated(states=0),
    },
)

# -- poison records ---------------------------------------------------------------------------

POISON_RETRIED = COMMIT_SYNC.derive(
    "poison-retried",
    replace={member.member_processes: filtering.member_processes_healthy_record},
    add=(member.member_seeks_to_failed_record,),
    why=(
        "The first record of each partition can never be processed, and the loop seeks back to it: "
        "nothing is skipped, and nothing after it is processed either. A record that cannot be "
        "deserialized has the same effect, since poll does not pass it."
    ),
    violates={
        "GroupPassesEveryRecord": Violated(states=0),
    },
)

POISON_SKIPPED = POISON_RETRIED.derive(
    "poison-skipped",
    replace={member.member_seeks_to_failed_record: member.member_skips_failed_record},
    why="The loop catches the exception and continues: the record is skipped.",
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedInOrder": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=11),
        "RebalanceRepeatsNoRecord": Violated(states=11),
        "NoCommitIsRejected": Violated(states=6),
    },
)

POISON_DEAD_LETTER = POISON_RETRIED.derive(
    "poison-dead-letter",
    replace={member.member_seeks_to_failed_record: filtering.member_writes_dead_letter},
    why="The application writes the record to a dead letter topic, then commits and continues.",
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

VARIANTS = (
    WORKERS_PREFIX,
    WORKERS_LATEST,
    WORKERS_CANCELLED,
    STORE_APART,
    STORE_TOGETHER,
    STORE_CONDITIONAL,
    FILTER_POSITION,
    FILTER_LAST_SEEN,
    POISON_RETRIED,
    POISON_SKIPPED,
    POISON_DEAD_LETTER,
)
