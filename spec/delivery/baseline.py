"""The mutation baseline of `delivery`: its consistency invariants and equivalent mutants."""

from __future__ import annotations

from collections.abc import Mapping

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


# -- equivalent mutants -----------------------------------------------------------------------

DISCONNECTED = "A disconnected member is removed like a slow one; no property tells the two apart."
SAME_COMMIT = "Committing an offset again changes nothing."
REJOINS = "A member outside the group that owns nothing joins again."
OWNS_NOTHING = "A member outside the group owns nothing."

GIVEN_UP = "A record given up unprocessed is not committed either, so the next owner reads it."
READS_ON = (
    "A member that has lost a partition may read on in it and process records twice; it cannot "
    "commit."
)
LARGER_BATCH = (
    "Several polls act as one with a larger batch, which is committed once all of it is processed."
)
REJECTED_AGAIN = "A member that keeps reading after a rejection is rejected again."
ALREADY_FAILS = "The properties that would detect it fail in the unmutated rules."
LOOKS_LOST = "A commit that is not sent looks like one that is lost."
ARRIVES_ANYWAY = "A commit that was sent before the member left may as well have arrived before."
UNREAD = "No rule of the variant reads the last commit of a consumer."
NOTHING_TO_REPEAT = "A member that reads nothing, or is not in the group, leaves nothing to repeat."

Mutants = dict[str, str]


def mutants_of_commit(rule: str) -> Mutants:
    """The equivalent mutants of each rule by which an application commits and waits."""
    return {
        f"{rule} forgets progress.committed": SAME_COMMIT,
        f"{rule} makes progress.committed one less": SAME_COMMIT,
        f"{rule} forgets progress": REJECTED_AGAIN,
        f"{rule} forgets commit_rejected": ALREADY_FAILS,
    }


def mutants_of_close(rule: str) -> Mutants:
    """The equivalent mutants of each rule by which a member leaves."""
    return {f"{rule} forgets group": REJOINS, f"{rule} loses a member of group": REJOINS}


LISTENER: Mutants = {
    "coordinator_expires_session without the guard 'member has crashed'": DISCONNECTED,
    "coordinator_expires_session without the guard 'member is in the group'": OWNS_NOTHING,
    "coordinator_expires_session loses a member of group": REJOINS,
    "member_exceeds_poll_interval without the guard 'member is in the group'": OWNS_NOTHING,
    "member_exceeds_poll_interval without the guard 'a fetched record is not processed'": (
        DISCONNECTED
    ),
    "member_exceeds_poll_interval loses a member of group": REJOINS,
    "member_joins without the guard 'every fetched record is processed'": (
        f"{GIVEN_UP} Where commits come first, as in commit-first, it would be skipped."
    ),
    "member_polls without the guard 'member owns the partition'": READS_ON,
    "member_polls without the guard 'every fetched record is processed'": LARGER_BATCH,
    "member_commits without the guard 'position is beyond the last commit'": SAME_COMMIT,
    **mutants_of_commit("member_commits"),
}

CLOSING: Mapping[str, Mutants] = {
    "commit-async-close": {
        "member_closes without the guard 'member is in the group'": NOTHING_TO_REPEAT,
        "member_closes without the guard 'member reads a partition'": NOTHING_TO_REPEAT,
        "member_closes without the guard 'every fetched record is processed'": GIVEN_UP,
        "member_closes forgets in_flight": ARRIVES_ANYWAY,
        **mutants_of_close("member_closes"),
    },
    "async-then-sync": mutants_of_close("member_commits_and_closes"),
    "commit-in-finally": mutants_of_close("member_fails_and_commits_position"),
    "commit-processed-in-finally": {
        "member_fails_and_commits_processed forgets in_flight": ARRIVES_ANYWAY,
        **mutants_of_close("member_fails_and_commits_processed"),
    },
}

WITHIN_BATCH: Mapping[str, Mutants] = {
    "commit-within-batch": {
        "member_commits_processed without the guard "
        "'a record is processed since the last commit'": SAME_COMMIT,
        **mutants_of_commit("member_commits_processed"),
    },
    "commit-position-within-batch": mutants_of_commit("member_commits_position_within_batch"),
    "commit-offset-of-last-record": {
        "member_commits_offset_of_last_record makes progress.committed one more": (
            "The member commits less often."
        ),
        **mutants_of_commit("member_commits_offset_of_last_record"),
    },
}

AUTO_COMMIT: Mapping[str, Mutants] = {
    "stored-offsets": {
        "client_commits_stored_offsets without the guard "
        "'stored offset is beyond the last commit'": SAME_COMMIT,
        "client_commits_stored_offsets forgets progress.committed": SAME_COMMIT,
        "client_commits_stored_offsets makes progress.committed one less": SAME_COMMIT,
    },
    "auto-commit-steps": {
        "client_rejoins without the guard 'every fetched record is processed'": GIVEN_UP,
        "member_polls_unless_rejoining without the guard 'member owns the partition'": READS_ON,
        "member_polls_unless_rejoining forgets progress.committed": SAME_COMMIT,
        "member_polls_unless_rejoining makes progress.committed one less": SAME_COMMIT,
        "member_polls_unless_rejoining makes progress.committed one more": (
            "The member commits less often, and in any case before it rejoins."
        ),
        "client_commits_before_rejoining without the guard 'member is not rejoining'": SAME_COMMIT,
        "client_commits_before_rejoining forgets in_flight": LOOKS_LOST,
        "client_commits_before_rejoining loses the end of in_flight": LOOKS_LOST,
    },
    "auto-commit-3.2.1": {
        "client_repeats_commit without the guard 'no commit is in flight'": SAME_COMMIT,
        "client_repeats_commit without the guard 'commit has failed'": SAME_COMMIT,
        "client_repeats_commit forgets progress.committed": SAME_COMMIT,
        "client_repeats_commit makes progress.committed one less": SAME_COMMIT,
        "client_repeats_commit forgets in_flight": LOOKS_LOST,
        "client_repeats_commit loses the end of in_flight": LOOKS_LOST,
        "member_polls_while_rejoining without the guard 'commit is not answered'": (
            "It then polls like a member that is not rejoining."
        ),
        "member_polls_while_rejoining without the guard 'member owns the partition'": READS_ON,
        "member_polls_while_rejoining without the guard 'every fetched record is processed'": (
            LARGER_BATCH
        ),
        "member_polls_while_rejoining forgets progress.position": (
            "The rule is the fault: without an effect, the variant is auto-commit-steps."
        ),
        "member_polls_while_rejoining makes progress.position one less": (
            "The rule is the fault: without an effect, the variant is auto-commit-steps."
        ),
    },
    "auto-commit-3.2.0": {
        "coordinator_assigns_partition_after_commits without the guard 'no commit is in flight'": (
            LOOKS_LOST
        ),
    },
}

PROCESSING: Mapping[str, Mutants] = {
    "workers-prefix": {
        "member_polls_without_waiting without the guard 'member owns the partition'": READS_ON,
    },
    "workers-latest": {
        "member_commits_latest without the guard 'latest record is beyond the last commit'": (
            SAME_COMMIT
        ),
        **mutants_of_commit("member_commits_latest"),
    },
    "store-apart": {
        "member_stores_offset without the guard 'a record is processed since the last commit'": (
            SAME_COMMIT
        ),
        "member_stores_offset forgets progress.committed": SAME_COMMIT,
        "member_stores_offset makes progress.committed one less": SAME_COMMIT,
        "member_stores_offset forgets committed": LOOKS_LOST,
        "member_stores_offset forgets highest": ALREADY_FAILS,
        "member_stores_offset makes highest one more": ALREADY_FAILS,
        "member_stores_offset makes highest one less": ALREADY_FAILS,
    },
    "store-together": {
        "member_stores_result_with_offset forgets progress.committed": UNREAD,
        "member_stores_result_with_offset makes progress.committed one less": UNREAD,
    },
    "store-conditional": {
        "member_stores_result_if_next forgets progress.processed": (
            "The store rejects the record when the member processes it again."
        ),
        "member_stores_result_if_next makes progress.processed one less": (
            "The store rejects the record when the member processes it again."
        ),
        "member_stores_result_if_next forgets progress.committed": UNREAD,
        "member_stores_result_if_next makes progress.committed one less": UNREAD,
        "store_rejects_result without the guard 'a fetched record is not processed'": (
            "The member seeks to the stored offset, where it would begin anyway."
        ),
        "store_rejects_result without the guard 'record is not next in the store'": (
            "The member seeks to the record, and reads it again."
        ),
        "store_rejects_result forgets progress.processed": (
            "The store rejects the record when the member processes it again."
        ),
        "store_rejects_result makes progress.processed one less": (
            "The store rejects the record when the member processes it again."
        ),
        "store_rejects_result forgets progress.committed": UNREAD,
        "store_rejects_result makes progress.committed one less": UNREAD,
    },
    "filter-position": {
        "member_filters_record without the guard 'record is filtered'": (
            "Which records the filter drops does not matter."
        ),
        "member_processes_unfiltered_record makes processed one more": ALREADY_FAILS,
    },
    "filter-last-seen": mutants_of_commit("member_commits_after_last_seen_record"),
    "poison-dead-letter": {
        "member_writes_dead_letter without the guard 'record is poison'": (
            "A record in the dead letter topic counts as processed."
        ),
        "member_writes_dead_letter makes processed one more": ALREADY_FAILS,
        "member_processes_healthy_record makes processed one more": ALREADY_FAILS,
        "member_processes_healthy_record without the guard 'record is not poison'": (
            "A record that can be processed after all needs no dead letter."
        ),
    },
}

EQUIVALENT: Mapping[str, Mutants] = {
    "listener": LISTENER,
    **CLOSING,
    **WITHIN_BATCH,
    **AUTO_COMMIT,
    **PROCESSING,
}
"""By variant: the equivalent mutants of the rules that it adds, each with the reason."""

TWO_PARTITIONS = {"partitions": 2, "records": 1}
"""Bounds in which a member may own one partition and not the other."""

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
    bounds=({"records": 1}, {}),
    equivalent=EQUIVALENT,
    bounds_for={
        "listener": {
            "coordinator_assigns_partition without the guard 'member is running'": TWO_PARTITIONS,
        },
        "auto-commit-3.2.0": {
            "coordinator_assigns_partition_after_commits without the guard 'member is running'": (
                TWO_PARTITIONS
            ),
        },
        "auto-commit-3.2.1": {
            f"{rule} without the guard 'consumer reads the partition'": TWO_PARTITIONS
            for rule in ("client_repeats_commit", "member_polls_while_rejoining")
        },
    },
)
