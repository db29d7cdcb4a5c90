"""Consistency of member ids: who was issued one, and who uses it."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.group.state import NAMES, World
from kspec.spec.messages import NO_GENERATION, NO_MEMBER_ID, Error, JoinGroupResponse


def ids_of(s: World, number: int) -> set[str]:
    """The member ids that a consumer was ever issued."""
    return {f"{NAMES[number]}{i + 1}" for i in range(s.consumers[number].ids)}


@always
def MemberIdsWereIssued(s: World) -> Claims:
    """Every member id in use was issued to the consumer whose prefix it has."""
    issued = {i for n in range(len(s.consumers)) for i in ids_of(s, n)}
    yield "members", {m.id for m in s.group.members} <= issued
    yield "pending", s.group.pending <= issued
    for n, c in enumerate(s.consumers):
        yield f"consumer {n}", c.member == NO_MEMBER_ID or c.member in ids_of(s, n)
        known = c.member != NO_MEMBER_ID or c.generation == NO_GENERATION
        yield f"consumer {n}, in a generation", known


@always
def PendingIdsAreNotMembers(s: World) -> Claims:
    """A pending member id is not yet a member's."""
    yield "coordinator", s.group.pending.isdisjoint(m.id for m in s.group.members)


@always
def IssuedIdIsPending(s: World) -> Claims:
    """The coordinator remembers the id that it issued, unless a timer or a failover intervenes."""
    timer = s.faults.early + s.faults.stalls > 0
    for n, c in enumerate(s.consumers):
        response = c.in_flight
        if isinstance(response, JoinGroupResponse) and response.error is Error.MEMBER_ID_REQUIRED:
            remembered = response.member in s.group.pending
            yield f"consumer {n}", remembered or timer or not s.reaches_coordinator(n)


@always
def PendingIdUserKnowsNoOtherCoordinator(s: World) -> Claims:
    """A consumer that uses a pending id has not asked another coordinator since."""
    for n, c in enumerate(s.consumers):
        issued = c.in_flight.member if isinstance(c.in_flight, JoinGroupResponse) else c.member
        if c.is_running and issued in s.group.pending:
            yield f"consumer {n}", c.coordinator in (None, s.coordinator)


IDS = (
    MemberIdsWereIssued,
    PendingIdsAreNotMembers,
    IssuedIdIsPending,
    PendingIdUserKnowsNoOtherCoordinator,
)
