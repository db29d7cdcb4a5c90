"""Any request, answered: the oracle for an implementation of a coordinator."""

from __future__ import annotations

from spec.core import evolve
from spec.group.coordinator.checks import ERRORS, Handling
from spec.group.coordinator.committing import commit
from spec.group.coordinator.group import Caller, Group, Outcome
from spec.group.coordinator.heartbeats import heartbeat
from spec.group.coordinator.joining import (
    add_member,
    give_id,
    rejoin,
    replace_member,
    session_timeout_is_allowed,
)
from spec.group.coordinator.leaving import leave
from spec.group.coordinator.rebalance import remove
from spec.group.coordinator.syncing import sync
from spec.messages import (
    NOBODY,
    Answer,
    Beaten,
    Committed,
    Error,
    GroupState,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Left,
    OffsetCommit,
    Request,
    Settings,
    Synced,
    SyncGroup,
)


def handle(group: Group, caller: Caller, request: Request, new_id: str) -> Outcome:
    """What a request to a group that exists comes to; `new_id` is the id a new member would get.

    OffsetFetch changes nothing, and is answered from the offsets topic: not here.
    """
    handling = handler(group, caller, request, new_id)
    try:
        while True:
            check, holds = next(handling)
            if not holds:
                return refused(group, caller, request, ERRORS[check])
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


def handle_unknown(caller: Caller, request: Request, new_id: str, settings: Settings) -> Outcome:
    """What a request to a group that nobody has heard of comes to.

    A first JoinGroup makes it, be it refused in the end, and so does a commit that claims no
    generation: a "simple" group, for a consumer that assigns itself. Any other request is
    answered, and then there is no group still: a dead one.
    """
    made = Group(settings=settings)
    none = evolve(made, state=GroupState.DEAD)
    match request:
        case JoinGroup() if not session_timeout_is_allowed(made, request):
            return refused(none, caller, request, Error.INVALID_SESSION_TIMEOUT)
        case JoinGroup() if request.member == NOBODY:
            return evolve(handle(made, caller, request, new_id), record=made.stored())
        case JoinGroup():
            return refused(none, caller, request, Error.UNKNOWN_MEMBER_ID)
        case OffsetCommit() if request.generation < 0:
            return handle(made, caller, request, new_id)
        case OffsetCommit():
            return refused(none, caller, request, Error.ILLEGAL_GENERATION)
        case _:
            return evolve(handle(made, caller, request, new_id), group=none)


def handler(group: Group, caller: Caller, request: Request, new_id: str) -> Handling:
    """What handles this request, given the group as it is."""
    match request:
        case JoinGroup():
            return join_handler(group, caller, request, new_id)
        case SyncGroup():
            return sync(group, request, caller)
        case Heartbeat():
            return heartbeat(group, request, caller)
        case LeaveGroup():
            return leave(group, request, caller)
        case OffsetCommit():
            return commit(group, request, caller)
        case _:
            raise TypeError(f"{request!r} is not handled by the group")


def join_handler(group: Group, caller: Caller, request: JoinGroup, new_id: str) -> Handling:
    """Four things a JoinGroup can be: a first one, a new member's, a return, a replacement."""
    if request.member == NOBODY:
        if group.instance(request.instance) is not None:
            return replace_member(group, request, caller, new_id)
        if request.instance is None and request.can_take_an_id_first:
            return give_id(group, request, caller, new_id)
        return add_member(group, request, caller, new_id)
    if request.member in group.pending and request.instance is None:
        return add_member(group, request, caller, request.member)
    return rejoin(group, request, caller)


def refusal(handling: Handling) -> Error | None:
    """The error of the first check that fails, or None if the request is taken."""
    try:
        while True:
            check, holds = next(handling)
            if not holds:
                return ERRORS[check]
    except StopIteration:
        return None


def refused(group: Group, caller: Caller, request: Request, error: Error) -> Outcome:
    """Say no. A member that finds no room any more is put out with it."""
    outcome = Outcome(group, ((caller, saying(request, error)),))
    if error is Error.GROUP_MAX_SIZE_REACHED and isinstance(request, JoinGroup):
        member = group.member(request.member)
        without = evolve(group, pending=group.pending - {request.member})
        if member is not None:
            without = remove(without, member).group
        return evolve(outcome, group=without)
    return outcome


def saying(request: Request, error: Error) -> Answer:
    """The answer to a request that says nothing but this error."""
    match request:
        case JoinGroup():
            return Joined(error, request.member)
        case SyncGroup():
            return Synced(error)
        case Heartbeat():
            return Beaten(error)
        case LeaveGroup():
            return Left(error)
        case OffsetCommit():
            return Committed(tuple((partition, error) for partition, _ in request.offsets))
        case _:
            raise TypeError(f"{request!r} is not handled by the group")
