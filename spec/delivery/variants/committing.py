"""Variants that differ in when and how the application commits, closes, and handles exceptions."""

from __future__ import annotations

from kspec.spec.core import Variant, Violated
from kspec.spec.delivery import closing, committing, coordinator, member, standalone
from kspec.spec.delivery.state import Delivery

GROUP_RULES = (
    coordinator.coordinator_assigns_partition,
    coordinator.coordinator_revokes_partition,
    coordinator.coordinator_expires_session,
    member.member_exceeds_poll_interval,
    member.member_crashes,
    member.member_joins,
    member.member_polls,
    member.member_processes,
)
"""The rules of a group and its members, without a commit strategy."""

COMMIT_SYNC: Variant[Delivery] = Variant(
    "commit-sync",
    rules=(*GROUP_RULES, committing.member_commits),
    why=(
        "enable.auto.commit=false, and commitSync after processing. A record whose commit fails "
        "or never happens is processed again by the next owner."
    ),
    violates={
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
    },
)

LISTENER = COMMIT_SYNC.derive(
    "listener",
    replace={coordinator.coordinator_revokes_partition: committing.member_commits_on_revocation},
    why=(
        "commitSync alone does not commit the records processed since the last one when a "
        "partition is revoked; a rebalance listener does. A member that crashes, or loses its "
        "partitions, still causes duplicates."
    ),
    violates={
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

IN_TIME = LISTENER.derive(
    "in-time",
    remove=(member.member_exceeds_poll_interval,),
    why="No member exceeds max.poll.interval.ms, so none is removed while it processes.",
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=9),
    },
)

UNFENCED = LISTENER.derive(
    "unfenced",
    replace={committing.member_commits: committing.member_commits_unfenced},
    why="A coordinator that checks no member id or generation accepts removed members' commits.",
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "CommittedOffsetNeverDecreases": Violated(states=8),
    },
)

COMMIT_FIRST = COMMIT_SYNC.derive(
    "commit-first",
    replace={
        committing.member_commits: committing.member_commits_before_processing,
        member.member_processes: member.member_processes_committed_record,
    },
    why=(
        "commitSync before processing: no record is processed twice, but a member that crashes "
        "after the commit leaves a record that no consumer will read."
    ),
    violates={
        "NoCommitIsRejected": Violated(states=5),
        "CommittedRecordsAreProcessed": Violated(states=5),
    },
)

COMMIT_ASYNC = COMMIT_SYNC.derive(
    "commit-async",
    replace={committing.member_commits: committing.member_commits_async},
    add=(coordinator.coordinator_receives_commit, coordinator.network_loses_commit),
    why=(
        "commitAsync after processing: the application does not wait, and the client does not "
        "retry. A later commit includes an earlier one, so only the last can be missing."
    ),
    violates=COMMIT_SYNC.violates,
)

COMMIT_ASYNC_OUT_OF_ORDER = COMMIT_ASYNC.derive(
    "commit-async-out-of-order",
    replace={coordinator.coordinator_receives_commit: coordinator.coordinator_receives_any_commit},
    why="After a reconnect, a commit sent over the old connection may be the last to arrive.",
    violates={
        **COMMIT_ASYNC.violates,
        "CommittedOffsetNeverDecreases": Violated(states=10),
    },
)

COMMIT_ASYNC_REPEATED = COMMIT_ASYNC.derive(
    "commit-async-repeated",
    replace={coordinator.network_loses_commit: coordinator.network_fails_commit},
    add=(committing.callback_retries_commit,),
    why=(
        "An application retries a failed commitAsync in its callback. A later commit may have "
        "arrived meanwhile: this is why the client does not retry."
    ),
    violates={
        **COMMIT_ASYNC.violates,
        "CommittedOffsetNeverDecreases": Violated(states=12),
    },
)

COMMIT_ASYNC_CLOSE = COMMIT_ASYNC.derive(
    "commit-async-close",
    replace={coordinator.coordinator_revokes_partition: closing.member_closes},
    why=(
        "commitAsync, and close without a last commit. Partitions move only when a member closes, "
        "yet the next owner repeats the records of a commit that was lost."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

ASYNC_THEN_SYNC = COMMIT_ASYNC_CLOSE.derive(
    "async-then-sync",
    replace={closing.member_closes: closing.member_commits_and_closes},
    why=(
        "commitAsync in the loop and commitSync before close: commitSync is retried, so a member "
        "that closes leaves nothing to repeat."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

COMMIT_IN_FINALLY = ASYNC_THEN_SYNC.derive(
    "commit-in-finally",
    add=(closing.member_fails_and_commits_position,),
    why=(
        "The usual form: commitSync in a finally block, which also runs after an exception. It "
        "commits the position, which is beyond the failed record: the record is skipped."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=4),
        **ASYNC_THEN_SYNC.violates,
    },
)

COMMIT_PROCESSED_IN_FINALLY = ASYNC_THEN_SYNC.derive(
    "commit-processed-in-finally",
    add=(closing.member_fails_and_commits_processed,),
    why="The finally block commits the offsets after the records that were processed.",
    violates=ASYNC_THEN_SYNC.violates,
)

ASYNC_LISTENER = COMMIT_ASYNC.derive(
    "async-listener",
    replace={coordinator.coordinator_revokes_partition: committing.member_commits_on_revocation},
    add=(closing.member_commits_and_closes,),
    why=(
        "commitAsync in the loop, and commitSync in onPartitionsRevoked, which close calls as "
        "well: neither a rebalance nor a close repeats a record."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

COMMIT_WITHIN_BATCH = LISTENER.derive(
    "commit-within-batch",
    replace={committing.member_commits: committing.member_commits_processed},
    why=(
        "commitSync with the offset after the last processed record, within the batch: after a "
        "crash, fewer records are repeated."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

COMMIT_POSITION_WITHIN_BATCH = COMMIT_WITHIN_BATCH.derive(
    "commit-position-within-batch",
    replace={committing.member_commits_processed: committing.member_commits_position_within_batch},
    why=(
        "commitSync without offsets, within the batch: it commits the position, which is beyond "
        "the records of the batch that are not processed yet."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=7),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "NoCommitIsRejected": Violated(states=6),
    },
)

COMMIT_OFFSET_OF_LAST_RECORD = COMMIT_SYNC.derive(
    "commit-offset-of-last-record",
    replace={committing.member_commits: committing.member_commits_offset_of_last_record},
    why=(
        "The offset of the last processed record, instead of the one after it: the last record is "
        "repeated by each new owner, and the lag never becomes 0."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
        "NoCommitIsRejected": Violated(states=8),
        "GroupPassesEveryRecord": Violated(states=0),
    },
)

EXCEPTION = COMMIT_SYNC.derive(
    "exception",
    add=(member.member_skips_failed_record,),
    why=(
        "Processing fails, nothing is committed, and the loop continues: the consumer's position "
        "is past the record all the same. Only a consumer that begins at the committed offset "
        "reads it again."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedInOrder": Violated(states=5),
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
    },
)

EXCEPTION_AND_SEEK = COMMIT_SYNC.derive(
    "exception-and-seek",
    add=(member.member_seeks_to_failed_record,),
    why="The loop seeks back to the failed record, so the same consumer reads it again.",
    violates={
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
    },
)

STANDALONE = IN_TIME.derive(
    "standalone",
    add=(
        standalone.standalone_assigns_partition,
        standalone.standalone_polls,
        standalone.standalone_processes,
        standalone.standalone_commits,
    ),
    why=(
        "A standalone consumer uses the group's id. Its commits are rejected while the group has "
        "members; once it has none, they overwrite the group's."
    ),
    violates={
        "NoCommitIsRejected": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=7),
        "RebalanceRepeatsNoRecord": Violated(states=7),
        "CommittedOffsetNeverDecreases": Violated(states=16),
    },
)

VARIANTS = (
    COMMIT_SYNC,
    LISTENER,
    IN_TIME,
    UNFENCED,
    COMMIT_FIRST,
    COMMIT_ASYNC,
    COMMIT_ASYNC_OUT_OF_ORDER,
    COMMIT_ASYNC_REPEATED,
    COMMIT_ASYNC_CLOSE,
    ASYNC_THEN_SYNC,
    COMMIT_IN_FINALLY,
    COMMIT_PROCESSED_IN_FINALLY,
    ASYNC_LISTENER,
    COMMIT_WITHIN_BATCH,
    COMMIT_POSITION_WITHIN_BATCH,
    COMMIT_OFFSET_OF_LAST_RECORD,
    EXCEPTION,
    EXCEPTION_AND_SEEK,
    STANDALONE,
)
