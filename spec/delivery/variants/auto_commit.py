"""The automatic commit, as variants: Java's client by version, and librdkafka."""

from __future__ import annotations

from kspec.spec.core import Violated
from kspec.spec.delivery import auto_commit, closing, committing, coordinator, member
from kspec.spec.delivery.variants.committing import LISTENER

AUTO_COMMIT = LISTENER.derive(
    "auto-commit",
    replace={member.member_polls: auto_commit.member_polls_and_auto_commits},
    remove=(committing.member_commits,),
    why=(
        "enable.auto.commit=true: poll commits the records of the previous poll, which are "
        "processed by then. The client also commits before a partition is revoked."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_BY_THE_CLOCK = AUTO_COMMIT.derive(
    "auto-commit-by-the-clock",
    replace={auto_commit.member_polls_and_auto_commits: member.member_polls},
    add=(auto_commit.client_commits_by_timer,),
    why=(
        "The automatic commit as it is often described: every five seconds, the position, "
        "processed or not. librdkafka does so by default, and Java's new consumer did before 4.0 "
        "(KAFKA-18641), when it was a preview. Java's classic consumer never did."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

STORED_OFFSETS = AUTO_COMMIT_BY_THE_CLOCK.derive(
    "stored-offsets",
    replace={auto_commit.client_commits_by_timer: auto_commit.client_commits_stored_offsets},
    why=(
        "librdkafka with enable.auto.offset.store=false: the application stores an offset after "
        "processing, and the timer commits only that."
    ),
    violates={
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
    replace={auto_commit.member_polls_and_auto_commits: auto_commit.member_polls_while_processing},
    why=(
        "Another thread processes the records, and the next poll does not wait for it: it "
        "commits records that are not processed yet."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=5),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_CLOSE = AUTO_COMMIT.derive(
    "auto-commit-close",
    add=(closing.member_commits_and_closes,),
    why="close commits the positions as well, once the loop has processed its last batch.",
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_CLOSE_EXCEPTION = AUTO_COMMIT_CLOSE.derive(
    "auto-commit-close-exception",
    add=(closing.member_fails_and_commits_position,),
    why=(
        "Processing fails, the exception ends the loop, and its finally block calls close, which "
        "commits the position: the failed record is skipped."
    ),
    violates={
        "CommittedRecordsAreProcessed": Violated(states=4),
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_STEPS = AUTO_COMMIT.derive(
    "auto-commit-steps",
    replace={
        auto_commit.member_polls_and_auto_commits: auto_commit.member_polls_unless_rejoining,
        committing.member_commits_on_revocation: auto_commit.client_rejoins,
    },
    add=(
        auto_commit.client_commits_before_rejoining,
        auto_commit.client_repeats_commit,
        coordinator.coordinator_receives_commit,
        coordinator.network_loses_commit,
    ),
    why=(
        "The commit before a rebalance, step by step: the client sends it, repeats it until it is "
        "answered, returns no records meanwhile, and then joins (since 3.2.3 and 3.3.0)."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
    },
)

AUTO_COMMIT_3_2_1 = AUTO_COMMIT_STEPS.derive(
    "auto-commit-3.2.1",
    add=(auto_commit.member_polls_while_rejoining,),
    why=(
        "3.2.1 and 3.2.2: poll returns records while the commit is in flight. They are not part "
        "of it, so the next owner repeats them (KAFKA-14196)."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=10),
    },
)

AUTO_COMMIT_3_2_0 = AUTO_COMMIT_STEPS.derive(
    "auto-commit-3.2.0",
    replace={
        auto_commit.client_rejoins: auto_commit.client_rejoins_without_waiting,
        coordinator.coordinator_assigns_partition: (
            auto_commit.coordinator_assigns_partition_after_commits
        ),
    },
    remove=(auto_commit.client_repeats_commit,),
    why=(
        "3.2.0: the client does not wait for the commit (KAFKA-13310). If it fails, the partitions "
        "are given up already, and the next owner repeats their records (KAFKA-14024)."
    ),
    violates={
        "RecordsAreProcessedAtMostOnce": Violated(states=8),
        "RebalanceRepeatsNoRecord": Violated(states=10),
    },
)

VARIANTS = (
    AUTO_COMMIT,
    AUTO_COMMIT_BY_THE_CLOCK,
    STORED_OFFSETS,
    AUTO_COMMIT_EXCEPTION,
    AUTO_COMMIT_THREAD,
    AUTO_COMMIT_CLOSE,
    AUTO_COMMIT_CLOSE_EXCEPTION,
    AUTO_COMMIT_STEPS,
    AUTO_COMMIT_3_2_1,
    AUTO_COMMIT_3_2_0,
)
