"""The group by itself, as its coordinator remembers it."""

from __future__ import annotations

from spec.core import Claims, always
from spec.group.coordinator import Group
from spec.group.world import MODEL_SETTINGS, REBALANCE_TIMEOUT, World
from spec.messages import GroupState

MADE = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""The states in which there is a generation, and members in it."""


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


GROUP_ITSELF = (
    AnEmptyGroupIsEmpty,
    ADeadGroupIsForgotten,
    WhoJoinsIsWaitedFor,
    WhoSyncsIsAwaited,
    AGenerationHasAProtocol,
    PlansAreStoredAtOnce,
    TheInitialDelayIsBounded,
    AnExtensionIsUsedUp,
)
