"""The mutation baseline of `delivery`: its consistency invariants and equivalent mutants."""

from __future__ import annotations

from spec.core import Baseline, Claims, always, reachable
from spec.delivery.state import NO_OWNER, Delivery, members, partitions, partitions_read

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
            reads = owner in s.crashed or s.progress_of(owner, partition) is not None
            yield f"partition {partition}, with its owner", reads


@always
def MembersReadOwnedPartitions(s: Delivery) -> Claims:
    """A member of the group reads only partitions that it owns, and a crashed one none."""
    for member in members(s):
        for partition, _ in partitions_read(s, member):
            yield f"consumer {member}, crashed", member not in s.crashed
            is_owner = s.owns(member, partition) or member not in s.group
            yield f"consumer {member}, in partition {partition}", is_owner


@always
def CrashedMemberOwnsPartition(s: Delivery) -> Claims:
    """A crashed member whose session has not expired owns a partition."""
    for member in s.crashed & s.group:
        yield f"consumer {member}", member in s.owners


@always
def RejoiningMembersAreInGroup(s: Delivery) -> Claims:
    """A member that is rejoining is in the group, and is running."""
    for member in s.rejoining:
        yield f"consumer {member}", member in s.group and member not in s.crashed


@reachable
def GroupWithoutMembers(s: Delivery) -> bool:
    """A group can lose every member, and with them its owners."""
    return not s.group and all(owner == NO_OWNER for owner in s.owners)


@reachable
def RemovedMembersRejoin(s: Delivery) -> bool:
    """A removed member can join again."""
    return not s.no_member_removed and len(s.group) == s.bounds.members


# -- equivalent mutants -----------------------------------------------------------------------

DISCONNECTED = "A disconnected member is removed like a slow one; no property tells the two apart."
SAME_COMMIT = "Committing an offset again changes nothing."
REJOINS = "A member outside the group that owns nothing joins again."
OWNS_NOTHING = "A member outside the group owns nothing."

EQUIVALENT = {
    "coordinator_expires_session without the guard 'member has crashed'": DISCONNECTED,
    "coordinator_expires_session without the guard 'member is in the group'": OWNS_NOTHING,
    "coordinator_expires_session loses a member of group": REJOINS,
    "member_exceeds_poll_interval without the guard 'member is in the group'": OWNS_NOTHING,
    "member_exceeds_poll_interval without the guard 'a fetched record is not processed'": (
        DISCONNECTED
    ),
    "member_exceeds_poll_interval loses a member of group": REJOINS,
    "member_joins without the guard 'every fetched record is processed'": (
        "A record given up unprocessed is not committed either, so the next owner reads it. "
        "Where commits come first, as in commit-first, it would be skipped."
    ),
    "member_polls without the guard 'member owns the partition'": (
        "A member that has lost a partition may read on in it and process records twice; it "
        "cannot commit."
    ),
    "member_polls without the guard 'every fetched record is processed'": (
        "Several polls act as one with a larger batch, which is committed once all of it is "
        "processed."
    ),
    "member_commits without the guard 'position is beyond the last commit'": SAME_COMMIT,
    "member_commits forgets progress.committed": SAME_COMMIT,
    "member_commits makes progress.committed one less": SAME_COMMIT,
    "member_commits forgets progress": (
        "A member that keeps reading after a rejection is rejected again."
    ),
    "member_commits forgets commit_rejected": (
        "NoCommitIsRejected, which reads it, fails in the unmutated rules."
    ),
}
"""The equivalent mutants of `listener`, each with the reason."""

BASELINE = Baseline(
    invariants=(
        ProgressWithinPartition,
        OwnersAreMembers,
        MembersReadOwnedPartitions,
        CrashedMemberOwnsPartition,
        RejoiningMembersAreInGroup,
        RemovedMembersRejoin,
        GroupWithoutMembers,
    ),
    bounds=({"records": 1}, {}),
    equivalent={"listener": EQUIVALENT},
    bounds_for={
        "listener": {
            "coordinator_assigns_partition without the guard 'member is running'": {
                "partitions": 2,
                "records": 1,
            },
        }
    },
)
