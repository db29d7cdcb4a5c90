"""How a member closes: it commits once more, or not, and leaves the group."""

from __future__ import annotations

from collections.abc import Callable

from kspec.spec.core import Step, rule
from kspec.spec.delivery.auto_commit import position, processed
from kspec.spec.delivery.state import Delivery, PartitionProgress, members, partitions_read


def ends_loop(s: Delivery, member: int) -> Step[None]:
    """The guards that the member of the group has processed what it has read."""
    yield "member is in the group", member in s.group
    yield "member reads a partition", any(read is not None for read in s.progress[member])
    yield "every fetched record is processed", s.has_processed_all(member)


def fails(s: Delivery, member: int) -> Step[None]:
    """The guards that processing may fail in a member of the group."""
    yield "member is in the group", member in s.group
    yield "a fetched record is not processed", not s.has_processed_all(member)


def commits_and_leaves(
    s: Delivery, member: int, offset: Callable[[PartitionProgress], int]
) -> Delivery:
    """The member commits an offset in every partition, even if it has sent it before, and leaves.

    An earlier commitAsync may have failed.
    """
    for partition, read in partitions_read(s, member):
        s = s.with_commit_answered(member, partition, read, offset(read), accepted=True)
    return s.without_member(member).without_progress(member)


@rule(by="member", member=members)
def member_closes(s: Delivery, member: int) -> Step[Delivery]:
    """The loop ends after a batch, and the member leaves without another commit.

    Kafka: `ConsumerCoordinator.close`, `AbstractCoordinator.maybeLeaveGroup`. Simplification: close
    waits for the responses to commitAsync; a commit without one looks lost.
    """
    yield from ends_loop(s, member)
    return s.without_member(member).without_progress(member)


@rule(by="member", member=members)
def member_commits_and_closes(s: Delivery, member: int) -> Step[Delivery]:
    """The loop ends after a batch, and the member commits its positions before it leaves.

    The application calls commitSync before close, or in onPartitionsRevoked, which close calls
    since 2.4; the automatic commit does so too. Kafka: `ConsumerCoordinator.close`,
    `ConsumerCoordinator.onLeavePrepare`.
    """
    yield from ends_loop(s, member)
    return commits_and_leaves(s, member, position)


@rule(by="member", member=members)
def member_fails_and_commits_position(s: Delivery, member: int) -> Step[Delivery]:
    """Processing raises an exception, which ends the loop; its `finally` commits the positions.

    The positions are beyond the failed record. The application calls commitSync without offsets, or
    close with automatic commits does. Kafka: `ConsumerCoordinator.close`.
    """
    yield from fails(s, member)
    return commits_and_leaves(s, member, position)


@rule(by="member", member=members)
def member_fails_and_commits_processed(s: Delivery, member: int) -> Step[Delivery]:
    """Processing raises an exception, and `finally` commits the offsets of processed records.

    Kafka: `ConsumerCoordinator.commitOffsetsSync`.
    """
    yield from fails(s, member)
    return commits_and_leaves(s, member, processed)
