"""What a group coordinator logs of members that go, of groups that move and end, and of KIP-848."""

from __future__ import annotations

from kspec.field.logs.wordings import Wording

JAVA = "GroupMetadataManager"
SCALA = "GroupCoordinator.scala"

LEAVING = (
    Wording(
        "member_expired",
        "Member {member} in group {group} has failed, removing it from the group",
        "0.10",
        "",
        f"{JAVA}.expireClassicGroupMemberHeartbeat; {SCALA}.onExpireHeartbeat",
    ),
    Wording(
        "pending_expired",
        "Pending member {member} in group {group} has been removed after session timeout "
        "expiration",
        "2.2",
        "",
        f"{JAVA}.expireClassicGroupMemberHeartbeat; {SCALA}.onExpireHeartbeat",
    ),
    Wording(
        "member_left",
        "[Group {group}] Member {member} has left group through explicit `LeaveGroup` request; "
        "client reason: {reason}",
        "3.7",
        "",
        f"{JAVA}.classicGroupLeaveToClassicGroup",
    ),
    Wording(
        "member_left",
        "Member MemberMetadata(memberId={member}, groupInstanceId={_}, clientId={client}, "
        "clientHost={_}, sessionTimeoutMs={session_timeout}, rebalanceTimeoutMs={rebalance_timeout}"
        ", supportedProtocols={_}) has left group {group} through explicit `LeaveGroup`; client "
        "reason: {reason}",
        "3.2",
        "3.9",
        f"{SCALA}.removeCurrentMemberFromGroup",
    ),
    Wording(
        "member_left",
        "Member MemberMetadata(memberId={member}, groupInstanceId={_}, clientId={client}, "
        "clientHost={_}, sessionTimeoutMs={session_timeout}, rebalanceTimeoutMs={rebalance_timeout}"
        ", supportedProtocols={_}) has left group {group} through explicit `LeaveGroup`",
        "3.0",
        "3.1",
        f"{SCALA}.removeCurrentMemberFromGroup",
    ),
    Wording(
        "member_left",
        "Member[group.instance.id {_}, member.id {member}] in group {group} has left, removing it "
        "from the group",
        "2.4",
        "2.8",
        f"{SCALA}.handleLeaveGroup",
    ),
    Wording(
        "member_left",
        "Member {member} in group {group} has left, removing it from the group",
        "2.2",
        "2.3",
        f"{SCALA}.handleLeaveGroup",
    ),
    Wording(
        "pending_left",
        "[Group {group}] Pending member {member} has left group through explicit `LeaveGroup` "
        "request; client reason: {reason}",
        "3.7",
        "",
        f"{JAVA}.classicGroupLeaveToClassicGroup",
    ),
    Wording(
        "pending_left",
        "Pending member with memberId={member} has left group {group} through explicit "
        "`LeaveGroup` request{_}",
        "3.0",
        "3.9",
        f"{SCALA}.handleLeaveGroup",
    ),
    Wording(
        "pending_left",
        "Pending member {member} is leaving group {group}",
        "2.2",
        "2.8",
        f"{SCALA}.handleLeaveGroup",
    ),
    Wording(
        "fenced",
        "Request memberId={member} for static member with groupInstanceId={instance} is fenced by "
        "{_} memberId={other_member} during operation {operation}",
        "3.0",
        "",
        f"ClassicGroup.validateMember; {SCALA}.validateCurrentMember",
    ),
    Wording(
        "refused_rejoin",
        "Attempt to add rejoining member {member} of group {group} in unexpected group state "
        "{state}",
        "2.2",
        "",
        f"{JAVA}.classicGroupJoinExistingMember; {SCALA}.doCurrentMemberJoinGroup",
        "WARN",
    ),
)

LIVES = (
    Wording(
        "coordinator_started",
        "[GroupCoordinator id={broker}] Starting up",
        "3.6",
        "",
        "GroupCoordinatorService.startup",
    ),
    Wording(
        "coordinator_started",
        "[GroupCoordinator {broker}]: Starting up",
        "0.9",
        "3.9",
        f"{SCALA}.startup",
    ),
    Wording(
        "groups_deleted",
        "The following groups were deleted: {groups}. A total of {count} offsets were removed",
        "2.0",
        "",
        f"GroupCoordinatorShard.deleteGroups; {SCALA}.handleDeleteGroups",
    ),
    Wording(
        "dead",
        "Group {group} transitioned to Dead in generation {generation}",
        "0.11",
        "3.9",
        "GroupMetadataManager.scala.cleanupGroupMetadata",
    ),
    Wording(
        "loaded",
        "Loading group metadata for {group} with generation {generation}",
        "0.9",
        "3.9",
        f"{SCALA}.onGroupLoaded",
    ),
    Wording(
        "loaded",
        "Loaded classic group {group} with {members} members",
        "3.7",
        "",
        f"{JAVA}.onLoaded",
    ),
    Wording(
        "member_loaded",
        "Loaded member MemberMetadata(memberId={member}, groupInstanceId={_}, clientId={client}, "
        "clientHost={_}, sessionTimeoutMs={session_timeout}, rebalanceTimeoutMs={rebalance_timeout}"
        ", supportedProtocols={_}) in group {group} with generation {generation}",
        "2.8",
        "3.9",
        f"{SCALA}.onGroupLoaded via GroupMetadata$.loadGroup",
    ),
    Wording(
        "unloaded",
        "[GroupId={group}] Unloading group metadata for generation {generation}",
        "3.8",
        "",
        f"{JAVA}.onUnloaded",
    ),
    Wording(
        "unloaded",
        "Unloading group metadata for {group} with generation {generation}",
        "0.9",
        "3.9",
        f"{SCALA}.onGroupUnloaded",
    ),
    Wording(
        "coordinator_elected",
        "Scheduling loading of metadata from __consumer_offsets-{offsets_partition} with epoch "
        "{epoch}",
        "3.6",
        "",
        "CoordinatorRuntime.scheduleLoadOperation",
    ),
    Wording(
        "coordinator_elected",
        "Elected as the group coordinator for partition {offsets_partition} in epoch {epoch}",
        "2.8",
        "3.9",
        f"{SCALA}.onElection",
    ),
    Wording(
        "coordinator_resigned",
        "Resigned as the group coordinator for partition {offsets_partition} in epoch {_}",
        "2.8",
        "3.9",
        f"{SCALA}.onResignation",
    ),
    Wording(
        "write_failed",
        "Failed to write empty metadata for group {group}: {reason}",
        "2.0",
        "",
        f"{JAVA}.completeClassicGroupJoin; {SCALA}.onCompleteJoin",
        "WARN",
    ),
)

CONSUMER_PROTOCOL = (
    Wording(
        "converted",
        "[GroupId {group}] Converted the {_} group to a {_} group",
        "4.0",
        "",
        f"{JAVA}.convertToConsumerGroup, convertToClassicGroup (KIP-848)",
    ),
    Wording(
        "epoch_bumped",
        "[GroupId {group}] Bumped group epoch to {epoch} with metadata hash {_}",
        "4.1",
        "",
        f"{JAVA}.consumerGroupHeartbeat",
    ),
    Wording(
        "epoch_bumped",
        "[GroupId {group}] Bumped group epoch to {epoch}",
        "3.6",
        "4.0",
        f"{JAVA}.consumerGroupHeartbeat",
    ),
    Wording(
        "member_added",
        "[GroupId {group}] Member {member} joins the consumer group using the {_} protocol",
        "3.9",
        "",
        f"{JAVA}.getOrMaybeSubscribeDynamicConsumerMember",
    ),
    Wording(
        "static_member_added",
        "[GroupId {group}] Static member {member} with instance id {instance} joins the consumer "
        "group using the {_} protocol",
        "3.9",
        "",
        f"{JAVA}.getOrMaybeSubscribeStaticConsumerMember",
    ),
    Wording(
        "member_left",
        "[GroupId {group}] Member {member} left the consumer group",
        "3.6",
        "",
        f"{JAVA}.consumerGroupLeave",
    ),
    Wording(
        "member_fenced",
        "[GroupId {group}] Member {member} fenced from the group because it failed to transition "
        "from epoch {epoch} within {milliseconds}ms",
        "3.8",
        "",
        f"{JAVA}.scheduleConsumerGroupRebalanceTimeout",
    ),
    Wording(
        "member_fenced",
        "[GroupId {group}] Member {member} fenced from the group because {reason}",
        "3.6",
        "",
        f"{JAVA}.consumerGroupFenceMember",
    ),
)

KNOWN = tuple(
    Wording("", text, since, until, source)
    for text, since, until, source in (
        ("Startup complete", "0.9", "", "GroupCoordinatorService.startup"),
        ("Shutting down", "0.9", "", "GroupCoordinatorService.shutdown"),
        ("Shutdown complete", "0.9", "", "GroupCoordinatorService.shutdown"),
        (
            "Static member which joins during Stable stage and doesn't affect {_} not trigger{_}",
            "2.5",
            "",
            f"{JAVA}.updateStaticMemberThenRebalanceOrCompleteJoin",
        ),
        ("Static member joins during {_} stage will not trigger rebalance", "2.3", "2.4", SCALA),
        ("Static member {_} with unknown member id rejoins, {_}", "2.3", "2.4", SCALA),
        ("Scheduling unloading of metadata for {_}", "3.6", "", "CoordinatorRuntime"),
        ("Started unloading metadata for {_}", "3.6", "", "CoordinatorRuntime"),
        ("Ignored unloading metadata for {_}", "3.6", "", "CoordinatorRuntime"),
        ("Finished loading of metadata from {_}", "3.6", "", "CoordinatorRuntime"),
        ("Finished loading offsets and group metadata from {_}", "0.9", "3.9", "Scala"),
        ("Scheduling loading of offsets and group metadata from {_}", "0.9", "3.9", "Scala"),
        ("Scheduling unloading of offsets and group metadata from {_}", "0.9", "3.9", "Scala"),
        ("Finished unloading {_}", "0.9", "", "both"),
        ("Removed {count} offsets associated with deleted partitions{_}", "0.11", "", "both"),
        ("Removed {count} expired offsets in {_}", "0.9", "3.9", "Scala"),
        ("Setting empty assignments for members {_}", "2.8", "", f"{JAVA}; {SCALA}"),
        ("Creating a simple consumer group via manual offset commit", "4.0", "", "Java"),
        ("Group {_} is dead, skipping rebalance stage", "2.3", "", f"{JAVA}; {SCALA}"),
        (
            "Received notification of heartbeat expiration for member {_}",
            "2.2",
            "",
            f"{JAVA}.expireClassicGroupMemberHeartbeat",
        ),
        ("[GroupId {_}] Static member {_}", "3.7", "", f"{JAVA}.consumerGroupLeave"),
        ("[GroupId {_}] Scanned {_} topics to refresh regular expressions {_}", "4.0", "", JAVA),
        ("[GroupId {_}] Computed {_}", "3.8", "", f"{JAVA}.consumerGroupHeartbeat"),
        ("[GroupId {_}] Member {_} new assignment state: {_}", "3.8", "", JAVA),
        ("[GroupId {_}] Member {_} updated its subscribed {_}", "3.6", "", JAVA),
        ("[GroupId {_}] Dynamic member with unknown member id joins {_}", "3.8", "", JAVA),
    )
)
"""Lines that are understood and tell no event."""
