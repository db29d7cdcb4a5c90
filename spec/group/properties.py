"""What a group is for: each partition has one owner, only owners commit, and the group settles."""

from __future__ import annotations

from kspec.spec.core import Claims, always, leads_to
from kspec.spec.group import consumer, coordinator, scala, variants
from kspec.spec.group.state import NAMES, Bounds, Owns, Phase, World, consumers
from kspec.spec.messages import NO_GENERATION, GroupState

LEGAL = frozenset(
    (GroupState(before), GroupState(after))
    for before, afters in {
        "Empty": ("PreparingRebalance", "Dead"),
        "PreparingRebalance": ("CompletingRebalance", "Empty", "Dead"),
        "CompletingRebalance": ("Stable", "PreparingRebalance", "Dead"),
        "Stable": ("PreparingRebalance", "Dead"),
        # Not a transition of one coordinator: the next one begins with what it loads.
        "Dead": ("Empty", "Stable"),
    }.items()
    for after in afters
)
"""The transitions that Kafka allows. Kafka: `ClassicGroupState`, each state's predecessors."""


def owners(s: World, partition: int) -> list[str]:
    """The members to which the coordinator has assigned a partition."""
    return [m.id for m in s.group.members if partition in tuple(m.assignment)]  # type: ignore[arg-type]


def is_moving(s: World, partition: int) -> bool:
    """Whether a member claimed this partition when it joined."""
    subscriptions = [m.metadata(s.group.protocol) for m in s.group.members]
    return any(isinstance(o, Owns) and partition in o.partitions for o in subscriptions)


# -- safety -----------------------------------------------------------------------------------


@always
def GroupTransitionsAreLegal(s: World) -> Claims:
    """A group changes its state only as Kafka allows."""
    step = (s.group.previous_state, s.group.state)
    yield f"coordinator, from {step[0]} to {step[1]}", step in LEGAL


@always
def LeaderIsMember(s: World) -> Claims:
    """A group has a leader exactly while it has members, and the leader is one of them."""
    ids = [m.id for m in s.group.members]
    yield "coordinator", s.group.leader in ids if ids else s.group.leader is None


@always
def OneAssigneePerPartition(s: World) -> Claims:
    """The coordinator never assigns a partition to two members of one generation."""
    for partition in range(s.partitions):
        yield f"partition {partition}", len(owners(s, partition)) <= 1


@always
def OneOwnerPerGeneration(s: World) -> Claims:
    """Two consumers that believe they are in the same generation never both own a partition.

    In different generations they may: one of them was removed and does not know it yet.
    """
    members = [(n, c) for n, c in enumerate(s.consumers) if c.generation != NO_GENERATION]
    for index, (number, c) in enumerate(members):
        for other, d in members[index + 1 :]:
            for partition in c.owned:
                both = partition in d.owned and c.generation == d.generation
                place = f"reading of partition {partition}"
                yield f"{place}, by consumers {number} and {other}", not both


@always
def StableGroupAssignsEveryPartition(s: World) -> Claims:
    """In a stable group each initial partition is assigned to exactly one member.

    Or to none for one more rebalance, while a cooperative member that claims it revokes it.
    """
    if s.group.state is GroupState.STABLE:
        for partition in range(s.bounds.partitions):
            count = len(owners(s, partition))
            yield f"partition {partition}", count == 1 or (not count and is_moving(s, partition))


@always
def AcceptedCommitIsCurrent(s: World) -> Claims:
    """No commit of an older generation is accepted."""
    yield "coordinator", s.ghosts.commit_behind == 0


@always
def StandaloneCommitNeedsEmptyGroup(s: World) -> Claims:
    """A consumer that is not a member commits under the group's id only while it is empty."""
    yield "coordinator", not s.ghosts.commit_beside


@always
def GenerationNotBelowStored(s: World) -> Claims:
    """A group never falls behind a generation whose assignments were stored.

    A generation without assignments is not stored, and its number may be used again after a
    failover.
    """
    stored = 0 if s.stored is None else s.stored.generation
    dead = s.group.state is GroupState.DEAD
    yield "coordinator", dead or s.group.generation >= stored


@always
def OwnerHasGeneration(s: World) -> Claims:
    """A consumer that owns partitions knows its generation, even while it needs to rejoin."""
    for number, c in enumerate(s.consumers):
        reads = c.phase is Phase.STABLE and bool(c.owned)
        yield f"consumer {number}", not reads or c.generation != NO_GENERATION


@always
def OneMemberPerConsumer(s: World) -> Claims:
    """Retries do not fill the group: a consumer is one member, besides those it left behind.

    It leaves a member behind when it crashes, or when it stalls and its LeaveGroup does not
    arrive. A failover restores a removed member whose removal was not stored.
    """
    left_behind = s.faults.crashes + s.faults.stalls + s.coordinator
    for number in consumers(s):
        ids = sum(m.id.startswith(NAMES[number]) for m in s.group.members)
        yield f"consumer {number}", ids <= 1 + left_behind


PROPERTIES = (
    GroupTransitionsAreLegal,
    LeaderIsMember,
    OneAssigneePerPartition,
    OneOwnerPerGeneration,
    StableGroupAssignsEveryPartition,
    AcceptedCommitIsCurrent,
    StandaloneCommitNeedsEmptyGroup,
    GenerationNotBelowStored,
    OwnerHasGeneration,
    OneMemberPerConsumer,
)


def states_passed(before: World, after: World) -> tuple[GroupState, ...]:
    """The group's states in one step: a rebalance may begin and end in it."""
    old, new = before.group, after.group
    unchanged = (old.state, old.previous_state, old.generation) == (
        new.state,
        new.previous_state,
        new.generation,
    )
    return (old.state,) if unchanged else (old.state, new.previous_state, new.state)


# -- liveness ---------------------------------------------------------------------------------


def all_partitions_are_owned(s: World) -> bool:
    """Whether each partition is assigned, or a stalled consumer has yet to release it."""
    a_consumer_stalls = any(c.is_running and not c.polls for c in s.consumers)
    return a_consumer_stalls or all(owners(s, p) for p in range(s.bounds.partitions))


def is_settled(s: World) -> bool:
    """Whether all polling consumers read in the current generation, and no other is awaited."""
    return (
        s.group.state is GroupState.STABLE
        and all(map(s.has_live_user, (m.id for m in s.group.members)))
        and all(map(s.has_polling_user, s.group.pending))
        and all_partitions_are_owned(s)
        and all(
            c.phase is Phase.STABLE
            and c.pending_assignment is None
            and not c.needs_rejoin
            and c.assignment_snapshot in (0, s.partitions)
            and c.coordinator == s.coordinator
            and c.generation == s.group.generation
            and s.group.member(c.member) is not None
            for c in s.consumers
            if c.is_running and c.polls
        )
    )


def can_settle(bounds: Bounds) -> bool:
    """Whether the bounds leave each consumer enough member ids and generations to settle.

    Found by exploration: with less, a group that is still joining reaches the bounds.
    """
    b = bounds
    faults = b.crashes + b.failovers + b.losses + b.early + b.stalls + b.leaves + b.growths
    return b.generations >= 2 * b.consumers + 5 * faults and b.ids >= min(4, 1 + 3 * faults)


@leads_to(
    within=can_settle,
    weakly_fair=(
        coordinator.coordinator_issues_member_id,
        coordinator.coordinator_adds_member,
        coordinator.coordinator_accepts_rejoin,
        coordinator.coordinator_replaces_static_member,
        coordinator.coordinator_accepts_sync,
        coordinator.coordinator_rejects_request,
        coordinator.coordinator_extends_initial_delay,
        coordinator.coordinator_ends_initial_delay,
        coordinator.coordinator_ends_join_phase,
        coordinator.coordinator_expires_pending_sync,
        coordinator.coordinator_expires_session,
        coordinator.coordinator_expires_pending_member,
        coordinator.successor_loads_group,
        variants.coordinator_adds_member_at_once,
        variants.coordinator_replaces_static_member_in_place,
        variants.consumer_joins_with_stale_claims,
        variants.leader_trusts_stale_claims,
        scala.scala_coordinator_adds_member,
        scala.scala_coordinator_replaces_static_member,
        scala.scala_coordinator_expires_session,
        scala.scala_coordinator_expires_pending_member,
        consumer.consumer_finds_coordinator,
        consumer.consumer_joins,
        consumer.consumer_joins_keeping_partitions,
        consumer.consumer_receives_member_id,
        consumer.consumer_receives_member_id_keeping_partitions,
        consumer.consumer_receives_generation,
        consumer.consumer_receives_generation_keeping_partitions,
        consumer.consumer_receives_join_error,
        consumer.consumer_receives_assignment,
        consumer.consumer_receives_sync_error,
        consumer.consumer_applies_assignment,
        consumer.consumer_applies_assignment_incrementally,
        consumer.leader_detects_new_partitions,
        consumer.consumer_abandons_request,
        consumer.consumer_heartbeats,
        consumer.consumer_learns_of_rebalance,
        consumer.consumer_loses_coordinator,
        consumer.consumer_discards_stale_error,
        consumer.consumer_receives_heartbeat_error,
    ),
)
def GroupSettles(s: World) -> tuple[bool, bool]:
    """While a consumer polls, the group becomes stable with every partition assigned, and stays.

    Faults are bounded, so at some point no more occur, and every fair rule continues. A stalled
    consumer need not resume or leave: then the timers must remove it. It is checked by default
    where the bounds leave enough member ids and generations to decide it.
    """
    a_consumer_polls = any(c.is_running and c.polls for c in s.consumers)
    return a_consumer_polls, is_settled(s) or not a_consumer_polls
