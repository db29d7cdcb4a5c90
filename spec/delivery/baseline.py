"""The mutation baseline of `delivery`: its consistency invariants."""

from __future__ import annotations

from pathlib import Path

from kspec.spec.core import Baseline, Claims, always, reachable
from kspec.spec.delivery.state import NO_OWNER, Delivery, members, partitions, partitions_read

# -- consistency invariants -------------------------------------------------------------------


@always
def ProgressWithinPartition(s: Delivery) -> Claims:
    """No consumer's progress is below the start or past the end of a partition."""
    for consumer in range(len(s.progress)):
        for partition, read in partitions_read(s, consumer):
            within = 0 <= read.processed <= read.position <= s.bounds.records
            yield f"consumer {consumer}, in partition {partition}", within
            committed = 0 <= read.committed <= read.position
            yield f"consumer {consumer}, in its commits of partition {partition}", committed
            ahead = all(read.processed < record < read.position for record in read.ahead)
            yield f"consumer {consumer}, ahead in partition {partition}", ahead


@always
def OwnersAreMembers(s: Delivery) -> Claims:
    """An owner is a member of the group, and reads its partition unless it has crashed."""
    for partition in partitions(s):
        owner = s.owners[partition]
        if owner != NO_OWNER:
            yield f"partition {partition}", owner in s.group
            reads = owner in s.crashed or s.progress[owner][partition] is not None
            yield f"partition {partition}, with its owner", reads


@always
def MembersReadOwnedPartitions(s: Delivery) -> Claims:
    """A member of the group reads only partitions that it owns, and a crashed one none."""
    for member in members(s):
        for partition, _ in partitions_read(s, member):
            yield f"consumer {member}, crashed", member not in s.crashed
            is_owner = s.owners[partition] == member or member not in s.group
            yield f"consumer {member}, in partition {partition}", is_owner


@always
def LeavingMembersReadNothing(s: Delivery) -> Claims:
    """While no member was removed, a consumer outside the group has left it, and reads nothing."""
    for member in members(s):
        if s.no_member_removed and member not in s.group:
            yield f"consumer {member}", not any(partitions_read(s, member))


@always
def CrashedMemberOwnsPartition(s: Delivery) -> Claims:
    """A crashed member whose session has not expired owns a partition."""
    for member in s.crashed & s.group:
        yield f"consumer {member}", member in s.owners


@always
def RejoiningMembersOwnPartitions(s: Delivery) -> Claims:
    """A member that is rejoining is running and owns a partition."""
    for member in s.rejoining:
        yield f"consumer {member}", member in s.owners and member not in s.crashed


@reachable
def GroupWithoutMembers(s: Delivery) -> bool:
    """A group can lose every member, and with them its owners."""
    return not s.group and all(owner == NO_OWNER for owner in s.owners)


@reachable
def RemovedMembersRejoin(s: Delivery) -> bool:
    """A removed member can join again."""
    return not s.no_member_removed and len(s.group) == s.bounds.members


BASELINE = Baseline(
    invariants=(
        ProgressWithinPartition,
        OwnersAreMembers,
        MembersReadOwnedPartitions,
        LeavingMembersReadNothing,
        CrashedMemberOwnsPartition,
        RejoiningMembersOwnPartitions,
        RemovedMembersRejoin,
        GroupWithoutMembers,
    ),
    mutants=Path(__file__).with_name("mutants.toml"),
)
