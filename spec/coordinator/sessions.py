"""Sessions and timers: Heartbeat, which timers are armed, and what each does when it expires.

A timer is armed exactly while the group's state says so (`armed`); no handler starts or stops
one. Its duration stands with it. In a model, an armed timer may expire at any moment.

Kafka: `GroupMetadataManager.classicGroupHeartbeat`, and the operations that it schedules.
"""

from __future__ import annotations

from typing import NamedTuple

from kspec.spec.coordinator.rebalance import (
    complete_join,
    maybe_complete_join,
    prepare_rebalance,
    remove_member,
)
from kspec.spec.coordinator.state import (
    Caller,
    Group,
    GroupMember,
    Handler,
    Outcome,
    validate_alive,
    validate_member,
)
from kspec.spec.core import Check, evolve
from kspec.spec.messages import NO_MEMBER_ID, Error, GroupState, Heartbeat, HeartbeatResponse

# -- Heartbeat --------------------------------------------------------------------------------


def heartbeat(group: Group, request: Heartbeat, caller: Caller) -> Handler:
    """A member keeps its session alive; an error makes it join again.

    The session timer restarts during a rebalance, too: only a silent member is removed.

    Kafka: `classicGroupHeartbeatToClassicGroup`.
    """
    yield from validate_alive(group)
    yield from validate_member(group, request.member, request.instance)
    is_current = request.generation == group.generation
    yield Check("generation is current", is_current, Error.ILLEGAL_GENERATION)
    preparing = group.state is GroupState.PREPARING_REBALANCE
    yield Check("group is not preparing a rebalance", not preparing, Error.REBALANCE_IN_PROGRESS)
    return Outcome(group, ((caller, HeartbeatResponse()),))


# -- timers -----------------------------------------------------------------------------------


class Timer(NamedTuple):
    """A timer of a group."""

    kind: str
    """`initial delay`, `join`, `sync`, `session` or `pending`."""
    member: str = NO_MEMBER_ID
    """The member id, for the last two kinds."""


def armed(group: Group) -> frozenset[Timer]:
    """The timers that are armed and would have an effect.

    Kafka: `schedulePendingSync` for SyncGroups.
    """
    timers = []
    if group.in_initial_delay:
        timers.append(Timer("initial delay"))
    elif group.state is GroupState.PREPARING_REBALANCE:
        timers.append(Timer("join"))
    in_generation = group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
    if group.settings.pending_sync_timer and in_generation and group.pending_sync:
        timers.append(Timer("sync"))
    timers += [Timer("session", m.id) for m in group.members if session_is_timed(m)]
    timers += [Timer("pending", member_id) for member_id in group.pending]
    return frozenset(timers)


def fire(group: Group, timer: Timer) -> Outcome:
    """The effect of a timer that expires.

    For implementations that are given a timer to expire; `spec.group` has a rule for each kind.
    """
    match timer.kind:
        case "initial delay" if delay_can_be_extended(group):
            return extend_initial_delay(group)
        case "initial delay":
            return complete_join(group)
        case "join":
            return complete_join(group)
        case "sync":
            return expire_pending_sync(group)
        case "session":
            return expire_session(group, timer.member)
        case _:
            return expire_pending_member(group, timer.member)


def delay_can_be_extended(group: Group) -> bool:
    """Whether the initial delay is extended: members are joining, and time remains.

    The delay takes `group.initial.rebalance.delay.ms`, with its extensions at most the longest
    rebalance timeout. Kafka: `tryCompleteInitialRebalanceElseSchedule`.
    """
    return group.new_member_added and group.remaining_delay > 0


def extend_initial_delay(group: Group) -> Outcome:
    """Wait once more for members to join."""
    elapsed = min(group.settings.initial_rebalance_delay, group.remaining_delay)
    remaining = group.remaining_delay - elapsed
    return Outcome(evolve(group, new_member_added=False, remaining_delay=remaining))


def expire_pending_sync(group: Group) -> Outcome:
    """Remove members that have not sent SyncGroup, static ones too, and rebalance.

    After the generation's longest rebalance timeout. Without this timer a member that sends
    heartbeats but never syncs blocks the group (KAFKA-12890).

    Kafka: `expirePendingSync`.
    """
    return prepare_rebalance(group.without_members(group.pending_sync))


def session_is_timed(member: GroupMember) -> bool:
    """Whether the member's session can expire: not while a request is parked, unless it is new.

    A new member's timer takes five minutes, so that members of departed clients do not accumulate
    (KAFKA-7610); any other's takes its session timeout.

    Simplification: a write takes less time than a session. If the session of a replaced static
    member expires while its new id is written, Kafka's Java coordinator does not time the member
    again before its next heartbeat (`updateStaticMemberThenRebalanceOrCompleteJoin`).

    Kafka: `ClassicGroupMember.hasSatisfiedHeartbeat`.
    """
    return member.is_new or not member.is_parked


def expire_session(group: Group, member_id: str) -> Outcome:
    """Remove a member that was silent for its session timeout; the others rebalance.

    Kafka: `expireClassicGroupMemberHeartbeat`, `removeMemberAndUpdateClassicGroup`.
    """
    member = group.member(member_id)
    assert member is not None, "only members have sessions"
    preparing = group.state is GroupState.PREPARING_REBALANCE
    return remove_member(group, member).then(
        complete_if_all_joined if preparing else prepare_rebalance
    )


def expire_pending_member(group: Group, member_id: str) -> Outcome:
    """Forget a pending member that has not joined within its session timeout.

    Kafka: `removePendingMemberAndUpdateClassicGroup`.
    """
    return complete_if_all_joined(evolve(group, pending=group.pending - {member_id}))


def complete_if_all_joined(group: Group) -> Outcome:
    """Complete the rebalance if all members have joined, including in the initial delay.

    The Java coordinator ends the initial delay early when a timer removes the last missing member;
    a join or a leave never does. Scala never ends it early.
    """
    ends_initial_delay = group.settings.variant.expiry_ends_initial_delay
    return maybe_complete_join(group, ends_initial_delay=ends_initial_delay)
