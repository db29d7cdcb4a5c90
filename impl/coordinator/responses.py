"""Responses that carry only an error; those without other content are created once."""

from __future__ import annotations

from kspec.spec.messages import (
    JAVA,
    NO_MEMBER_ID,
    CoordinatorVariant,
    Error,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroup,
    SyncGroupResponse,
)

SYNC_RESPONSES = {error: SyncGroupResponse(error) for error in Error}
HEARTBEAT_RESPONSES = {error: HeartbeatResponse(error) for error in Error}
LEAVE_RESPONSES = {error: LeaveGroupResponse(error) for error in Error}
FETCH_RESPONSES = {error: OffsetFetchResponse(error) for error in Error}


def commit_response(request: OffsetCommit, error: Error) -> OffsetCommitResponse:
    """The response to a commit with the same error for every partition."""
    return OffsetCommitResponse(tuple((partition, error) for partition, _ in request.offsets))


_FAILURES = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.NOT_COORDINATOR,
    Error.UNKNOWN_SERVER_ERROR,
)
"""The errors of a JoinGroup that failed on its way, so that its response carries no member id."""


def error_response(request: Request, error: Error, variant: CoordinatorVariant = JAVA) -> Response:
    """The response to any request that carries only this error."""
    match request:
        case JoinGroup():
            repeats = variant.checks_ownership_first or error not in _FAILURES
            return JoinGroupResponse(error, request.member if repeats else NO_MEMBER_ID)
        case SyncGroup():
            return SYNC_RESPONSES[error]
        case Heartbeat():
            return HEARTBEAT_RESPONSES[error]
        case LeaveGroup():
            return LEAVE_RESPONSES[error]
        case OffsetCommit():
            return commit_response(request, error)
        case OffsetFetch():
            return FETCH_RESPONSES[error]


_RESPONSE_ERRORS = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.INVALID_FETCH_SIZE: Error.UNKNOWN_SERVER_ERROR,
}


def response_error(error: Error) -> Error:
    """The error that a client receives when a write to the offsets topic fails with this one.

    Kafka: `appendGroupMetadataErrorToResponseError`.
    """
    return _RESPONSE_ERRORS.get(error, error)
