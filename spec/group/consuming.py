"""What a consumer does in the model: it finds its coordinator, joins, syncs, reads and commits.

Kafka: `AbstractCoordinator` and `ConsumerCoordinator` of the Java client. The application's
thread polls; beside it a heartbeat thread asks whether all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from typing import Any, TypeAlias

from spec.core import Step, limit, rule
from spec.group.coordinator import refusal
from spec.group.coordinator.committing import commit
from spec.group.coordinator.heartbeats import heartbeat
from spec.group.world import (
    NAMES,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    Phase,
    World,
    consumers,
)
from spec.messages import (
    NO_GENERATION,
    NOBODY,
    Error,
    GroupState,
    Heartbeat,
    Joined,
    JoinGroup,
    OffsetCommit,
    Protocol,
    Synced,
    SyncGroup,
)

Subscribed: TypeAlias = tuple[tuple[str, str | None, Hashable], ...]
"""What the leader hears of each member: id, instance and subscription."""
Plan: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
Assign: TypeAlias = Callable[[Subscribed, int], Plan]
Request: TypeAlias = Callable[[World, int, str], JoinGroup]

# -- how each error is taken ------------------------------------------------------------------

FORGET_MEMBER: Mapping[str, Any] = {"member": NOBODY, "generation": NO_GENERATION}
FORGET_GENERATION: Mapping[str, Any] = {"generation": NO_GENERATION}
FORGET_COORDINATOR: Mapping[str, Any] = {"coordinator": None}

ON_ERROR: Mapping[Error, Mapping[str, Any]] = {
    Error.UNKNOWN_MEMBER_ID: FORGET_MEMBER,
    Error.ILLEGAL_GENERATION: FORGET_GENERATION,
    Error.NOT_COORDINATOR: FORGET_COORDINATOR,
    Error.COORDINATOR_NOT_AVAILABLE: FORGET_COORDINATOR,
    Error.REBALANCE_IN_PROGRESS: {},
}
"""What a consumer forgets when it reads an error, before it joins again."""


def starts_over(s: World, consumer: int, error: Error) -> World:
    """The consumer joins again at its next poll, without what the error made void."""
    if error is Error.FENCED_INSTANCE_ID:
        return is_fenced(s, consumer)
    changes = dict(ON_ERROR[error])
    changes["beat_is_old"] = is_old(s, consumer, changes)
    return s.gives_up(
        consumer, phase=Phase.OUT, told=None, wants_to_rejoin=False, planned=0, **changes
    )


def is_fenced(s: World, consumer: int) -> World:
    """Another one has its instance id: a fatal error, it reads and commits nothing more."""
    c = s.consumers[consumer]
    return s.gives_up(consumer).with_consumer(
        consumer,
        phase=Phase.FENCED,
        member=NOBODY,
        generation=NO_GENERATION,
        owned=(),
        told=None,
        wants_to_rejoin=False,
        planned=0,
        coordinator=None,
        beat=None,
        beat_is_old=False,
        late=c.late,
    )


def is_old(s: World, consumer: int, changes: Mapping[str, Any]) -> bool:
    """Whether an answer under way is to an earlier self, after these changes."""
    c = s.consumers[consumer]
    new_self = "member" in changes or "generation" in changes
    return c.beat is not None and (new_self or c.beat_is_old)


def after_error(s: World, consumer: int, error: Error) -> World:
    """What a consumer does with the error that answers its heartbeat or its commit."""
    c = s.consumers[consumer]
    heard = s.with_consumer(consumer, beat=None, beat_is_old=False)
    if error is Error.NOT_COORDINATOR:
        if c.phase is Phase.STABLE:
            return heard.with_consumer(consumer, coordinator=None)
        return starts_over(heard, consumer, error)
    if error is Error.REBALANCE_IN_PROGRESS:
        return heard.with_consumer(
            consumer, wants_to_rejoin=c.wants_to_rejoin or c.phase is Phase.STABLE
        )
    if c.beat_is_old:
        return heard
    return starts_over(heard, consumer, error)


# -- assignment -------------------------------------------------------------------------------


def plan(members: Subscribed, partitions: int) -> Plan:
    """What the leader gives to each: consecutive partitions, as the range assignor does."""
    ids = sorted(member for member, _, _ in members)
    each, extra = divmod(partitions, len(ids))
    given = []
    first = 0
    for index, member in enumerate(ids):
        count = each + (index < extra)
        given.append((member, tuple(range(first, first + count))))
        first += count
    return tuple(given)


# -- joining ----------------------------------------------------------------------------------


def is_to_join(s: World, consumer: int) -> Generator[tuple[str, bool], None, None]:
    """The consumer polls, is out or means to join again, and knows whom to ask."""
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    ready = c.phase is Phase.OUT or (c.phase is Phase.STABLE and c.wants_to_rejoin)
    yield "consumer needs to join", ready and c.told is None
    yield "consumer knows a coordinator", c.coordinator is not None


def join_request(s: World, consumer: int, member: str) -> JoinGroup:
    """How a consumer joins, with the id that it has."""
    return JoinGroup(
        member=member,
        instance=s.instance(consumer),
        protocols=(Protocol("range", ()),),
        session_timeout=SESSION_TIMEOUT,
        rebalance_timeout=REBALANCE_TIMEOUT,
        client=NAMES[consumer],
    )


def join_answer(s: World, consumer: int) -> Generator[tuple[str, bool], None, Joined]:
    """The answer to the consumer's JoinGroup has come, and the consumer polls."""
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "an answer has come", c.phase is Phase.JOINING and isinstance(c.call, Joined)
    assert isinstance(c.call, Joined), "an answer has come"
    return c.call


def after_join_answer(
    s: World, consumer: int, answer: Joined, request: Request, assign: Assign
) -> World:
    """What a consumer does with the answer to its JoinGroup, given how it joins and assigns."""
    old = s.consumers[consumer].beat is not None
    if answer.error is Error.MEMBER_ID_REQUIRED:
        again = request(s, consumer, answer.member)
        return s.with_consumer(consumer, member=answer.member, call=again, beat_is_old=old)
    if answer.error is not Error.NONE:
        return starts_over(s, consumer, answer.error)
    leads = answer.leader == answer.member
    assigns = leads and not answer.skip_assignment
    given = assign(answer.members, s.partitions) if assigns else ()
    instance = s.instance(consumer)
    return s.with_consumer(
        consumer,
        phase=Phase.SYNCING,
        member=answer.member,
        generation=answer.generation,
        planned=s.partitions if leads else 0,
        call=SyncGroup(answer.member, answer.generation, given, instance=instance),
        beat_is_old=old,
    )


# -- the application polls --------------------------------------------------------------------


@rule(by="consumer", consumer=consumers)
def consumer_finds_coordinator(s: World, consumer: int) -> Step[World]:
    """A consumer asks any broker which one coordinates its group.

    Kafka: FindCoordinator, answered from where the group's partition of the offsets topic is
    (`spec.placement`). Simplification: one step, and the answer is never out of date.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "consumer knows no coordinator", c.coordinator is None
    yield "somebody coordinates", s.group.state is not GroupState.DEAD
    return s.with_consumer(consumer, coordinator=s.coordinator)


@rule(by="consumer", consumer=consumers)
def consumer_joins(s: World, consumer: int) -> Step[World]:
    """A consumer gives up what it owns, and asks to be in the next generation.

    Kafka: `onJoinPrepare`, then JoinGroup. An eager consumer revokes everything first: its
    listener hears `onPartitionsRevoked`, or `onPartitionsLost` if its generation is void.
    """
    yield from is_to_join(s, consumer)
    return s.with_consumer(
        consumer,
        phase=Phase.JOINING,
        owned=(),
        wants_to_rejoin=False,
        planned=0,
        call=join_request(s, consumer, s.consumers[consumer].member),
    )


@rule(by="consumer", consumer=consumers)
def consumer_takes_join_answer(s: World, consumer: int) -> Step[World]:
    """A consumer reads that it is in a generation, and asks for its assignment.

    Kafka: `JoinGroupResponseHandler`. The leader shares out the partitions first. An error
    makes it join again, with what the error leaves it.
    """
    answer = yield from join_answer(s, consumer)
    return after_join_answer(s, consumer, answer, join_request, plan)


@rule(by="consumer", consumer=consumers)
def consumer_takes_sync_answer(s: World, consumer: int) -> Step[World]:
    """A consumer reads its assignment; its listener hears of it with the next step.

    Kafka: `SyncGroupResponseHandler`.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "an answer has come", c.phase is Phase.SYNCING and isinstance(c.call, Synced)
    assert isinstance(c.call, Synced), "an answer has come"
    if c.call.error is not Error.NONE:
        return starts_over(s, consumer, c.call.error)
    return s.with_consumer(consumer, phase=Phase.STABLE, told=c.call.assignment, call=None)


@rule(by="consumer", consumer=consumers)
def consumer_takes_assignment(s: World, consumer: int) -> Step[World]:
    """The listener hears `onPartitionsAssigned`, and the consumer begins to read.

    Kafka: `onJoinComplete`. It runs in the application's thread, and the heartbeat thread may
    have found out in between that the generation is void; then nothing is assigned (KAFKA-8104).
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "an assignment has come", c.told is not None
    return s.with_consumer(consumer, owned=c.told, told=None)


@rule(by="consumer", consumer=consumers)
def leader_sees_partitions(s: World, consumer: int) -> Step[World]:
    """The leader sees that there are more partitions than it shared out, and joins again.

    Kafka: `rejoinNeededOrPending` compares snapshots of the metadata. A topic that begins to
    match a pattern is the same to the group: there is more to share out.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "consumer is in a generation", c.phase is Phase.STABLE and c.told is None
    yield "there is more to share out", 0 < c.planned < s.partitions
    yield "consumer does not know yet", not c.wants_to_rejoin
    return s.with_consumer(consumer, wants_to_rejoin=True)


@rule(by="consumer", consumer=consumers)
def consumer_gives_up(s: World, consumer: int) -> Step[World]:
    """No answer comes: the consumer drops the connection, and looks for the coordinator anew.

    Kafka: `request.timeout.ms`, or a connection that breaks. While an answer would still come,
    giving up counts as early.
    """
    c = s.consumers[consumer]
    yield "consumer polls", c.runs and c.polls
    yield "consumer waits", c.phase in (Phase.JOINING, Phase.SYNCING)
    early = c.call is not None or s.waits_at_coordinator(consumer)
    yield limit("a timer may be early"), not early or s.faults.early < s.bounds.early
    world = s.gives_up(
        consumer, phase=Phase.OUT, coordinator=None, planned=0, wants_to_rejoin=False
    )
    return world.with_fault(early=int(early))


# -- heartbeats and commits -------------------------------------------------------------------


@rule(by="consumer", consumer=consumers)
def consumer_heartbeats(s: World, consumer: int) -> Step[World]:
    """The heartbeat thread asks whether all is well; an answer that it is changes nothing.

    Kafka: `HeartbeatThread`. That heartbeats keep the session alive is what `session_times_out`
    looks at. They may go on for ever, and with them a group that waits in vain.
    """
    c = s.consumers[consumer]
    yield "consumer sends heartbeats", c.beats
    yield "no answer is on its way", c.beat is None
    error: Error | None = Error.NOT_COORDINATOR
    if s.finds(consumer):
        request = Heartbeat(c.member, c.generation, s.instance(consumer))
        error = refusal(heartbeat(s.group, request, consumer))
    return s.with_consumer(consumer, beat=error, beat_is_old=False)


@rule(by="consumer", consumer=consumers)
def commit_is_refused(s: World, consumer: int) -> Step[World]:
    """A consumer commits, and the coordinator does not take it.

    Kafka: the application sees CommitFailedException, or RebalanceInProgressException; what the
    consumer does about it, it does as after a heartbeat.
    """
    c = s.consumers[consumer]
    assigned = c.phase is Phase.STABLE and c.told is None
    yield "consumer has an assignment", assigned and c.polls
    yield "consumer knows a coordinator", c.coordinator is not None
    yield "no answer is on its way", c.beat is None
    error: Error | None = Error.NOT_COORDINATOR
    if s.finds(consumer):
        request = OffsetCommit((), c.member, c.generation, s.instance(consumer))
        error = refusal(commit(s.group, request, consumer))
    yield "the answer is an error", error is not None
    return s.with_consumer(consumer, beat=error, beat_is_old=False)


@rule(by="consumer", consumer=consumers)
def consumer_hears_error(s: World, consumer: int) -> Step[World]:
    """The answer to a heartbeat or a commit has come, and it is an error.

    Kafka: `HeartbeatResponseHandler`, `OffsetCommitResponseHandler`. What it says of the
    generation counts only if the consumer is still in the one that it asked for.
    """
    c = s.consumers[consumer]
    yield "an answer has come", c.beat is not None and c.runs
    assert c.beat is not None, "an answer has come"
    return after_error(s, consumer, c.beat)
