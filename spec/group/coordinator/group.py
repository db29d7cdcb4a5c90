"""What a coordinator remembers of one group, and what a request does to it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

import attrs

from spec.core import evolve
from spec.messages import (
    NO_ASSIGNMENT,
    Answer,
    GroupMetadata,
    GroupState,
    Offset,
    Protocol,
    Settings,
    StoredMember,
)
from spec.vocabulary import TopicPartition

Caller: TypeAlias = Hashable
"""Who is waiting for an answer: a connection, in Kafka; a consumer's number, in the model."""

HUNG_UP = "hung up"
"""The caller of a request whose sender no longer waits for the answer."""


@attrs.frozen
class GroupMember:
    """One member, as the coordinator knows it. Kafka: `ClassicGroupMember`."""

    id: str
    """The id that the coordinator gave it."""
    instance: str | None = None
    """`group.instance.id`: set by a static member, which keeps it over restarts (KIP-345)."""
    protocols: tuple[Protocol, ...] = ()
    """The ways of assigning that it supports, best first, with its subscription for each."""
    session_timeout: int = 45_000
    rebalance_timeout: int = 300_000
    is_new: bool = True
    """Whether it has not yet been in any generation."""
    joining: Caller | None = None
    """Who waits for the answer to its JoinGroup, while the others are waited for."""
    syncing: Caller | None = None
    """Who waits for the answer to its SyncGroup, while the leader is waited for."""
    assignment: Hashable = NO_ASSIGNMENT
    """What the leader gave it."""

    @property
    def is_parked(self) -> bool:
        """Whether an answer is owed to it: it waits, and need not send heartbeats."""
        return self.joining is not None or self.syncing is not None

    def supports(self, name: str) -> bool:
        """Whether it can be assigned that way."""
        return any(protocol.name == name for protocol in self.protocols)

    def metadata(self, name: str | None) -> Hashable:
        """Its subscription for one way of assigning."""
        return next((p.metadata for p in self.protocols if p.name == name), NO_ASSIGNMENT)


@attrs.frozen
class Group:
    """One group in its coordinator's memory. Kafka: `ClassicGroup`."""

    state: GroupState = GroupState.EMPTY
    previous: GroupState = GroupState.DEAD
    """The state before this one: an empty group gives late members more time."""
    generation: int = 0
    """How many rebalances were completed: what tells an old request from a current one."""
    protocol_type: str | None = None
    """`consumer`, for a group of consumers; None before anybody joined."""
    protocol: str | None = None
    """The way of assigning that was voted for."""
    leader: str | None = None
    """The member that assigns."""
    members: tuple[GroupMember, ...] = ()
    """In the order in which they were added."""
    pending: frozenset[str] = frozenset()
    """Ids that were given out and have not come back yet (KIP-394)."""
    pending_sync: frozenset[str] = frozenset()
    """Members that have not asked for their assignment in this generation (KAFKA-12890)."""
    joined_meanwhile: bool = False
    """Whether somebody joined an empty group since the initial delay was last armed."""
    delay_left: int = 0
    """For how much longer, after the initial delay that is armed, it may be extended."""
    plan: tuple[tuple[str, Hashable], ...] | None = None
    """The leader's assignments while they are being written to the offsets topic."""
    settings: Settings = attrs.field(default=Settings(), eq=False, kw_only=True)
    """How the coordinator is configured."""

    # -- words that the handlers are told in --------------------------------------------------

    def member(self, member_id: str) -> GroupMember | None:
        """The member of that id."""
        return next((m for m in self.members if m.id == member_id), None)

    def instance(self, instance: str | None) -> GroupMember | None:
        """The static member of that instance id."""
        if instance is None:
            return None
        return next((m for m in self.members if m.instance == instance), None)

    @property
    def everyone_joined(self) -> bool:
        """Whether nobody is waited for any more: every member joins, and every id came back."""
        return not self.pending and all(m.joining is not None for m in self.members)

    @property
    def rebalance_timeout(self) -> int:
        """How long a rebalance waits: as long as the most patient member."""
        return max((m.rebalance_timeout for m in self.members), default=0)

    @property
    def waits_initially(self) -> bool:
        """Whether it was empty, and the initial delay is what ends the wait for members."""
        return self.state is GroupState.PREPARING_REBALANCE and self.previous is GroupState.EMPTY

    # -- updates that several handlers share --------------------------------------------------

    def enters(self, state: GroupState, **changes: Any) -> Group:
        """The group in another state."""
        return evolve(self, state=state, previous=self.state, **changes)

    def with_member(self, changed: GroupMember) -> Group:
        """The group with one member changed."""
        members = tuple(changed if m.id == changed.id else m for m in self.members)
        return evolve(self, members=members)

    def each_member(self, **changes: Any) -> Group:
        """The group with the same change to every member."""
        return evolve(self, members=tuple(evolve(m, **changes) for m in self.members))

    def without(self, ids: Iterable[str]) -> Group:
        """The group without some members; if the leader goes, another one leads.

        Kafka takes any other member; here it is the one that was added first.
        """
        gone = set(ids)
        members = tuple(m for m in self.members if m.id not in gone)
        leader = self.leader
        if leader in gone:
            leader = members[0].id if members else None
        return evolve(self, members=members, leader=leader, pending_sync=self.pending_sync - gone)

    def hangs_up(self, caller: Caller) -> Group:
        """The group when a caller no longer waits: its member stays, its answers go nowhere."""
        members = tuple(
            evolve(
                m,
                joining=HUNG_UP if m.joining == caller else m.joining,
                syncing=HUNG_UP if m.syncing == caller else m.syncing,
            )
            for m in self.members
        )
        return evolve(self, members=members)

    # -- what is written down -----------------------------------------------------------------

    def stored(self) -> GroupMetadata:
        """The group as it is written to the offsets topic: only the protocol that is in use."""
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
class Outcome:
    """What handling a request, or a timer, comes to."""

    group: Group
    answers: tuple[tuple[Caller, Answer], ...] = ()
    """Who is told what: not only the caller of this request, but those who waited for it."""
    record: GroupMetadata | None = None
    """The group as it is written to the offsets topic, if it is."""
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    """The committed offsets that are written there."""

    def then(self, what: Callable[[Group], Outcome]) -> Outcome:
        """What it comes to when something follows at once."""
        following = what(self.group)
        return Outcome(
            following.group,
            self.answers + following.answers,
            following.record or self.record,
            self.offsets + following.offsets,
        )
