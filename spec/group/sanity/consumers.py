"""A consumer by itself: what goes with the phase that it is in."""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.world import GONE, Consumer, Phase, World
from spec.messages import (
    NO_GENERATION,
    NOBODY,
    Error,
    GroupState,
    Joined,
    JoinGroup,
    Synced,
    SyncGroup,
)


@always
def WhoIsOutHasNothingUnderWay(s: World) -> Claims:
    """A consumer that is to join has no request, no assignment and no plan of its own."""
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.OUT:
            yield f"consumer {n}", c.call is None and c.told is None
            yield f"consumer {n}, as leader", c.planned == 0


@always
def WhoJoinsWaitsForThat(s: World) -> Claims:
    """A joining consumer has sent a JoinGroup that says who it is, and has no plan yet.

    Without a generation it has nothing left to own.
    """
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.JOINING:
            yield f"consumer {n}", c.call is None or isinstance(c.call, JoinGroup | Joined)
            own = not isinstance(c.call, JoinGroup) or c.call.member == c.member
            yield f"consumer {n}, by its request", own
            yield f"consumer {n}, as leader", c.planned == 0 and c.told is None
            yield f"consumer {n}, as owner", c.generation != NO_GENERATION or not c.owned


@always
def WhoSyncsIsInAGeneration(s: World) -> Claims:
    """A syncing consumer has an id and a generation, and its SyncGroup names both."""
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.SYNCING:
            known = c.member != NOBODY and c.generation != NO_GENERATION and c.told is None
            yield f"consumer {n}", known
            yield (
                f"consumer {n}, by its call",
                c.call is None or isinstance(c.call, SyncGroup | Synced),
            )
            if isinstance(c.call, SyncGroup):
                own = (c.call.member, c.call.generation) == (c.member, c.generation)
                yield f"consumer {n}, by its request", own


@always
def WhoIsStableWaitsForNothing(s: World) -> Claims:
    """A consumer that has an assignment has no request on its way, and knows its id."""
    for n, c in enumerate(s.consumers):
        if c.phase is Phase.STABLE:
            yield f"consumer {n}", c.call is None and c.member != NOBODY


@always
def WhoWaitsKnowsWhom(s: World) -> Claims:
    """A consumer whose request is not answered knows the coordinator that it asked."""
    for n, c in enumerate(s.consumers):
        waits = c.phase in (Phase.JOINING, Phase.SYNCING)
        yield f"consumer {n}", not waits or c.coordinator is not None
        yield f"consumer {n}, by number", c.coordinator is None or c.coordinator <= s.coordinator


@always
def OnlyWhoIsStableRejoins(s: World) -> Claims:
    """Only a consumer with an assignment is to hear of it, or means to join again."""
    for n, c in enumerate(s.consumers):
        stable = c.phase is Phase.STABLE
        yield f"consumer {n}", stable or (c.told is None and not c.wants_to_rejoin)


@always
def WhoIsGoneIsAsNew(s: World) -> Claims:
    """Nothing is left of a process that ended but what it had sent."""
    for n, c in enumerate(s.consumers):
        blank = Consumer(phase=c.phase, polls=c.polls, late=c.late, ids=c.ids)
        yield f"consumer {n}", c.phase not in GONE or c == blank


@always
def AnAnswerIsOldOnlyIfThereIsOne(s: World) -> Claims:
    """Whether a heartbeat's answer is to an earlier self is asked only if there is an answer."""
    for n, c in enumerate(s.consumers):
        yield f"consumer {n}", c.beat is not None or not c.beat_is_old


@always
def WhatIsHeardIsTrue(s: World) -> Claims:
    """An error that is to this self, from a coordinator that still is, says how things are."""
    if s.coordinator > 0 or s.group.state is GroupState.DEAD:
        return
    for n, c in enumerate(s.consumers):
        if not c.beat_is_old and c.runs:
            member = s.group.member(c.member)
            unknown = c.beat is Error.UNKNOWN_MEMBER_ID
            yield f"consumer {n}, of its id", not unknown or member is None
            outdated = c.beat is Error.ILLEGAL_GENERATION
            yield (
                f"consumer {n}, of its generation",
                (not outdated or member is None or c.generation != s.group.generation),
            )


CONSUMERS = (
    WhoIsOutHasNothingUnderWay,
    WhoJoinsWaitsForThat,
    WhoSyncsIsInAGeneration,
    WhoIsStableWaitsForNothing,
    WhoWaitsKnowsWhom,
    OnlyWhoIsStableRejoins,
    WhoIsGoneIsAsNew,
    AnAnswerIsOldOnlyIfThereIsOne,
    WhatIsHeardIsTrue,
)
