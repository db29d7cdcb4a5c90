"""What the coordinator does: it handles requests, its timers expire, and it fails over.

Each rule takes its guards and its effect from `spec.coordinator`, the coordinator as pure
functions, and puts the responses in flight. Methods of Kafka that are named without a class are
those of `GroupMetadataManager`, tag 4.0.0.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from kspec.spec.coordinator import Outcome, first_error
from kspec.spec.coordinator.failover import load, unload
from kspec.spec.coordinator.membership import (
    issue_member_id,
    join_new_member,
    rejoin,
    replace_static_member,
    replacement_stored,
)
from kspec.spec.coordinator.offsets import commit
from kspec.spec.coordinator.rebalance import assignments_stored, complete_join, sync
from kspec.spec.coordinator.requests import join_handler
from kspec.spec.coordinator.sessions import (
    Timer,
    armed,
    delay_can_be_extended,
    expire_pending_member,
    expire_pending_sync,
    expire_session,
    extend_initial_delay,
)
from kspec.spec.core import Guarded, Step, budget, evolve, limit, present, rule
from kspec.spec.group.consumer import error_of
from kspec.spec.group.state import (
    MODEL_SETTINGS,
    NAMES,
    Inbound,
    Phase,
    World,
    consumers,
    first_joins,
    inbound_requests,
    inbound_syncs,
    member_ids,
    message,
    new_member_joins,
    pending_ids,
    rejoins,
    replacement_joins,
)
from kspec.spec.messages import (
    Error,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    OffsetCommit,
    SyncGroup,
    SyncGroupResponse,
)

R = TypeVar("R", JoinGroup, SyncGroup)

# -- helpers ----------------------------------------------------------------------------------


def received(s: World, inbound: Inbound, kind: type[R]) -> Guarded[tuple[World, R]]:
    """A request was sent to the current coordinator: the state without it, and the request."""
    reaches = inbound.abandoned or s.reaches_coordinator(inbound.consumer)
    yield "request reaches the coordinator", reaches
    request = message(s, inbound)
    assert isinstance(request, kind), "the choice is one of the requests of this kind"
    field = "abandoned" if inbound.abandoned else "in_flight"
    return s.with_consumer(inbound.consumer, **{field: None}), request


def issued_id(s: World, consumer: int) -> Guarded[tuple[World, str]]:
    """A member id is left for this consumer: the state in which it is issued, and the id."""
    issued = s.consumers[consumer].ids + 1
    yield limit("a member id is left"), issued <= s.bounds.ids
    return s.with_consumer(consumer, ids=issued), f"{NAMES[consumer]}{issued}"


def within_bounds(s: World, outcome: Outcome) -> Guarded[World]:
    """The outcome's generation is within the bounds; the state after the outcome."""
    yield limit("a generation is left"), outcome.group.generation <= s.bounds.generations
    return s.after(outcome)


# -- JoinGroup --------------------------------------------------------------------------------


@rule(by="coordinator", request=first_joins)
def coordinator_issues_member_id(s: World, request: Inbound) -> Step[World]:
    """A first JoinGroup is answered with a member id, to join again with (KIP-394).

    The id is pending until the client joins with it. Kafka: `classicGroupJoinNewDynamicMember`,
    MEMBER_ID_REQUIRED.
    """
    s, join = yield from received(s, request, JoinGroup)
    s, new_id = yield from issued_id(s, request.consumer)
    outcome = yield from issue_member_id(s.group, join, request.caller, new_id)
    return s.after(outcome)


@rule(by="coordinator", request=new_member_joins)
def coordinator_adds_member(s: World, request: Inbound) -> Step[World]:
    """A client becomes a member; its JoinGroup is parked until the next generation begins.

    A dynamic member brings its pending id; a static one receives its id with the response.
    Kafka: `addMemberThenRebalanceOrCompleteJoin`.
    """
    s, join = yield from received(s, request, JoinGroup)
    member_id = join.member
    if join.instance is not None:
        s, member_id = yield from issued_id(s, request.consumer)
    outcome = yield from join_new_member(s.group, join, request.caller, member_id)
    return (yield from within_bounds(s, outcome))


@rule(by="coordinator", request=rejoins)
def coordinator_accepts_rejoin(s: World, request: Inbound) -> Step[World]:
    """A member joins again: it waits for the next generation, or receives the current one.

    Kafka: `classicGroupJoinExistingMember`.
    """
    s, join = yield from received(s, request, JoinGroup)
    outcome = yield from rejoin(s.group, join, request.caller)
    return (yield from within_bounds(s, outcome))


def accept_replacement(
    s: World, request: Inbound, keeps_generation_in: Collection[GroupState]
) -> Step[World]:
    """A static member gets a new id; in these states the group keeps its generation."""
    s, join = yield from received(s, request, JoinGroup)
    s, new_id = yield from issued_id(s, request.consumer)
    outcome = yield from replace_static_member(
        s.group, join, request.caller, new_id, keeps_generation_in
    )
    replacement = outcome.replacement
    if replacement is not None:
        outcome = outcome.then(lambda group: replacement_stored(group, replacement))
    return (yield from within_bounds(s, outcome))


@rule(by="coordinator", request=replacement_joins)
def coordinator_replaces_static_member(s: World, request: Inbound) -> Step[World]:
    """A static member that restarted gets a new id, and its old id is fenced (KIP-345).

    Kafka: `updateStaticMemberThenRebalanceOrCompleteJoin`. Simplification: the write of the new id
    to the offsets topic succeeds at once.
    """
    return (yield from accept_replacement(s, request, (GroupState.STABLE,)))


# -- SyncGroup --------------------------------------------------------------------------------


@rule(by="coordinator", request=inbound_syncs)
def coordinator_accepts_sync(s: World, request: Inbound) -> Step[World]:
    """A member asks for its assignment; with the leader's request the group becomes stable.

    Kafka: `classicGroupSyncToClassicGroup`. Simplification: the assignments are stored at once. A
    coordinator that fails before they are stored might as well not have received the request; one
    that fails afterwards leaves its members without a response, which `coordinator_unloads_group`
    may do in the next step.
    """
    s, asked = yield from received(s, request, SyncGroup)
    outcome = yield from sync(s.group, asked, request.caller)
    return s.after(outcome.then(lambda group: assignments_stored(group, group.generation)))


@rule(by="coordinator", request=inbound_syncs)
def coordinator_fails_to_store_assignments(s: World, request: Inbound) -> Step[World]:
    """The leader's assignments cannot be written to the offsets topic: all members join again.

    The ISR is too small, or replication is too slow; COORDINATOR_NOT_AVAILABLE.
    Kafka: `appendGroupMetadataErrorToResponseError`.
    """
    yield limit("a loss is left"), s.faults.losses < s.bounds.losses
    s, asked = yield from received(s, request, SyncGroup)
    outcome = yield from sync(s.group, asked, request.caller)
    yield "request comes from the leader", outcome.group.unstored is not None
    error = Error.COORDINATOR_NOT_AVAILABLE
    failed = assignments_stored(outcome.group, outcome.group.generation, error)
    s = yield from within_bounds(s, failed)
    return s.with_fault(losses=1)


# -- rejected requests ------------------------------------------------------------------------


@rule(by="coordinator", request=inbound_requests)
def coordinator_rejects_request(s: World, request: Inbound) -> Step[World]:
    """A request that fails a check is answered with an error and changes nothing.

    One rule for both requests and every error, since only the type of the response differs; a
    consumer that has abandoned its request receives none.
    Kafka: `classicGroupJoin` and `classicGroupSync`, with the error of the first check that fails,
    or NOT_COORDINATOR from another broker.
    Simplification: the response to JoinGroup does not repeat the member id of the request.
    """
    asked = message(s, request)
    if isinstance(asked, JoinGroup):
        handler = join_handler(s.group, request.caller, asked, "new")
    else:
        handler = sync(s.group, asked, request.caller)
    error = first_error(handler) if request.abandoned else error_of(s, request.consumer, handler)
    error = yield from present("request fails a check", error)
    if request.abandoned:
        return s.with_consumer(request.consumer, abandoned=None)
    joins = isinstance(asked, JoinGroup)
    response = JoinGroupResponse(error) if joins else SyncGroupResponse(error)
    return s.with_consumer(request.consumer, in_flight=response)


# -- OffsetCommit -----------------------------------------------------------------------------


def accept_commit(s: World, consumer: int, generation: int) -> Step[World]:
    """A member commits in this generation, and the coordinator accepts."""
    c = s.consumers[consumer]
    stable = c.phase is Phase.STABLE and c.pending_assignment is None
    yield "consumer has applied its assignment", stable and c.polls
    yield "request reaches the coordinator", s.reaches_coordinator(consumer)
    request = OffsetCommit((), c.member, generation, s.instance(consumer))
    outcome = yield from commit(s.group, request, consumer)
    behind = outcome.group.generation - c.generation
    beside = bool(s.group.members) and s.group.member(c.member) is None
    return s.with_ghosts(
        commit_behind=max(behind, s.ghosts.commit_behind),
        commit_beside=beside or s.ghosts.commit_beside,
    )


@rule(by="coordinator", consumer=consumers)
def coordinator_accepts_commit(s: World, consumer: int) -> Step[World]:
    """A member commits how far it has read, and the coordinator accepts.

    Kafka: `OffsetMetadataManager.commitOffset`. The offsets are the subject of the models
    `offsets-topic` and `delivery`; here it matters only who may commit.
    """
    return (yield from accept_commit(s, consumer, s.consumers[consumer].generation))


@rule(by="coordinator", consumer=consumers)
def coordinator_rejects_commit(s: World, consumer: int) -> Step[World]:
    """A consumer commits, and the coordinator rejects the commit.

    Kafka: `ClassicGroup.validateOffsetCommit`. The application catches CommitFailedException or
    RebalanceInProgressException; the consumer reacts as to the same error of a heartbeat.
    """
    c = s.consumers[consumer]
    stable = c.phase is Phase.STABLE and c.pending_assignment is None
    yield "consumer has applied its assignment", stable and c.polls
    yield "consumer knows a coordinator", c.coordinator is not None
    yield "no heartbeat error is in flight", c.heartbeat_error is None
    request = OffsetCommit((), c.member, c.generation, s.instance(consumer))
    error = error_of(s, consumer, commit(s.group, request, consumer))
    yield "request fails a check", error is not None
    return s.with_consumer(consumer, heartbeat_error=error, heartbeat_error_is_stale=False)


@rule(by="standalone consumer")
def coordinator_accepts_standalone_commit(s: World) -> Step[World]:
    """A consumer that assigns itself commits under the group's id while the group is empty.

    Kafka: `ClassicGroup.validateOffsetCommit`, without member id and generation. A group with
    members rejects it, and the consumer throws CommitFailedException.
    """
    outcome = yield from commit(s.group, OffsetCommit(()), "standalone")
    beside = bool(outcome.group.members)
    return s.with_ghosts(commit_beside=beside or s.ghosts.commit_beside)


# -- timers -----------------------------------------------------------------------------------


@rule(by="coordinator")
def coordinator_extends_initial_delay(s: World) -> Step[World]:
    """A group that was empty waits once more, since a member has joined meanwhile.

    Kafka: `tryCompleteInitialRebalanceElseSchedule`.
    """
    yield "timer is armed", Timer("initial delay") in armed(s.group)
    yield "delay can be extended", delay_can_be_extended(s.group)
    return s.after(extend_initial_delay(s.group))


@rule(by="coordinator")
def coordinator_ends_initial_delay(s: World) -> Step[World]:
    """A group that was empty has waited for members, and its first generation begins.

    Kafka: `tryCompleteInitialRebalanceElseSchedule`, `completeClassicGroupJoin`.
    """
    yield "timer is armed", Timer("initial delay") in armed(s.group)
    yield "delay cannot be extended", not delay_can_be_extended(s.group)
    return (yield from within_bounds(s, complete_join(s.group)))


@rule(by="coordinator")
def coordinator_ends_join_phase(s: World) -> Step[World]:
    """The rebalance timeout expires: dynamic members that have not joined are removed.

    A static member stays until its session expires. If all that it waits for would still come,
    this counts as early. Kafka: `completeClassicGroupJoin`.
    """
    yield "timer is armed", Timer("join") in armed(s.group)
    missing = [m.id for m in s.group.members if m.awaiting_join is None]
    early = all(map(s.has_polling_user, [*missing, *s.group.pending]))
    yield budget("an early timer is left"), not early or s.faults.early < s.bounds.early
    s = yield from within_bounds(s, complete_join(s.group))
    return s.with_fault(early=int(early))


@rule(by="coordinator")
def coordinator_expires_pending_sync(s: World) -> Step[World]:
    """Members that have not sent SyncGroup are removed, and the others join again.

    Kafka: `expirePendingSync` (KAFKA-12890).
    """
    yield "timer is armed", Timer("sync") in armed(s.group)
    early = all(map(s.has_polling_user, s.group.pending_sync))
    yield budget("an early timer is left"), not early or s.faults.early < s.bounds.early
    s = yield from within_bounds(s, expire_pending_sync(s.group))
    return s.with_fault(early=int(early))


@rule(by="coordinator", member=member_ids)
def coordinator_expires_session(s: World, member: str) -> Step[World]:
    """A member was silent for its session timeout, and is removed.

    Kafka: `expireClassicGroupMemberHeartbeat`; a new member's timer takes five minutes.
    """
    yield "timer is armed", Timer("session", member) in armed(s.group)
    early = s.has_live_user(member)
    yield budget("an early timer is left"), not early or s.faults.early < s.bounds.early
    s = yield from within_bounds(s, expire_session(s.group, member))
    return s.with_fault(early=int(early))


@rule(by="coordinator", member=pending_ids)
def coordinator_expires_pending_member(s: World, member: str) -> Step[World]:
    """A pending member has not joined within its session timeout, and is forgotten.

    Kafka: `removePendingMemberAndUpdateClassicGroup`.
    """
    early = s.has_polling_user(member)
    yield budget("an early timer is left"), not early or s.faults.early < s.bounds.early
    s = yield from within_bounds(s, expire_pending_member(s.group, member))
    return s.with_fault(early=int(early))


# -- failover ---------------------------------------------------------------------------------


@rule(by="coordinator")
def coordinator_unloads_group(s: World) -> Step[World]:
    """The group's partition of the offsets topic gets another leader: the coordinator stops.

    Parked requests are answered with NOT_COORDINATOR; what was only in memory is lost.
    Kafka: `GroupMetadataManager.onUnloaded`.
    """
    yield limit("a failover is left"), s.coordinator < s.bounds.failovers
    yield "group is not dead", s.group.state is not GroupState.DEAD
    world = s.after(unload(s.group))
    for consumer in consumers(s):
        world = world.with_consumer(consumer, abandoned=None)
    return world


@rule(by="coordinator")
def successor_loads_group(s: World) -> Step[World]:
    """The new coordinator loads the group from the offsets topic: it is Stable or Empty.

    Kafka: `GroupMetadataManager.onLoaded`. Simplification: it loads in one step; no request is
    answered with COORDINATOR_LOAD_IN_PROGRESS.
    """
    yield "group is dead", s.group.state is GroupState.DEAD
    loaded = load(s.stored, MODEL_SETTINGS)
    return evolve(s, group=loaded, coordinator=s.coordinator + 1)
