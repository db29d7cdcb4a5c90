"""What the coordinator does in the model: it takes requests, and its timers fire.

Each rule takes its guards from the handler that `spec.group.coordinator` has for the request.
"""

from __future__ import annotations

from collections.abc import Collection, Generator

from spec.core import Step, evolve, limit, rule
from spec.group.coordinator import HUNG_UP, Caller, Outcome, refusal
from spec.group.coordinator.committing import commit
from spec.group.coordinator.handling import handler
from spec.group.coordinator.joining import (
    add_member,
    give_id,
    rejoin,
    replace_member,
)
from spec.group.coordinator.loading import load, resign
from spec.group.coordinator.rebalance import complete_rebalance
from spec.group.coordinator.syncing import plan_is_stored, sync
from spec.group.coordinator.timers import (
    Timer,
    armed,
    id_is_forgotten,
    initial_delay_ends,
    session_ends,
    sync_time_is_up,
)
from spec.group.world import (
    MODEL_SETTINGS,
    NAMES,
    Ask,
    Phase,
    World,
    asks,
    consumers,
    first_joins,
    member_ids,
    new_members,
    pending_ids,
    rejoins,
    replacements,
    requested,
    syncs,
)
from spec.messages import Error, GroupState, Joined, JoinGroup, OffsetCommit, Synced, SyncGroup

# -- what the rules share ---------------------------------------------------------------------


def arrives(s: World, ask: Ask) -> Generator[tuple[str, bool], None, None]:
    """The broker that was asked is the coordinator."""
    yield "coordinator is the one that was asked", ask.late or s.finds(ask.consumer)


def delivered(s: World, ask: Ask) -> World:
    """The world without the request, which the coordinator has now."""
    return s.with_consumer(ask.consumer, **({"late": None} if ask.late else {"call": None}))


def caller(ask: Ask) -> Caller:
    """Who waits for the answer."""
    return HUNG_UP if ask.late else ask.consumer


def within_bounds(s: World, outcome: Outcome) -> Generator[tuple[str, bool], None, None]:
    """The generation is one that the bounds have."""
    yield limit("a generation is left"), outcome.group.generation <= s.bounds.generations


def next_id(s: World, ask: Ask) -> str:
    """The id that this consumer would get."""
    return f"{NAMES[ask.consumer]}{s.consumers[ask.consumer].ids + 1}"


def with_id(s: World, ask: Ask) -> World:
    """The world with one more id given to this consumer."""
    return s.with_consumer(ask.consumer, ids=s.consumers[ask.consumer].ids + 1)


def join_of(s: World, ask: Ask) -> JoinGroup:
    """The JoinGroup that has come."""
    request = requested(s, ask)
    assert isinstance(request, JoinGroup), "only joins are chosen from"
    return request


# -- requests ---------------------------------------------------------------------------------


@rule(by="coordinator", ask=first_joins)
def coordinator_gives_id(s: World, ask: Ask) -> Step[World]:
    """A first JoinGroup is answered with a member id, to join again with (KIP-394).

    Kafka: MEMBER_ID_REQUIRED. The id counts as pending until it comes back.
    """
    yield from arrives(s, ask)
    yield limit("an id is left"), s.consumers[ask.consumer].ids < s.bounds.ids
    outcome = yield from give_id(s.group, join_of(s, ask), caller(ask), next_id(s, ask))
    return with_id(delivered(s, ask), ask).after(outcome)


@rule(by="coordinator", ask=new_members)
def coordinator_adds_member(s: World, ask: Ask) -> Step[World]:
    """A member is added, and waits with the others for the next generation.

    Kafka: `addMemberThenRebalanceOrCompleteJoin`. A dynamic member brings the id that it was
    given; a static one gets its id with the answer.
    """
    yield from arrives(s, ask)
    request = join_of(s, ask)
    static = request.instance is not None
    yield limit("an id is left"), not static or s.consumers[ask.consumer].ids < s.bounds.ids
    member_id = next_id(s, ask) if static else request.member
    outcome = yield from add_member(s.group, request, caller(ask), member_id)
    yield from within_bounds(s, outcome)
    world = delivered(s, ask)
    return (with_id(world, ask) if static else world).after(outcome)


@rule(by="coordinator", ask=rejoins)
def coordinator_takes_rejoin(s: World, ask: Ask) -> Step[World]:
    """A member joins again: it waits for the next generation, or is told the current one.

    Kafka: `updateMemberThenRebalanceOrCompleteJoin`.
    """
    yield from arrives(s, ask)
    outcome = yield from rejoin(s.group, join_of(s, ask), caller(ask))
    yield from within_bounds(s, outcome)
    return delivered(s, ask).after(outcome)


def takes_replacement(s: World, ask: Ask, stays_in: Collection[GroupState]) -> Step[World]:
    """A static member takes the place of its old self; in these states the group stays as it is."""
    yield from arrives(s, ask)
    yield limit("an id is left"), s.consumers[ask.consumer].ids < s.bounds.ids
    outcome = yield from replace_member(
        s.group, join_of(s, ask), caller(ask), next_id(s, ask), stays_in
    )
    yield from within_bounds(s, outcome)
    return with_id(delivered(s, ask), ask).after(outcome)


@rule(by="coordinator", ask=replacements)
def coordinator_replaces_member(s: World, ask: Ask) -> Step[World]:
    """A static member that restarted takes the place of its old self (KIP-345).

    Kafka: `updateStaticMemberThenRebalanceOrCompleteJoin`. Simplification: writing the new id
    to the offsets topic succeeds at once.
    """
    return (yield from takes_replacement(s, ask, stays_in=(GroupState.STABLE,)))


@rule(by="coordinator", ask=syncs)
def coordinator_takes_sync(s: World, ask: Ask) -> Step[World]:
    """A member asks for its assignment; with the leader's request the group is stable.

    Kafka: `classicGroupSync`. Simplification: the assignments are in the offsets topic at once.
    A coordinator that fails before that has not taken the request yet; one that fails after it
    leaves its members without an answer, which is what `coordinator_resigns` may do right after.
    """
    yield from arrives(s, ask)
    request = requested(s, ask)
    assert isinstance(request, SyncGroup), "only syncs are chosen from"
    outcome = yield from sync(s.group, request, caller(ask))
    return delivered(s, ask).after(outcome.then(lambda g: plan_is_stored(g, g.generation)))


@rule(by="coordinator", ask=syncs)
def coordinator_cannot_store(s: World, ask: Ask) -> Step[World]:
    """The offsets topic does not take the leader's assignments: everyone joins again.

    Kafka: too few replicas in sync, or too slow; COORDINATOR_NOT_AVAILABLE.
    """
    yield limit("something may be lost"), s.faults.losses < s.bounds.losses
    yield from arrives(s, ask)
    request = requested(s, ask)
    assert isinstance(request, SyncGroup), "only syncs are chosen from"
    outcome = yield from sync(s.group, request, caller(ask))
    yield "leader brings the assignments", outcome.group.plan is not None
    error = Error.COORDINATOR_NOT_AVAILABLE
    failed = plan_is_stored(outcome.group, outcome.group.generation, error)
    yield from within_bounds(s, failed)
    return delivered(s, ask).after(failed).with_fault(losses=1)


@rule(by="coordinator", ask=asks)
def coordinator_refuses(s: World, ask: Ask) -> Step[World]:
    """A request that fails a check is answered with an error, and changes nothing.

    Kafka: the error of the first check that fails; NOT_COORDINATOR from a broker that is not.
    Simplification: an answer to JoinGroup does not repeat the member id that the request brought.
    """
    request = requested(s, ask)
    if ask.late or s.finds(ask.consumer):
        error = refusal(handler(s.group, caller(ask), request, "new"))
    else:
        error = Error.NOT_COORDINATOR
    yield "a check fails", error is not None
    assert error is not None, "there is an error"
    if ask.late:
        return delivered(s, ask)
    answer = Joined(error) if isinstance(request, JoinGroup) else Synced(error)
    return s.with_consumer(ask.consumer, call=answer)


def takes_commit(s: World, consumer: int, generation: int) -> Step[World]:
    """A member commits in the name of a generation, and the coordinator takes it."""
    c = s.consumers[consumer]
    yield "consumer has an assignment", c.phase is Phase.STABLE and c.told is None and c.polls
    yield "coordinator is the one that was asked", s.finds(consumer)
    request = OffsetCommit((), c.member, generation, s.instance(consumer))
    outcome = yield from commit(s.group, request, consumer)
    behind = outcome.group.generation - c.generation
    beside = bool(s.group.members) and s.group.member(c.member) is None
    return s.with_ghosts(
        commit_behind=max(behind, s.ghosts.commit_behind),
        commit_beside=beside or s.ghosts.commit_beside,
    )


@rule(by="coordinator", consumer=consumers)
def coordinator_takes_commit(s: World, consumer: int) -> Step[World]:
    """A member commits how far it has read, and the coordinator takes it.

    Kafka: `OffsetMetadataManager.commitOffset`. What is committed is the matter of the models
    `offsets-topic` and `delivery`; here it only matters who may.
    """
    return (yield from takes_commit(s, consumer, s.consumers[consumer].generation))


@rule(by="standalone consumer")
def coordinator_takes_commit_of_outsider(s: World) -> Step[World]:
    """A consumer that assigns itself commits under the group's id, while the group is empty.

    Kafka: a commit without member and generation. To a group with members it is an error, which
    the consumer throws as CommitFailedException.
    """
    outcome = yield from commit(s.group, OffsetCommit(()), "outsider")
    beside = bool(outcome.group.members)
    return s.with_ghosts(commit_beside=beside or s.ghosts.commit_beside)


# -- timers -----------------------------------------------------------------------------------


@rule(by="coordinator")
def initial_delay_is_over(s: World) -> Step[World]:
    """A group that was empty has waited for more members, or waits once more.

    Kafka: `tryCompleteInitialRebalanceElseSchedule`.
    """
    yield "timer is armed", Timer("initial delay") in armed(s.group)
    outcome = initial_delay_ends(s.group)
    yield from within_bounds(s, outcome)
    return s.after(outcome)


@rule(by="coordinator")
def join_timer_fires(s: World) -> Step[World]:
    """Whoever has not joined again by now is out; the others are the next generation.

    Kafka: `completeClassicGroupJoin` after the rebalance timeout. Static members keep their
    place until their session times out. While it waits only for
    members that would still come, firing counts as early.
    """
    yield "timer is armed", Timer("join") in armed(s.group)
    missing = [m.id for m in s.group.members if m.joining is None]
    early = all(map(s.is_expected, [*missing, *s.group.pending]))
    yield limit("a timer may be early"), not early or s.faults.early < s.bounds.early
    outcome = complete_rebalance(s.group)
    yield from within_bounds(s, outcome)
    return s.after(outcome).with_fault(early=int(early))


@rule(by="coordinator")
def sync_timer_fires(s: World) -> Step[World]:
    """Whoever has not asked for its assignment by now is out, and the others join again.

    Kafka: `expirePendingSync` (KAFKA-12890).
    """
    yield "timer is armed", Timer("sync") in armed(s.group)
    early = all(map(s.is_expected, s.group.pending_sync))
    yield limit("a timer may be early"), not early or s.faults.early < s.bounds.early
    outcome = sync_time_is_up(s.group)
    yield from within_bounds(s, outcome)
    return s.after(outcome).with_fault(early=int(early))


@rule(by="coordinator", member=member_ids)
def session_times_out(s: World, member: str) -> Step[World]:
    """A member was not heard of for its session timeout, and is out.

    Kafka: `expireClassicGroupMemberHeartbeat`; five minutes for one that is new.
    """
    yield "timer is armed", Timer("member", member) in armed(s.group)
    early = s.is_heard(member)
    yield limit("a timer may be early"), not early or s.faults.early < s.bounds.early
    outcome = session_ends(s.group, member)
    yield from within_bounds(s, outcome)
    return s.after(outcome).with_fault(early=int(early))


@rule(by="coordinator", member=pending_ids)
def pending_id_times_out(s: World, member: str) -> Step[World]:
    """An id that was given out did not come back, and is forgotten.

    Kafka: `expirePendingMember`.
    """
    early = s.is_expected(member)
    yield limit("a timer may be early"), not early or s.faults.early < s.bounds.early
    outcome = id_is_forgotten(s.group, member)
    yield from within_bounds(s, outcome)
    return s.after(outcome).with_fault(early=int(early))


# -- failover ---------------------------------------------------------------------------------


@rule(by="coordinator")
def coordinator_resigns(s: World) -> Step[World]:
    """The group's partition of the offsets topic gets another leader: the old one lets go.

    Kafka: `onUnloaded`. Who waits is told NOT_COORDINATOR, and what was only in memory is lost.
    """
    yield limit("a failover is left"), s.coordinator < s.bounds.failovers
    yield "group is alive", s.group.state is not GroupState.DEAD
    world = s.after(resign(s.group))
    for consumer in consumers(s):
        world = world.with_consumer(consumer, late=None)
    return world


@rule(by="coordinator")
def successor_loads(s: World) -> Step[World]:
    """The new coordinator finds the group as the offsets topic has it: stable, or empty.

    Kafka: `onLoaded`. Simplification: it loads in one step; nobody is told
    COORDINATOR_LOAD_IN_PROGRESS.
    """
    yield "nobody coordinates", s.group.state is GroupState.DEAD
    loaded = load(s.stored, MODEL_SETTINGS)
    return evolve(s, group=loaded, coordinator=s.coordinator + 1)
