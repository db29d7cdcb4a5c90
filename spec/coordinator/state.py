"""What a coordinator knows about one group, what a request does to it, and the shared checks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

import attrs

from kspec.spec.core import Check, Checked, Decision, evolve
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupMetadata,
    GroupState,
    Offset,
    Protocol,
    Response,
    Settings,
    StoredMember,
)
from kspec.spec.vocabulary import TopicPartition

Caller: TypeAlias = Hashable
"""Where a response goes: a connection in Kafka, a consumer's number in the model."""

DISCONNECTED = "disconnected"
"""The caller of a parked request whose sender no longer waits for the response."""


@attrs.frozen
class GroupMember:
    """A member of a group. Kafka: `ClassicGroupMember`."""

    id: str
    """Its member id, which the coordinator issued."""
    instance: str | None = None
    """`group.instance.id` of a static member, which keeps it across restarts (KIP-345)."""
    protocols: tuple[Protocol, ...] = ()
    """The protocols that it supports in order of preference, with its subscription for each."""
    session_timeout: int = 45_000
    """How long it may be silent before it is removed, in milliseconds."""
    rebalance_timeout: int = 300_000
    """How long a rebalance waits for it, in milliseconds."""
    is_new: bool = True
    """Whether it has not been in any generation yet."""
    awaiting_join: Caller | None = None
    """The caller of its parked JoinGroup, until the next generation begins."""
    awaiting_sync: Caller | None = None
    """The caller of its parked SyncGroup, until the leader's assignments are stored."""
    assignment: Hashable = NO_ASSIGNMENT
    """What the leader assigned to it."""

    @property
    def is_parked(self) -> bool:
        """Whether one of its requests is parked, so that it need not send heartbeats."""
        return self.awaiting_join is not None or self.awaiting_sync is not None

    def supports(self, name: str) -> bool:
        """Whether it supports the protocol of this name."""
        return any(protocol.name == name for protocol in self.protocols)

    def metadata(self, name: str | None) -> Hashable:
        """Its subscription for the protocol of this name."""
        return next((p.metadata for p in self.protocols if p.name == name), NO_ASSIGNMENT)


@attrs.frozen
class Group:
    """A group in its coordinator's memory. Kafka: `ClassicGroup`."""

    state: GroupState = GroupState.EMPTY
    """The state of the group."""
    previous_state: GroupState = GroupState.DEAD
    """The state before; a rebalance out of Empty waits for the initial delay."""
    generation: int = 0
    """How many rebalances have completed; requests of older generations are rejected."""
    protocol_type: str | None = None
    """`consumer` for a group of consumers; None until a member joins."""
    protocol: str | None = None
    """The protocol that the members voted for."""
    leader: str | None = None
    """The member id of the leader, which assigns partitions."""
    members: tuple[GroupMember, ...] = ()
    """The members, in the order in which they were added."""
    pending: frozenset[str] = frozenset()
    """Pending members: ids that were issued and have not joined yet (KIP-394)."""
    pending_sync: frozenset[str] = frozenset()
    """Members that have not sent SyncGroup in this generation (KAFKA-12890).

    A static member that is replaced in a stable group stays here under its old id, which cannot
    send SyncGroup any more. So the group rebalances when the sync timeout expires, although no
    member is missing. Kafka: `ClassicGroup.replaceStaticMember`, which leaves
    `pendingSyncMembers` as they are; Scala's, too.
    """
    new_member_added: bool = False
    """Whether a member joined since the initial delay was last armed.

    The coordinator clears this mark only where it extends a delay. So if a member joins in the last
    extension, or a timer ends the delay early, the next initial delay of the group is extended
    although no member has joined. Kafka: `ClassicGroup.newMemberAdded`.
    """
    remaining_delay: int = 0
    """How much longer the initial delay may be extended, in milliseconds."""
    unstored: tuple[tuple[str, Hashable], ...] | None = None
    """The leader's assignments while they are being written to the offsets topic."""
    settings: Settings = attrs.field(default=Settings(), eq=False, kw_only=True)
    """The coordinator's configuration."""

    # -- queries ------------------------------------------------------------------------------

    def member(self, member_id: str) -> GroupMember | None:
        """The member with this id."""
        return next((m for m in self.members if m.id == member_id), None)

    def static_member(self, instance: str | None) -> GroupMember | None:
        """The static member with this instance id."""
        if instance is None:
            return None
        return next((m for m in self.members if m.instance == instance), None)

    @property
    def all_members_joined(self) -> bool:
        """Whether every member has a parked JoinGroup and no member is pending.

        Kafka: `ClassicGroup.hasAllMembersJoined`.
        """
        return not self.pending and all(m.awaiting_join is not None for m in self.members)

    @property
    def rebalance_timeout(self) -> int:
        """The longest rebalance timeout of its members. Kafka: `rebalanceTimeoutMs`."""
        return max((m.rebalance_timeout for m in self.members), default=0)

    @property
    def in_initial_delay(self) -> bool:
        """Whether the group was empty and waits for `group.initial.rebalance.delay.ms`."""
        return (
            self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY
        )

    # -- updates ------------------------------------------------------------------------------

    def transition_to(self, state: GroupState, **changes: Any) -> Group:
        """The group in another state. Kafka: `ClassicGroup.transitionTo`."""
        return evolve(self, state=state, previous_state=self.state, **changes)

    def with_member(self, changed: GroupMember) -> Group:
        """The group with one member changed."""
        members = tuple(changed if m.id == changed.id else m for m in self.members)
        return evolve(self, members=members)

    def with_each_member(self, **changes: Any) -> Group:
        """The group with the same change to every member."""
        return evolve(self, members=tuple(evolve(m, **changes) for m in self.members))

    def without_members(self, ids: Iterable[str]) -> Group:
        """The group without some members; if the leader is among them, another member leads.

        Kafka: `ClassicGroup.remove`. Simplification: Kafka picks any member as the new leader;
        here it is the one that was added first.
        """
        removed = set(ids)
        members = tuple(m for m in self.members if m.id not in removed)
        leader = self.leader
        if leader in removed:
            leader = members[0].id if members else None
        return evolve(
            self, members=members, leader=leader, pending_sync=self.pending_sync - removed
        )

    def disconnect(self, caller: Caller) -> Group:
        """The group after a caller disconnected: its requests stay parked, without a receiver."""
        members = tuple(
            evolve(
                m,
                awaiting_join=DISCONNECTED if m.awaiting_join == caller else m.awaiting_join,
                awaiting_sync=DISCONNECTED if m.awaiting_sync == caller else m.awaiting_sync,
            )
            for m in self.members
        )
        return evolve(self, members=members)

    # -- storage ------------------------------------------------------------------------------

    def stored(self) -> GroupMetadata:
        """The group's record in the offsets topic, which keeps only the selected protocol.

        Kafka: `GroupCoordinatorRecordHelpers.newGroupMetadataRecord`.
        """
        return GroupMetadata(
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=self.leader,
            members=tuple(
                StoredMember(
                    m.id,
                    m.instance,
                    m.session_timeout,
                    m.rebalance_timeout,
                    m.metadata(self.protocol),
                    m.assignment,
                )
                for m in self.members
            ),
        )


@attrs.frozen
class Replacement:
    """A static member's new id that is being written to the offsets topic."""

    member: str
    """The new member id."""
    old: GroupMember
    """The member as it was before."""
    leader: str | None
    """The leader before."""
    skips_assignment: bool
    """Whether the client understands SkipAssignment in the response (KIP-814)."""


@attrs.frozen
class Outcome:
    """The result of a request, a timer or a failover."""

    group: Group
    """The group afterwards."""
    responses: tuple[tuple[Caller, Response], ...] = ()
    """The responses that are sent now, to this request and to parked ones."""
    record: GroupMetadata | None = None
    """The group's record, if it is written to the offsets topic."""
    offsets: tuple[tuple[TopicPartition, Offset | None], ...] = ()
    """The committed offsets that are written to the offsets topic; None deletes one."""
    replacement: Replacement | None = None
    """The replacement of a static member whose response waits for that write."""
    decision: Decision[Any] | None = attrs.field(default=None, eq=False, repr=False)
    """The checks of the request that were evaluated, if `requests` has handled one."""

    def then(self, step: Callable[[Group], Outcome]) -> Outcome:
        """The result when another step follows at once."""
        following = step(self.group)
        return Outcome(
            following.group,
            self.responses + following.responses,
            following.record or self.record,
            self.offsets + following.offsets,
            following.replacement or self.replacement,
        )


# -- checks -----------------------------------------------------------------------------------

Handler: TypeAlias = Checked[Outcome]
"""A handler of a request. The model's rules take its checks as their guards."""


def validate_alive(group: Group) -> Checked[None]:
    """The group was neither deleted nor moved to another coordinator."""
    is_alive = group.state is not GroupState.DEAD
    yield Check("group is not dead", is_alive, Error.COORDINATOR_NOT_AVAILABLE)


def validate_member(group: Group, member_id: str, instance: str | None) -> Checked[GroupMember]:
    """The id belongs to a member, and to the current one of its instance id.

    A pending member is not a member yet. Kafka: `ClassicGroup.validateMember`.
    """
    if instance is not None:
        static = group.static_member(instance)
        yield Check("instance id is known", static is not None, Error.UNKNOWN_MEMBER_ID)
        is_current = static is None or static.id == member_id
        yield Check("member is not fenced", is_current, Error.FENCED_INSTANCE_ID)
    member = group.member(member_id)
    yield Check("member is known", member is not None, Error.UNKNOWN_MEMBER_ID)
    return member or GroupMember(member_id, instance)
