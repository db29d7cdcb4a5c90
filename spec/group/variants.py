"""Faults that production has seen, each as the rule as it was before it was mended."""

from __future__ import annotations

from spec.core import Step, Violated, limit, rule
from spec.group import consuming, coordinating
from spec.group.consuming import ON_ERROR, after_error
from spec.group.coordinating import (
    arrives,
    caller,
    delivered,
    join_of,
    next_id,
    takes_commit,
    takes_replacement,
    with_id,
    within_bounds,
)
from spec.group.coordinator.joining import add_member
from spec.group.eager import EAGER
from spec.group.world import Ask, World, consumers, first_joins, replacements
from spec.messages import Error, GroupState

ONE_EARLY_TIMER = {"consumers": 1, "crashes": 0, "failovers": 0, "early": 1}
"""One consumer, and one timer that fires while it is only slow."""

# -- any generation may commit ----------------------------------------------------------------


@rule(by="coordinator", consumer=consumers)
def coordinator_takes_any_commit(s: World, consumer: int) -> Step[World]:
    """A commit is taken from any member, whatever generation it claims."""
    return (yield from takes_commit(s, consumer, s.group.generation))


NO_GENERATION_CHECK = EAGER.derive(
    "no-generation-check",
    replace={coordinating.coordinator_takes_commit: coordinator_takes_any_commit},
    why=(
        "What generations are for: a static member that misses a rebalance stays a member, and "
        "without the check it goes on committing for partitions that may be another's by now."
    ),
    violates={
        "NoOldCommit": Violated(
            18,
            {"static": 1, "early": 1, "crashes": 0, "failovers": 0, "ids": 1, "generations": 2},
        )
    },
)

# -- KAFKA-12890 ------------------------------------------------------------------------------

BEFORE_KAFKA_12890 = EAGER.derive(
    "before-kafka-12890",
    remove=(coordinating.sync_timer_fires,),
    why=(
        "Nobody waited for a SyncGroup with a timer: a member that sends heartbeats, but never "
        "syncs, held the whole group in CompletingRebalance."
    ),
    violates={
        "GroupSettles": Violated(
            18,
            {"losses": 1, "stalls": 1, "crashes": 0, "failovers": 0, "ids": 1, "generations": 2},
        )
    },
)

# -- KAFKA-9801 -------------------------------------------------------------------------------


@rule(by="coordinator", ask=replacements)
def coordinator_replaces_member_in_place(s: World, ask: Ask) -> Step[World]:
    """A static member that restarted takes its old self's place, be it between join and sync."""
    stays_in = (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
    return (yield from takes_replacement(s, ask, stays_in))


BEFORE_KAFKA_9801 = EAGER.derive(
    "before-kafka-9801",
    replace={coordinating.coordinator_replaces_member: coordinator_replaces_member_in_place},
    why=(
        "A static member that came back while assignments were being made did not begin another "
        "round: the leader had assigned to its old id, and the new one got nothing."
    ),
    violates={
        "EveryPartitionHasAnOwner": Violated(12, {"consumers": 1, "static": 1, "failovers": 0})
    },
)

# -- KAFKA-8104 -------------------------------------------------------------------------------


@rule(by="consumer", consumer=consumers)
def heartbeat_thread_clears_generation(s: World, consumer: int) -> Step[World]:
    """The heartbeat thread hears an error, and takes the generation away in mid-assignment."""
    c = s.consumers[consumer]
    yield "an answer has come", c.beat is not None and c.runs
    assert c.beat is not None, "an answer has come"
    error = c.beat
    is_void = error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION) and not c.beat_is_old
    if c.told is not None and is_void:
        heard = s.with_consumer(consumer, beat=None, beat_is_old=False, wants_to_rejoin=True)
        return heard.with_consumer(consumer, **ON_ERROR[error])
    return after_error(s, consumer, error)


BEFORE_KAFKA_8104 = EAGER.derive(
    "before-kafka-8104",
    replace={consuming.consumer_hears_error: heartbeat_thread_clears_generation},
    why=(
        "The application's thread did not look again before it told its listener of the new "
        "partitions: the consumer began to read them without a generation to commit in."
    ),
    violates={
        "HoldersHaveAGeneration": Violated(14, ONE_EARLY_TIMER),
        "NoOldCommit": Violated(15, ONE_EARLY_TIMER),
    },
)

# -- KIP-394 ----------------------------------------------------------------------------------


@rule(by="coordinator", ask=first_joins)
def coordinator_adds_member_at_once(s: World, ask: Ask) -> Step[World]:
    """A first JoinGroup makes a member, whose id is in the answer only."""
    yield from arrives(s, ask)
    yield limit("an id is left"), s.consumers[ask.consumer].ids < s.bounds.ids
    outcome = yield from add_member(s.group, join_of(s, ask), caller(ask), next_id(s, ask))
    yield from within_bounds(s, outcome)
    return with_id(delivered(s, ask), ask).after(outcome)


BEFORE_KIP_394 = EAGER.derive(
    "before-kip-394",
    replace={coordinating.coordinator_gives_id: coordinator_adds_member_at_once},
    why=(
        "A consumer that gave up waiting for its first answer joined again as somebody else, and "
        "the group filled with members that nobody was (KAFKA-7610, KAFKA-7824)."
    ),
    violates={"OneMemberPerConsumer": Violated(8, ONE_EARLY_TIMER)},
)

FAILED = (
    NO_GENERATION_CHECK,
    BEFORE_KAFKA_12890,
    BEFORE_KAFKA_9801,
    BEFORE_KAFKA_8104,
    BEFORE_KIP_394,
)
