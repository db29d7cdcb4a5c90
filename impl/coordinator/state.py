"""A group and its members in a coordinator's memory, with their bookkeeping.

Nothing here sends a response or arms a timer: the handlers do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator

import attrs

from kspec.impl.coordinator.timers import TimerKey, TimerKind
from kspec.spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupMetadata,
    GroupState,
    Offset,
    OffsetsTopicRecord,
    Protocol,
    StoredMember,
)
from kspec.spec.vocabulary import TopicPartition

NONE = Error.NONE


@attrs.define(eq=False)
class Parked:
    """A request that is answered later, unless its caller disconnects."""

    caller: Hashable
    """Where the response goes."""
    disconnected: bool = False
    """Whether the caller no longer waits for it."""


@attrs.define(eq=False)
class Member:
    """A member of a group. Kafka: `ClassicGroupMember`."""

    id: str
    instance: str | None
    session_timeout: int
    rebalance_timeout: int
    protocols: tuple[Protocol, ...]
    """The protocols that it supports, in order of preference."""
    timer: TimerKey
    """Its session timer; kept, since every heartbeat restarts it."""
    assignment: Hashable = NO_ASSIGNMENT
    is_new: bool = False
    """Whether it has not been in any generation: it may not know its id yet."""
    parked_join: Parked | None = None
    parked_sync: Parked | None = None

    def subscription(self, protocol: str | None) -> Hashable:
        """Its subscription for this protocol."""
        return next((p.metadata for p in self.protocols if p.name == protocol), b"")


@attrs.define
class CommittedOffset:
    """A committed offset that is replicated, so that it may be fetched."""

    offset: Offset
    time: int
    """When it was committed."""
    ticket: int
    """The ticket of its commit: an older commit that completes later does not replace it."""


@attrs.define(eq=False)
class Commit:
    """Offsets that are written, but not replicated yet."""

    offsets: dict[TopicPartition, Offset]
    time: int


@attrs.define(eq=False)
class Group:
    """A classic group. Kafka: `ClassicGroup`."""

    id: str
    since: int = 0
    """When it entered its state."""
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.EMPTY
    """The state before."""
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = attrs.Factory(dict)
    """By id, in the order in which they were added; where Kafka picks any, the first counts."""
    instances: dict[str, str] = attrs.Factory(dict)
    """The member id of each static member."""
    pending_joins: set[str] = attrs.Factory(set)
    """Pending members: ids that were issued, and with which no client has joined yet."""
    pending_syncs: set[str] = attrs.Factory(set)
    """Members of this generation that have not sent SyncGroup yet."""
    num_joined: int = 0
    """How many JoinGroups are parked."""
    new_member_added: bool = False
    """Whether a member was added since the initial delay was armed."""
    delay: int = 0
    """The duration for which the initial delay was armed last."""
    remaining_delay: int = 0
    """How much longer the initial delay may be extended."""
    supporters: Counter[str] = attrs.Factory(Counter)
    """How many members support each protocol."""
    subscribed: Collection[str] | None = None
    """The topics of a consumer group in this generation; None if they are not known."""
    offsets: dict[TopicPartition, CommittedOffset] = attrs.Factory(dict)
    commits: dict[int, Commit] = attrs.Factory(dict)
    """The commits that are not replicated yet, by ticket."""

    # -- states ----------------------------------------------------------------------------

    def transition_to(self, state: GroupState, now: int) -> None:
        """Enter another state."""
        self.previous_state, self.state, self.since = self.state, state, now

    def all_members_joined(self) -> bool:
        """Whether every member has a parked JoinGroup and no member is pending."""
        return self.num_joined == len(self.members) and not self.pending_joins

    # -- members ---------------------------------------------------------------------------

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member; the first one leads."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.id] = member
        if member.instance is not None:
            self.instances[member.instance] = member.id
        self.supporters.update(_names(member.protocols))
        self.num_joined += member.parked_join is not None
        if self.leader is None:
            self.leader = member.id

    def remove(self, member: Member) -> None:
        """Remove a member whose requests were answered before; another may become leader."""
        del self.members[member.id]
        if member.instance is not None:
            del self.instances[member.instance]
        self.supporters.subtract(_names(member.protocols))
        self.num_joined -= member.parked_join is not None
        self.pending_syncs.discard(member.id)
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)

    def update_protocols(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        """Replace the protocols that a member supports."""
        self.supporters.subtract(_names(member.protocols))
        self.supporters.update(_names(protocols))
        member.protocols = protocols

    def validate_member(self, member: str, instance: str | None) -> Error:
        """NONE, or why a request in the name of this member is rejected."""
        if instance is not None:
            mapped = self.instances.get(instance)
            if mapped is None:
                return Error.UNKNOWN_MEMBER_ID
            if mapped != member:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member in self.members else Error.UNKNOWN_MEMBER_ID

    def validate_generation(self, member: str, instance: str | None, generation: int) -> Error:
        """The same for a request that names a generation."""
        if instance is not None or member not in self.members:
            error = self.validate_member(member, instance)
            if error is not NONE:
                return error
        return NONE if generation == self.generation else Error.ILLEGAL_GENERATION

    def rebalance_timeout(self) -> int:
        """The longest rebalance timeout of its members."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0)

    # -- protocols -------------------------------------------------------------------------

    def supports_protocols(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Whether some protocol is supported by this client and by every member."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        everybody = len(self.members)
        return any(self.supporters[p.name] == everybody for p in protocols)

    def select_protocol(self) -> str:
        """The protocol with the most votes; each member votes for its first that all support.

        The first member's preference breaks ties.
        """
        everybody = len(self.members)
        shared = {name for name, number in self.supporters.items() if number == everybody}
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes[next(p.name for p in member.protocols if p.name in shared)] += 1
        first = next(iter(self.members.values()))
        return max((p.name for p in first.protocols if p.name in shared), key=votes.__getitem__)

    def subscriptions(self) -> tuple[tuple[str, str | None, Hashable], ...]:
        """Each member's id, instance id and subscription, for the leader."""
        protocol = self.protocol
        return tuple((m.id, m.instance, m.subscription(protocol)) for m in self.members.values())

    # -- storage ---------------------------------------------------------------------------

    def record(self, assignments: Iterable[Hashable] | None = None) -> OffsetsTopicRecord:
        """The group's record, with its members' assignments or with these."""
        if assignments is None:
            assignments = [member.assignment for member in self.members.values()]
        members = tuple(
            StoredMember(
                member.id,
                member.instance,
                member.session_timeout,
                member.rebalance_timeout,
                member.subscription(self.protocol),
                assignment,
            )
            for member, assignment in zip(self.members.values(), assignments, strict=True)
        )
        value = GroupMetadata(
            self.generation, self.protocol_type, self.protocol, self.leader, members
        )
        return OffsetsTopicRecord(self.id, None, value, self.since)

    # -- timers ----------------------------------------------------------------------------

    def timer(self, kind: TimerKind) -> TimerKey:
        """A timer of the group as a whole."""
        return TimerKey(kind, self.id)

    def pending_timer(self, member: str) -> TimerKey:
        """The timer of a pending member."""
        return TimerKey(TimerKind.PENDING, self.id, member)

    def timers(self) -> Iterator[TimerKey]:
        """Every timer of this group that may be armed."""
        yield self.timer(TimerKind.INITIAL_DELAY)
        yield self.timer(TimerKind.JOIN)
        yield self.timer(TimerKind.SYNC)
        yield from map(self.pending_timer, self.pending_joins)
        for member in self.members.values():
            yield member.timer


def _names(protocols: tuple[Protocol, ...]) -> set[str]:
    return {protocol.name for protocol in protocols}
