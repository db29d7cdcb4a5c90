"""Consistency between the consumers and the group: what one believes and the other knows."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.group.baseline.coordinator import IN_GENERATION
from kspec.spec.group.baseline.ids import ids_of
from kspec.spec.group.properties import is_moving, owners
from kspec.spec.group.state import NAMES, Faults, Owns, Phase, World
from kspec.spec.messages import NO_GENERATION, NO_MEMBER_ID, Error, GroupState, JoinGroupResponse


@always
def ParkedRequestIsAwaited(s: World) -> Claims:
    """A request is parked only for a consumer that awaits its response, and no other."""
    for m in s.group.members:
        for caller, phase in ((m.awaiting_join, Phase.JOINING), (m.awaiting_sync, Phase.SYNCING)):
            if isinstance(caller, int):
                c = s.consumers[caller]
                yield f"member {m.id}, by number", m.id.startswith(NAMES[caller])
                waits = c.phase is phase and c.in_flight is None and c.coordinator == s.coordinator
                yield f"member {m.id}", waits
                current = c.generation == s.group.generation
                yield f"member {m.id}, by generation", phase is Phase.JOINING or current


@always
def WaitingConsumerIsParked(s: World) -> Claims:
    """A consumer awaits a response that will not come only after a fault."""
    disturbed = s.faults != Faults() or s.coordinator > 0
    for n, c in enumerate(s.consumers):
        if c.phase in (Phase.JOINING, Phase.SYNCING) and c.in_flight is None:
            yield f"consumer {n}", disturbed or s.is_parked(n)


@always
def OneParkedRequestPerConsumer(s: World) -> Claims:
    """The coordinator parks at most one request of each consumer."""
    parked = [caller for m in s.group.members for caller in (m.awaiting_join, m.awaiting_sync)]
    callers = [caller for caller in parked if isinstance(caller, int)]
    yield "coordinator", len(callers) == len(set(callers))


@always
def ClaimMatchesOwnedPartitions(s: World) -> Claims:
    """A cooperative member that waits claims what it owns, and names the right generation.

    The generation tells the leader which of two conflicting claims counts (KAFKA-12984).
    """
    for m in s.group.members:
        if isinstance(m.awaiting_join, int):
            c = s.consumers[m.awaiting_join]
            since = c.generation if c.owned else NO_GENERATION
            for protocol in m.protocols:
                if isinstance(protocol.metadata, Owns):
                    yield f"member {m.id}", protocol.metadata == Owns(c.owned, since)


@always
def LateRequestComesFromItsConsumer(s: World) -> Claims:
    """An abandoned request carries the id and the instance id of the consumer that sent it."""
    for n, c in enumerate(s.consumers):
        if c.abandoned is not None:
            own = c.abandoned.member == NO_MEMBER_ID or c.abandoned.member in ids_of(s, n)
            yield f"consumer {n}", own and c.abandoned.instance == s.instance(n)


@always
def StableConsumerOwnsItsAssignment(s: World) -> Claims:
    """In a stable group each consumer of its generation has the partitions assigned to it."""
    for n, c in enumerate(s.consumers):
        member = s.group.member(c.member)
        current = c.phase is Phase.STABLE and c.generation == s.group.generation
        if member is not None and current and s.group.state is GroupState.STABLE:
            share = c.owned if c.pending_assignment is None else c.pending_assignment
            yield f"consumer {n}", share == member.assignment


@always
def LeaderHasAssignmentSnapshot(s: World) -> Claims:
    """Only the leader of a generation remembers how many partitions it assigned."""
    for n, c in enumerate(s.consumers):
        snapshot = c.assignment_snapshot
        yield f"consumer {n}", snapshot == 0 or s.bounds.partitions <= snapshot <= s.partitions
        current = s.group.state in IN_GENERATION and c.generation == s.group.generation
        if current and c.phase in (Phase.SYNCING, Phase.STABLE):
            leads = c.member == s.group.leader
            yield f"consumer {n}, as leader", not leads or snapshot > 0
            follows = s.group.member(c.member) is not None and not leads
            yield f"consumer {n}, as follower", not follows or snapshot == 0


@always
def SnapshotPartitionsAreAssigned(s: World) -> Claims:
    """In a stable group every partition that its leader saw is assigned, or moves.

    A static leader that restarts sees them anew and keeps the assignment (KIP-814).
    """
    if s.group.state is GroupState.STABLE and s.bounds.static == 0:
        for n, c in enumerate(s.consumers):
            if c.member == s.group.leader and c.generation == s.group.generation:
                for p in range(c.assignment_snapshot):
                    yield f"partition {p}, consumer {n}", bool(owners(s, p)) or is_moving(s, p)


def joined_generation(s: World, consumer: int) -> int | None:
    """The generation in a JoinGroup response in flight from the current coordinator."""
    response = s.consumers[consumer].in_flight
    if not isinstance(response, JoinGroupResponse) or not s.reaches_coordinator(consumer):
        return None
    return response.generation if response.error is Error.NONE else None


@always
def JoinResponseIsCurrentWithoutFaults(s: World) -> Claims:
    """As long as no request is late, a JoinGroup response names the group's generation."""
    if s.faults.early + s.faults.crashes == 0 and s.group.state in IN_GENERATION:
        for n in range(len(s.consumers)):
            received = joined_generation(s, n)
            yield f"consumer {n}", received in (None, s.group.generation)


@always
def JoinResponseIsNotAheadOfGroup(s: World) -> Claims:
    """No JoinGroup response names a generation that the group has not reached."""
    for n in range(len(s.consumers)):
        received = joined_generation(s, n)
        yield f"consumer {n}", received is None or received <= s.group.generation


@always
def RebalancesHaveCauses(s: World) -> Claims:
    """An undisturbed group begins no more generations than its members have reasons.

    Each consumer that joins, and each new partition, is one reason, with up to two further
    rebalances to revoke partitions in.
    """
    if s.faults == Faults() and s.coordinator == 0:
        reasons = len(s.consumers) + s.partitions - s.bounds.partitions
        yield "coordinator", s.group.generation <= 3 * reasons


AGREEMENT = (
    ParkedRequestIsAwaited,
    WaitingConsumerIsParked,
    OneParkedRequestPerConsumer,
    ClaimMatchesOwnedPartitions,
    LateRequestComesFromItsConsumer,
    StableConsumerOwnsItsAssignment,
    LeaderHasAssignmentSnapshot,
    SnapshotPartitionsAreAssigned,
    JoinResponseIsCurrentWithoutFaults,
    JoinResponseIsNotAheadOfGroup,
    RebalancesHaveCauses,
)
