"""A group and its members as a coordinator holds them in memory, with their bookkeeping.

Nothing here answers anybody or arms a timer: that is what the handlers do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

import attrs

from impl.coordinator.timers import TimerKey, TimerKind
from spec.messages import (
    NO_ASSIGNMENT,
    Error,
    GroupMetadata,
    GroupState,
    Offset,
    Protocol,
    Record,
    StoredMember,
)
from spec.vocabulary import TopicPartition

NONE = Error.NONE


@attrs.define(eq=False)
class Parked:
    """A request that is answered later. Who asked may be gone by then."""

    caller: Hashable
    forgotten: bool = False


@attrs.define(eq=False)
class Member:
    """A member of a group."""

    id: str
    instance: str | None
    session_timeout: int
    rebalance_timeout: int
    protocols: tuple[Protocol, ...]
    """What it supports, best first."""
    timer: TimerKey
    """Its sign of life; kept, since every heartbeat names it."""
    assignment: Hashable = NO_ASSIGNMENT
    is_new: bool = False
    """It has joined, and no round was completed since: it may not know its id yet."""
    join: Parked | None = None
    sync: Parked | None = None

    def subscription(self, protocol: str | None) -> Hashable:
        """What it told the leader under this protocol."""
        return next((p.metadata for p in self.protocols if p.name == protocol), b"")


@attrs.define
class CommittedOffset:
    """An offset that is stored, and so may be fetched."""

    offset: Offset
    time: int
    """When it was committed."""
    ticket: int
    """Of its commit: one that was written earlier, and is stored later, does not replace it."""


@attrs.define(eq=False)
class Commit:
    """Offsets that are written, but not stored yet."""

    offsets: dict[TopicPartition, Offset]
    time: int


@attrs.define(eq=False)
class Group:
    """A classic group."""

    id: str
    since: int = 0
    """When it came into its state."""
    state: GroupState = GroupState.EMPTY
    came_from: GroupState = GroupState.EMPTY
    """The state before this one."""
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = attrs.Factory(dict)
    """In the order in which they were added; where Kafka takes any, we take the first."""
    instances: dict[str, str] = attrs.Factory(dict)
    """The member id of each static member."""
    pending_joins: set[str] = attrs.Factory(set)
    """Ids that were given to clients which have not joined with them yet."""
    pending_syncs: set[str] = attrs.Factory(set)
    """Members of this generation that have not asked for their assignment yet."""
    joined: int = 0
    """How many members' joins are parked."""
    grew: bool = False
    """Whether a member was added since the initial delay was armed."""
    delay: int = 0
    """For how long the initial delay was armed last."""
    delay_left: int = 0
    """How much longer than that it may still become."""
    supporters: Counter[str] = attrs.Factory(Counter)
    """How many members support each protocol."""
    offsets: dict[TopicPartition, CommittedOffset] = attrs.Factory(dict)
    commits: dict[int, Commit] = attrs.Factory(dict)
    """By ticket."""

    # -- states ----------------------------------------------------------------------------

    def becomes(self, state: GroupState, now: int) -> None:
        """Go over into another state."""
        self.came_from, self.state, self.since = self.state, state, now

    def everybody_joined(self) -> bool:
        """Whether nobody is missing in the round: no member, and no id that was given out."""
        return self.joined == len(self.members) and not self.pending_joins

    # -- members ---------------------------------------------------------------------------

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in; the first one leads."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.id] = member
        if member.instance is not None:
            self.instances[member.instance] = member.id
        self.supporters.update(_names(member.protocols))
        self.joined += member.join is not None
        if self.leader is None:
            self.leader = member.id

    def remove(self, member: Member) -> None:
        """Drop a member, whose requests were answered before; another may come to lead."""
        del self.members[member.id]
        if member.instance is not None:
            del self.instances[member.instance]
        self.supporters.subtract(_names(member.protocols))
        self.joined -= member.join is not None
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)

    def says(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        """A member supports something else than before."""
        self.supporters.subtract(_names(member.protocols))
        self.supporters.update(_names(protocols))
        member.protocols = protocols

    def why_not_member(self, member: str, instance: str | None) -> Error:
        """What is wrong with who says to be this member; NONE if nothing is."""
        if instance is not None:
            mapped = self.instances.get(instance)
            if mapped is None:
                return Error.UNKNOWN_MEMBER_ID
            if mapped != member:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member in self.members else Error.UNKNOWN_MEMBER_ID

    def why_not(self, member: str, instance: str | None, generation: int) -> Error:
        """What is wrong with who says to be this member, in this generation."""
        if instance is not None or member not in self.members:
            error = self.why_not_member(member, instance)
            if error is not NONE:
                return error
        return NONE if generation == self.generation else Error.ILLEGAL_GENERATION

    def rebalance_timeout(self) -> int:
        """How long the slowest member may take to join."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0)

    # -- protocols -------------------------------------------------------------------------

    def can_agree(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Whether there is a protocol that all members and this one support."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        everybody = len(self.members)
        return any(self.supporters[p.name] == everybody for p in protocols)

    def vote(self) -> str:
        """The protocol with most votes: each member's is its best one that all support.

        Among equals, the one that the first member likes best.
        """
        everybody = len(self.members)
        shared = {name for name, number in self.supporters.items() if number == everybody}
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes[next(p.name for p in member.protocols if p.name in shared)] += 1
        first = next(iter(self.members.values()))
        return max((p.name for p in first.protocols if p.name in shared), key=votes.__getitem__)

    def subscriptions(self) -> tuple[tuple[str, str | None, Hashable], ...]:
        """What the leader is told of each member."""
        protocol = self.protocol
        return tuple((m.id, m.instance, m.subscription(protocol)) for m in self.members.values())

    # -- as it is written down -------------------------------------------------------------

    def record(self, assignments: Iterable[Hashable] | None = None) -> Record:
        """The group's record, with the assignments that its members have, or these."""
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
        return Record(self.id, None, value, self.since)

    # -- timers ----------------------------------------------------------------------------

    def timer(self, kind: TimerKind) -> TimerKey:
        """One of the timers of which a group has one."""
        return TimerKey(kind, self.id)

    def pending_timer(self, member: str) -> TimerKey:
        """The timer of an id that was given out."""
        return TimerKey(TimerKind.PENDING, self.id, member)

    def timers(self) -> Iterator[TimerKey]:
        """All that may be armed on this group's account."""
        yield self.timer(TimerKind.INITIAL_DELAY)
        yield self.timer(TimerKind.JOIN)
        yield self.timer(TimerKind.SYNC)
        yield from map(self.pending_timer, self.pending_joins)
        for member in self.members.values():
            yield member.timer


def _names(protocols: tuple[Protocol, ...]) -> set[str]:
    return {protocol.name for protocol in protocols}
