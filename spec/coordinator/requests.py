"""Any request, answered: the entry points of the oracle.

Kafka: `GroupCoordinatorService`, which dispatches to `GroupMetadataManager`. Simplification: groups
have no id here, so that the checks of the group id are left out; the partitions that a commit names
exist. `KafkaApis.handleOffsetCommitRequest` answers for others with UNKNOWN_TOPIC_OR_PARTITION, and
the coordinator does not see them.
"""

from __future__ import annotations

from kspec.spec.coordinator.membership import (
    issue_member_id,
    join_new_member,
    join_pending_member,
    leave,
    rejoin,
    replace_static_member,
    session_timeout_is_valid,
)
from kspec.spec.coordinator.offsets import commit
from kspec.spec.coordinator.rebalance import maybe_complete_join, remove_member, sync
from kspec.spec.coordinator.sessions import heartbeat
from kspec.spec.coordinator.state import Caller, Group, Handler, Outcome
from kspec.spec.core import Check, Checked, decide, evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    AnyRequest,
    DeleteGroup,
    DeleteGroupResponse,
    Error,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    Request,
    Response,
    Settings,
    SyncGroup,
    SyncGroupResponse,
)


def handle(group: Group, caller: Caller, request: Request, new_id: str) -> Outcome:
    """The result of a request to a known group; `new_id` is the id that a new member would get.

    A response that waits for a write to the offsets topic is sent by
    `rebalance.assignments_stored` or `membership.replacement_stored`.
    OffsetFetch changes nothing and is answered from the offsets topic, so it is not handled here.
    """
    return outcome_of(handler_of(group, caller, request, new_id), group, caller, request)


def outcome_of(handler: Handler, group: Group, caller: Caller, request: AnyRequest) -> Outcome:
    """The effect of a handler, or its rejection of a request."""
    decision = decide(handler)
    outcome = decision.effect or reject(group, caller, request, decision.error)
    return evolve(outcome, decision=decision)


def validate_fields(request: SyncGroup) -> Checked[None]:
    """A SyncGroup has the fields that are mandatory in its version.

    One that lacks some is rejected before the coordinator sees it.
    Kafka: `KafkaApis.handleSyncGroupRequest`.
    """
    if request.lacks_protocol:
        yield Check("protocol type and name are given", False, Error.INCONSISTENT_GROUP_PROTOCOL)


def handle_unknown(caller: Caller, request: Request, new_id: str, settings: Settings) -> Outcome:
    """The result of a request to a group that the coordinator does not know.

    A first JoinGroup creates the group, even if it is then rejected. So does a commit without a
    generation: a "simple" group, for a consumer that assigns itself. After any other request the
    group is still unknown, which the outcome shows as a dead group.

    Kafka: `getOrMaybeCreateClassicGroup`; `OffsetMetadataManager.validateOffsetCommit`.
    """
    created = Group(settings=settings)
    if creates_group(created, request):
        outcome = handle(created, caller, request, new_id)
        stores = isinstance(request, JoinGroup) and settings.variant.stores_new_group
        return evolve(outcome, record=created.stored()) if stores else outcome
    unknown = evolve(created, state=GroupState.DEAD)
    decision = decide(validate_group(created, request))
    if isinstance(request, LeaveGroup):  # each member has its own result
        outcome = evolve(handle(created, caller, request, new_id), group=unknown)
    else:
        outcome = reject(unknown, caller, request, decision.error)
    return evolve(outcome, decision=decision)


def creates_group(created: Group, request: Request) -> bool:
    """Whether a request creates the group that it names."""
    match request:
        case JoinGroup():
            is_first = request.member == NO_MEMBER_ID
            return is_first and session_timeout_is_valid(created, request)
        case OffsetCommit():
            return request.generation < 0
        case _:
            return False


def validate_group(created: Group, request: Request) -> Checked[None]:
    """The checks of a request to an unknown group that does not create it; one of them fails.

    Kafka: `getOrMaybeCreateClassicGroup`; `OffsetMetadataManager.validateOffsetCommit`.
    """
    if isinstance(request, SyncGroup):
        yield from validate_fields(request)
    if isinstance(request, JoinGroup):
        is_within = session_timeout_is_valid(created, request)
        yield Check("session timeout is within limits", is_within, Error.INVALID_SESSION_TIMEOUT)
    error = Error.UNKNOWN_MEMBER_ID
    if isinstance(request, OffsetCommit):
        misses = request.version >= 9 and created.settings.variant.commit_misses_group
        error = Error.GROUP_ID_NOT_FOUND if misses else Error.ILLEGAL_GENERATION
    yield Check("group exists", False, error)


def handler_of(group: Group, caller: Caller, request: Request, new_id: str) -> Handler:
    """The handler of a request, given the group as it is."""
    match request:
        case JoinGroup():
            return join_handler(group, caller, request, new_id)
        case SyncGroup():
            return sync_with_fields(group, request, caller)
        case Heartbeat():
            return heartbeat(group, request, caller)
        case LeaveGroup():
            return leave(group, request, caller)
        case OffsetCommit():
            return commit(group, request, caller)
        case _:
            raise TypeError(f"the group does not handle {request!r}")


def sync_with_fields(group: Group, request: SyncGroup, caller: Caller) -> Handler:
    """A SyncGroup reaches the coordinator if it has its mandatory fields."""
    yield from validate_fields(request)
    return (yield from sync(group, request, caller))


def join_handler(group: Group, caller: Caller, request: JoinGroup, new_id: str) -> Handler:
    """The handler of a JoinGroup: from a new client, a new member, a member, or a restarted one.

    Kafka: `classicGroupJoinToClassicGroup`, `classicGroupJoinNewMember`.
    """
    if request.member == NO_MEMBER_ID:
        if group.static_member(request.instance) is not None:
            return replace_static_member(group, request, caller, new_id)
        if request.instance is None and request.requires_known_member_id:
            return issue_member_id(group, request, caller, new_id)
        return join_new_member(group, request, caller, new_id)
    if request.member in group.pending:
        return join_pending_member(group, request, caller)
    return rejoin(group, request, caller)


def first_error(handler: Handler) -> Error | None:
    """The error of the first check that fails, or None if the request is accepted."""
    error: Error | None = decide(handler).error
    return error


def reject(group: Group, caller: Caller, request: AnyRequest, error: Error) -> Outcome:
    """Answer a request with an error. A member for which there is no room is removed.

    Kafka: `classicGroupJoinToClassicGroup`, where `acceptJoiningMember` fails.
    """
    outcome = Outcome(group, ((caller, error_response(request, error)),))
    if error is not Error.GROUP_MAX_SIZE_REACHED or not isinstance(request, JoinGroup):
        return outcome
    forgotten = evolve(group, pending=group.pending - {request.member})
    member = group.member(request.member)
    removed = forgotten if member is None else remove_member(forgotten, member).group
    refused = evolve(outcome, group=removed)
    completes = group.settings.variant.refusal_completes_join
    return refused.then(maybe_complete_join) if completes else refused


def refuse(request: Request, error: Error, settings: Settings) -> Response:
    """The response of a broker that does not coordinate the group: NOT_COORDINATOR.

    While it loads the group, the error is COORDINATOR_LOAD_IN_PROGRESS. Then it accepts
    heartbeats, since the member may be in the group; once it is shut down, the error is
    COORDINATOR_NOT_AVAILABLE.

    Kafka: `GroupCoordinatorService`, which checks some requests before it knows this.
    """
    variant, is_loading = settings.variant, error is Error.COORDINATOR_LOAD_IN_PROGRESS
    is_checked = error is not Error.COORDINATOR_NOT_AVAILABLE and not variant.checks_ownership_first
    match request:
        case SyncGroup() if request.lacks_protocol:
            return SyncGroupResponse(Error.INCONSISTENT_GROUP_PROTOCOL)
        case JoinGroup() if is_checked:
            if not session_timeout_is_valid(Group(settings=settings), request):
                return error_response(request, Error.INVALID_SESSION_TIMEOUT)
            return JoinGroupResponse(error)
        case Heartbeat() if is_loading:
            return HeartbeatResponse()
        case SyncGroup() if is_loading and not variant.sync_waits_for_loading:
            return SyncGroupResponse(Error.REBALANCE_IN_PROGRESS)
        case _:
            return error_response(request, error)


def error_response(request: AnyRequest, error: Error) -> Response:
    """The response to a request that carries only this error.

    To a JoinGroup it repeats the member id, except where there is no room, or where the request
    makes the coordinator fail. Kafka: `classicGroupJoinToClassicGroup`.
    """
    match request:
        case JoinGroup():
            repeats = error not in (Error.GROUP_MAX_SIZE_REACHED, Error.UNKNOWN_SERVER_ERROR)
            return JoinGroupResponse(error, request.member if repeats else NO_MEMBER_ID)
        case SyncGroup():
            return SyncGroupResponse(error)
        case Heartbeat():
            return HeartbeatResponse(error)
        case LeaveGroup():
            return LeaveGroupResponse(error)
        case OffsetCommit():
            return OffsetCommitResponse(tuple((p, error) for p, _ in request.offsets))
        case DeleteGroup():
            return DeleteGroupResponse(error)
        case OffsetDelete():
            return OffsetDeleteResponse(error)
        case _:
            raise TypeError(f"the group does not handle {request!r}")
