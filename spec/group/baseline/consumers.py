"""Consistency of a consumer: what belongs to the phase that it is in."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.group.state import ENDED, Consumer, Phase, World
from kspec.spec.messages import (
    NO_GENERATION,
    NO_MEMBER_ID,
    Error,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    SyncGroup,
    SyncGroupResponse,
)


@always
def UnjoinedConsumerHasNothingInFlight(s: World) -> Claims:
    """A consumer that is to join has no request, no assignment and no snapshot."""
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.UNJOINED:
            yield f"consumer {n}", c.in_flight is None and c.pending_assignment is None
            yield f"consumer {n}, as leader", c.assignment_snapshot == 0


@always
def JoiningConsumerHasPendingJoin(s: World) -> Claims:
    """A joining consumer has a JoinGroup in flight or parked, under its own id, and no snapshot.

    Without a generation it owns nothing.
    """
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.JOINING:
            expected = c.in_flight is None or isinstance(c.in_flight, JoinGroup | JoinGroupResponse)
            yield f"consumer {n}", expected
            own = not isinstance(c.in_flight, JoinGroup) or c.in_flight.member == c.member
            yield f"consumer {n}, by its request", own
            unassigned = c.assignment_snapshot == 0 and c.pending_assignment is None
            yield f"consumer {n}, as leader", unassigned
            yield f"consumer {n}, as owner", c.generation != NO_GENERATION or not c.owned


@always
def SyncingConsumerHasGeneration(s: World) -> Claims:
    """A syncing consumer has an id and a generation, and its SyncGroup names both."""
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.SYNCING:
            known = c.member != NO_MEMBER_ID and c.generation != NO_GENERATION
            yield f"consumer {n}", known and c.pending_assignment is None
            syncs = isinstance(c.in_flight, SyncGroup | SyncGroupResponse)
            yield f"consumer {n}, by its message", c.in_flight is None or syncs
            if isinstance(c.in_flight, SyncGroup):
                own = (c.in_flight.member, c.in_flight.generation) == (c.member, c.generation)
                yield f"consumer {n}, by its request", own


@always
def StableConsumerHasNothingInFlight(s: World) -> Claims:
    """A consumer with an assignment has no request in flight, and knows its id."""
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.STABLE:
            yield f"consumer {n}", c.in_flight is None and c.member != NO_MEMBER_ID


@always
def WaitingConsumerKnowsCoordinator(s: World) -> Claims:
    """A consumer that awaits a response knows the coordinator that it asked."""
    for n, c in enumerate(s.consumers):
        waits = c.phase in (Phase.JOINING, Phase.SYNCING)
        yield f"consumer {n}", not waits or c.coordinator is not None
        yield f"consumer {n}, by number", c.coordinator is None or c.coordinator <= s.coordinator


@always
def RejoiningConsumerIsStable(s: World) -> Claims:
    """Only a stable consumer has an assignment to apply, or needs to rejoin."""
    for n, c in enumerate(s.consumers):
        stable = c.phase is Phase.STABLE
        yield f"consumer {n}", stable or (c.pending_assignment is None and not c.needs_rejoin)


@always
def EndedConsumerHasNoState(s: World) -> Claims:
    """A process that ended leaves nothing behind except an abandoned request."""
    for n, c in enumerate(s.consumers):
        blank = Consumer(phase=c.phase, polls=c.polls, abandoned=c.abandoned, ids=c.ids)
        yield f"consumer {n}", c.phase not in ENDED or c == blank


@always
def StaleErrorIsInFlight(s: World) -> Claims:
    """Only a heartbeat error that is in flight can be stale."""
    for n, c in enumerate(s.consumers):
        yield f"consumer {n}", c.heartbeat_error is not None or not c.heartbeat_error_is_stale


@always
def HeartbeatErrorIsJustified(s: World) -> Claims:
    """A heartbeat error that is not stale, from the current coordinator, describes the group."""
    if s.coordinator > 0 or s.group.state is GroupState.DEAD:
        return
    for n, c in enumerate(s.consumers):
        if not c.heartbeat_error_is_stale and c.is_running:
            member = s.group.member(c.member)
            unknown = c.heartbeat_error is Error.UNKNOWN_MEMBER_ID
            yield f"consumer {n}, of its id", not unknown or member is None
            outdated = c.heartbeat_error is Error.ILLEGAL_GENERATION
            is_current = member is not None and c.generation == s.group.generation
            yield f"consumer {n}, of its generation", not (outdated and is_current)


CONSUMERS = (
    UnjoinedConsumerHasNothingInFlight,
    JoiningConsumerHasPendingJoin,
    SyncingConsumerHasGeneration,
    StableConsumerHasNothingInFlight,
    WaitingConsumerKnowsCoordinator,
    RejoiningConsumerIsStable,
    EndedConsumerHasNoState,
    StaleErrorIsInFlight,
    HeartbeatErrorIsJustified,
)
