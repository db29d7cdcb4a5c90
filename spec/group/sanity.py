"""How any state of the model is built: what consumers, group, answers and storage have in common.

None of it is what a group is for (`properties`); but a rule that gets an effect wrong shows here.
"""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.coordinator import Group
from spec.group.properties import is_moving, owners
from spec.group.witnesses import WITNESSES
from spec.group.world import (
    GONE,
    MODEL_SETTINGS,
    NAMES,
    REBALANCE_TIMEOUT,
    Consumer,
    Faults,
    Phase,
    World,
)
from spec.messages import (
    NO_GENERATION,
    NOBODY,
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    Synced,
    SyncGroup,
)

MADE = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""The states in which there is a generation, and members in it."""


def ids_of(s: World, number: int) -> set[str]:
    """The ids that a consumer was ever given."""
    return {f"{NAMES[number]}{i + 1}" for i in range(s.consumers[number].ids)}


# -- a consumer by itself ---------------------------------------------------------------------


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


# -- ids --------------------------------------------------------------------------------------


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


# -- the group by itself ----------------------------------------------------------------------


@always
def AnEmptyGroupIsEmpty(s: World) -> Claims:
    """An empty group has neither members nor a way of assigning."""
    g = s.group
    if g.state is GroupState.EMPTY:
        yield "coordinator", (g.members, g.protocol, g.leader) == ((), None, None)


@always
def ADeadGroupIsForgotten(s: World) -> Claims:
    """A coordinator that has resigned remembers nothing."""
    if s.group.state is GroupState.DEAD:
        blank = Group(GroupState.DEAD, s.group.previous, settings=MODEL_SETTINGS)
        yield "coordinator", s.group == blank


@always
def WhoJoinsIsWaitedFor(s: World) -> Claims:
    """Members wait to join only while all are waited for; only then some are new."""
    preparing = s.group.state is GroupState.PREPARING_REBALANCE
    for m in s.group.members:
        yield f"member {m.id}", m.joining is None or preparing
        yield f"member {m.id}, new", not m.is_new or m.joining is not None


@always
def WhoSyncsIsAwaited(s: World) -> Claims:
    """While assignments are made, the members that do not wait for theirs are those missed."""
    completing = s.group.state is GroupState.COMPLETING_REBALANCE
    for m in s.group.members:
        yield f"member {m.id}", m.syncing is None or completing
    if completing:
        missed = {m.id for m in s.group.members if m.syncing is None}
        yield "coordinator", s.group.pending_sync == missed
    elif s.group.state is not GroupState.STABLE:
        yield "coordinator", not s.group.pending_sync


@always
def AGenerationHasAProtocol(s: World) -> Claims:
    """A group in a generation has members, all of whom support its way of assigning."""
    g = s.group
    if g.state in MADE:
        yield "coordinator", bool(g.members) and g.protocol is not None
        yield "protocol", all(m.supports(str(g.protocol)) for m in g.members)
        yield "pending sync", g.pending_sync <= {m.id for m in g.members}


@always
def PlansAreStoredAtOnce(s: World) -> Claims:
    """In the model nobody sees assignments that are still being written."""
    yield "coordinator", s.group.plan is None


@always
def TheInitialDelayIsBounded(s: World) -> Claims:
    """The initial delay is extended only while it lasts, and as long as a member is patient.

    If all have gone before it ended, what was left of it stays until somebody joins.
    """
    g = s.group
    lasts = g.waits_initially or g.state is GroupState.EMPTY
    most = REBALANCE_TIMEOUT - MODEL_SETTINGS.initial_rebalance_delay
    yield "left", 0 <= g.delay_left <= (most if lasts else 0)
    yield "joined meanwhile", lasts or not g.joined_meanwhile


@always
def AnExtensionIsUsedUp(s: World) -> Claims:
    """Who joined in the initial delay extends it: nobody is new to it only after that."""
    g = s.group
    if g.waits_initially and len(g.members) > 1 and not g.joined_meanwhile:
        yield "coordinator", g.delay_left == 0


# -- the consumers and the group --------------------------------------------------------------


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


# -- what is stored ---------------------------------------------------------------------------


@always
def WhatIsStoredIsTheGroup(s: World) -> Claims:
    """A group that is empty or stable is in the offsets topic as it is."""
    if s.group.state in (GroupState.EMPTY, GroupState.STABLE):
        stored = GroupMetadata() if s.stored is None else s.stored
        yield "offsets topic", stored == s.group.stored()


@always
def WhatIsStoredIsWhole(s: World) -> Claims:
    """What a new coordinator finds has members with a leader among them, or none of both."""
    if s.stored is not None:
        ids = [m.id for m in s.stored.members]
        yield "leader", s.stored.leader in ids if ids else s.stored.leader is None
        yield "protocol", (s.stored.protocol is not None) == bool(ids)


@always
def TheWorldIsWithinItsBounds(s: World) -> Claims:
    """The group moves, and the topic grows, one at a time."""
    yield "coordinators", s.coordinator <= s.bounds.failovers
    yield "partitions", s.partitions <= s.bounds.partitions + s.bounds.growths


SANITY = (
    WhoIsOutHasNothingUnderWay,
    WhoJoinsWaitsForThat,
    WhoSyncsIsInAGeneration,
    WhoIsStableWaitsForNothing,
    WhoWaitsKnowsWhom,
    OnlyWhoIsStableRejoins,
    WhoIsGoneIsAsNew,
    AnAnswerIsOldOnlyIfThereIsOne,
    WhatIsHeardIsTrue,
    IdsWereGiven,
    AnIdIsPendingOrAMembers,
    WhoWasGivenAnIdMayUseIt,
    ACoordinatorGivesIdsToWhoAskedIt,
    AnEmptyGroupIsEmpty,
    ADeadGroupIsForgotten,
    WhoJoinsIsWaitedFor,
    WhoSyncsIsAwaited,
    AGenerationHasAProtocol,
    PlansAreStoredAtOnce,
    TheInitialDelayIsBounded,
    AnExtensionIsUsedUp,
    WhoIsParkedWaits,
    WhoWaitsIsParked,
    NobodyWaitsTwice,
    NothingIsLateInVain,
    WhoReadsReadsItsShare,
    TheLeaderKnowsItsPlan,
    WhatIsPlannedIsAssigned,
    NobodyIsBehindWithoutAFault,
    NobodyIsAhead,
    ARebalanceHasACause,
    WhatIsStoredIsTheGroup,
    WhatIsStoredIsWhole,
    TheWorldIsWithinItsBounds,
    *WITNESSES,
)
