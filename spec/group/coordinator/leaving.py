"""LeaveGroup: members that go, and an administrator who removes static ones.

Kafka: `GroupMetadataManager.classicGroupLeave`.
"""

from __future__ import annotations

from spec.core import evolve
from spec.group.coordinator.checks import Handling, is_alive
from spec.group.coordinator.group import Caller, Group, Outcome
from spec.group.coordinator.rebalance import SETTLED, prepare_rebalance, remove, try_to_complete
from spec.messages import Error, GroupState, LeaveGroup, Leaver, Left


def leave(group: Group, request: LeaveGroup, caller: Caller) -> Handling:
    """Members go at once, so that the others need not wait for their session timeouts.

    Each of them fares by itself: one that is unknown does not keep the others from leaving.
    """
    yield from is_alive(group)
    outcome = Outcome(group)
    fared = []
    for leaver in request.leavers:
        gone, error = put_out(outcome.group, leaver)
        outcome = outcome.then(lambda _, gone=gone: gone)  # type: ignore[misc]
        fared.append((leaver, error))
    outcome = evolve(outcome, answers=(*outcome.answers, (caller, Left(leavers=tuple(fared)))))
    return outcome.then(after_a_loss) if outcome.group != group else outcome


def put_out(group: Group, leaver: Leaver) -> tuple[Outcome, Error]:
    """One member leaves, or why it cannot.

    An id that was given out and never joined is forgotten before anybody asks whose it is.
    """
    if leaver.member in group.pending:
        return Outcome(evolve(group, pending=group.pending - {leaver.member})), Error.NONE
    static = group.instance(leaver.instance)
    if leaver.instance is not None:
        if static is None:
            return Outcome(group), Error.UNKNOWN_MEMBER_ID
        if leaver.member not in ("", static.id):
            return Outcome(group), Error.FENCED_INSTANCE_ID
        return remove(group, static), Error.NONE
    member = group.member(leaver.member)
    if member is None:
        return Outcome(group), Error.UNKNOWN_MEMBER_ID
    return remove(group, member), Error.NONE


def after_a_loss(group: Group) -> Outcome:
    """The others share out anew; a rebalance that goes on has one less to wait for.

    Kafka's Java coordinator does so for an id that was given out and never joined, too.
    """
    if group.state in SETTLED and group.state is not GroupState.EMPTY:
        return prepare_rebalance(group)
    return try_to_complete(group)
