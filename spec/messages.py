"""What the members of a group and its coordinator say to each other, and write down.

Words only, no rules: the specification (`spec.group`) and a fast coordinator both speak them.
What the coordinator never looks into (subscriptions, assignments) is any hashable value here;
in Kafka it is bytes.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import TypeAlias

import attrs

from spec.vocabulary import TopicPartition

NOBODY = ""
"""Where a member id is expected, and there is none yet."""
NO_GENERATION = -1
"""The generation of who is in no group: a consumer that assigns itself, or has not joined."""
NO_ASSIGNMENT: tuple[()] = ()
"""The assignment of a member that the leader left out: empty bytes, in Kafka."""


class GroupState(StrEnum):
    """Where a group is between two rebalances. Kafka: `ClassicGroupState`."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Error(StrEnum):
    """How a request is answered, by its name in the protocol."""

    NONE = "NONE"
    COORDINATOR_LOAD_IN_PROGRESS = "COORDINATOR_LOAD_IN_PROGRESS"
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
    GROUP_MAX_SIZE_REACHED = "GROUP_MAX_SIZE_REACHED"
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
    INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
    INVALID_GROUP_ID = "INVALID_GROUP_ID"
    INVALID_SESSION_TIMEOUT = "INVALID_SESSION_TIMEOUT"
    MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
    NOT_COORDINATOR = "NOT_COORDINATOR"
    OFFSET_METADATA_TOO_LARGE = "OFFSET_METADATA_TOO_LARGE"
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    # Why a record could not be written to the offsets topic; no client is told these.
    INVALID_FETCH_SIZE = "INVALID_FETCH_SIZE"
    KAFKA_STORAGE_ERROR = "KAFKA_STORAGE_ERROR"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    RECORD_LIST_TOO_LARGE = "RECORD_LIST_TOO_LARGE"
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT"


@attrs.frozen
class Settings:
    """How a coordinator is configured, in milliseconds where it is time."""

    initial_rebalance_delay: int = 3_000
    """`group.initial.rebalance.delay.ms`: how long an empty group waits for more members."""
    min_session_timeout: int = 6_000
    """`group.min.session.timeout.ms`."""
    max_session_timeout: int = 1_800_000
    """`group.max.session.timeout.ms`."""
    new_member_timeout: int = 300_000
    """How long a member may stay new: five minutes, not configurable in Kafka."""
    max_size: int = 2**31 - 1
    """`group.max.size`."""
    max_metadata: int = 4_096
    """`offset.metadata.max.bytes`."""
    pending_sync_timer: bool = True
    """Whether members that never sync are removed (KAFKA-12890); false for an older broker."""


# -- what a member asks -----------------------------------------------------------------------


@attrs.frozen
class Protocol:
    """One way of assigning that a member supports."""

    name: str
    """The assignor's name, as in `range`."""
    metadata: Hashable = b""
    """The member's subscription, for the leader; opaque to the coordinator."""


@attrs.frozen
class JoinGroup:
    """A member wants to be in the next generation."""

    member: str = NOBODY
    """Its member id, once it was given one."""
    instance: str | None = None
    """`group.instance.id`, of a static member (KIP-345)."""
    protocols: tuple[Protocol, ...] = (Protocol("range"),)
    """What it supports, best first."""
    protocol_type: str = "consumer"
    session_timeout: int = 45_000
    rebalance_timeout: int = 300_000
    """The consumer's `max.poll.interval.ms`."""
    can_take_an_id_first: bool = True
    """Whether a first join may be answered with an id only (request version 4, KIP-394)."""
    can_skip_assignment: bool = True
    """Whether a leader understands that it need not assign (request version 9, KIP-814)."""
    client: str = "consumer"
    """`client.id`, which member ids begin with."""


@attrs.frozen
class SyncGroup:
    """A member asks for its assignment; the leader's request brings everybody's."""

    member: str
    generation: int
    assignments: tuple[tuple[str, Hashable], ...] = ()
    """From the leader: member ids and what each gets."""
    instance: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None


@attrs.frozen
class Heartbeat:
    """A member is alive, and asks whether a rebalance goes on."""

    member: str
    generation: int
    instance: str | None = None


@attrs.frozen
class Leaver:
    """One member that leaves; without an id, an administrator removes the static member."""

    member: str = NOBODY
    instance: str | None = None


@attrs.frozen
class LeaveGroup:
    """Members go, and do not wait to be missed."""

    leavers: tuple[Leaver, ...]


@attrs.frozen
class Offset:
    """A committed offset: the next record to read."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
    expires: int | None = None
    """When it may be forgotten, in milliseconds, from an old client that says so itself."""


@attrs.frozen
class OffsetCommit:
    """A member, or a consumer that assigns itself, says how far it has read."""

    offsets: tuple[tuple[TopicPartition, Offset], ...]
    member: str = NOBODY
    generation: int = NO_GENERATION
    instance: str | None = None


@attrs.frozen
class OffsetFetch:
    """Where to go on reading; no partitions means all that the group has committed."""

    partitions: tuple[TopicPartition, ...] | None = None


Request: TypeAlias = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit | OffsetFetch


# -- what the coordinator answers -------------------------------------------------------------


@attrs.frozen
class Joined:
    """The answer to JoinGroup."""

    error: Error = Error.NONE
    member: str = NOBODY
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = NOBODY
    members: tuple[tuple[str, str | None, Hashable], ...] = ()
    """For the leader only: each member's id, instance and subscription, in joining order."""
    skip_assignment: bool = False
    """The leader need not assign: a static leader came back to a group that stays as it is."""


@attrs.frozen
class Synced:
    """The answer to SyncGroup."""

    error: Error = Error.NONE
    assignment: Hashable = NO_ASSIGNMENT
    protocol_type: str | None = None
    protocol: str | None = None


@attrs.frozen
class Beaten:
    """The answer to Heartbeat."""

    error: Error = Error.NONE


@attrs.frozen
class Left:
    """The answer to LeaveGroup."""

    error: Error = Error.NONE
    leavers: tuple[tuple[Leaver, Error], ...] = ()
    """How each of them fared."""


@attrs.frozen
class Committed:
    """The answer to OffsetCommit."""

    partitions: tuple[tuple[TopicPartition, Error], ...] = ()


@attrs.frozen
class Fetched:
    """The answer to OffsetFetch."""

    error: Error = Error.NONE
    offsets: tuple[tuple[TopicPartition, Offset | None], ...] = ()
    """What was committed, or None where nothing was."""


Answer: TypeAlias = Joined | Synced | Beaten | Left | Committed | Fetched


# -- what the coordinator writes down ----------------------------------------------------------


@attrs.frozen
class StoredMember:
    """A member as it stands in the offsets topic: with the selected protocol only."""

    id: str
    instance: str | None
    session_timeout: int
    rebalance_timeout: int
    subscription: Hashable
    assignment: Hashable


@attrs.frozen
class GroupMetadata:
    """A group as it stands in the offsets topic: what a new coordinator finds."""

    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: tuple[StoredMember, ...] = ()


@attrs.frozen
class Record:
    """One record of the offsets topic. The latest of a key wins; no value is a tombstone."""

    group: str
    partition: TopicPartition | None
    """What it is the offset of; None for the group itself. With the group, the record's key."""
    value: GroupMetadata | Offset | None
    """None is a tombstone: what stood under this key is gone."""
    time: int = 0
    """When the offset was committed, or since when the group is in its state; 0 without a clock."""
