"""What a consumer does: it finds its coordinator, joins, syncs, reads, commits and heartbeats.

Kafka: `AbstractCoordinator` and `ConsumerCoordinator` of the Java client, tag 4.0.0. The
application's thread polls; the heartbeat thread runs beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kspec.spec.coordinator import first_error
from kspec.spec.coordinator.sessions import heartbeat
from kspec.spec.coordinator.state import Handler
from kspec.spec.core import Guarded, Step, budget, rule
from kspec.spec.group.assignment import Assign, cooperative_assignment, range_assignment
from kspec.spec.group.state import (
    NAMES,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    Consumer,
    Owns,
    Phase,
    World,
    consumers,
)
from kspec.spec.messages import (
    NO_GENERATION,
    NO_MEMBER_ID,
    Error,
    GroupState,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    Protocol,
    SyncGroup,
    SyncGroupResponse,
)

R = TypeVar("R", JoinGroupResponse, SyncGroupResponse)

# -- errors -----------------------------------------------------------------------------------

ON_ERROR: Mapping[Error, Mapping[str, Any]] = {
    Error.UNKNOWN_MEMBER_ID: {"member": NO_MEMBER_ID, "generation": NO_GENERATION},
    Error.ILLEGAL_GENERATION: {"generation": NO_GENERATION},
    Error.NOT_COORDINATOR: {"coordinator": None},
    Error.COORDINATOR_NOT_AVAILABLE: {"coordinator": None},
    Error.REBALANCE_IN_PROGRESS: {},
}
"""What a consumer resets when it receives an error, before it joins again.

Kafka: `resetStateOnResponseError` and `markCoordinatorUnknown`.
"""


def rejoin_after(s: World, consumer: int, error: Error) -> World:
    """The consumer joins again at its next poll, without what the error invalidates.

    If another consumer has its instance id, the error is fatal, and it does nothing any more.
    """
    c = s.consumers[consumer]
    if error is Error.FENCED_INSTANCE_ID:
        fenced = Consumer(Phase.FENCED, polls=c.polls, abandoned=c.abandoned, ids=c.ids)
        return s.with_process(consumer, fenced)
    changes = ON_ERROR[error]
    is_stale = c.heartbeat_error_is_stale or "generation" in changes
    return s.with_unjoined(
        consumer,
        heartbeat_error_is_stale=c.heartbeat_error is not None and is_stale,
        **changes,
    )


# -- joining: what eager and cooperative consumers share --------------------------------------


RANGE = Protocol("range", ())
"""The protocol of an eager consumer, which claims nothing."""


def can_join(s: World, consumer: int) -> Guarded[None]:
    """The consumer polls, needs to join, and knows a coordinator."""
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    needs_join = c.phase is Phase.UNJOINED or (c.phase is Phase.STABLE and c.needs_rejoin)
    yield "consumer needs to join", needs_join and c.pending_assignment is None
    yield "consumer knows a coordinator", c.coordinator is not None


def response_of(s: World, consumer: int, phase: Phase, kind: type[R]) -> Guarded[R]:
    """The response that a consumer in this phase awaits has arrived, and the consumer polls."""
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    yield "response has arrived", c.phase is phase and isinstance(c.in_flight, kind)
    assert isinstance(c.in_flight, kind), "response has arrived"
    return c.in_flight


def with_join(s: World, consumer: int, member: str, protocol: Protocol, **changes: Any) -> World:
    """The consumer sends JoinGroup under this member id."""
    join = JoinGroup(
        member=member,
        instance=s.instance(consumer),
        protocols=(protocol,),
        session_timeout=SESSION_TIMEOUT,
        rebalance_timeout=REBALANCE_TIMEOUT,
        client=NAMES[consumer],
    )
    return s.with_consumer(
        consumer,
        phase=Phase.JOINING,
        member=member,
        needs_rejoin=False,
        assignment_snapshot=0,
        in_flight=join,
        **changes,
    )


def sync_in_generation(
    s: World, consumer: int, response: JoinGroupResponse, assign: Assign
) -> World:
    """The consumer enters the generation of the response and sends SyncGroup."""
    leads = response.leader == response.member
    must_assign = leads and not response.skip_assignment
    assignments = assign(response.members, s.partitions) if must_assign else ()
    instance = s.instance(consumer)
    return s.with_consumer(
        consumer,
        phase=Phase.SYNCING,
        member=response.member,
        generation=response.generation,
        assignment_snapshot=s.partitions if leads else 0,
        in_flight=SyncGroup(response.member, response.generation, assignments, instance=instance),
        heartbeat_error_is_stale=s.consumers[consumer].heartbeat_error is not None,
    )


# -- polling ----------------------------------------------------------------------------------


@rule(by="consumer", consumer=consumers)
def consumer_finds_coordinator(s: World, consumer: int) -> Step[World]:
    """A consumer asks any broker which one coordinates its group.

    Kafka: `AbstractCoordinator.lookupCoordinator`; the coordinator leads the group's partition of
    the offsets topic (`spec.placement`). Simplification: one step, and the response is current.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    yield "consumer knows no coordinator", c.coordinator is None
    yield "group has a coordinator", s.group.state is not GroupState.DEAD
    return s.with_consumer(consumer, coordinator=s.coordinator)


@rule(by="consumer", consumer=consumers)
def consumer_joins(s: World, consumer: int) -> Step[World]:
    """An eager consumer revokes its partitions and sends JoinGroup.

    Its listener is called with `onPartitionsRevoked`, or with `onPartitionsLost` if its generation
    is void. Kafka: `ConsumerCoordinator.onJoinPrepare`, `AbstractCoordinator.initiateJoinGroup`.
    """
    yield from can_join(s, consumer)
    return with_join(s, consumer, s.consumers[consumer].member, RANGE, owned=())


@rule(by="consumer", consumer=consumers)
def consumer_receives_member_id(s: World, consumer: int) -> Step[World]:
    """A consumer receives its member id and joins again with it (KIP-394).

    Kafka: `JoinGroupResponseHandler`, MEMBER_ID_REQUIRED.
    """
    response = yield from response_of(s, consumer, Phase.JOINING, JoinGroupResponse)
    yield "response issues a member id", response.error is Error.MEMBER_ID_REQUIRED
    is_stale = s.consumers[consumer].heartbeat_error is not None
    return with_join(s, consumer, response.member, RANGE, heartbeat_error_is_stale=is_stale)


@rule(by="consumer", consumer=consumers)
def consumer_receives_generation(s: World, consumer: int) -> Step[World]:
    """A consumer learns its generation and sends SyncGroup; the leader assigns partitions first.

    Kafka: `JoinGroupResponseHandler`, `ConsumerCoordinator.onLeaderElected`.
    """
    response = yield from response_of(s, consumer, Phase.JOINING, JoinGroupResponse)
    yield "response names a generation", response.error is Error.NONE
    return sync_in_generation(s, consumer, response, range_assignment)


@rule(by="consumer", consumer=consumers)
def consumer_receives_join_error(s: World, consumer: int) -> Step[World]:
    """A consumer's JoinGroup is rejected, and it joins again at its next poll.

    Kafka: `JoinGroupResponseHandler`.
    """
    response = yield from response_of(s, consumer, Phase.JOINING, JoinGroupResponse)
    is_error = response.error not in (Error.NONE, Error.MEMBER_ID_REQUIRED)
    yield "response is an error", is_error
    return rejoin_after(s, consumer, response.error)


@rule(by="consumer", consumer=consumers)
def consumer_receives_assignment(s: World, consumer: int) -> Step[World]:
    """A consumer receives its assignment; its listener learns of it in the next step.

    Kafka: `SyncGroupResponseHandler`.
    """
    response = yield from response_of(s, consumer, Phase.SYNCING, SyncGroupResponse)
    yield "response has an assignment", response.error is Error.NONE
    return s.with_consumer(
        consumer, phase=Phase.STABLE, pending_assignment=response.assignment, in_flight=None
    )


@rule(by="consumer", consumer=consumers)
def consumer_receives_sync_error(s: World, consumer: int) -> Step[World]:
    """A consumer's SyncGroup is rejected, and it joins again at its next poll.

    Kafka: `SyncGroupResponseHandler`.
    """
    response = yield from response_of(s, consumer, Phase.SYNCING, SyncGroupResponse)
    yield "response is an error", response.error is not Error.NONE
    return rejoin_after(s, consumer, response.error)


@rule(by="consumer", consumer=consumers)
def consumer_applies_assignment(s: World, consumer: int) -> Step[World]:
    """The listener is called with `onPartitionsAssigned`, and the consumer begins to read.

    Kafka: `ConsumerCoordinator.onJoinComplete`. It runs in the application's thread; if the
    heartbeat thread has learned meanwhile that the generation is void, nothing is assigned
    (KAFKA-8104).
    """
    assigned = yield from assignment_of(s, consumer)
    return s.with_consumer(consumer, owned=assigned, pending_assignment=None)


def assignment_of(s: World, consumer: int) -> Guarded[tuple[int, ...]]:
    """The assignment that has arrived, and that the listener does not know yet."""
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    yield "assignment has arrived", c.pending_assignment is not None
    return c.pending_assignment or ()


@rule(by="consumer", consumer=consumers)
def leader_detects_new_partitions(s: World, consumer: int) -> Step[World]:
    """The leader sees that there are more partitions than it assigned, and rejoins.

    Kafka: `ConsumerCoordinator.rejoinNeededOrPending` compares snapshots of the metadata. To the
    group it is the same if another topic matches a pattern: there are more partitions to assign.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    stable = c.phase is Phase.STABLE and c.pending_assignment is None
    yield "consumer has applied its assignment", stable
    yield "topic has unassigned partitions", 0 < c.assignment_snapshot < s.partitions
    yield "consumer does not need to rejoin yet", not c.needs_rejoin
    return s.with_consumer(consumer, needs_rejoin=True)


@rule(by="consumer", consumer=consumers)
def consumer_abandons_request(s: World, consumer: int) -> Step[World]:
    """A consumer stops waiting for a response, disconnects, and looks for the coordinator again.

    Kafka: `CoordinatorResponseHandler.onFailure`, after `request.timeout.ms` or when a connection
    breaks. If the response would still come, this counts as early.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.is_running and c.polls
    yield "consumer awaits a response", c.phase in (Phase.JOINING, Phase.SYNCING)
    early = c.in_flight is not None or s.is_parked(consumer)
    yield budget("an early timer is left"), not early or s.faults.early < s.bounds.early
    return s.with_unjoined(consumer, coordinator=None).with_fault(early=int(early))


# -- cooperative consumers (KIP-429) ----------------------------------------------------------


def cooperative_sticky(owned: tuple[int, ...], generation: int) -> Protocol:
    """The protocol of a cooperative consumer, which claims the partitions that it owns."""
    return Protocol("cooperative-sticky", Owns(owned, generation if owned else NO_GENERATION))


@rule(by="consumer", consumer=consumers)
def consumer_joins_keeping_partitions(s: World, consumer: int) -> Step[World]:
    """A cooperative consumer sends JoinGroup and keeps reading meanwhile.

    Only if its generation is void is its listener called with `onPartitionsLost`: the partitions
    may already belong to another member. Kafka: `ConsumerCoordinator.onJoinPrepare`.
    """
    yield from can_join(s, consumer)
    c = s.consumers[consumer]
    owned = () if c.generation == NO_GENERATION else c.owned
    protocol = cooperative_sticky(owned, c.generation)
    return with_join(s, consumer, c.member, protocol, owned=owned)


@rule(by="consumer", consumer=consumers)
def consumer_receives_member_id_keeping_partitions(s: World, consumer: int) -> Step[World]:
    """A cooperative consumer receives its member id and joins again with it (KIP-394).

    Kafka: `JoinGroupResponseHandler`, MEMBER_ID_REQUIRED.
    """
    response = yield from response_of(s, consumer, Phase.JOINING, JoinGroupResponse)
    yield "response issues a member id", response.error is Error.MEMBER_ID_REQUIRED
    c = s.consumers[consumer]
    protocol = cooperative_sticky(c.owned, c.generation)
    is_stale = c.heartbeat_error is not None
    return with_join(s, consumer, response.member, protocol, heartbeat_error_is_stale=is_stale)


@rule(by="consumer", consumer=consumers)
def consumer_receives_generation_keeping_partitions(s: World, consumer: int) -> Step[World]:
    """A consumer learns its generation and sends SyncGroup; the leader assigns cooperatively.

    Kafka: `JoinGroupResponseHandler`, with `CooperativeStickyAssignor`.
    """
    response = yield from response_of(s, consumer, Phase.JOINING, JoinGroupResponse)
    yield "response names a generation", response.error is Error.NONE
    return sync_in_generation(s, consumer, response, cooperative_assignment)


@rule(by="consumer", consumer=consumers)
def consumer_applies_assignment_incrementally(s: World, consumer: int) -> Step[World]:
    """The listener learns which partitions were revoked and added; after a revocation it rejoins.

    Kafka: `ConsumerCoordinator.onJoinComplete` calls `onPartitionsRevoked` with what the consumer
    owned and is not assigned, requests a rejoin if there is any, then calls
    `onPartitionsAssigned`.
    """
    assigned = yield from assignment_of(s, consumer)
    c = s.consumers[consumer]
    revoked = set(c.owned) - set(assigned)
    return s.with_consumer(
        consumer,
        owned=assigned,
        pending_assignment=None,
        needs_rejoin=bool(revoked) or c.needs_rejoin,
    )


# -- heartbeats -------------------------------------------------------------------------------


def error_of(s: World, consumer: int, handler: Handler) -> Error | None:
    """The error with which the broker answers that this consumer believes is the coordinator."""
    return first_error(handler) if s.reaches_coordinator(consumer) else Error.NOT_COORDINATOR


@rule(by="consumer", consumer=consumers)
def consumer_heartbeats(s: World, consumer: int) -> Step[World]:
    """The heartbeat thread sends Heartbeat; a response without error changes nothing.

    That heartbeats keep the session alive is a guard of `coordinator_expires_session`.
    Kafka: `AbstractCoordinator.HeartbeatThread`.
    """
    c = s.consumers[consumer]
    yield "consumer sends heartbeats", c.sends_heartbeats
    yield "no heartbeat error is in flight", c.heartbeat_error is None
    request = Heartbeat(c.member, c.generation, s.instance(consumer))
    error = error_of(s, consumer, heartbeat(s.group, request, consumer))
    return s.with_consumer(consumer, heartbeat_error=error, heartbeat_error_is_stale=False)


def heartbeat_error_of(s: World, consumer: int) -> Guarded[tuple[World, Error]]:
    """The error that answers the consumer's heartbeat or commit; the state without it."""
    c = s.consumers[consumer]
    yield "heartbeat error has arrived", c.heartbeat_error is not None and c.is_running
    assert c.heartbeat_error is not None, "heartbeat error has arrived"
    received = s.with_consumer(consumer, heartbeat_error=None, heartbeat_error_is_stale=False)
    return received, c.heartbeat_error


@rule(by="consumer", consumer=consumers)
def consumer_learns_of_rebalance(s: World, consumer: int) -> Step[World]:
    """A heartbeat or a commit is answered with REBALANCE_IN_PROGRESS: a stable consumer rejoins.

    Kafka: `HeartbeatResponseHandler`, `OffsetCommitResponseHandler`.
    """
    s, error = yield from heartbeat_error_of(s, consumer)
    yield "a rebalance is in progress", error is Error.REBALANCE_IN_PROGRESS
    c = s.consumers[consumer]
    return s.with_consumer(consumer, needs_rejoin=c.needs_rejoin or c.phase is Phase.STABLE)


@rule(by="consumer", consumer=consumers)
def consumer_loses_coordinator(s: World, consumer: int) -> Step[World]:
    """A heartbeat or a commit is answered with NOT_COORDINATOR: the consumer looks for it again.

    Outside of a generation, it also abandons its request. Kafka: `HeartbeatResponseHandler`,
    `OffsetCommitResponseHandler`, `markCoordinatorUnknown`.
    """
    s, error = yield from heartbeat_error_of(s, consumer)
    yield "another broker coordinates the group", error is Error.NOT_COORDINATOR
    if s.consumers[consumer].phase is Phase.STABLE:
        return s.with_consumer(consumer, coordinator=None)
    return rejoin_after(s, consumer, error)


def identity_error_of(s: World, consumer: int) -> Guarded[tuple[World, Error]]:
    """An error that concerns the member id or the generation in the consumer's request."""
    s, error = yield from heartbeat_error_of(s, consumer)
    others = (Error.REBALANCE_IN_PROGRESS, Error.NOT_COORDINATOR)
    yield "error concerns the request's member id or generation", error not in others
    return s, error


@rule(by="consumer", consumer=consumers)
def consumer_discards_stale_error(s: World, consumer: int) -> Step[World]:
    """A consumer ignores an error if its id or generation has changed since it sent the request.

    Kafka: `HeartbeatResponseHandler`, `OffsetCommitResponseHandler`, `generationUnchanged`.
    """
    is_stale = s.consumers[consumer].heartbeat_error_is_stale
    s, _ = yield from identity_error_of(s, consumer)
    yield "error is stale", is_stale
    return s


@rule(by="consumer", consumer=consumers)
def consumer_receives_heartbeat_error(s: World, consumer: int) -> Step[World]:
    """A heartbeat or a commit is answered that the consumer's id or generation is not valid.

    It joins again, unless it is fenced: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID.
    Kafka: `HeartbeatResponseHandler`, `OffsetCommitResponseHandler`.
    """
    is_stale = s.consumers[consumer].heartbeat_error_is_stale
    s, error = yield from identity_error_of(s, consumer)
    yield "error is not stale", not is_stale
    return rejoin_after(s, consumer, error)
