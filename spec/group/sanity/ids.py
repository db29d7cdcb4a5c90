"""Member ids: who was given them, and who still goes by one."""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.world import NAMES, World
from spec.messages import NO_GENERATION, NOBODY, Error, Joined


def ids_of(s: World, number: int) -> set[str]:
    """The ids that a consumer was ever given."""
    return {f"{NAMES[number]}{i + 1}" for i in range(s.consumers[number].ids)}


@always
def IdsWereGiven(s: World) -> Claims:
    """Whatever goes by an id: it was given to the consumer whose name it has."""
    given = {i for n in range(len(s.consumers)) for i in ids_of(s, n)}
    yield "members", {m.id for m in s.group.members} <= given
    yield "pending", s.group.pending <= given
    for n, c in enumerate(s.consumers):
        yield f"consumer {n}", c.member == NOBODY or c.member in ids_of(s, n)
        known = c.member != NOBODY or c.generation == NO_GENERATION
        yield f"consumer {n}, in a generation", known


@always
def AnIdIsPendingOrAMembers(s: World) -> Claims:
    """An id that was given out is pending until it is a member's."""
    yield "coordinator", s.group.pending.isdisjoint(m.id for m in s.group.members)


@always
def WhoWasGivenAnIdMayUseIt(s: World) -> Claims:
    """The coordinator remembers the id that it gave, until a timer or a failover intervenes."""
    timer = s.faults.early + s.faults.stalls > 0
    for n, c in enumerate(s.consumers):
        if isinstance(c.call, Joined) and c.call.error is Error.MEMBER_ID_REQUIRED:
            remembered = c.call.member in s.group.pending
            yield f"consumer {n}", remembered or timer or not s.finds(n)


@always
def ACoordinatorGivesIdsToWhoAskedIt(s: World) -> Claims:
    """Who goes by a pending id has not asked another coordinator since."""
    for n, c in enumerate(s.consumers):
        given = c.call.member if isinstance(c.call, Joined) else c.member
        if c.runs and given in s.group.pending:
            yield f"consumer {n}", c.coordinator in (None, s.coordinator)


IDS = (
    IdsWereGiven,
    AnIdIsPendingOrAMembers,
    WhoWasGivenAnIdMayUseIt,
    ACoordinatorGivesIdsToWhoAskedIt,
)
