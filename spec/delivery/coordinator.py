"""What the coordinator does: it assigns and revokes, removes members, and receives commits.

The network is here as well: it loses or fails the commits that are in flight.
"""

from __future__ import annotations

from kspec.spec.core import Step, appended, evolve, replaced, rule
from kspec.spec.delivery.state import NO_OWNER, Delivery, members, partitions

# -- membership and assignment ----------------------------------------------------------------


@rule(by="coordinator", member=members, partition=partitions)
def coordinator_assigns_partition(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A partition without owner is assigned to a member, which begins at the committed offset.

    A new generation begins: a commit of an older one that arrives later is rejected. Kafka:
    `ConsumerCoordinator.onJoinComplete`, then `initWithCommittedOffsetsIfNeeded`.
    """
    yield "partition has no owner", s.owners[partition] == NO_OWNER
    yield "member is in the group", member in s.group
    yield "member is running", member not in s.crashed
    return s.with_owner(member, partition)


@rule(by="coordinator", member=members, partition=partitions)
def coordinator_revokes_partition(s: Delivery, member: int, partition: int) -> Step[Delivery]:
    """A rebalance revokes a partition, and no listener commits.

    The listener is called inside poll, so the member has processed every fetched record. Kafka:
    `ConsumerCoordinator.onJoinPrepare`.
    """
    yield "member owns the partition", s.owners[partition] == member
    yield "member is running", member not in s.crashed
    yield "every fetched record is processed", s.has_processed_all(member)
    return s.without_owner(member, partition)


@rule(by="coordinator", member=members)
def coordinator_expires_session(s: Delivery, member: int) -> Step[Delivery]:
    """The session of a crashed member expires (`session.timeout.ms`), and it is removed.

    Kafka: `GroupMetadataManager.expireClassicGroupMemberHeartbeat`.
    """
    yield "member has crashed", member in s.crashed
    yield "member is in the group", member in s.group
    return evolve(s.without_member(member), no_member_removed=False)


# -- commits that arrive ----------------------------------------------------------------------


@rule(by="coordinator", partition=partitions)
def coordinator_receives_commit(s: Delivery, partition: int) -> Step[Delivery]:
    """The next commit in flight arrives: over one connection, in the order of sending.

    Kafka: `OffsetMetadataManager.commitOffset`.
    """
    yield "a commit is in flight", bool(s.in_flight[partition])
    first, *rest = s.in_flight[partition]
    return s.with_committed(partition, first).with_in_flight(partition, rest)


def places(s: Delivery) -> range:
    """Every place among the commits in flight."""
    return range(max(map(len, s.in_flight)))


@rule(by="coordinator", partition=partitions, place=places)
def coordinator_receives_any_commit(s: Delivery, partition: int, place: int) -> Step[Delivery]:
    """A commit arrives before one that was sent earlier, over a connection since closed.

    Kafka: `OffsetMetadataManager.commitOffset`, which keeps what arrives last.
    """
    yield "a commit is in flight", place < len(s.in_flight[partition])
    waiting = s.in_flight[partition]
    rest = waiting[:place] + waiting[place + 1 :]
    return s.with_committed(partition, waiting[place]).with_in_flight(partition, rest)


@rule(by="network", partition=partitions)
def network_loses_commit(s: Delivery, partition: int) -> Step[Delivery]:
    """A commit fails with a retriable error, and the client does not retry it.

    Kafka: `ConsumerCoordinator.doCommitOffsetsAsync`.
    """
    yield "a commit is in flight", bool(s.in_flight[partition])
    return s.with_in_flight(partition, s.in_flight[partition][1:])


@rule(by="network", partition=partitions)
def network_fails_commit(s: Delivery, partition: int) -> Step[Delivery]:
    """A commit fails, and its callback receives a RetriableCommitFailedException.

    Kafka: `ConsumerCoordinator.doCommitOffsetsAsync`.
    """
    yield "a commit is in flight", bool(s.in_flight[partition])
    first, *rest = s.in_flight[partition]
    failed = replaced(s.failed, partition, appended(s.failed[partition], first))
    return evolve(s.with_in_flight(partition, rest), failed=failed)
