"""The variants: eager and cooperative, and the faults of earlier Kafka versions.

Each fault replaces the rules that a later version repaired, and must fail.
"""

from __future__ import annotations

from kspec.spec.coordinator.membership import join_new_member
from kspec.spec.core import Step, Variant, Violated, rule
from kspec.spec.group import consumer, coordinator, faults, scala
from kspec.spec.group.assignment import Assignments, Subscriptions, claims
from kspec.spec.group.consumer import (
    ON_ERROR,
    can_join,
    cooperative_sticky,
    identity_error_of,
    rejoin_after,
    response_of,
    sync_in_generation,
    with_join,
)
from kspec.spec.group.coordinator import (
    accept_commit,
    accept_replacement,
    issued_id,
    received,
    within_bounds,
)
from kspec.spec.group.state import (
    Inbound,
    Phase,
    World,
    consumers,
    first_joins,
    replacement_joins,
)
from kspec.spec.messages import Error, GroupState, JoinGroup, JoinGroupResponse

# -- eager ------------------------------------------------------------------------------------

EAGER = Variant(
    name="eager",
    rules=(
        coordinator.coordinator_issues_member_id,
        coordinator.coordinator_adds_member,
        coordinator.coordinator_accepts_rejoin,
        coordinator.coordinator_replaces_static_member,
        coordinator.coordinator_accepts_sync,
        coordinator.coordinator_fails_to_store_assignments,
        coordinator.coordinator_rejects_request,
        coordinator.coordinator_accepts_commit,
        coordinator.coordinator_accepts_standalone_commit,
        coordinator.coordinator_extends_initial_delay,
        coordinator.coordinator_ends_initial_delay,
        coordinator.coordinator_ends_join_phase,
        coordinator.coordinator_expires_pending_sync,
        coordinator.coordinator_expires_session,
        coordinator.coordinator_expires_pending_member,
        coordinator.coordinator_unloads_group,
        coordinator.successor_loads_group,
        consumer.consumer_finds_coordinator,
        consumer.consumer_joins,
        consumer.consumer_receives_member_id,
        consumer.consumer_receives_generation,
        consumer.consumer_receives_join_error,
        consumer.consumer_receives_assignment,
        consumer.consumer_receives_sync_error,
        consumer.consumer_applies_assignment,
        consumer.leader_detects_new_partitions,
        consumer.consumer_abandons_request,
        consumer.consumer_heartbeats,
        coordinator.coordinator_rejects_commit,
        consumer.consumer_learns_of_rebalance,
        consumer.consumer_loses_coordinator,
        consumer.consumer_discards_stale_error,
        consumer.consumer_receives_heartbeat_error,
        faults.consumer_crashes,
        faults.consumer_restarts,
        faults.consumer_closes,
        faults.consumer_stalls,
        faults.consumer_resumes_polling,
        faults.consumer_exceeds_poll_interval,
        faults.network_loses_message,
        faults.administrator_adds_partition,
    ),
    why=(
        "The protocol of Kafka's Java coordinator and Java client with eager rebalances: every "
        "member revokes all its partitions before it joins."
    ),
)

# -- the Scala coordinator --------------------------------------------------------------------

SCALA_COORDINATOR = EAGER.derive(
    "scala",
    replace={
        coordinator.coordinator_adds_member: scala.scala_coordinator_adds_member,
        coordinator.coordinator_replaces_static_member: (
            scala.scala_coordinator_replaces_static_member
        ),
        coordinator.coordinator_expires_session: scala.scala_coordinator_expires_session,
        coordinator.coordinator_expires_pending_member: (
            scala.scala_coordinator_expires_pending_member
        ),
        faults.consumer_closes: scala.consumer_leaves_scala_coordinator,
    },
    why=(
        "The coordinator of Kafka's brokers up to 3.9, which KIP-848 rewrote in Java. It differs "
        "in details, and all properties hold in spite of them."
    ),
)

# -- cooperative (KIP-429) --------------------------------------------------------------------

COOPERATIVE = EAGER.derive(
    "cooperative",
    replace={
        consumer.consumer_joins: consumer.consumer_joins_keeping_partitions,
        consumer.consumer_receives_member_id: (
            consumer.consumer_receives_member_id_keeping_partitions
        ),
        consumer.consumer_receives_generation: (
            consumer.consumer_receives_generation_keeping_partitions
        ),
        consumer.consumer_applies_assignment: consumer.consumer_applies_assignment_incrementally,
    },
    why=(
        "An eager rebalance stops every member until the slowest has joined. Here a member revokes "
        "only the partitions that move; they are assigned to their new owner in a second rebalance."
    ),
)

# -- any generation may commit ----------------------------------------------------------------


@rule(by="coordinator", consumer=consumers)
def coordinator_accepts_commit_of_any_generation(s: World, consumer: int) -> Step[World]:
    """The coordinator accepts a member's commit whatever generation it names.

    Not in Kafka: `ClassicGroup.validateOffsetCommit` rejects it with ILLEGAL_GENERATION.
    """
    return (yield from accept_commit(s, consumer, s.group.generation))


NO_GENERATION_CHECK = EAGER.derive(
    "no-generation-check",
    replace={coordinator.coordinator_accepts_commit: coordinator_accepts_commit_of_any_generation},
    why=(
        "Why requests carry a generation: a static member that misses a rebalance stays a member, "
        "and without the check it keeps committing for partitions that may belong to another."
    ),
    violates={
        "AcceptedCommitIsCurrent": Violated(
            18,
            {"static": 1, "early": 1, "crashes": 0, "failovers": 0, "ids": 1, "generations": 2},
        )
    },
)

# -- KAFKA-12890 ------------------------------------------------------------------------------

BEFORE_KAFKA_12890 = EAGER.derive(
    "before-kafka-12890",
    remove=(coordinator.coordinator_expires_pending_sync,),
    why=(
        "No timer limited the wait for SyncGroup: a member that sent heartbeats but never synced "
        "kept the whole group in CompletingRebalance."
    ),
    violates={
        "GroupSettles": Violated(
            18,
            {"losses": 1, "stalls": 1, "crashes": 0, "failovers": 0, "ids": 1, "generations": 2},
        )
    },
)

# -- KAFKA-9801 -------------------------------------------------------------------------------


@rule(by="coordinator", request=replacement_joins)
def coordinator_replaces_static_member_in_place(s: World, request: Inbound) -> Step[World]:
    """A restarted static member is replaced without a rebalance, even between join and sync.

    Kafka: `GroupCoordinator.doUnknownJoinGroup` (2.4.0).
    """
    keeps_generation_in = (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
    return (yield from accept_replacement(s, request, keeps_generation_in))


BEFORE_KAFKA_9801 = EAGER.derive(
    "before-kafka-9801",
    replace={
        coordinator.coordinator_replaces_static_member: coordinator_replaces_static_member_in_place
    },
    why=(
        "A static member that restarted during CompletingRebalance did not begin another "
        "rebalance: the leader had assigned to its old id, and the new id got nothing."
    ),
    violates={
        "StableGroupAssignsEveryPartition": Violated(
            12, {"consumers": 1, "static": 1, "failovers": 0}
        )
    },
)

# -- KAFKA-8104 -------------------------------------------------------------------------------

ONE_EARLY_TIMER = {"consumers": 1, "crashes": 0, "failovers": 0, "early": 1}
"""One consumer, and one timer that expires early."""


@rule(by="consumer", consumer=consumers)
def heartbeat_thread_clears_generation(s: World, consumer: int) -> Step[World]:
    """The heartbeat thread resets the generation while the listener is being called.

    Kafka: `AbstractCoordinator.joinGroupIfNeeded` (2.2.0), which did not check the generation.
    """
    c = s.consumers[consumer]
    s, error = yield from identity_error_of(s, consumer)
    yield "error is not stale", not c.heartbeat_error_is_stale
    resets = error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)
    if c.pending_assignment is None or not resets:
        return rejoin_after(s, consumer, error)
    return s.with_consumer(consumer, needs_rejoin=True, **ON_ERROR[error])


BEFORE_KAFKA_8104 = EAGER.derive(
    "before-kafka-8104",
    replace={consumer.consumer_receives_heartbeat_error: heartbeat_thread_clears_generation},
    why=(
        "The application's thread did not check the generation again before it called the "
        "listener: the consumer read partitions without a generation to commit in."
    ),
    violates={
        "OwnerHasGeneration": Violated(14, ONE_EARLY_TIMER),
        "AcceptedCommitIsCurrent": Violated(15, ONE_EARLY_TIMER),
    },
)

# -- KIP-394 ----------------------------------------------------------------------------------


@rule(by="coordinator", request=first_joins)
def coordinator_adds_member_at_once(s: World, request: Inbound) -> Step[World]:
    """A first JoinGroup adds a member, which learns its id only with the response.

    Kafka: `GroupCoordinator.addMemberAndRebalance` (2.1.0).
    """
    s, join = yield from received(s, request, JoinGroup)
    s, new_id = yield from issued_id(s, request.consumer)
    outcome = yield from join_new_member(s.group, join, request.caller, new_id)
    return (yield from within_bounds(s, outcome))


BEFORE_KIP_394 = EAGER.derive(
    "before-kip-394",
    replace={coordinator.coordinator_issues_member_id: coordinator_adds_member_at_once},
    why=(
        "A consumer whose first JoinGroup timed out joined again under another id, and the group "
        "filled with members without a live consumer (KAFKA-7610, KAFKA-7824)."
    ),
    violates={"OneMemberPerConsumer": Violated(8, ONE_EARLY_TIMER)},
)

# -- KAFKA-12984 (cooperative) ----------------------------------------------------------------


def assignment_by_all_claims(subscriptions: Subscriptions, partitions: int) -> Assignments:
    """Each member keeps its claims up to its share, whatever their generation.

    A sketch of `CooperativeStickyAssignor` before the repair, not the assignor itself: shares
    differ by at most one and members with more claims get the larger ones; partitions that no
    member claims go to the members in the order of their ids.
    """
    claimed = {member: claim.partitions for member, _, claim in claims(subscriptions)}
    smallest, larger = divmod(partitions, len(claimed))
    by_claims = sorted(claimed, key=lambda member: (-len(claimed[member]), member))
    share = {member: smallest + (rank < larger) for rank, member in enumerate(by_claims)}
    given = {member: sorted(owned)[: share[member]] for member, owned in claimed.items()}
    anyones = {partition for owned in claimed.values() for partition in owned}
    free = [partition for partition in range(partitions) if partition not in anyones]
    for member in sorted(claimed):
        while free and len(given[member]) < share[member]:
            given[member].append(free.pop(0))
    return tuple((member, tuple(sorted(given[member]))) for member in sorted(claimed))


@rule(by="consumer", consumer=consumers)
def consumer_joins_with_stale_claims(s: World, consumer: int) -> Step[World]:
    """A consumer that was removed while it joined claims the partitions that it used to own.

    Kafka: `AbstractCoordinator.joinGroupIfNeeded` (2.4.0), which calls `onJoinPrepare` before the
    first attempt to join and not before the next.
    """
    yield from can_join(s, consumer)
    c = s.consumers[consumer]
    return with_join(s, consumer, c.member, cooperative_sticky(c.owned, c.generation))


@rule(by="consumer", consumer=consumers)
def leader_trusts_stale_claims(s: World, consumer: int) -> Step[World]:
    """The leader assigns by the members' claims, whatever their generation.

    Kafka: `CooperativeStickyAssignor.memberData` (2.7.0), which names no generation.
    """
    response = yield from response_of(s, consumer, Phase.JOINING, JoinGroupResponse)
    yield "response names a generation", response.error is Error.NONE
    return sync_in_generation(s, consumer, response, assignment_by_all_claims)


ONE_EARLY_TIMER_OF_TWO = {"crashes": 0, "failovers": 0, "early": 1}
"""Two consumers, and one timer that expires early."""

BEFORE_KAFKA_12984 = COOPERATIVE.derive(
    "before-kafka-12984",
    replace={
        consumer.consumer_joins_keeping_partitions: consumer_joins_with_stale_claims,
        consumer.consumer_receives_generation_keeping_partitions: leader_trusts_stale_claims,
    },
    why=(
        "A member that missed a rebalance claimed the partitions that it had owned before, and the "
        "leader trusted the claim: one partition, two owners."
    ),
    violates={
        "OneAssigneePerPartition": Violated(33, ONE_EARLY_TIMER_OF_TWO),
        "OneOwnerPerGeneration": Violated(33, ONE_EARLY_TIMER_OF_TWO),
        "StableGroupAssignsEveryPartition": Violated(33, ONE_EARLY_TIMER_OF_TWO),
    },
)

VARIANTS = (
    EAGER,
    NO_GENERATION_CHECK,
    BEFORE_KAFKA_12890,
    BEFORE_KAFKA_9801,
    BEFORE_KAFKA_8104,
    BEFORE_KIP_394,
    COOPERATIVE,
    BEFORE_KAFKA_12984,
    SCALA_COORDINATOR,
)
"""Every variant, each after its parent."""
