"""The commit strategies, as variants: each with the properties that it violates."""

from __future__ import annotations

from spec.core import Variant, Violated
from spec.delivery import committing, coordinator, member, standalone
from spec.delivery.state import Delivery

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
    violates={
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
    },
)

COMMIT_ASYNC_OUT_OF_ORDER = COMMIT_ASYNC.derive(
    "commit-async-out-of-order",
    replace={coordinator.coordinator_receives_commit: coordinator.coordinator_receives_any_commit},
    why="After a reconnect, a commit sent over the old connection may be the last to arrive.",
    violates={
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
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
        "NoCommitIsRejected": Violated(states=6),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=8),
        "CommittedOffsetNeverDecreases": Violated(states=12),
    },
)

AUTO_COMMIT = LISTENER.derive(
    "auto-commit",
    replace={member.member_polls: committing.member_polls_and_auto_commits},
    remove=(committing.member_commits,),
    why=(
        "enable.auto.commit=true: poll commits the records of the poll before, which are "
        "processed by then. The client also commits before a partition is revoked."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_BY_THE_CLOCK = AUTO_COMMIT.derive(
    "auto-commit-by-the-clock",
    replace={committing.member_polls_and_auto_commits: member.member_polls},
    add=(committing.client_commits_by_timer,),
    why=(
        "The automatic commit as it is often described: every five seconds, the position. Java's "
        "client does not do so: it would skip records that are not processed yet."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_EXCEPTION = AUTO_COMMIT.derive(
    "auto-commit-exception",
    add=(member.member_skips_failed_record,),
    why="Processing fails, the loop continues, and the next poll commits the failed record.",
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedInOrder": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_THREAD = AUTO_COMMIT.derive(
    "auto-commit-thread",
    replace={committing.member_polls_and_auto_commits: committing.member_polls_while_processing},
    why=(
        "Another thread processes the records, and the next poll does not wait for it: it "
        "commits records that are not processed yet."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
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
    AUTO_COMMIT,
    AUTO_COMMIT_BY_THE_CLOCK,
    AUTO_COMMIT_EXCEPTION,
    AUTO_COMMIT_THREAD,
    EXCEPTION,
    EXCEPTION_AND_SEEK,
    STANDALONE,
)
