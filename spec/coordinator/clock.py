"""Time: when the timers of a group expire.

`sessions.armed` lists the timers that would have an effect; here each starts and expires, and
`sessions.fire` says what happens then. The session timer of a member whose
request is parked may expire as well: `armed` does not have it, and nothing happens.

Kafka: each `timer.schedule` in `GroupMetadataManager`, and `OffsetMetadataManager`.
Simplification: writes to the offsets topic succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TypeAlias, TypeVar

from kspec.spec.coordinator.requests import first_error, handle, handler_of
from kspec.spec.coordinator.sessions import Timer, armed
from kspec.spec.coordinator.state import Group
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupState,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)

When = TypeVar("When")
Start: TypeAlias = Callable[[Timer, int], When]
"""When a timer expires that starts now and takes so many milliseconds."""


def timers_after(
    before: Group,
    after: Group,
    running: Mapping[Timer, When],
    start: Start[When],
    request: Request | None = None,
    renewed: Timer | None = None,
) -> dict[Timer, When]:
    """The timers after a step, which this request may have caused, and when each expires.

    New ones start, as does the one that the request has renewed; those that have no effect any
    more stop.
    """
    sessions = {Timer("session", member.id) for member in after.members}
    found = {}
    for timer in sorted(armed(after) | sessions):
        if timer == renewed or starts(timer, before, after, running):
            found[timer] = start(timer, duration(timer, before, after, request))
        elif timer in running:
            found[timer] = running[timer]
    return found


def starts(timer: Timer, before: Group, after: Group, running: Container[Timer]) -> bool:
    """Whether a timer starts, or starts again.

    A generation restarts the timers of its members, and an answered SyncGroup that of its sender.

    Kafka: `completeClassicGroupJoin`, `propagateAssignment`.
    """
    if timer.kind == "session":
        was, is_now = before.member(timer.member), after.member(timer.member)
        assert is_now is not None, "only members have sessions"
        is_synced = was is not None and was.awaiting_sync is not None and not is_now.awaiting_sync
        return was is None or is_synced or after.generation != before.generation
    begins = timer.kind == "sync" and after.generation != before.generation
    return begins or timer not in running


def renewed_by(group: Group, request: Request | None) -> Timer | None:
    """The session that a request renews: that of a member whose request is valid.

    Kafka: `rescheduleClassicGroupMemberHeartbeat`, which `classicGroupHeartbeat` also calls before
    it answers REBALANCE_IN_PROGRESS, and `OffsetMetadataManager.validateOffsetCommit`.
    """
    if not isinstance(request, Heartbeat | OffsetCommit | SyncGroup):
        return None
    if isinstance(request, SyncGroup):
        is_stable = group.state is GroupState.STABLE
        if not (is_stable and group.settings.variant.sync_renews_session):
            return None
    error = first_error(handler_of(group, None, request, NO_MEMBER_ID))
    rebalances = isinstance(request, Heartbeat) and error is Error.REBALANCE_IN_PROGRESS
    return Timer("session", request.member) if error is None or rebalances else None


def duration(timer: Timer, before: Group, after: Group, request: Request | None) -> int:
    """How long a timer takes that starts now, in milliseconds.

    Kafka: `tryCompleteInitialRebalanceElseSchedule` extends the initial delay by what remains of
    it.
    """
    settings = after.settings
    match timer.kind:
        case "initial delay" if before.in_initial_delay:
            return min(settings.initial_rebalance_delay, before.remaining_delay)
        case "initial delay":
            return settings.initial_rebalance_delay
        case "join":
            return begun(before, after, request).rebalance_timeout
        case "sync":
            return after.rebalance_timeout
        case "session":
            return session_duration(timer.member, before, after)
        case _:
            assert isinstance(request, JoinGroup), "JoinGroup issues member ids"
            return request.session_timeout


def begun(before: Group, after: Group, request: Request | None) -> Group:
    """The group as it was when its rebalance began: in Scala, before the last members left."""
    if isinstance(request, LeaveGroup) and before.settings.variant.leaves_in_turn:
        for count in range(1, len(request.members)):
            first = evolve(request, members=request.members[:count])
            group = handle(before, None, first, NO_MEMBER_ID).group
            if Timer("join") in armed(group):
                return group
    return after


def session_duration(member_id: str, before: Group, after: Group) -> int:
    """How long a member may be silent from now on.

    Until its first heartbeat or generation, a new member has five minutes, and a restarted static
    member the session timeout from before. Kafka: `addMemberThenRebalanceOrCompleteJoin`
    (`CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS`),
    `updateStaticMemberThenRebalanceOrCompleteJoin`.
    """
    member = after.member(member_id)
    assert member is not None, "only members have sessions"
    if before.member(member_id) is None and after.generation == before.generation:
        replaced = before.static_member(member.instance)
        if replaced is not None:
            return replaced.session_timeout
        if member.is_new:
            return after.settings.new_member_timeout
    return member.session_timeout
