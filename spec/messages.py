"""The requests, responses and records that group members and their coordinator exchange.

Data only, no rules: the specification (`spec.coordinator`) and the fast coordinator
(`kspec.impl.coordinator`) share these types. Subscriptions and assignments are opaque to the
coordinator: any hashable value here, bytes in Kafka. Field names follow Kafka's message schemas
(`clients/src/main/resources/common/message`, tag 4.0.0).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import TypeAlias

import attrs

from kspec.spec.vocabulary import TopicPartition

NO_MEMBER_ID = ""
"""The member id of a client that has none yet. Kafka: `JoinGroupRequest.UNKNOWN_MEMBER_ID`."""
NO_GENERATION = -1
"""The generation of a client outside any. Kafka: `JoinGroupRequest.UNKNOWN_GENERATION_ID`."""
NO_ASSIGNMENT: tuple[()] = ()
"""The assignment of a member that the leader left out: empty bytes in Kafka."""


class GroupState(StrEnum):
    """The state of a group. Kafka: `ClassicGroupState`."""

    EMPTY = "Empty"
    """The group has no members; it may still have committed offsets."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """The coordinator waits for members to join."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation has begun, and the coordinator waits for the leader's assignments."""
    STABLE = "Stable"
    """The assignments are stored, and members fetch them with SyncGroup."""
    DEAD = "Dead"
    """The group was deleted, or has moved to another coordinator."""


class Error(StrEnum):
    """The error code of a response, by its name in the protocol."""

    NONE = "NONE"
    """The request succeeded."""
    COORDINATOR_LOAD_IN_PROGRESS = "COORDINATOR_LOAD_IN_PROGRESS"
    """The coordinator is still reading its partition of the offsets topic."""
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
    """The coordinator is shutting down, or could not write to the offsets topic."""
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
    """Another member has taken over this instance id."""
    GROUP_ID_NOT_FOUND = "GROUP_ID_NOT_FOUND"
    """The coordinator does not know the group."""
    GROUP_MAX_SIZE_REACHED = "GROUP_MAX_SIZE_REACHED"
    """The group has `group.max.size` members."""
    GROUP_SUBSCRIBED_TO_TOPIC = "GROUP_SUBSCRIBED_TO_TOPIC"
    """Offsets of a topic that the group subscribes to are not deleted on request."""
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
    """The request names a generation that is not the group's."""
    INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
    """The protocol type or the protocols do not match the group's."""
    INVALID_GROUP_ID = "INVALID_GROUP_ID"
    """The group id is empty."""
    INVALID_SESSION_TIMEOUT = "INVALID_SESSION_TIMEOUT"
    """The session timeout is outside the broker's limits."""
    MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
    """The response carries a member id; the client must join again with it (KIP-394)."""
    NON_EMPTY_GROUP = "NON_EMPTY_GROUP"
    """The group has members, so it is not deleted."""
    NOT_COORDINATOR = "NOT_COORDINATOR"
    """Another broker coordinates the group."""
    OFFSET_METADATA_TOO_LARGE = "OFFSET_METADATA_TOO_LARGE"
    """The metadata of a committed offset exceeds `offset.metadata.max.bytes`."""
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
    """The group is rebalancing; the member must join again."""
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    """The group has no such member."""
    UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"
    """The broker failed in a way that the protocol does not describe."""
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    """The partition does not exist."""
    # The rest are reasons why an append to the offsets topic fails; no client receives them.
    INVALID_FETCH_SIZE = "INVALID_FETCH_SIZE"
    """The append exceeds a size limit."""
    KAFKA_STORAGE_ERROR = "KAFKA_STORAGE_ERROR"
    """The log directory is offline."""
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    """The record exceeds the topic's `max.message.bytes`."""
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    """The ISR is smaller than `min.insync.replicas`."""
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    """The broker no longer leads the partition of the offsets topic."""
    RECORD_LIST_TOO_LARGE = "RECORD_LIST_TOO_LARGE"
    """The batch exceeds the segment size."""
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT"
    """The record was not replicated in time."""


@attrs.frozen
class CoordinatorVariant:
    """Where Kafka's two coordinators of classic groups differ, one flag for each difference.

    The defaults are the Java coordinator's. Java: `GroupMetadataManager`, tag 4.0.0. Scala:
    `GroupCoordinator`, tag 3.9.0, which 4.0 removed; before that it was the default.
    """

    name: str
    """Its name: `java` or `scala`."""
    refusal_completes_join: bool = False
    """Whether a rebalance completes when its last missing member is refused for size.

    Scala: `GroupCoordinator.handleJoinGroup`, lines 230-233. In Java the others wait for the
    rebalance timeout: `classicGroupJoinToClassicGroup` attempts nothing after the refusal.
    """
    pending_leave_rebalances: bool = True
    """Whether a group rebalances when a pending member leaves it.

    Java: `classicGroupLeaveToClassicGroup`, which counts it among the leavers. Scala:
    `removePendingMemberAndUpdateGroup` only completes a rebalance that is in progress.
    """
    leaves_in_turn: bool = False
    """Whether the group reacts to each member of a LeaveGroup before the next one is removed.

    Scala: `handleLeaveGroup`, lines 679-711. Java removes all of them first.
    """
    replacement_stays_new: bool = False
    """Whether a static member that replaces a new one is new itself.

    Then its session can expire although its JoinGroup is parked. Scala:
    `GroupMetadata.replaceStaticMember`, which keeps the member and changes its id. Java creates
    another `ClassicGroupMember`.
    """
    sync_renews_session: bool = False
    """Whether a SyncGroup in a stable group restarts the session timer.

    Scala: `doSyncGroup`, state Stable. Java: `classicGroupSyncToClassicGroup` does not.
    """
    expiry_ends_initial_delay: bool = True
    """Whether the initial delay ends early when a timer removes the last missing member.

    Java: `removeMemberAndUpdateClassicGroup` and `removePendingMemberAndUpdateClassicGroup`.
    Scala: `InitialDelayedJoin.tryComplete` never completes.
    """
    extends_every_initial_delay: bool = True
    """Whether an initial delay is extended after generation 0, too.

    Java: `addMemberThenRebalanceOrCompleteJoin` notes each new member of a group that was empty.
    Scala: `addMemberAndRebalance` notes it only while the group is in generation 0.
    """
    compares_missing_protocol: bool = False
    """Whether a SyncGroup that names a protocol is rejected while the group has none.

    Scala: `validateSyncGroup`, lines 562-566. Java: `isProtocolInconsistent` compares only what
    both sides name.
    """
    stores_new_group: bool = True
    """Whether a group is written to the offsets topic when a JoinGroup creates it.

    Java: `classicGroupJoinToClassicGroup`. Scala writes a group once it has assignments.
    """
    commit_misses_group: bool = True
    """Whether a commit to an unknown group is answered with GROUP_ID_NOT_FOUND from version 9 on.

    Java: `OffsetMetadataManager.validateOffsetCommit`. Scala: `handleCommitOffsets` answers every
    version with ILLEGAL_GENERATION.
    """
    sync_waits_for_loading: bool = True
    """Whether a SyncGroup during loading is answered with COORDINATOR_LOAD_IN_PROGRESS.

    Java: `GroupCoordinatorService.syncGroup`. Scala: `handleSyncGroup` answers
    REBALANCE_IN_PROGRESS, so that the member joins again.
    """
    checks_ownership_first: bool = False
    """Whether a JoinGroup is checked for its coordinator before its session timeout.

    Then NOT_COORDINATOR precedes INVALID_SESSION_TIMEOUT, and the response repeats the member id.
    Scala: `validateGroupStatus`. Java: `GroupCoordinatorService.joinGroup` checks the timeout and
    then asks the shard, whose failure is answered without a member id.
    """
    describes_assignments: bool = True
    """Whether DescribeGroups shows assignments of a group that is not stable.

    Java: `ClassicGroupMember.describeNoMetadata`. Scala: `MemberMetadata.summaryNoMetadata` has
    none.
    """
    offset_deletion_dissolves: bool = False
    """Whether an OffsetDelete deletes an empty group that has no offsets any more.

    Scala: `GroupMetadataManager.cleanupGroupMetadata`. In Java it is deleted when offsets expire.
    """


JAVA = CoordinatorVariant("java")
"""The Java coordinator: the only one since Kafka 4.0."""
SCALA = CoordinatorVariant(
    "scala",
    refusal_completes_join=True,
    pending_leave_rebalances=False,
    leaves_in_turn=True,
    replacement_stays_new=True,
    sync_renews_session=True,
    expiry_ends_initial_delay=False,
    extends_every_initial_delay=False,
    compares_missing_protocol=True,
    stores_new_group=False,
    commit_misses_group=False,
    sync_waits_for_loading=False,
    checks_ownership_first=True,
    describes_assignments=False,
    offset_deletion_dissolves=True,
)
"""The Scala coordinator: the default up to Kafka 3.9, which can run either."""


@attrs.frozen
class Settings:
    """The coordinator's configuration; durations are in milliseconds."""

    initial_rebalance_delay: int = 3_000
    """`group.initial.rebalance.delay.ms`: how long an empty group waits for more members."""
    min_session_timeout: int = 6_000
    """`group.min.session.timeout.ms`: the shortest session timeout that a member may request."""
    max_session_timeout: int = 1_800_000
    """`group.max.session.timeout.ms`: the longest session timeout that a member may request."""
    new_member_timeout: int = 300_000
    """How long a new member's JoinGroup may stay parked: five minutes, a constant in Kafka."""
    max_size: int = 2**31 - 1
    """`group.max.size`: how many members a group may have."""
    max_metadata: int = 4_096
    """`offset.metadata.max.bytes`: how long the metadata of a committed offset may be."""
    pending_sync_timer: bool = True
    """Whether members that never sync are removed (KAFKA-12890); false for an older broker."""
    new_member_mark_lasts: bool = True
    """Whether the mark of a new member outlasts the initial delay in which it joined, as in Kafka.

    Then the next initial delay of the group may be extended although no member has joined.
    """
    variant: CoordinatorVariant = JAVA
    """Which of Kafka's coordinators it is."""


GROUP_SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "initial_rebalance_delay",
    "group.min.session.timeout.ms": "min_session_timeout",
    "group.max.session.timeout.ms": "max_session_timeout",
    "group.max.size": "max_size",
    "offset.metadata.max.bytes": "max_metadata",
}
"""The broker's settings under Kafka's names, and their fields in `Settings`."""


# -- requests ---------------------------------------------------------------------------------


@attrs.frozen
class Protocol:
    """An assignment strategy that a member supports. Kafka: `JoinGroupRequestProtocol`."""

    name: str
    """The assignor's name, such as `range`."""
    metadata: Hashable = b""
    """The member's subscription, which the coordinator passes to the leader."""


@attrs.frozen
class JoinGroup:
    """A client asks to be a member of the next generation."""

    member: str = NO_MEMBER_ID
    """Its member id; empty in its first request."""
    instance: str | None = None
    """Its `group.instance.id`, if it is a static member (KIP-345)."""
    protocols: tuple[Protocol, ...] = (Protocol("range"),)
    """The protocols that it supports, in order of preference."""
    protocol_type: str = "consumer"
    """The kind of group: `consumer` for consumers, `connect` for Connect workers."""
    session_timeout: int = 45_000
    """`session.timeout.ms`: how long the coordinator waits for a heartbeat."""
    rebalance_timeout: int = 300_000
    """How long a rebalance may wait for this member: the consumer's `max.poll.interval.ms`."""
    version: int = 9
    """The version of the request; an instance id needs version 5."""
    client: str = "consumer"
    """`client.id`, the prefix of a dynamic member's id."""

    @property
    def requires_known_member_id(self) -> bool:
        """Whether a first join is answered with MEMBER_ID_REQUIRED (KIP-394).

        Kafka: `JoinGroupRequest.requiresKnownMemberId`.
        """
        return self.version >= 4

    @property
    def supports_skipping_assignment(self) -> bool:
        """Whether the client understands SkipAssignment in the response (KIP-814).

        Kafka: `JoinGroupRequest.supportsSkippingAssignment`.
        """
        return self.version >= 9


@attrs.frozen
class SyncGroup:
    """A member asks for its assignment; the leader's request carries everyone's."""

    member: str
    """Its member id."""
    generation: int
    """The generation that its JoinGroup response named."""
    assignments: tuple[tuple[str, Hashable], ...] = ()
    """From the leader: the assignment of each member id."""
    instance: str | None = None
    """Its `group.instance.id`, if it is a static member."""
    protocol_type: str | None = None
    """The protocol type that it believes the group has; None before version 5."""
    protocol: str | None = None
    """The protocol that it believes was selected; None before version 5."""
    version: int = 4
    """The version of the request; an instance id needs version 3, protocol type and name 5."""

    @property
    def lacks_protocol(self) -> bool:
        """Whether it does not name the protocol type and the protocol although it must (KIP-559).

        Kafka: `SyncGroupRequest.areMandatoryProtocolTypeAndNamePresent`.
        """
        return self.version >= 5 and None in (self.protocol_type, self.protocol)


@attrs.frozen
class Heartbeat:
    """A member keeps its session alive, and learns whether a rebalance is in progress."""

    member: str
    """Its member id."""
    generation: int
    """The generation that it believes is current."""
    instance: str | None = None
    """Its `group.instance.id`, if it is a static member."""


@attrs.frozen
class MemberIdentity:
    """One member that a LeaveGroup removes. Kafka: `LeaveGroupRequestData.MemberIdentity`."""

    member: str = NO_MEMBER_ID
    """Its member id; empty where an administrator removes a static member."""
    instance: str | None = None
    """Its `group.instance.id`, if it is a static member."""


@attrs.frozen
class LeaveGroup:
    """Members leave without waiting for their sessions to expire."""

    members: tuple[MemberIdentity, ...]
    """The members that leave: one for a consumer, any number for an administrator (KIP-345)."""
    version: int = 5
    """The version of the request; before version 3 one member leaves, named by its id alone."""


@attrs.frozen
class Offset:
    """A committed offset. Kafka: `OffsetAndMetadata`."""

    offset: int
    """The offset of the next record to read."""
    metadata: str = ""
    """A note that the client stores with it."""
    leader_epoch: int = -1
    """The leader epoch of the last record read (KIP-320); -1 if unknown."""
    expires: int | None = None
    """When it expires, in milliseconds, if an old client set a retention time itself."""


@attrs.frozen
class OffsetCommit:
    """A member, or a consumer that assigns itself, commits offsets."""

    offsets: tuple[tuple[TopicPartition, Offset], ...]
    """The offset of each partition."""
    member: str = NO_MEMBER_ID
    """The member id; empty from a consumer that assigns itself."""
    generation: int = NO_GENERATION
    """The member's generation; negative from a consumer that assigns itself."""
    instance: str | None = None
    """Its `group.instance.id`, if it is a static member."""
    version: int = 9
    """The version of the request; an instance id needs version 7."""


@attrs.frozen
class OffsetFetch:
    """A client asks for the offsets that a group has committed."""

    partitions: tuple[TopicPartition, ...] | None = None
    """The partitions it asks about; None for all."""


@attrs.frozen
class DeleteGroup:
    """An administrator deletes the group."""


@attrs.frozen
class OffsetDelete:
    """An administrator deletes committed offsets of the group."""

    partitions: tuple[TopicPartition, ...]
    """The partitions."""


Request: TypeAlias = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit | OffsetFetch
"""Any request of a client to a group's coordinator."""

AnyRequest: TypeAlias = Request | DeleteGroup | OffsetDelete
"""Any request about a group, those of an administrator included."""


# -- responses --------------------------------------------------------------------------------


@attrs.frozen
class JoinGroupResponse:
    """The response to JoinGroup, sent when the generation begins."""

    error: Error = Error.NONE
    """NONE, or why the client is not in a generation."""
    member: str = NO_MEMBER_ID
    """The member id that the coordinator issued, or the one in the request."""
    generation: int = NO_GENERATION
    """The new generation."""
    protocol_type: str | None = None
    """The group's protocol type."""
    protocol: str | None = None
    """The protocol that the members voted for."""
    leader: str = NO_MEMBER_ID
    """The member id of the leader, which assigns partitions."""
    members: tuple[tuple[str, str | None, Hashable], ...] = ()
    """To the leader only: each member's id, instance id and subscription, in joining order."""
    skip_assignment: bool = False
    """Whether a static leader that rejoined must not assign: the assignment stands (KIP-814)."""


@attrs.frozen
class SyncGroupResponse:
    """The response to SyncGroup."""

    error: Error = Error.NONE
    """NONE, or why the member has no assignment."""
    assignment: Hashable = NO_ASSIGNMENT
    """What the leader assigned to the member."""
    protocol_type: str | None = None
    """The group's protocol type."""
    protocol: str | None = None
    """The protocol that the leader assigned with."""


@attrs.frozen
class HeartbeatResponse:
    """The response to Heartbeat."""

    error: Error = Error.NONE
    """NONE, or why the member must join again."""


@attrs.frozen
class LeaveGroupResponse:
    """The response to LeaveGroup."""

    error: Error = Error.NONE
    """An error that concerns the whole request."""
    members: tuple[tuple[MemberIdentity, Error], ...] = ()
    """The result for each member; before version 3 none, and the error is that of the member."""


@attrs.frozen
class OffsetCommitResponse:
    """The response to OffsetCommit."""

    partitions: tuple[tuple[TopicPartition, Error], ...] = ()
    """The result for each partition."""


@attrs.frozen
class OffsetFetchResponse:
    """The response to OffsetFetch."""

    error: Error = Error.NONE
    """An error that concerns the whole request."""
    offsets: tuple[tuple[TopicPartition, Offset | None], ...] = ()
    """The committed offset of each partition; None where there is none."""


@attrs.frozen
class DeleteGroupResponse:
    """The response to DeleteGroups for one group."""

    error: Error = Error.NONE
    """NONE, or why the group was not deleted."""


@attrs.frozen
class OffsetDeleteResponse:
    """The response to OffsetDelete."""

    error: Error = Error.NONE
    """An error that concerns the whole request."""
    partitions: tuple[tuple[TopicPartition, Error], ...] = ()
    """The result for each partition."""


Response: TypeAlias = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | DeleteGroupResponse
    | OffsetDeleteResponse
)
"""Any response from a group's coordinator."""


# -- records of the offsets topic ---------------------------------------------------------------


@attrs.frozen
class StoredMember:
    """A member in the group's record. Kafka: `GroupMetadataValue.MemberMetadata`."""

    id: str
    """Its member id."""
    instance: str | None
    """Its `group.instance.id`, if it is a static member."""
    session_timeout: int
    """Its session timeout, in milliseconds."""
    rebalance_timeout: int
    """Its rebalance timeout, in milliseconds."""
    subscription: Hashable
    """Its subscription for the selected protocol; the others are not stored."""
    assignment: Hashable
    """What the leader assigned to it."""


@attrs.frozen
class GroupMetadata:
    """A group in the offsets topic: what a new coordinator loads. Kafka: `GroupMetadataValue`."""

    generation: int = 0
    """The generation in which the record was written."""
    protocol_type: str | None = None
    """The group's protocol type."""
    protocol: str | None = None
    """The selected protocol; None for an empty group."""
    leader: str | None = None
    """The leader's member id; None for an empty group."""
    members: tuple[StoredMember, ...] = ()
    """The members, with their assignments."""


@attrs.frozen
class OffsetsTopicRecord:
    """A record of the offsets topic. The latest record of a key wins."""

    group: str
    """The group id; with the partition, the record's key."""
    partition: TopicPartition | None
    """The partition whose offset it holds; None for the group itself."""
    value: GroupMetadata | Offset | None
    """The value; None for a tombstone, which deletes the key."""
    time: int = 0
    """When the offset was committed or the group entered its state; 0 without a clock."""
