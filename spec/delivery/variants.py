"""The ways of committing as variants: which promise each keeps, and which it breaks."""

from __future__ import annotations

from spec.core import Variant, Violated
from spec.delivery import committing as c
from spec.delivery import group as g
from spec.delivery.state import Delivery

CUT_OFF = "A member that is cut off is given up like one that is slow; no promise tells them apart."
AGAIN = "What is committed once more is what is committed."
OUT = "A member that owns nothing and is out joins again."

SURVIVORS = {
    "session_ends without the guard 'member has crashed'": CUT_OFF,
    "session_ends without the guard 'member is in the group'": "Who is out owns nothing.",
    "session_ends loses a member of group": OUT,
    "poll_interval_ends without the guard 'member is in the group'": "Who is out owns nothing.",
    "poll_interval_ends without the guard 'something is in hand'": CUT_OFF,
    "poll_interval_ends loses a member of group": OUT,
    "member_joins without the guard 'nothing is in hand'": (
        "What is given up unprocessed is not committed either, and the next owner reads it. "
        "Where commits come first, as in commit-first, it would be skipped."
    ),
    "member_polls without the guard 'member owns the partition'": (
        "Who has lost a partition may read on in it, and process twice; it cannot commit."
    ),
    "member_polls without the guard 'nothing is in hand'": (
        "More is in hand, as of a larger batch; it is committed when all of it is processed."
    ),
    "member_commits without the guard 'something is new'": AGAIN,
    "member_commits forgets hands.sent": AGAIN,
    "member_commits makes hands.sent one less": AGAIN,
    "member_commits forgets hands": "Who was refused and does not let go is refused again.",
    "member_commits forgets refused": (
        "NoCommitFails, which asks for it, fails in the rules as they are."
    ),
}
"""What mutants may do in `listener`, and why it matters to no promise."""

COMMIT_SYNC: Variant[Delivery] = Variant(
    "commit-sync",
    rules=(*g.GROUP_RULES, c.member_commits),
    why=(
        "enable.auto.commit=false, and commitSync after processing. Whoever processes and cannot "
        "commit any more leaves the record to be processed again."
    ),
    violates={
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
        "RebalanceDoublesNothing": Violated(states=8),
    },
)

LISTENER = COMMIT_SYNC.derive(
    "listener",
    replace={g.coordinator_revokes: c.member_is_told_and_commits},
    why=(
        "commitSync alone forgets what was processed since, when a partition is taken back. A "
        "rebalance listener commits at that moment. Crashes and lost partitions still double."
    ),
    survivors=SURVIVORS,
    seen_only_in={
        "coordinator_assigns without the guard 'member is running'": {
            "partitions": 2,
            "records": 1,
        },
    },
    violates={
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
    },
)

IN_TIME = LISTENER.derive(
    "in-time",
    remove=(g.poll_interval_ends,),
    why="Nobody processes for longer than max.poll.interval.ms, so nobody is thrown out.",
    violates={
        "NothingDoubled": Violated(states=9),
    },
)

UNFENCED = LISTENER.derive(
    "unfenced",
    replace={c.member_commits: c.member_commits_unfenced},
    why="A coordinator that does not ask for member and generation lets who was lost commit.",
    violates={
        "NothingDoubled": Violated(states=8),
        "CommitNeverGoesBack": Violated(states=8),
    },
)

COMMIT_FIRST = COMMIT_SYNC.derive(
    "commit-first",
    replace={
        c.member_commits: c.member_commits_first,
        g.member_processes: c.member_processes_what_is_committed,
    },
    why=(
        "commitSync before processing: nothing is processed twice, and whoever crashes in "
        "between leaves a record that nobody will read."
    ),
    violates={
        "NoCommitFails": Violated(states=5),
        "NothingSkipped": Violated(states=5),
    },
)

COMMIT_ASYNC = COMMIT_SYNC.derive(
    "commit-async",
    replace={c.member_commits: c.member_sends_commit},
    add=(c.commit_arrives, c.commit_is_lost),
    why=(
        "commitAsync after processing: not waited for, and not repeated when it fails. A later "
        "commit says all that an earlier one did, so only what is last may be missing."
    ),
    violates={
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
        "RebalanceDoublesNothing": Violated(states=8),
    },
)

COMMIT_ASYNC_OUT_OF_ORDER = COMMIT_ASYNC.derive(
    "commit-async-out-of-order",
    replace={c.commit_arrives: c.commit_arrives_in_any_order},
    why="After a disconnect, a commit sent over the old connection may be the last to arrive.",
    violates={
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
        "RebalanceDoublesNothing": Violated(states=8),
        "CommitNeverGoesBack": Violated(states=10),
    },
)

COMMIT_ASYNC_REPEATED = COMMIT_ASYNC.derive(
    "commit-async-repeated",
    replace={c.commit_is_lost: c.commit_fails},
    add=(c.callback_commits_again,),
    why=(
        "An application repeats a failed commitAsync in its callback. A later commit may have "
        "arrived meanwhile: that is why the client does not repeat it."
    ),
    violates={
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
        "RebalanceDoublesNothing": Violated(states=8),
        "CommitNeverGoesBack": Violated(states=12),
    },
)

AUTO_COMMIT = LISTENER.derive(
    "auto-commit",
    replace={g.member_polls: c.member_polls_and_commits},
    remove=(c.member_commits,),
    why=(
        "enable.auto.commit=true: poll commits what the poll before it returned, which is "
        "processed by then. A partition that is taken back in good order is committed first."
    ),
    violates={
        "NothingDoubled": Violated(states=8),
    },
)

AUTO_COMMIT_BY_THE_CLOCK = AUTO_COMMIT.derive(
    "auto-commit-by-the-clock",
    replace={c.member_polls_and_commits: g.member_polls},
    add=(c.clock_commits,),
    why=(
        "The automatic commit as it is often told: every five seconds, what the last poll "
        "returned. Java's client does not do so; it would skip what is not processed yet."
    ),
    violates={
        "NothingSkipped": Violated(states=5),
        "NothingDoubled": Violated(states=8),
    },
)

AUTO_COMMIT_EXCEPTION = AUTO_COMMIT.derive(
    "auto-commit-exception",
    add=(c.processing_fails,),
    why="Processing fails, the loop goes on, and the next poll commits what was not processed.",
    violates={
        "NothingSkipped": Violated(states=5),
        "NothingPassedOver": Violated(states=5),
        "NothingDoubled": Violated(states=8),
    },
)

AUTO_COMMIT_THREAD = AUTO_COMMIT.derive(
    "auto-commit-thread",
    replace={c.member_polls_and_commits: c.member_polls_on_and_commits},
    why=(
        "Records are processed in another thread, and the next poll does not wait for it. It "
        "commits what is not processed yet."
    ),
    violates={
        "NothingSkipped": Violated(states=5),
        "NothingDoubled": Violated(states=8),
    },
)

EXCEPTION = COMMIT_SYNC.derive(
    "exception",
    add=(c.processing_fails,),
    why=(
        "Processing fails, nothing is committed, and the loop goes on: the consumer's position "
        "is behind the record all the same. Only who begins at the committed offset reads it."
    ),
    violates={
        "NothingSkipped": Violated(states=5),
        "NothingPassedOver": Violated(states=5),
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
        "RebalanceDoublesNothing": Violated(states=8),
    },
)

EXCEPTION_AND_SEEK = COMMIT_SYNC.derive(
    "exception-and-seek",
    add=(c.processing_fails_and_seeks,),
    why="Who goes back to the record that failed (seek) need not be replaced by a new consumer.",
    violates={
        "NoCommitFails": Violated(states=6),
        "NothingDoubled": Violated(states=8),
        "RebalanceDoublesNothing": Violated(states=8),
    },
)

STANDALONE = IN_TIME.derive(
    "standalone",
    add=(
        c.standalone_assigns_itself,
        c.standalone_polls,
        c.standalone_processes,
        c.standalone_commits,
    ),
    why=(
        "A consumer that assigns itself shares the group's id. Its commits are refused while "
        "the group has members; once it has none, they overwrite the group's."
    ),
    violates={
        "NoCommitFails": Violated(states=5),
        "NothingDoubled": Violated(states=7),
        "RebalanceDoublesNothing": Violated(states=7),
        "CommitNeverGoesBack": Violated(states=16),
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
