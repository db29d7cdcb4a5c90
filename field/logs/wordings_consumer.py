"""What Java's consumer logs: also in Kafka Connect's workers and Kafka Streams' applications.

Base lines are of AbstractCoordinator; the lines of ConsumerCoordinator about assignments moved to
ConsumerRebalanceListenerInvoker in 3.7. Clients in other languages use other words.
"""

from __future__ import annotations

from kspec.field.logs.wordings import Wording

BASE = "AbstractCoordinator"
CONSUMER = "ConsumerCoordinator"

GENERATION = "Generation{generationId={generation}, memberId='{member}', protocol='{protocol}'}"

ROUNDS = (
    Wording("joining", "(Re-)joining group", "0.11", "", f"{BASE}.sendJoinGroupRequest"),
    Wording(
        "rejoin_requested",
        "Request joining group due to: {reason}",
        "3.0",
        "",
        f"{BASE}.requestRejoin",
    ),
    Wording(
        "rejoin_requested",
        "Attempt to heartbeat failed since group is rebalancing",
        "1.0",
        "2.8",
        f"{BASE}.HeartbeatResponseHandler",
        values=(("reason", "group is already rebalancing"),),
    ),
    Wording(
        "rejoin_requested",
        "Need to revoke partitions {_} and re-join the group",
        "2.4",
        "2.8",
        f"{CONSUMER}.onJoinComplete",
        values=(("reason", "need to revoke partitions"),),
    ),
    Wording(
        "joined",
        f"Successfully joined group with generation {GENERATION}",
        "2.6",
        "",
        f"{BASE}.JoinGroupResponseHandler",
    ),
    Wording(
        "synced",
        "Successfully joined group with generation {generation}",
        "0.9",
        "2.5",
        f"{BASE}.joinGroupIfNeeded",
    ),
    Wording(
        "synced",
        f"Successfully synced group in generation {GENERATION}",
        "2.6",
        "",
        f"{BASE}.SyncGroupResponseHandler",
    ),
    Wording(
        "assigned",
        "Adding newly assigned partitions: {assigned}",
        "2.4",
        "",
        f"{CONSUMER}.invokePartitionsAssigned; ConsumerRebalanceListenerInvoker",
    ),
    Wording(
        "assigned",
        "Setting newly assigned partitions: {assigned}",
        "2.2",
        "2.3",
        f"{CONSUMER}.onJoinComplete",
    ),
    Wording(
        "assigned",
        "Setting newly assigned partitions [{assigned}]",
        "1.0",
        "2.1",
        f"{CONSUMER}.onJoinComplete",
    ),
    Wording(
        "revoked",
        "Revoke previously assigned partitions {assigned}",
        "2.4",
        "",
        f"{CONSUMER}.invokePartitionsRevoked; ConsumerRebalanceListenerInvoker",
    ),
    Wording(
        "revoked",
        "Revoking previously assigned partitions {assigned}",
        "0.9",
        "2.3",
        f"{CONSUMER}.onJoinPrepare",
    ),
    Wording(
        "lost",
        "Lost previously assigned partitions {assigned}",
        "2.4",
        "",
        f"{CONSUMER}.invokePartitionsLost; ConsumerRebalanceListenerInvoker",
    ),
    Wording(
        "generation_reset",
        "Resetting generation and member id due to: {reason}",
        "3.2",
        "",
        f"{BASE}.resetStateAndGeneration",
    ),
    Wording(
        "generation_reset",
        "Resetting generation due to: {reason}",
        "3.2",
        "",
        f"{BASE}.resetStateAndGeneration",
    ),
    Wording(
        "poll_timeout",
        "consumer poll timeout has expired. This means the time between subsequent calls to poll() "
        "was longer than the configured max.poll.interval.ms{_}",
        "2.6",
        "",
        f"{BASE}.handlePollTimeoutExpiry",
        "WARN",
    ),
    Wording(
        "poll_timeout",
        "This member will leave the group because consumer poll timeout has expired{_}",
        "2.3",
        "2.3",
        f"{BASE}.HeartbeatThread.run",
        "WARN",
    ),
    Wording(
        "leaving",
        "Member {member} sending LeaveGroup request to coordinator {_} due to {reason}",
        "2.4",
        "",
        f"{BASE}.maybeLeaveGroup",
    ),
    Wording(
        "heartbeat_failed",
        "Attempt to heartbeat with {_} and group instance id {_} failed due to {error}, resetting "
        "generation",
        "2.6",
        "",
        f"{BASE}.HeartbeatResponseHandler",
    ),
    Wording(
        "join_failed",
        f"JoinGroup failed: {{reason}} Need to re-join the group. Sent generation was {GENERATION}",
        "2.7",
        "",
        f"{BASE}.JoinGroupResponseHandler",
    ),
    Wording(
        "sync_failed",
        f"SyncGroup failed: {{reason}} Need to re-join the group. Sent generation was {GENERATION}",
        "2.7",
        "",
        f"{BASE}.SyncGroupResponseHandler",
    ),
    Wording(
        "coordinator_lost",
        "Group coordinator {_} is unavailable or invalid due to cause: {reason}. isDisconnected: "
        "{_}",
        "3.3",
        "",
        f"{BASE}.markCoordinatorUnknown",
    ),
    Wording(
        "coordinator_lost",
        "Group coordinator {_} is unavailable or invalid due to cause: {reason}."
        "isDisconnected: {_}",
        "2.7",
        "3.2",
        f"{BASE}.markCoordinatorUnknown",
    ),
    Wording(
        "coordinator_lost",
        "Group coordinator {_} is unavailable or invalid, will attempt rediscovery",
        "1.0",
        "2.6",
        f"{BASE}.markCoordinatorUnknown",
    ),
    Wording(
        "coordinator_found",
        "Discovered group coordinator {coordinator} (id: {_}",
        "0.9",
        "",
        f"{BASE}.FindCoordinatorResponseHandler",
    ),
)

OFFSETS = (
    Wording(
        "position",
        "Setting offset for partition {partition} to the committed offset FetchPosition{"
        "offset={offset}, {_}",
        "2.3",
        "",
        f"{CONSUMER}.refreshCommittedOffsetsIfNeeded; from 3.7 ConsumerUtils, without a prefix",
        values=(("from", "committed"),),
    ),
    Wording(
        "position",
        "Resetting offset for partition {partition} to position FetchPosition{offset={offset}, {_}",
        "2.7",
        "",
        "SubscriptionState.maybeSeekUnvalidated",
        values=(("from", "reset"),),
    ),
    Wording(
        "position",
        "Resetting offset for partition {partition} to offset {offset}",
        "2.1",
        "2.6",
        "SubscriptionState.maybeSeekUnvalidated",
        values=(("from", "reset"),),
    ),
    Wording(
        "committed",
        "Committed offset {offset} for partition {partition}",
        "0.9",
        "",
        f"{CONSUMER}.OffsetCommitResponseHandler",
        "DEBUG",
    ),
    Wording(
        "commit_failed",
        "Offset commit failed on partition {partition} at offset {offset}: {reason}",
        "2.0",
        "",
        f"{CONSUMER}.OffsetCommitResponseHandler",
        "WARN",
    ),
    Wording(
        "truncation_detected",
        "Truncation detected for partition {partition} at offset {_}",
        "2.3",
        "",
        "SubscriptionState.maybeCompleteValidation",
    ),
)

KNOWN = tuple(
    Wording("", text, since, until, source)
    for text, since, until, source in (
        ("Finished assignment for group at generation {_}", "2.4", "", CONSUMER),
        ("Notifying assignor about the new {_}", "2.6", "", CONSUMER),
        ("Updating assignment with{_}", "2.4", "", CONSUMER),
        ("Found no committed offset for partition {_}", "2.4", "", CONSUMER),
        ("Giving away all assigned partitions as lost {_}", "2.4", "", CONSUMER),
        ("Failing OffsetCommit request since the consumer is not part of {_}", "2.3", "", CONSUMER),
        ("Requesting disconnect from last known coordinator {_}", "3.4", "", BASE),
        ("Seeking to {_}", "2.3", "", "SubscriptionState"),
        ("Asynchronous auto-commit of offsets {_}", "2.0", "", CONSUMER),
        ("Synchronous auto-commit of offsets {_}", "2.0", "", CONSUMER),
        ("Subscribed to topic(s): {_}", "2.1", "", "KafkaConsumer.subscribe"),
        ("Subscribed to pattern: {_}", "2.1", "", "KafkaConsumer.subscribe"),
        ("The pause flag in partitions {_}", "3.2", "", CONSUMER),
        ("JoinGroup failed: Coordinator {_} is loading the group", "2.7", "", BASE),
        ("JoinGroup failed: {_} Marking coordinator unknown. {_}", "2.7", "", BASE),
        ("SyncGroup failed: {_} Marking coordinator unknown. {_}", "2.7", "", BASE),
        ("LeaveGroup request with {_} failed with error: {_}", "2.6", "", BASE),
        ("Skipped assignment for returning static leader {_}", "3.2", "", CONSUMER),
        ("Rebalance failed", "2.6", "2.8", f"{BASE}.joinGroupIfNeeded"),
        ("Generation data was cleared by heartbeat thread {_}", "2.6", "", BASE),
        ("Attempt to heartbeat failed since coordinator {_}", "0.9", "", BASE),
    )
)
"""Lines that are understood and tell no event."""

CONSUMER_LINES = ROUNDS + OFFSETS + KNOWN
"""Every wording of a Java consumer."""
