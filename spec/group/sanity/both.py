"""The consumers and the group: what the ones believe and the other knows."""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.properties import is_moving, owners
from spec.group.sanity.group import MADE
from spec.group.sanity.ids import ids_of
from spec.group.world import NAMES, Faults, Owns, Phase, World
from spec.messages import NO_GENERATION, NOBODY, Error, GroupState, Joined


@always
def WhoIsParkedWaits(s: World) -> Claims:
    """An answer is owed only to a consumer that waits for this one, and for nothing else."""
    for m in s.group.members:
        for caller, phase in ((m.joining, Phase.JOINING), (m.syncing, Phase.SYNCING)):
            if isinstance(caller, int):
                c = s.consumers[caller]
                yield f"member {m.id}, by number", m.id.startswith(NAMES[caller])
                waits = c.phase is phase and c.call is None and c.coordinator == s.coordinator
                yield f"member {m.id}", waits
                current = c.generation == s.group.generation
                yield f"member {m.id}, by generation", phase is Phase.JOINING or current


@always
def WhoWaitsIsParked(s: World) -> Claims:
    """A consumer waits in vain only if something was lost, or a late request took its place."""
    gone_wrong = s.faults != Faults() or s.coordinator > 0
    for n, c in enumerate(s.consumers):
        if c.phase in (Phase.JOINING, Phase.SYNCING) and c.call is None:
            yield f"consumer {n}", gone_wrong or s.waits_at_coordinator(n)


@always
def NobodyWaitsTwice(s: World) -> Claims:
    """The coordinator owes each consumer one answer at most."""
    callers = [x for m in s.group.members for x in (m.joining, m.syncing) if isinstance(x, int)]
    yield "coordinator", len(callers) == len(set(callers))


@always
def AClaimIsWhatIsOwned(s: World) -> Claims:
    """A cooperative member that waits is known to own what it reads, and since when.

    By the generation the leader tells claims apart that differ (KAFKA-12984).
    """
    for m in s.group.members:
        if isinstance(m.joining, int):
            c = s.consumers[m.joining]
            since = c.generation if c.owned else NO_GENERATION
            for protocol in m.protocols:
                if isinstance(protocol.metadata, Owns):
                    yield f"member {m.id}", protocol.metadata == Owns(c.owned, since)


@always
def NothingIsLateInVain(s: World) -> Claims:
    """What a consumer gave up on was sent by it."""
    for n, c in enumerate(s.consumers):
        if c.late is not None:
            own = c.late.member == NOBODY or c.late.member in ids_of(s, n)
            yield f"consumer {n}", own and c.late.instance == s.instance(n)


@always
def WhoReadsReadsItsShare(s: World) -> Claims:
    """In a stable group each consumer of its generation reads, or is told, what it was given."""
    for n, c in enumerate(s.consumers):
        member = s.group.member(c.member)
        current = c.phase is Phase.STABLE and c.generation == s.group.generation
        if member is not None and current and s.group.state is GroupState.STABLE:
            share = c.owned if c.told is None else c.told
            yield f"consumer {n}", share == member.assignment


@always
def TheLeaderKnowsItsPlan(s: World) -> Claims:
    """The leader of a generation remembers how many partitions there were when it assigned."""
    for n, c in enumerate(s.consumers):
        yield f"consumer {n}", c.planned == 0 or s.bounds.partitions <= c.planned <= s.partitions
        current = s.group.state in MADE and c.generation == s.group.generation
        if current and c.phase in (Phase.SYNCING, Phase.STABLE):
            leads = c.member == s.group.leader
            yield f"consumer {n}, as leader", not leads or c.planned > 0
            follows = s.group.member(c.member) is not None and not leads
            yield f"consumer {n}, as follower", not follows or c.planned == 0


@always
def WhatIsPlannedIsAssigned(s: World) -> Claims:
    """In a stable group all partitions that its leader saw have an owner, or are moving.

    A static leader that comes back sees them anew, and leaves the assignment as it is (KIP-814).
    """
    if s.group.state is GroupState.STABLE and s.bounds.static == 0:
        for n, c in enumerate(s.consumers):
            if c.member == s.group.leader and c.generation == s.group.generation:
                for p in range(c.planned):
                    yield f"partition {p}, consumer {n}", bool(owners(s, p)) or is_moving(s, p)


@always
def NobodyIsBehindWithoutAFault(s: World) -> Claims:
    """As long as no request is late, who hears of a generation hears of the group's."""
    if s.faults.early + s.faults.crashes == 0 and s.group.state in MADE:
        for n, c in enumerate(s.consumers):
            if s.finds(n) and isinstance(c.call, Joined) and c.call.error is Error.NONE:
                yield f"consumer {n}", c.call.generation == s.group.generation


@always
def NobodyIsAhead(s: World) -> Claims:
    """No consumer hears from the coordinator of a generation that the group does not have yet."""
    for n, c in enumerate(s.consumers):
        if s.finds(n) and isinstance(c.call, Joined) and c.call.error is Error.NONE:
            yield f"consumer {n}", c.call.generation <= s.group.generation


@always
def ARebalanceHasACause(s: World) -> Claims:
    """A group that nothing disturbs begins no more generations than its members have reasons.

    Each that joins, or sees another partition, is one, with up to two more rounds to revoke in.
    """
    if s.faults == Faults() and s.coordinator == 0:
        reasons = len(s.consumers) + s.partitions - s.bounds.partitions
        yield "coordinator", s.group.generation <= 3 * reasons


BOTH = (
    WhoIsParkedWaits,
    WhoWaitsIsParked,
    NobodyWaitsTwice,
    AClaimIsWhatIsOwned,
    NothingIsLateInVain,
    WhoReadsReadsItsShare,
    TheLeaderKnowsItsPlan,
    WhatIsPlannedIsAssigned,
    NobodyIsBehindWithoutAFault,
    NobodyIsAhead,
    ARebalanceHasACause,
)
