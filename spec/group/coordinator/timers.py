"""What happens when nobody asks: the timers of a group, and what each one does.

A timer is armed exactly while the state says so (`armed`); no handler starts or stops one. How
long each takes stands with it. In a model, a timer that is armed may fire at any moment.
"""

from __future__ import annotations

from typing import NamedTuple

from spec.core import evolve
from spec.group.coordinator.group import Group, GroupMember, Outcome
from spec.group.coordinator.leaving import after_a_loss
from spec.group.coordinator.rebalance import complete_rebalance, prepare_rebalance, remove
from spec.messages import GroupState


class Timer(NamedTuple):
    """One timer of a group."""

    kind: str
    """`initial delay`, `join`, `sync`, `member` or `pending`."""
    member: str = ""
    """Whose it is, for the last two."""


def armed(group: Group) -> frozenset[Timer]:
    """The timers that may fire, and would do something."""
    timers = []
    if group.waits_initially:
        timers.append(Timer("initial delay"))
    elif group.state is GroupState.PREPARING_REBALANCE:
        timers.append(Timer("join"))
    if sync_is_awaited(group):
        timers.append(Timer("sync"))
    timers += [Timer("member", m.id) for m in group.members if is_watched(m)]
    timers += [Timer("pending", member_id) for member_id in group.pending]
    return frozenset(timers)


def fire(group: Group, timer: Timer) -> Outcome:
    """What a timer does."""
    match timer.kind:
        case "initial delay":
            return initial_delay_ends(group)
        case "join":
            return complete_rebalance(group)
        case "sync":
            return sync_time_is_up(group)
        case "member":
            return session_ends(group, timer.member)
        case _:
            return id_is_forgotten(group, timer.member)


def initial_delay_ends(group: Group) -> Outcome:
    """The rebalance of an empty group ends, or waits once more if members are still coming.

    After `group.initial.rebalance.delay.ms`, and never longer in all than the most patient
    member's rebalance timeout.
    """
    if not (group.joined_meanwhile and group.delay_left > 0):
        return complete_rebalance(group)
    elapsed = min(group.settings.initial_rebalance_delay, group.delay_left)
    left = group.delay_left - elapsed
    return Outcome(evolve(group, joined_meanwhile=False, delay_left=left))


def sync_is_awaited(group: Group) -> bool:
    """Whether members have yet to ask for their assignment, and it is not waited for in vain."""
    made = group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
    return group.settings.pending_sync_timer and made and bool(group.pending_sync)


def sync_time_is_up(group: Group) -> Outcome:
    """Members that did not sync are out, static ones too, and the others begin again.

    After the longest rebalance timeout of the generation. Without it a member that sends
    heartbeats but never syncs holds up everyone (KAFKA-12890).
    """
    return prepare_rebalance(group.without(group.pending_sync))


def is_watched(member: GroupMember) -> bool:
    """Whether its silence counts: not while it waits for an answer, unless it is new.

    A member that is new waits for five minutes at the most, so that members whose clients have
    gone do not pile up (KAFKA-7610); every other for its session timeout.
    """
    return member.is_new or not member.is_parked


def session_ends(group: Group, member_id: str) -> Outcome:
    """A member was silent for too long: it is out."""
    member = group.member(member_id)
    assert member is not None, "only members are watched"
    return remove(group, member).then(after_silence)


def id_is_forgotten(group: Group, member_id: str) -> Outcome:
    """An id that was given out did not come back within its session timeout."""
    forgotten = evolve(group, pending=group.pending - {member_id})
    return end_the_wait(forgotten)


def after_silence(group: Group) -> Outcome:
    """The others share out anew, or need not wait for it any more."""
    if group.state is GroupState.PREPARING_REBALANCE:
        return end_the_wait(group)
    return after_a_loss(group)


def end_the_wait(group: Group) -> Outcome:
    """End the wait for members if nobody is waited for, be it the initial delay.

    Kafka's Java coordinator does so when a timer takes away the last one that was missing; a
    join or a leave never cuts the initial delay short.
    """
    if group.state is GroupState.PREPARING_REBALANCE and group.everyone_joined:
        return complete_rebalance(group)
    return Outcome(group)
