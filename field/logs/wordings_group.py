"""What a group coordinator logs, version by version.

Java: `GroupMetadataManager` of Kafka 4.x (3.6 to 3.9 with the new coordinator enabled).
Scala: `GroupCoordinator` of 3.9 and older.
"""

from __future__ import annotations

from kspec.field.logs.wordings import Wording
from kspec.field.logs.wordings_members import (
    CONSUMER_PROTOCOL,
    JAVA,
    KNOWN,
    LEAVING,
    LIVES,
    SCALA,
)

JOINING = (
    Wording(
        "member_id_issued",
        "Dynamic member with unknown member id joins group {group} in {state} state. Created a "
        "new member id {member} and requesting the member to rejoin with this id",
        "3.6",
        "",
        f"{JAVA}.classicGroupJoinNewDynamicMember",
    ),
    Wording(
        "member_id_issued",
        "Dynamic member with unknown member id joins group {group} in {state} state. Created a "
        "new member id {member} and request the member to rejoin with this id",
        "2.5",
        "3.9",
        f"{SCALA}.doNewMemberJoinGroup, doDynamicNewMemberJoinGroup (DEBUG up to 2.8)",
    ),
    Wording(
        "member_id_issued",
        "Dynamic member with unknown member id rejoins group {group} in {state} state. Created a "
        "new member id {member} and request the member to rejoin with this id",
        "2.4",
        "2.4",
        f"{SCALA}.doUnknownJoinGroup",
        "DEBUG",
    ),
    Wording(
        "member_added",
        "Pending dynamic member with id {member} joins group {group} in {state} state. Adding to "
        "the group now",
        "3.0",
        "",
        f"{JAVA}.classicGroupJoinExistingMember; {SCALA} (DEBUG up to 3.9)",
    ),
    Wording(
        "member_added",
        "Dynamic member with unknown member id joins group {group} in state {state}. Created a "
        "new member id {member} and added the member to the group",
        "3.6",
        "",
        f"{JAVA}.classicGroupJoinNewDynamicMember",
    ),
    Wording(
        "member_added",
        "Dynamic Member with unknown member id joins group {group} in {state} state. Created a "
        "new member id {member} for this member and add to the group",
        "2.5",
        "3.9",
        f"{SCALA}.doNewMemberJoinGroup, doDynamicNewMemberJoinGroup",
    ),
    Wording(
        "member_added",
        "Static Member with unknown member id joins group {group} in {state} state. Created a "
        "new member id {member} for this member and add to the group",
        "2.5",
        "2.8",
        f"{SCALA}.doUnknownJoinGroup",
    ),
    Wording(
        "static_member_added",
        "Static member with groupInstanceId={instance} and unknown member id joins group {group} "
        "in {state} state. Created a new member id {member} for this member and added to the group",
        "3.6",
        "",
        f"{JAVA}.classicGroupJoinNewStaticMember",
    ),
    Wording(
        "static_member_added",
        "Static member with groupInstanceId={instance} and unknown member id joins group {group} "
        "in {state} state. Created a new member id {member} for this member and add to the group",
        "3.0",
        "3.9",
        f"{SCALA}.doStaticNewMemberJoinGroup",
    ),
    Wording(
        "static_member_added",
        "Adding new static member {instance} to group {group} with member id {member}",
        "2.5",
        "2.8",
        f"{SCALA}.addMemberAndRebalance",
    ),
    Wording(
        "static_member_replaced",
        "Static member with groupInstanceId={instance} and unknown member id joins group {group} "
        "in {state} state. Replacing previously mapped member {member} with this groupInstanceId",
        "3.0",
        "",
        f"{JAVA}.classicGroupJoinNewStaticMember; {SCALA}.doStaticNewMemberJoinGroup",
    ),
    Wording(
        "static_member_replaced",
        "Static member {instance} of group {group} with unknown member id rejoins, assigning new "
        "member id {new_member}, while old member id {member} will be removed",
        "2.8",
        "2.8",
        f"{SCALA}.updateStaticMemberAndRebalance",
    ),
    Wording(
        "static_member_replaced",
        "Static member {instance} of group {group} with unknown member id rejoins, assigning new "
        "member id {new_member}, while old member {member} will be removed",
        "2.5",
        "2.7",
        f"{SCALA}.updateStaticMemberAndRebalance",
    ),
)

ROUNDS = (
    Wording(
        "preparing",
        "Preparing to rebalance group {group} in state {state} with old generation {generation} "
        "(__consumer_offsets-{_}) (reason: {reason})",
        "2.1",
        "3.9",
        f"{SCALA}.prepareRebalance",
    ),
    Wording(
        "preparing",
        "Preparing to rebalance group {group} in state {state} with old generation {generation} "
        "(reason: {reason})",
        "3.6",
        "",
        f"{JAVA}.prepareRebalance",
    ),
    Wording(
        "preparing",
        "Preparing to rebalance group {group} with old generation {generation} "
        "(__consumer_offsets-{_})",
        "0.9",
        "2.0",
        f"{SCALA}.prepareRebalance",
    ),
    Wording(
        "members_removed",
        "Group {group} removed dynamic members who haven't joined: {removed}",
        "2.8",
        "",
        f"{JAVA}.completeClassicGroupJoin; {SCALA}.onCompleteJoin",
    ),
    Wording(
        "none_rejoined",
        "Group {group} could not complete rebalance because no members rejoined",
        "2.3",
        "",
        f"{JAVA}.completeClassicGroupJoin; {SCALA}.onCompleteJoin",
        "ERROR",
    ),
    Wording(
        "leader_elected",
        "Group leader [memberId: {member}, groupInstanceId: {_}] failed to join before the "
        "rebalance timeout. Member {new_leader_member} was elected as the new leader",
        "3.6",
        "",
        "ClassicGroup.maybeElectNewJoinedLeader",
    ),
    Wording(
        "leader_elected",
        "Group leader [member.id: {member}, group.instance.id: {_}] failed to join before "
        "rebalance timeout, while new leader {new_leader_member} was elected",
        "2.3",
        "3.9",
        "GroupMetadata.maybeElectNewJoinedLeader",
    ),
    Wording(
        "stabilized",
        "Stabilized group {group} generation {generation} with {members} members",
        "3.6",
        "",
        f"{JAVA}.completeClassicGroupJoin",
    ),
    Wording(
        "stabilized",
        "Stabilized group {group} generation {generation} (__consumer_offsets-{_}) with {members} "
        "members",
        "2.8",
        "3.9",
        f"{SCALA}.onCompleteJoin",
    ),
    Wording(
        "stabilized",
        "Stabilized group {group} generation {generation} (__consumer_offsets-{_})",
        "0.9",
        "2.7",
        f"{SCALA}.onCompleteJoin",
    ),
    Wording(
        "emptied",
        "Group {group} with generation {generation} is now empty (__consumer_offsets-{_})",
        "0.10",
        "3.9",
        f"{SCALA}.onCompleteJoin",
    ),
    Wording(
        "emptied",
        "Group {group} with generation {generation} is now empty",
        "3.6",
        "",
        f"{JAVA}.completeClassicGroupJoin",
    ),
    Wording(
        "assigned",
        "Assignment received from leader {member} for group {group} for generation {generation}. "
        "The group has {members} members, {static} of which are static",
        "3.0",
        "",
        f"{JAVA}.classicGroupSyncToClassicGroup; {SCALA}.doSyncGroup",
    ),
    Wording(
        "assigned",
        "Assignment received from leader for group {group} for generation {generation}. "
        "The group has {members} members, {static} of which are static",
        "2.8",
        "2.8",
        f"{SCALA}.doSyncGroup",
    ),
    Wording(
        "assigned",
        "Assignment received from leader for group {group} for generation {generation}",
        "0.9",
        "2.7",
        f"{SCALA}.doSyncGroup",
    ),
    Wording(
        "sync_removed",
        "Group {group} removed members who haven't sent their sync requests: {removed}",
        "3.6",
        "",
        f"{JAVA}.expirePendingSync",
        "DEBUG",
    ),
    Wording(
        "sync_removed",
        "Group {group} removed members who haven't sent their sync request: {removed}",
        "2.8",
        "3.9",
        f"{SCALA}.onExpirePendingSync",
        "DEBUG",
    ),
)

GROUP = JOINING + ROUNDS + LEAVING + LIVES + CONSUMER_PROTOCOL + KNOWN
"""Every wording of a group coordinator."""
