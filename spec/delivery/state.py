"""The state: a group's partitions, the consumers that read them, and the committed offsets.

The protocol by which a group agrees on an assignment is not modelled here: the coordinator
assigns a partition to any member, revokes it in a rebalance, or removes a member.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, NewType, TypeVar

import attrs

from kspec.spec.core import appended, bound, constant, evolve, replaced

T = TypeVar("T")
Member = NewType("Member", int)
"""A member of the group, by number. Members are interchangeable."""
Partition = NewType("Partition", int)
"""A partition, by number. Partitions are interchangeable."""
PerPartition = Annotated[tuple[T, ...], Partition]

NO_OWNER = Member(-1)
"""The owner of a partition that is not assigned."""


@attrs.frozen
class Bounds:
    """How much of the system is explored."""

    members: int = bound(2, 1, 3, "members of the group")
    partitions: int = bound(1, 1, 2, "partitions that the group reads")
    records: int = bound(2, 1, 4, "records in each partition")
    batch: int = bound(1, 1, 4, "records that one poll returns at most (max.poll.records)")


@attrs.frozen
class PartitionProgress:
    """How far one consumer is in a partition that it reads."""

    position: int
    """The next record that a poll returns."""
    processed: int
    """The next record to process; those from here up to the position are fetched."""
    committed: int
    """The offset that the consumer committed last, or began at."""
    ahead: frozenset[int] = frozenset()
    """Records after the next one to process that worker threads have already processed."""


@attrs.frozen(cache_hash=True)
class Delivery:
    """A group, its partitions, and every consumer that reads them."""

    group: frozenset[Member]
    """The members of the group, as the coordinator knows them."""
    owners: PerPartition[Member]
    """The owner of each partition, as the coordinator knows it, or NO_OWNER."""
    crashed: frozenset[Member]
    """Members that have crashed and not been restarted."""
    progress: Annotated[tuple[PerPartition[PartitionProgress | None], ...], Member]
    """For each consumer, the standalone one last, its progress in each partition; None where it
    does not read the partition."""
    committed: PerPartition[int]
    """The committed offset of each partition, at which its next owner begins. With an external
    store, the offset that is stored there."""
    in_flight: PerPartition[tuple[int, ...]]
    """For each partition, commits in flight that the coordinator would still accept."""
    failed: PerPartition[tuple[int, ...]]
    """For each partition, commits whose callback received an error."""
    rejoining: frozenset[Member]
    """Members that have sent the automatic commit with which a rebalance begins for them."""
    processed: PerPartition[tuple[int, ...]]
    """Ghost: how often each record was processed, where 2 stands for two or more."""
    requested: PerPartition[frozenset[int]]
    """Ghost: for each partition, every offset that a consumer requested to commit."""
    highest: PerPartition[int]
    """Ghost: the highest offset ever committed in each partition."""
    no_member_removed: bool
    """Ghost: whether no member was removed so far, for a crash or for slow processing."""
    commit_rejected: bool
    """Ghost: whether a consumer has received a CommitFailedException."""
    bounds: Bounds = constant()
    """How much of the system is explored."""

    # -- queries ----------------------------------------------------------------------------------

    def has_processed_all(self, consumer: int) -> bool:
        """Whether the consumer has processed every fetched record, of any partition."""
        return all(
            read is None or read.processed == read.position for read in self.progress[consumer]
        )

    # -- what a consumer reads --------------------------------------------------------------------

    def with_progress(
        self, consumer: int, partition: int, progress: PartitionProgress | None
    ) -> Delivery:
        """The consumer's progress in a partition becomes this."""
        of_consumer = replaced(self.progress[consumer], partition, progress)
        return evolve(self, progress=replaced(self.progress, consumer, of_consumer))

    def without_progress(self, consumer: int) -> Delivery:
        """The consumer stops reading every partition."""
        nothing = (None,) * self.bounds.partitions
        progress = replaced(self.progress, consumer, nothing)
        return evolve(self, rejoining=self.rejoining - {consumer}, progress=progress)

    def with_fetched(
        self, consumer: int, partition: int, progress: PartitionProgress, records: int
    ) -> Delivery:
        """The consumer has fetched the next records."""
        fetched = evolve(progress, position=progress.position + records)
        return self.with_progress(consumer, partition, fetched)

    def with_record_processed(
        self, consumer: int, partition: int, progress: PartitionProgress, record: int | None = None
    ) -> Delivery:
        """The consumer has processed the next fetched record, or a worker a later one."""
        done = progress.processed
        record = done if record is None else record
        times = self.processed[partition]
        times = replaced(times, record, min(times[record] + 1, 2))
        s = evolve(self, processed=replaced(self.processed, partition, times))
        ahead = progress.ahead | {record}
        while done in ahead:
            ahead, done = ahead - {done}, done + 1
        return s.with_progress(consumer, partition, evolve(progress, processed=done, ahead=ahead))

    # -- ownership --------------------------------------------------------------------------------

    def with_owner(self, member: int, partition: int) -> Delivery:
        """The member owns the partition, and begins at the committed offset."""
        s = self.without_pending_commits(partition)
        start = self.committed[partition]
        s = evolve(s, owners=replaced(s.owners, partition, member))
        return s.with_progress(member, partition, PartitionProgress(start, start, start))

    def without_owner(self, member: int, partition: int) -> Delivery:
        """The member gives the partition up; commits in flight count until the next owner."""
        s = self.with_progress(member, partition, None)
        return evolve(s, owners=replaced(s.owners, partition, NO_OWNER))

    def without_member(self, member: int) -> Delivery:
        """The member is no longer in the group, and its partitions have no owner."""
        s = evolve(self, rejoining=self.rejoining - {member}, group=self.group - {member})
        for partition in range(self.bounds.partitions):
            if s.owners[partition] == member:
                s = s.without_pending_commits(partition)
                s = evolve(s, owners=replaced(s.owners, partition, NO_OWNER))
        return s

    # -- commits ----------------------------------------------------------------------------------

    def with_request(self, partition: int, offset: int) -> Delivery:
        """A consumer requests to commit an offset; only a ghost changes."""
        requested = self.requested[partition] | {offset}
        return evolve(self, requested=replaced(self.requested, partition, requested))

    def with_committed(self, partition: int, offset: int) -> Delivery:
        """The coordinator accepts a commit, whether higher or lower than the one before."""
        highest = max(self.highest[partition], offset)
        return evolve(
            self,
            committed=replaced(self.committed, partition, offset),
            highest=replaced(self.highest, partition, highest),
        )

    def with_commit_sent(
        self, consumer: int, partition: int, progress: PartitionProgress
    ) -> Delivery:
        """The consumer sends a commit of its position, and does not wait for the response."""
        s = self.with_request(partition, progress.position)
        s = s.with_progress(consumer, partition, evolve(progress, committed=progress.position))
        sent = appended(s.in_flight[partition], progress.position)
        return s.with_in_flight(partition, sent)

    def with_commit_answered(
        self,
        consumer: int,
        partition: int,
        progress: PartitionProgress,
        offset: int,
        *,
        accepted: bool | None = None,
    ) -> Delivery:
        """The consumer commits the offset and waits for the response.

        Unless `accepted` says otherwise, the coordinator accepts it from the partition's owner.
        Any other consumer receives a CommitFailedException and stops reading.
        """
        s = self.with_request(partition, offset)
        if accepted is None:
            accepted = self.owners[partition] == consumer
        if not accepted:
            return evolve(s.without_progress(consumer), commit_rejected=True)
        s = s.with_committed(partition, offset)
        return s.with_progress(consumer, partition, evolve(progress, committed=offset))

    def with_in_flight(self, partition: int, offsets: Iterable[int]) -> Delivery:
        """These are the partition's commits in flight."""
        return evolve(self, in_flight=replaced(self.in_flight, partition, tuple(offsets)))

    def without_pending_commits(self, partition: int) -> Delivery:
        """A new generation begins: commits of the last one would be rejected, and are dropped."""
        return evolve(
            self,
            in_flight=replaced(self.in_flight, partition, ()),
            failed=replaced(self.failed, partition, ()),
        )


def initial(bounds: Bounds) -> list[Delivery]:
    """All members are in the group, no partition has an owner, and nothing is committed."""
    each = bounds.partitions
    return [
        Delivery(
            group=frozenset(map(Member, range(bounds.members))),
            owners=(NO_OWNER,) * each,
            crashed=frozenset(),
            progress=((None,) * each,) * (bounds.members + 1),
            committed=(0,) * each,
            in_flight=((),) * each,
            failed=((),) * each,
            rejoining=frozenset(),
            processed=((0,) * bounds.records,) * each,
            requested=(frozenset(),) * each,
            highest=(0,) * each,
            no_member_removed=True,
            commit_rejected=False,
            bounds=bounds,
        )
    ]


# -- choices --------------------------------------------------------------------------------------


def members(s: Delivery) -> range:
    """Every consumer that is, or was, a member of the group."""
    return range(s.bounds.members)


def standalone(s: Delivery) -> int:
    """The consumer that assigns itself partitions, beside the group."""
    return s.bounds.members


def partitions(s: Delivery) -> range:
    """Every partition."""
    return range(s.bounds.partitions)


def records(s: Delivery) -> range:
    """Every record of a partition."""
    return range(s.bounds.records)


def batches(s: Delivery) -> range:
    """How many records a poll may return."""
    return range(1, s.bounds.batch + 1)


def partitions_read(s: Delivery, consumer: int) -> Iterator[tuple[int, PartitionProgress]]:
    """The partitions that the consumer reads, with its progress."""
    for partition, progress in enumerate(s.progress[consumer]):
        if progress is not None:
            yield partition, progress
